/** Reads the request log and the audit log: only the organization's own entries. */
import { effectOf } from '../../contract/audit-actions.ts';
import type { List } from '../../contract/common.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { firstIdAt } from '../../contract/id.ts';
import {
  type AuditLog,
  type AuditLogQuery,
  idsIn,
  type RequestHistogram,
  type RequestHistogramQuery,
  type RequestLog,
  type RequestLogQuery,
} from '../../contract/logs.ts';
import type { RefusalReason } from '../../contract/refusals.ts';
import { iso } from '../../contract/text.ts';
import { blockIdOf, entriesOf } from '../../logs/blocks.ts';
import { receiptOf } from '../../logs/chain.ts';
import { isSuccess, type RequestEntry } from '../../logs/entries.ts';
import type { Ledger } from '../../logs/ledger.ts';
import type { Shown, ShownLinks } from '../../logs/shown-links.ts';
import type { AuditFilter, PlacedAuditRow } from '../../store/records/logs.ts';
import type { RequestBlockRow, RequestFilter } from '../../store/records/request-logs.ts';
import type { Store } from '../../store/store.ts';
import { listOf } from '../kernel/collection.ts';
import type { Watched } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { runsOfKeysWith } from '../uses/runs-of-keys.ts';

type RequestQuery = Omit<RequestLogQuery, 'page' | 'limit'>;
type AuditQuery = Omit<AuditLogQuery, 'page' | 'limit'>;

type Reading = Permit<'logs:read'>;

export type Logs = ReturnType<typeof logsWith>;

export interface LogParts {
  readonly ledger: Ledger;
  readonly shown: ShownLinks;
}

const defaultPeriod = 24 * 3_600_000;
/** In blocks. */
const stretch = 50;
/** In entries. */
const auditStretch = 500;

export function logsWith({ store, stamps, guard, ledger, shown, now }: Parts & LogParts) {
  const runs = runsOfKeysWith({ store, stamps });

  /** Entries that can't be filed now, because nothing can be written, appear later; the others are shown anyway. */
  const settled = () => ledger.settle().catch(() => {});

  async function filterOf({ caller, vaults }: Reading, query: RequestQuery): Promise<RequestFilter> {
    const { run_id: runId } = query;
    return {
      organizationId: caller.organizationId,
      vaultIds: vaults ?? undefined,
      vaultId: query.vault_id,
      accessKeyId: query.access_key_id,
      accessKeyIds: runId === undefined ? undefined : await runs.keysOf(caller.organizationId, runId),
      status: query.status,
      address: query.ip_address,
      success: query.success,
      ...period(query),
    };
  }

  /** Without a filter it finds nothing, because the audit log belongs to no vault. */
  async function* auditStretches(filter: AuditFilter | null): AsyncIterable<AuditLog> {
    let beforeId = filter?.beforeId;
    while (filter !== null) {
      const rows = await store.logs.newestAudits({ ...filter, beforeId }, auditStretch);
      yield* (await shown.audits(rows)).map(presentAudit);
      if (rows.length < auditStretch) return;
      beforeId = rows.at(-1)!.id;
    }
  }

  return {
    async requests(permit: Reading, query: RequestLogQuery): Promise<List<RequestLog>> {
      await settled();
      const filter = await filterOf(permit, query);
      const { blocks, skip } = await store.requestLogs.page(filter, query);
      const entries = (await shown.blocks(blocks)).flatMap(block => matching(block, filter));
      const page = await runs.noted(filter.organizationId, entries.slice(skip, skip + query.limit));
      return listOf(page, await store.requestLogs.total(filter), query);
    },

    /**
     * Counts the requests of a filter in parts of a period of equal length. The parts begin with ids, as the filter of
     * the list does, so that they add up to its total.
     */
    async histogram(permit: Reading, query: RequestHistogramQuery): Promise<RequestHistogram> {
      const to = query.to ?? now();
      const from = query.from ?? to - defaultPeriod;
      if (to <= from) throw invalid('to', 'must be after from');
      await settled();
      const { buckets } = query;
      const starts = Array.from({ length: buckets }, (_, part) =>
        Math.round(from + ((to - from) * part) / buckets),
      );
      const bounds = [...starts, to].map(firstIdAt);
      const filter = await filterOf(permit, query);
      const counted = await store.requestLogs.parts(filter, bounds, false);
      const parts = starts.map(start => ({ at: iso(start), success: 0, failure: 0 }));
      for (const { part, successes, failures } of counted)
        Object.assign(parts[part]!, { success: successes, failure: failures });
      const ids = query.access_key_ids === undefined ? [] : idsIn(query.access_key_ids);
      const ofKeys = new Map(ids.map(id => [id, starts.map(() => 0)]));
      const counting = ids.filter(id => filter.accessKeyIds?.includes(id) ?? true);
      if (counting.length > 0)
        for (const one of await store.requestLogs.parts({ ...filter, accessKeyIds: counting }, bounds, true))
          ofKeys.get(one.access_key_id!)![one.part] = one.successes + one.failures;
      return {
        from: iso(from),
        to: iso(to),
        parts,
        access_keys: [...ofKeys].map(([id, requests]) => ({ id, requests })),
      };
    },

    async request(permit: Reading, id: string): Promise<RequestLog> {
      const block = await store.requestLogs.block(blockIdOf(id));
      const entries =
        block === undefined ? [] : matching(await shown.block(block), await filterOf(permit, {}));
      const found = entries.find(entry => entry.id === id);
      if (found === undefined) throw new Failure('NOT_FOUND');
      return (await runs.noted(permit.caller.organizationId, [found]))[0]!;
    },

    /** Every matching entry, newest first, one stretch at a time. */
    async exportRequests(permit: Reading, query: RequestQuery): Promise<Watched<RequestLog>> {
      await settled();
      const filter = await filterOf(permit, query);
      return guard.during(
        permit,
        'request-logs.exported',
        runs.notedInTurn(filter.organizationId, newestRequests(store, shown, filter)),
      );
    },

    async audits(permit: Reading, query: AuditLogQuery): Promise<List<AuditLog>> {
      if (permit.vaults !== null) return listOf<AuditLog>([], 0, query);
      const { rows, total } = await store.logs.auditPage(auditFilterOf(permit, query), query);
      return listOf((await shown.audits(rows)).map(presentAudit), total, query);
    },

    async audit(permit: Reading, id: string): Promise<AuditLog> {
      const row = await guard.found(permit, await store.logs.audit(permit.caller.organizationId, id));
      return presentAudit(await shown.audit(row));
    },

    async exportAudits(permit: Reading, query: AuditQuery): Promise<Watched<AuditLog>> {
      const filter = permit.vaults === null ? auditFilterOf(permit, query) : null;
      return guard.during(permit, 'audit-logs.exported', auditStretches(filter));
    },
  };
}

/** The entries that match, newest first, one stretch of blocks at a time, until this many were found. */
export async function* newestRequests(
  store: Store,
  shown: ShownLinks,
  filter: RequestFilter,
  most = Number.POSITIVE_INFINITY,
): AsyncIterable<RequestLog> {
  let beforeId = filter.beforeId;
  for (let seen = 0; seen < most; ) {
    const blocks = await store.requestLogs.newest({ ...filter, beforeId }, stretch);
    for (const block of await shown.blocks(blocks)) {
      const entries = matching(block, filter);
      seen += entries.length;
      yield* entries;
    }
    if (blocks.length < stretch) return;
    beforeId = blocks.at(-1)!.id;
  }
}

function auditFilterOf({ caller }: Reading, query: AuditQuery): AuditFilter {
  const { organizationId } = caller;
  return {
    organizationId,
    action: query.action,
    subjectId: query.subject_id,
    actorId: query.actor_id,
    ...period(query),
  };
}

function period({ from, to }: { from?: number | undefined; to?: number | undefined }) {
  return {
    fromId: from === undefined ? undefined : firstIdAt(from),
    beforeId: to === undefined ? undefined : firstIdAt(to),
  };
}

/** The entries of a block that match a filter, newest first. The time filter applies to the whole block. */
export function matching(
  { id, text, hash, verified }: Shown<RequestBlockRow>,
  filter: RequestFilter,
): RequestLog[] {
  return entriesOf(id, text)
    .filter(entry => matches(entry, filter))
    .map(({ organization_id, narrowing = null, via, reason, ...entry }) => ({
      ...entry,
      run_id: null,
      narrowing,
      via: via?.map(([secret_id, template_id]) => ({ secret_id, template_id })) ?? null,
      receipt: receiptOf(entry.id, hash),
      verified,
      reason: reason === undefined ? null : reasonFor(filter, reason),
    }))
    .reverse();
}

/** Callers who may see only the logs of some vaults don't learn that a credential belongs to another vault. */
function reasonFor({ vaultIds }: RequestFilter, reason: RefusalReason): RefusalReason {
  return vaultIds !== undefined && reason === 'wrong_vault' ? 'unknown_credential' : reason;
}

function matches(entry: RequestEntry, filter: RequestFilter): boolean {
  const { organizationId, vaultIds, vaultId, accessKeyId, accessKeyIds, status, address, success } = filter;
  return (
    entry.organization_id === organizationId &&
    (vaultIds === undefined || vaultIds.includes(entry.vault_id!)) &&
    (vaultId === undefined || entry.vault_id === vaultId) &&
    (accessKeyId === undefined || entry.access_key_id === accessKeyId) &&
    (accessKeyIds === undefined || accessKeyIds.includes(entry.access_key_id!)) &&
    (status === undefined || entry.status === status) &&
    (success === undefined || isSuccess(entry.status) === success) &&
    (address === undefined || entry.ip_address === address)
  );
}

export function presentAudit({ id, entry: text, hash, verified }: Shown<PlacedAuditRow>): AuditLog {
  const { organization_id, ...entry } = JSON.parse(text);
  return { count: 1, ...entry, receipt: receiptOf(id, hash), verified, effect: effectOf(entry) };
}
