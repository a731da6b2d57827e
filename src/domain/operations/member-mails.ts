/**
 * Which members are told of an event by mail, and whether a stored mail may still be sent. A member is told only of what
 * they may do something about, and the right to it is checked again when the mail is sent.
 */
import { type Action, allows } from '../../access/policy.ts';
import { type EventKind, type MailTime, resourceTypes } from '../../contract/names.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { MailRow } from '../../store/records/mails.ts';
import type { StoredEvent } from '../../store/records/outbox.ts';
import { rightsOf } from '../credentials/member-rights.ts';
import type { Mailbox, MailNote } from '../kernel/mailbox.ts';
import type { Parts } from '../kernel/parts.ts';
import type { People, Person } from '../people/people.ts';
import { type Choices, choicesIn } from '../sessions/mail-settings.ts';

/** A mail that may be sent. */
export interface ReadyMail {
  readonly address: string;
  readonly organization: string;
  readonly note: MailNote;
  /** The name of the vault that an event is about. */
  readonly vaultName: string | null;
}

interface EventFacts {
  readonly type: string;
  readonly data: { readonly type: string; readonly vault_id: string | null };
}

const mostRecipients = 200;
const day = 24 * 3_600_000;
/** When the messages of a day are sent, after midnight in UTC. */
const dailyAt = 6 * 3_600_000;

export type MemberMails = ReturnType<typeof memberMailsWith>;

export function memberMailsWith(
  { store, stamps, now }: Parts,
  people: People,
  mailbox: Mailbox,
  onError: (error: unknown) => void,
) {
  const mayAct = (person: Person | undefined, needed: Action, vaultId: string): person is Person =>
    person?.member.state === 'active' && allows(rightsOf(person, now()), needed, vaultId);

  async function recipients({ organization_id, vault_id }: StoredEvent, needed: Action): Promise<Person[]> {
    const inVault = { vaultId: vault_id!, now: now() };
    const page = { page: 1, limit: mostRecipients };
    const { rows } = await store.organizations.peoplePage(organization_id, page, { q: undefined, inVault });
    const found = await Promise.all(rows.map(({ id }) => people.byMember(id)));
    return found.filter(person => mayAct(person, needed, vault_id!));
  }

  async function mailsAbout(event: StoredEvent): Promise<Statement[]> {
    const needed = neededFor(event);
    if (needed === null || event.vault_id === null) return [];
    stamps.believeEvent(event);
    const found = await recipients(event, needed);
    const settings = await store.mails.settingsOf(found.map(({ member }) => member.id));
    const chosen = new Map(settings.map(row => [row.member_id, choicesIn(row)]));
    return found.flatMap(({ member }) => {
      const time = (chosen.get(member.id) ?? choicesIn({ choices: '{}' }))[choiceFor(event.type)];
      const note = { kind: 'event', payload: event.payload } as const;
      return time === 'off' ? [] : mailbox.post(member, note, dueAt(time, now()));
    });
  }

  return {
    isOn: mailbox.isOn,

    /** The statements that store the mails about events; an event that was altered gets none. */
    async about(events: readonly StoredEvent[]): Promise<Statement[]> {
      if (!mailbox.isOn) return [];
      const found: Statement[] = [];
      for (const event of events) {
        try {
          found.push(...(await mailsAbout(event)));
        } catch (error) {
          onError(error);
        }
      }
      return found;
    },

    /** Null if it must not be sent any more: its member is gone, has lost the right, or has chosen otherwise. */
    async ready(row: MailRow): Promise<ReadyMail | null> {
      const note = await mailbox.open(row);
      const person = await people.fresh(row.member_id);
      if (person?.member.organization_id !== row.organization_id) return null;
      const { member } = person!;
      if (note.kind === 'invitation' ? member.state !== 'invited' : !(await wants(person!, note)))
        return null;
      const stored = await store.organizations.byId(row.organization_id);
      const organization = stored === undefined ? '' : stamps.organization.believe(stored).name;
      return { address: member.email, organization, note, vaultName: await vaultName(row, note) };
    },
  };

  async function wants(person: Person, note: Exclude<MailNote, { kind: 'invitation' }>): Promise<boolean> {
    const choices = choicesIn((await store.mails.settings(person.member.id)) ?? { choices: '{}' });
    if (note.kind === 'sign_in') return choices.sign_in !== 'off';
    const { type, data } = factsIn(note.payload);
    const needed = neededFor({ type, payload: note.payload });
    if (needed === null || data.vault_id === null || choices[choiceFor(type)] === 'off') return false;
    return mayAct(person, needed, data.vault_id);
  }

  async function vaultName({ organization_id }: MailRow, note: MailNote): Promise<string | null> {
    if (note.kind !== 'event') return null;
    const vault = await store.resources.byId(organization_id, factsIn(note.payload).data.vault_id!);
    return vault === undefined ? null : stamps.resource.believe(vault).name;
  }
}

function factsIn(payload: string): EventFacts {
  return JSON.parse(payload) as EventFacts;
}

const expiries: ReadonlySet<string> = new Set<EventKind>(['resource.near_expiry', 'resource.expired']);
const decisions: Readonly<Partial<Record<string, Action>>> = {
  'approval.requested': 'approvals:write',
  'proposal.created': 'proposals:write',
  'role.requested': 'members:write',
} satisfies Partial<Record<EventKind, Action>>;

/** What a member must be allowed to do about an event to be told of it; null if no one is. */
function neededFor({ type, payload }: Pick<StoredEvent, 'type' | 'payload'>): Action | null {
  if (!expiries.has(type)) return decisions[type] ?? null;
  const { data } = factsIn(payload);
  const kind = resourceTypes.find(one => one === data.type);
  return kind === undefined ? null : `${kind}s:write`;
}

function choiceFor(type: string): keyof Choices {
  return expiries.has(type) ? 'expiry' : 'approvals';
}

/** Now, or when the messages of the day are sent. */
export function dueAt(time: MailTime, now: number): number {
  if (time !== 'daily') return now;
  const today = Math.floor(now / day) * day + dailyAt;
  return now < today ? today : today + day;
}
