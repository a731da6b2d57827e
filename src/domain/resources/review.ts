/**
 * Review: in a vault that demands it, a write of what the vault contains is stored as a proposal, sealed, and nothing
 * else happens until someone else confirms it. Every write of a resource needs the result of `pass`, which the guard
 * requires, so that no way of writing can leave it out. Whether the vault demands review is a condition of the
 * transaction: a vault that was switched in the meantime, by any replica, refuses it.
 *
 * Deleting the vault is reviewed too, and so is switching the review off, because either would go around it. An owner
 * may write without review, for a reason; that is a record, an audit entry and an event of its own.
 */
import { type Caller, isProven, memberBehind, type Reader } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import {
  type Party,
  type ProposalNotice,
  type ProposedChange,
  proposalPath,
} from '../../contract/proposals.ts';
import { iso } from '../../contract/text.ts';
import type { Sealer } from '../../keyring/keyring.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { IdentityRow } from '../../store/records/identities.ts';
import type { ProposalRow } from '../../store/records/proposals.ts';
import { type EventKind, eventOf } from '../kernel/events.ts';
import type { Actor, ChangeAction } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { GuardedChange, MaybeAllowed, Reviewed, SubjectChange } from '../kernel/subjects.ts';
import { unknownWriter, type WrittenBy, writersOf } from '../kernel/written-by.ts';
import { isReviewed, type OpenVault } from './sealing.ts';
import type { PlacedWrite, ProposedWrite } from './writes.ts';

/** The write was stored as a proposal instead. It is thrown, so that nothing after the write is done either. */
export class ProposalMade extends Error {
  readonly proposal: { readonly id: string; readonly expires_at: string };

  constructor({ id, expires_at }: Pick<ProposalRow, 'id' | 'expires_at'>) {
    super('the write waits for review');
    this.name = 'ProposalMade';
    this.proposal = { id, expires_at: iso(expires_at) };
  }
}

/** `base` is the address of the dashboard. */
export function noticeOf({ proposal: { id, expires_at } }: ProposalMade, base = ''): ProposalNotice {
  return { id, url: `${base}${proposalPath(id)}`, expires_at };
}

/** An answer that names a proposal, with the address of the dashboard in front of its path. */
export function withAddress<T extends object>(answer: T, base: string): T {
  if (!('proposal' in answer)) return answer;
  const proposal = answer.proposal as ProposalNotice;
  return { ...answer, proposal: { ...proposal, url: `${base}${proposalPath(proposal.id)}` } };
}

/** What is sealed. Once it is decided, the writes are gone and with them the values. */
export interface ProposalContent {
  readonly author: Party;
  /** The author, the person behind them, and the credentials that lead from one to the other. */
  readonly hands: readonly string[];
  readonly decidedBy: Party | null;
  readonly reason: string | null;
  readonly shown: readonly ProposedChange[];
  readonly writes: readonly ProposedWrite[] | null;
  /** For the use of an access key: the rule at its revision, and when the key ends for its holder, in milliseconds. */
  readonly use?: {
    readonly rule: string;
    readonly revision: number;
    readonly until: number | null;
  };
}

/** What the restrictions of a credential say about where it comes from. */
interface LeadingBack {
  readonly login?: { readonly member_id: string };
  readonly maker?: string | null;
  readonly parent?: string;
  readonly secret_id?: string;
}

/** The use rule under which an access key was used. */
interface Used {
  readonly id: string;
  readonly revision: number;
  readonly writers: readonly string[];
}

/** An access key that is used. */
type User = Actor & Pick<Reader, 'expirationDate'>;

interface Demanded {
  readonly vault: OpenVault;
  readonly writes: readonly ProposedWrite[];
}

export type Review = ReturnType<typeof reviewWith>;

const proposalLifetime = 7 * 24 * 60 * 60 * 1000;
/** Per vault. */
const mostPending = 500;
/** Of them, those of one author. Access keys count as one, so that agents leave room for people. */
const mostOfAuthor = 100;
/** The credentials that may lead from a caller to the person behind them, with both. */
const mostHands = 32;

export function reviewWith({ store, stamps, guard, now, newId }: Parts) {
  /** Everyone who acts through this credential: whoever shares one of these is the same person. All, or it throws. */
  async function handsOf(kind: string, ids: readonly (string | null)[]): Promise<string[]> {
    const hands = new Set(ids.filter(one => one !== null));
    if (kind === 'member') return [...hands];
    const left = [...hands];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      if (hands.size > mostHands)
        throw new Failure('FORBIDDEN', {
          message: 'Too many API keys each created the next; use an earlier one',
        });
      for (const maker of await makersOf(next)) {
        if (hands.has(maker)) continue;
        hands.add(maker);
        left.push(maker);
      }
    }
    return [...hands];
  }

  async function makersOf(id: string): Promise<string[]> {
    if (!isId(id)) return [];
    const credential = await store.credentials.byId(id);
    const identity = credential === undefined ? await store.identities.anywhere(id) : undefined;
    if (identity !== undefined) return definersOf(stamps.identity.believe(identity));
    if (credential === undefined) return [];
    const { created_by, identity_id, ...row } = stamps.credential.believe(credential);
    const { login, maker, parent, secret_id } = JSON.parse(row.narrowing) as LeadingBack;
    const given = row.identity_revision === null ? null : (secret_id ?? (await unknownProof(identity_id!)));
    return [created_by, login?.member_id, maker, parent, identity_id, given].filter(isHand);
  }

  /** Whoever decided who may log in. With secret ids, that is whoever created the one that was used. */
  function definersOf(identity: IdentityRow): string[] {
    const { written_by } = JSON.parse(identity.narrowing) as { written_by?: WrittenBy };
    const writers = [identity.created_by, ...writersOf(identity, written_by)];
    const isById = identity.method === 'secret_id';
    return writers.filter(one => isHand(one) && !(isById && one === unknownWriter));
  }

  /** An earlier release doesn't store which secret id an access key was issued for. */
  async function unknownProof(identityId: string): Promise<string | null> {
    const identity = await store.identities.anywhere(identityId);
    return identity?.method === 'secret_id' ? unknownWriter : null;
  }

  /** The condition that the vault is as it was judged. A vault that is changed itself is compared anyway. */
  function unchanged(places: readonly PlacedWrite[]): Statement[] {
    const vaults = places.flatMap(({ vault, type }) => (type === 'vault' ? [] : vault.row));
    return [...new Map(vaults.map(row => [row.id, row])).values()].map(({ id, revision }) =>
      store.conditions.unchanged([{ table: 'resources', id, revision }], 'stale'),
    );
  }

  function draftOf(by: Actor, vault: OpenVault, state: ProposalRow['state'], content: ProposalContent) {
    const id = newId();
    const time = now();
    return stamps.proposal.create(time, {
      id,
      organization_id: by.organizationId,
      vault_id: vault.row.id,
      author_kind: by.kind as ProposalRow['author_kind'],
      author_id: by.id,
      content: sealContent(vault.sealer, { id, revision: 1 }, content),
      state,
      decided_by: null,
      expires_at: time + proposalLifetime,
    });
  }

  async function propose(
    by: Actor,
    hands: readonly (string | null)[],
    vault: OpenVault,
    writes: readonly ProposedWrite[],
    use?: ProposalContent['use'],
  ) {
    await checkNames(vault.row.id, writes);
    await checkRoom(by, vault.row.id);
    const row = draftOf(by, vault, 'pending', {
      author: partyOf(by),
      hands: await handsOf(by.kind, [by.id, ...hands]),
      decidedBy: null,
      reason: null,
      shown: writes.map(({ shown }) => shown),
      writes,
      ...(use && { use }),
    });
    return {
      made: new ProposalMade(row),
      change: {
        subjects: [
          proposalSubject(
            row,
            writes.map(({ shown }) => shown),
          ),
        ],
        statements: [
          store.conditions.unchanged(
            [{ table: 'resources', id: vault.row.id, revision: vault.row.revision }],
            'stale',
          ),
          store.proposals.insert(row),
          eventStatement('proposal.created', row, writes[0]!.shown),
        ],
        touches: [row.id],
      } satisfies GuardedChange,
    };
  }

  async function checkRoom({ kind, id }: Actor, vaultId: string): Promise<void> {
    const pending = await store.proposals.pendingIn(vaultId, now(), mostPending);
    if (pending.length >= mostPending)
      throw new Failure('CONFLICT', { message: `${mostPending} proposals already wait in this vault` });
    const isOwn = ({ author_kind, author_id }: (typeof pending)[number]) =>
      kind === 'access-key' ? author_kind === kind : author_id === id;
    if (pending.filter(isOwn).length >= mostOfAuthor)
      throw new Failure('CONFLICT', {
        message: `${mostOfAuthor} proposals of the same author already wait in this vault`,
      });
  }

  /** Its author learns now that a name is in use. It is decided when the proposal is confirmed. */
  async function checkNames(vaultId: string, writes: readonly ProposedWrite[]): Promise<void> {
    const taken = () => new Failure('CONFLICT', { field: 'name', reason: 'is already in use' });
    const met = new Set<string>();
    for (const { shown } of writes) {
      const name = shown.difference.find(({ field }) => field === 'name')?.after;
      if (name == null || shown.type === 'vault') continue;
      const there = await store.resources.byName(vaultId, shown.type, name);
      if ((there !== undefined && there.id !== shown.id) || met.has(`${shown.type} ${name}`)) throw taken();
      met.add(`${shown.type} ${name}`);
    }
  }

  /** Refuses a caller who may not write without review. */
  async function mayBypass(caller: Caller, vaultId: string): Promise<void> {
    await guard.mayShow(caller, ['proposals:bypass'], [vaultId], {
      because: 'Only an owner may write without review',
    });
    if (!isProven(caller, now())) throw new Failure('PROOF_REQUIRED');
  }

  async function bypass(permit: Permit, vault: OpenVault, writes: readonly ProposedWrite[], reason: string) {
    const { caller } = permit;
    await mayBypass(caller, vault.row.id);
    const shown = writes.map(one => one.shown);
    const hands = await handsOf(caller.kind, [caller.id, memberBehind(caller)]);
    const content = { author: partyOf(caller), hands, decidedBy: null, reason, shown, writes: null };
    const row = draftOf(caller, vault, 'bypassed', content);
    const subject = { ...proposalSubject(row, shown), verb: 'proposal.bypassed' as const };
    return {
      subjects: [{ ...subject, details: { ...subject.details, reason } }],
      statements: [store.proposals.insert(row), eventStatement('proposal.bypassed', row, shown[0]!)],
    };
  }

  function eventStatement(kind: EventKind, row: ProposalRow, { name }: ProposedChange): Statement {
    const { id, organization_id, vault_id } = row;
    const subject = { id, organization_id, vault_id, type: 'proposal', name };
    return store.outbox.add(stamps.stampEvent(eventOf(kind, subject, row.updated_at, newId)));
  }

  /** What is to be reviewed, in each vault that demands it. */
  function demanding(places: readonly PlacedWrite[]): Demanded[] {
    const found = places
      .filter(({ vault }) => isReviewed(vault.row))
      .map(({ vault, proposed }) => ({ vault, write: proposed() }))
      .filter(({ write }) => isDemandedFor(write));
    return [...Map.groupBy(found, ({ vault }) => vault.row.id).values()].map(inVault => ({
      vault: inVault[0]!.vault,
      writes: inVault.map(({ write }) => write),
    }));
  }

  return {
    handsOf,
    mayBypass,
    eventStatement,

    /**
     * What the guard requires for a write. Throws ProposalMade if it was stored as a proposal, and StaleChange if the
     * vault has changed.
     */
    async pass<A extends ChangeAction>(permit: Permit<A>, places: readonly PlacedWrite[]): Promise<Reviewed> {
      const { caller } = permit;
      const statements = unchanged(places);
      const demanded = isTrusted(caller) ? [] : demanding(places);
      if (demanded.length === 0) return passed(statements);
      if (caller.bypass === undefined) {
        const { vault, writes } = onlyOne(demanded, places);
        const { made, change } = await propose(caller, [memberBehind(caller)], vault, writes);
        await guard.change<A>(permit, 'proposal.created', change);
        throw made;
      }
      const subjects: SubjectChange[] = [];
      for (const { vault, writes } of demanded) {
        const more = await bypass(permit, vault, writes, caller.bypass);
        statements.push(...more.statements);
        subjects.push(...more.subjects);
      }
      return passed(statements, subjects);
    },

    /** The same for a write that an access key causes by being used. Whoever wrote the rule chose what is stored. */
    async passUse(by: User, rule: Used, places: readonly PlacedWrite[]): Promise<Reviewed> {
      const demanded = demanding(places);
      if (demanded.length === 0) return passed(unchanged(places));
      const { vault, writes } = onlyOne(demanded, places);
      const { made, change } = await propose(by, rule.writers, vault, writes, {
        rule: rule.id,
        revision: rule.revision,
        until: by.expirationDate,
      });
      await guard.used(by, 'proposal.created', change);
      throw made;
    },

    /** For the service itself, which empties the trash. */
    exempt: (): Reviewed => passed([]),

    /** For what someone has just confirmed, in the vault as it is. */
    confirmed: (places: readonly PlacedWrite[]): Reviewed => passed(unchanged(places)),
  };
}

function isHand(id: string | null | undefined): id is string {
  return id != null && (isId(id) || id === unknownWriter);
}

/** Whether two share a hand. An unknown one could be anybody's. */
export function areSame(one: readonly string[], other: readonly string[]): boolean {
  return one.includes(unknownWriter) || one.some(hand => other.includes(hand));
}

function passed(statements: readonly Statement[], subjects: readonly SubjectChange[] = []): Reviewed {
  return { statements, subjects } as Reviewed;
}

/** A proposal is for one vault, and whatever is written with it is part of it. */
function onlyOne([first, ...others]: readonly Demanded[], places: readonly PlacedWrite[]): Demanded {
  if (others.length > 0 || first!.writes.length < places.length)
    throw new Error('a proposal is for one vault');
  return first!;
}

export function isTrusted({ kind }: { readonly kind: string }): boolean {
  return kind === 'operator' || kind === 'service';
}

/** Of a vault itself, only what would go around the review. */
function isDemandedFor(write: ProposedWrite): boolean {
  if (write.shown.type !== 'vault') return true;
  return write.do === 'update' ? write.changes.review === false : true;
}

export function partyOf({ kind, id, name }: Party): Party {
  return { kind, id, name };
}

export function proposalSubject<A extends Action = never>(
  row: MaybeAllowed<ProposalRow, A>,
  shown: readonly ProposedChange[],
): SubjectChange<A> {
  const { id, vault_id: vaultId, revision, author_id } = row;
  const details = { author: author_id, resources: shown.map(one => one.id) };
  return { type: 'proposal', id, name: shown[0]!.name, vaultId, revision, details };
}

function contentPlace(id: string, revision: number) {
  return { type: 'proposal', resource: id, field: 'content', version: revision };
}

type Revision = Pick<ProposalRow, 'id' | 'revision'>;

export function sealContent(sealer: Sealer, { id, revision }: Revision, content: ProposalContent) {
  return sealer.seal(contentPlace(id, revision), Buffer.from(JSON.stringify(content), 'utf8'));
}

export function openContent(sealer: Sealer, { id, revision, content }: ProposalRow): ProposalContent {
  return JSON.parse(sealer.open(contentPlace(id, revision), content).toString('utf8')) as ProposalContent;
}
