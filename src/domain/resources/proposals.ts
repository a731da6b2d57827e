/**
 * Proposals from the side of those who decide. A proposal is confirmed by someone else than its author, who may write
 * there themselves; nobody confirms their own, through whatever credential. What is done is what is sealed in it, in one
 * transaction with the decision: on the revisions that it was made for, and only if its author may still do it. Decided
 * proposals keep what they show, without values.
 */
import { type Caller, memberBehind } from '../../access/caller.ts';
import { type Action, allows, type ResourceKind, readsValue, shownByEvents } from '../../access/policy.ts';
import type { List } from '../../contract/common.ts';
import { Failure } from '../../contract/errors.ts';
import type {
  Party,
  Proposal,
  ProposalQuery,
  ProposedChange,
  RevealedProposal,
} from '../../contract/proposals.ts';
import { iso } from '../../contract/text.ts';
import type { ProposalRow } from '../../store/records/proposals.ts';
import type { ResourceRow, VersionRow } from '../../store/records/resources.ts';
import { listOf } from '../kernel/collection.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Author } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, vaultsAsked } from '../kernel/permits.ts';
import type { Allowed } from '../kernel/subjects.ts';
import { unknownWriter } from '../kernel/written-by.ts';
import { keyAttributes } from './key-attributes.ts';
import { openedValuesWith } from './opened-values.ts';
import { proposedWritesWith } from './proposed-writes.ts';
import type { Records } from './records.ts';
import {
  areSame,
  openContent,
  type ProposalContent,
  partyOf,
  proposalSubject,
  sealContent,
} from './review.ts';
import type { OpenVault } from './sealing.ts';
import { actionOn, revealedOf } from './subject.ts';
import type { StoredPart } from './templates.ts';
import type { ProposedWrite, ResourceChanges } from './writes.ts';

type Deciding = Permit<'proposals:write'>;
type Reading = Permit<'proposals:read'>;

interface Opened<A extends Action = Action> {
  readonly row: Allowed<ProposalRow, A>;
  readonly vault: OpenVault;
  readonly content: ProposalContent;
}

/** They tell names and tags of every type, as their events do. */
export const shownByProposals = shownByEvents(['proposal.created']);

export type Proposals = ReturnType<typeof proposalsWith>;

export function proposalsWith(parts: Parts, records: Records) {
  const { store, stamps, guard, now } = parts;
  const { review } = records;
  const { partsOf } = proposedWritesWith(parts, records);
  const opening = openedValuesWith(records);

  async function find<A extends Action>(permit: Permit<A>, id: string): Promise<Opened<A>> {
    const found = await store.proposals.byId(permit.caller.organizationId, id);
    const row = stamps.proposal.believe<Allowed<ProposalRow, A>>(
      await guard.found(permit, found, found?.vault_id),
    );
    await guard.mayShow(permit.caller, shownByProposals, [row.vault_id], {
      because: 'You can’t see this proposal',
    });
    return open(row);
  }

  /** The same permit, for the vaults of which the caller may see all that proposals tell. */
  async function telling(permit: Reading): Promise<Reading> {
    let narrowed = permit;
    for (const action of shownByProposals)
      narrowed = await guard.within(narrowed, await guard.admit(permit.caller, action));
    return narrowed;
  }

  async function open<A extends Action>(row: Allowed<ProposalRow, A>): Promise<Opened<A>> {
    const vault = await records.vaultById(row.organization_id, row.vault_id);
    return { row, vault, content: openContent(vault.sealer, row) };
  }

  const handsOf = (caller: Caller) => review.handsOf(caller.kind, [caller.id, memberBehind(caller)]);

  /** The ids of what changed since it was proposed. */
  async function changedSince(opened: readonly Opened[]): Promise<Set<string>> {
    const bound = opened.flatMap(({ row, content }) =>
      (content.writes ?? []).flatMap(write =>
        write.do === 'create' ? [] : { proposal: row.id, id: write.shown.id, revision: write.revision },
      ),
    );
    if (bound.length === 0) return new Set();
    const current = await store.resources.revisionsOf([...new Set(bound.map(({ id }) => id))]);
    return new Set(
      bound.filter(({ id, revision }) => current.get(id) !== revision).map(({ proposal }) => proposal),
    );
  }

  async function presented(caller: Caller, opened: readonly Opened[]): Promise<Proposal[]> {
    const changed = await changedSince(opened);
    const hands = await handsOf(caller);
    return opened.map(one => {
      const named = (party: Party) =>
        isNamed(caller, hands, party, one.row.vault_id) ? party : unnamed(party);
      return present(one, hands, changed, now(), named);
    });
  }

  /** One that can still be decided. */
  async function pending(permit: Deciding, id: string): Promise<Opened<'proposals:write'>> {
    const found = await find(permit, id);
    if (found.row.state !== 'pending')
      throw new Failure('CONFLICT', { message: 'This proposal was already decided' });
    checkTime(found.row);
    return found;
  }

  function checkTime({ state, expires_at }: ProposalRow): void {
    if (state === 'pending' && expires_at <= now())
      throw new Failure('CONFLICT', { message: 'The proposal has expired' });
  }

  function decided(
    { row, vault, content }: Opened<'proposals:write'>,
    caller: Caller,
    state: ProposalRow['state'],
  ) {
    const decidedBy = partyOf(caller);
    const reason = state === 'bypassed' ? caller.bypass! : content.reason;
    const next = { ...content, decidedBy, reason, writes: null };
    const sealed = sealContent(vault.sealer, { id: row.id, revision: row.revision + 1 }, next);
    const changes = { state, content: sealed, decided_by: caller.id };
    const after = stamps.proposal.revise(row, changes, now());
    return { opened: { row: after, vault, content: next }, subject: proposalSubject(after, content.shown) };
  }

  /** Everyone with a hand in a proposal is its author. */
  async function refuseOwn(permit: Deciding, { row, content }: Opened): Promise<void> {
    const hands = await handsOf(permit.caller);
    if (!areSame(content.hands, hands)) return;
    await guard.refused(permit, 'proposal.confirmed', proposalSubject(row, content.shown), 'own proposal');
    throw new Failure('FORBIDDEN', {
      message: content.hands.includes(unknownWriter)
        ? 'It is not known who else changed the use rule or identity behind this; create a new one'
        : 'Someone else has to confirm what you proposed',
    });
  }

  /** Refuses a caller who could not write this themselves. */
  async function mayWrite(
    caller: Caller,
    { vault }: Opened,
    writes: readonly ProposedWrite[],
  ): Promise<void> {
    for (const action of neededFor(writes)) {
      const permit = await guard.admit(caller, action);
      await guard.found(permit, vault.row, vault.row.id);
    }
  }

  async function authorOf(found: Opened, writes: readonly ProposedWrite[], caller: Caller) {
    const { row } = found;
    const author: Author = { kind: row.author_kind, id: row.author_id };
    const used = row.author_kind === 'access-key' ? await usedBy(found) : { name: '', statements: [] };
    const standing =
      used &&
      (await guard.standing({ ...author, uses: used.name }, neededFor(writes), row.vault_id, caller.origin));
    if (standing === null)
      throw new Failure('CONFLICT', { message: 'The author may no longer make this change' });
    return { ...standing, statements: [...standing.statements, ...used!.statements] };
  }

  /** The secret that an access key used, and the condition that its rule is unchanged; null if it has changed. */
  async function usedBy({ row, content: { use } }: Opened) {
    if (use === undefined || (use.until !== null && use.until <= now())) return null;
    const stored = await store.useRules.byId(row.organization_id, use.rule);
    const rule = stored && stamps.useRule.believe(stored);
    if (rule?.revision !== use.revision) return null;
    const found = await store.resources.byId(row.organization_id, rule.resource_id);
    if (found === undefined || found.deleted_at !== null) return null;
    const { id, revision } = rule;
    return {
      name: stamps.resource.believe(found).name,
      statements: [store.conditions.unchanged([{ table: 'use_rules', id, revision }], 'stale')],
    };
  }

  /** An owner may do it without anybody else, even if it is their own, for a reason that all can see. */
  async function confirm(permit: Deciding, id: string): Promise<Opened> {
    const { caller } = permit;
    const done = caller.bypass === undefined ? 'confirmed' : 'bypassed';
    return retryingStale(async () => {
      const found = await pending(permit, id);
      if (done === 'bypassed') await review.mayBypass(caller, found.row.vault_id);
      else await refuseOwn(permit, found);
      const writes = found.content.writes!;
      await mayWrite(caller, found, writes);
      checkVault(found, writes);
      const author = await authorOf(found, writes, caller);
      const parts = await partsOf(found.vault, author.caller, writes);
      const { opened, subject } = decided(found, caller, done);
      const confirmed = { proposal: id, author: found.row.author_id };
      const subjects = parts
        .flatMap(part => [...part.subjects])
        .map(one => ({ ...one, details: { ...one.details, ...confirmed } }));
      const reason = caller.bypass === undefined ? {} : { reason: caller.bypass };
      await guard.change(permit, `proposal.${done}`, {
        reviewed: review.confirmed(
          writes.map(write => ({ vault: found.vault, type: write.shown.type, proposed: () => write })),
        ),
        subjects: [{ ...subject, details: { ...subject.details, ...reason } }, ...subjects],
        statements: [
          ...author.statements,
          store.proposals.update(opened.row),
          ...parts.flatMap(part => [...part.statements]),
          review.eventStatement(`proposal.${done}`, opened.row, opened.content.shown[0]!),
        ],
        touches: [id, found.row.vault_id],
      });
      return opened;
    });
  }

  async function reject(permit: Deciding, id: string): Promise<Opened> {
    return retryingStale(async () => {
      const { opened, subject } = decided(await pending(permit, id), permit.caller, 'rejected');
      await guard.change(permit, 'proposal.rejected', {
        subjects: [subject],
        statements: [
          store.proposals.update(opened.row),
          review.eventStatement('proposal.rejected', opened.row, opened.content.shown[0]!),
        ],
        touches: [id],
      });
      return opened;
    });
  }

  /** The current value of what a proposal changes, and the proposed one. Those of keys that stay inside are left out. */
  async function valuesOf(
    caller: Caller,
    { vault }: Opened,
    write: ProposedWrite,
  ): Promise<RevealedProposal['data'][number]> {
    const { id, type, name } = write.shown;
    const row = write.do === 'create' ? undefined : await store.resources.byId(vault.row.organization_id, id);
    const isInside = type === 'key' && !isExportable(row, write);
    const current =
      row && !isInside ? await records.version(stamps.resource.believe(row), row.version) : null;
    const before = current && (await oldValue(caller, row!, vault, current));
    const after = isInside ? null : await newValue(caller, vault, write);
    return { id, vault_id: vault.row.id, type, name, before, after };
  }

  /** A template is shown as its text, without the names of what the caller may not see. */
  async function oldValue(caller: Caller, row: ResourceRow, vault: OpenVault, current: VersionRow) {
    if (row.type !== 'secret') return records.openValue(row, vault.sealer, current.value, current.version);
    return (await opening.value(caller, row, vault, current, false)).value();
  }

  async function newValue(caller: Caller, vault: OpenVault, write: ProposedWrite): Promise<string | null> {
    const wanted = wantedBy(write);
    if (wanted?.template === undefined) return wanted?.value ?? null;
    return records.links.text(caller, vault.row, JSON.parse(wanted.template.text) as StoredPart[]);
  }

  return {
    async list(permit: Reading, query: ProposalQuery): Promise<List<Proposal>> {
      const vaultIds = vaultsAsked(await telling(permit), query.vault_id);
      if (vaultIds?.length === 0) return listOf<Proposal>([], 0, query);
      const { organizationId } = permit.caller;
      const waitingAt = query.state === 'all' ? undefined : now();
      const page = { page: query.page, limit: query.limit, asOf: query.as_of };
      const { rows, total } = await store.proposals.page({ organizationId, vaultIds, waitingAt }, page);
      const opened: Opened[] = [];
      for (const row of rows)
        opened.push(await open(stamps.proposal.believe<Allowed<ProposalRow, never>>(row as never)));
      return listOf(await presented(permit.caller, opened), total, query);
    },

    async get(permit: Reading, id: string): Promise<Proposal> {
      return (await presented(permit.caller, [await find(permit, id)]))[0]!;
    },

    /** Requires the permission to reveal each of the values. Each is recorded before any is decrypted. */
    async reveal(permit: Reading, id: string): Promise<RevealedProposal> {
      const { caller } = permit;
      const found = await find(permit, id);
      checkTime(found.row);
      const writes = (found.content.writes ?? []).filter(({ shown }) => shown.new_value);
      const types = [...new Set(writes.map(({ shown }) => shown.type as ResourceKind))];
      await guard.mayShow(
        caller,
        types.map(type => readsValue[type]),
        [found.row.vault_id],
        { because: 'You can’t see these values' },
      );
      await recordOld(caller, writes);
      const subject = proposalSubject(found.row, found.content.shown);
      return guard.reveal(
        permit,
        'proposal.revealed',
        [{ ...subject, details: subject.details! }],
        async () => {
          const data: RevealedProposal['data'] = [];
          for (const write of writes) data.push(await valuesOf(caller, found, write));
          return { data };
        },
      );
    },

    async confirm(permit: Deciding, id: string): Promise<Proposal> {
      return (await presented(permit.caller, [await confirm(permit, id)]))[0]!;
    },

    /** Authors may withdraw what they proposed. */
    async reject(permit: Deciding, id: string): Promise<Proposal> {
      return (await presented(permit.caller, [await reject(permit, id)]))[0]!;
    },
  };

  /** Whoever sees the old value of a secret or key is named in its own history. */
  async function recordOld(caller: Caller, writes: readonly ProposedWrite[]): Promise<void> {
    for (const type of ['secret', 'key'] as const) {
      const old = writes.filter(({ do: what, shown }) => what === 'update' && shown.type === type);
      if (old.length === 0) continue;
      const permit = await guard.admit(caller, `${type}s:reveal`);
      const [first, ...others] = await Promise.all(
        old.map(async ({ shown }) => revealedOf(await records.find(permit, type, shown.id))),
      );
      await guard.reveal(permit, `${type}.revealed`, [first!, ...others], () => {});
    }
  }
}

/** Nothing is written to a vault in the trash; only the vault itself may be restored or deleted. */
function checkVault({ vault }: Opened, writes: readonly ProposedWrite[]): void {
  if (vault.row.deleted_at === null || writes.every(({ shown }) => shown.type === 'vault')) return;
  throw new Failure('CONFLICT', { message: 'The vault was deleted' });
}

/** What doing this requires of its author, and of whoever confirms it. */
function neededFor(writes: readonly ProposedWrite[]): Action[] {
  const types = writes.map(({ shown }) => actionOn(shown.type, 'write'));
  const isSwitched = writes.some(write => write.do === 'update' && write.changes.review !== undefined);
  return [...new Set<Action>([...types, ...(isSwitched ? (['vaults:review'] as const) : [])])];
}

function wantedBy(write: ProposedWrite): ResourceChanges | null {
  if (write.do === 'create') return write.draft;
  return write.do === 'update' ? write.changes : null;
}

function isExportable(row: ResourceRow | undefined, write: ProposedWrite): boolean {
  const attributes = write.do === 'create' ? write.draft.attributes : row && keyAttributes(row);
  const { exportable, holds } = attributes as { exportable?: boolean; holds?: string };
  return exportable === true || holds !== 'private';
}

/** Names of members are their email addresses. */
const naming: Readonly<Partial<Record<string, Action>>> = {
  member: 'members:read',
  'api-key': 'api-keys:read',
  'access-key': 'access-keys:read',
};

/** Whether the caller may know a party's name: they may read such records, or it is themselves. */
function isNamed(caller: Caller, hands: readonly string[], { kind, id }: Party, vaultId: string): boolean {
  const action = naming[kind];
  if (action === undefined || hands.includes(id)) return true;
  return allows(caller, action, kind === 'access-key' ? vaultId : undefined);
}

function unnamed({ kind, id }: Party): Proposal['author'] {
  return { kind, id, name: null };
}

function present(
  { row, content }: Opened,
  hands: readonly string[],
  changed: ReadonlySet<string>,
  now: number,
  named: (party: Party) => Proposal['author'],
): Proposal {
  const isOutdated = row.state === 'pending' && changed.has(row.id);
  const isOver = row.state === 'pending' && row.expires_at <= now;
  return {
    id: row.id,
    vault_id: row.vault_id,
    state: isOver ? 'expired' : isOutdated ? 'outdated' : row.state,
    author: named(content.author),
    decided_by: content.decidedBy && named(content.decidedBy),
    reason: content.reason,
    own: areSame(content.hands, hands),
    changes: content.shown.map((one): ProposedChange => ({ ...one, difference: [...one.difference] })),
    expires_at: iso(row.expires_at),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
