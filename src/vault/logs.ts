/** Reading the request log and the audit log: an organization's own entries, and nobody else's. */
import type { Caller } from '../access/caller.ts';
import type { List } from '../contract/common.ts';
import { Failure } from '../contract/errors.ts';
import { firstIdAt } from '../contract/id.ts';
import type { AuditLog, AuditLogQuery, RequestLog, RequestLogQuery } from '../contract/logs.ts';
import { receiptOf } from '../logs/chain.ts';
import type { AuditLogRow, LogFilter, RequestLogRow } from '../store/logs.ts';
import { listOf } from './collection.ts';
import type { Parts } from './parts.ts';

type RequestFilter = Omit<RequestLogQuery, 'page' | 'limit'>;

export interface Logs {
  requests(caller: Caller, query: RequestLogQuery): Promise<List<RequestLog>>;
  request(caller: Caller, id: string): Promise<RequestLog>;
  /** Every matching entry, newest first, a stretch at a time. */
  exportRequests(caller: Caller, filter: RequestFilter): Promise<AsyncIterable<RequestLog>>;
  audits(caller: Caller, query: AuditLogQuery): Promise<List<AuditLog>>;
  audit(caller: Caller, id: string): Promise<AuditLog>;
}

const stretch = 500;

export function logsWith({ store, guard }: Parts): Logs {
  function requestFilter(caller: Caller, query: RequestFilter): LogFilter {
    return {
      organizationId: caller.organizationId,
      vaultIds: caller.vaultIds ?? undefined,
      vaultId: query.vault_id,
      accessKeyId: query.access_key_id,
      status: query.status,
      address: query.ip_address,
      ...period(query),
    };
  }

  async function* stretches(filter: LogFilter): AsyncIterable<RequestLog> {
    let beforeId = filter.beforeId;
    for (;;) {
      const rows = await store.logs.requestsBefore({ ...filter, beforeId }, stretch);
      yield* rows.map(presentRequest);
      if (rows.length < stretch) return;
      beforeId = rows.at(-1)!.id;
    }
  }

  return {
    async requests(caller, query) {
      await guard.admit(caller, 'logs:read');
      const { rows, total } = await store.logs.requestPage(requestFilter(caller, query), query);
      return listOf(rows.map(presentRequest), total, query);
    },

    async request(caller, id) {
      await guard.admit(caller, 'logs:read');
      const row = await store.logs.request(caller.organizationId, id);
      if (row === undefined || (caller.vaultIds !== null && !caller.vaultIds.includes(row.vault_id ?? ''))) {
        throw new Failure('NOT_FOUND');
      }
      return presentRequest(row);
    },

    async exportRequests(caller, filter) {
      await guard.admit(caller, 'logs:read');
      return stretches(requestFilter(caller, filter));
    },

    async audits(caller, query) {
      await guard.admit(caller, 'logs:read');
      if (caller.vaultIds !== null) return listOf<AuditLog>([], 0, query);
      const { organizationId } = caller;
      const filter = { organizationId, action: query.action, subjectId: query.subject_id, ...period(query) };
      const { rows, total } = await store.logs.auditPage(filter, query);
      return listOf(rows.map(presentAudit), total, query);
    },

    async audit(caller, id) {
      await guard.admit(caller, 'logs:read');
      const row = caller.vaultIds === null ? await store.logs.audit(caller.organizationId, id) : undefined;
      if (row === undefined) throw new Failure('NOT_FOUND');
      return presentAudit(row);
    },
  };
}

function period({ from, to }: { from?: number | undefined; to?: number | undefined }) {
  return {
    fromId: from === undefined ? undefined : firstIdAt(from),
    beforeId: to === undefined ? undefined : firstIdAt(to),
  };
}

function presentRequest(row: RequestLogRow): RequestLog {
  const { organization_id, ...entry } = JSON.parse(row.entry);
  return { ...entry, receipt: receiptOf(row.id, row.hash) };
}

function presentAudit(row: AuditLogRow): AuditLog {
  const { organization_id, ...entry } = JSON.parse(row.entry);
  return { ...entry, receipt: receiptOf(row.id, row.hash) };
}
