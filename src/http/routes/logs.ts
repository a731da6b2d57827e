/** The logs, the overview, and information about the service. */
import { z } from 'zod';
import * as attention from '../../contract/attention.ts';
import { listOf } from '../../contract/common.ts';
import * as logs from '../../contract/logs.ts';
import * as overview from '../../contract/overview.ts';
import type { Domain } from '../../domain/domain.ts';
import { exportAuditLog, exportRequestLog } from './log-export.ts';
import { type Permissions, type Route, route } from './route.ts';

export function logRoutes({
  logs: service,
  verifyLogs,
  readers,
  vaultReaders,
}: Domain): Route<Permissions>[] {
  return [
    route('GET /v1/request-logs', {
      operationId: 'listRequestLogs',
      summary: 'List vault requests, newest first',
      needs: { all: ['logs:read'] },
      query: logs.requestLogQuery,
      answer: listOf(logs.requestLog),
      handle: ({ permits: [permit], query }) => service.requests(permit, query),
    }),
    route('GET /v1/request-logs/export', {
      operationId: 'exportRequestLogs',
      summary: 'Export vault requests as a stream of JSON Lines or CSV',
      needs: { all: ['logs:read'] },
      query: logs.requestLogExport,
      answer: z.string().meta({ example: '{"id":"0199a3c4-7f00-7abc-8def-0123456789ab","success":true}\n' }),
      answerTypes: ['application/jsonl', 'text/csv'],
      handle: async ({ permits: [permit], query, reply }) => {
        const { format, ...filter } = query;
        return exportRequestLog(reply, format, await service.exportRequests(permit, filter));
      },
    }),
    route('GET /v1/request-logs/histogram', {
      operationId: 'countRequestLogs',
      summary: 'Count vault requests over time',
      needs: { all: ['logs:read'] },
      query: logs.requestHistogramQuery,
      answer: logs.requestHistogram,
      handle: ({ permits: [permit], query }) => service.histogram(permit, query),
    }),
    route('GET /v1/request-logs/{id}', {
      operationId: 'getRequestLog',
      summary: 'Get one entry of the request log',
      needs: { all: ['logs:read'] },
      answer: logs.requestLog,
      handle: ({ permits: [permit], id }) => service.request(permit, id),
    }),
    route('GET /v1/secrets/{id}/readers', {
      operationId: 'listSecretReaders',
      summary: 'List the readers of a secret’s version, and when they last read it',
      needs: { all: ['logs:read', 'secrets:read'] },
      query: logs.readersQuery,
      answer: logs.secretReaders,
      handle: ({ permits: [logs, secrets], id, query }) => readers.of(logs, secrets, id, query.version),
    }),
    route('GET /v1/vaults/{id}/readers', {
      operationId: 'listVaultReaders',
      summary: 'List which access keys read which secrets of a vault',
      needs: { all: ['logs:read', 'secrets:read'] },
      query: logs.vaultReadersQuery,
      answer: logs.vaultReaders,
      handle: ({ permits: [logs, secrets], id, query }) => vaultReaders(logs, secrets, id, query.secret_ids),
    }),
    route('GET /v1/audit-logs', {
      operationId: 'listAuditLogs',
      summary: 'List changes, reveals and refusals, newest first',
      needs: { all: ['logs:read'] },
      query: logs.auditLogQuery,
      answer: listOf(logs.auditLog),
      handle: ({ permits: [permit], query }) => service.audits(permit, query),
    }),
    route('GET /v1/audit-logs/export', {
      operationId: 'exportAuditLogs',
      summary: 'Export changes, reveals and refusals as a stream of JSON Lines or CSV',
      needs: { all: ['logs:read'] },
      query: logs.auditLogExport,
      answer: z
        .string()
        .meta({ example: '{"id":"0199a3c4-7f00-7abc-8def-0123456789ab","action":"secret.updated"}\n' }),
      answerTypes: ['application/jsonl', 'text/csv'],
      handle: async ({ permits: [permit], query, reply }) => {
        const { format, ...filter } = query;
        return exportAuditLog(reply, format, await service.exportAudits(permit, filter));
      },
    }),
    route('GET /v1/audit-logs/verification', {
      operationId: 'verifyLogs',
      summary: 'Verify that no log entry was edited, removed or cut off',
      needs: { all: ['logs:read'] },
      answer: logs.logVerification,
      handle: ({ permits: [permit] }) => verifyLogs(permit),
    }),
    route('GET /v1/audit-logs/{id}', {
      operationId: 'getAuditLog',
      summary: 'Get one entry of the audit log',
      needs: { all: ['logs:read'] },
      answer: logs.auditLog,
      handle: ({ permits: [permit], id }) => service.audit(permit, id),
    }),
  ];
}

export function overviewRoutes({ overviews, attention: attentionOf }: Domain): Route<Permissions>[] {
  return [
    route('GET /v1/overview', {
      operationId: 'getOverview',
      summary: 'Get an overview of reads, expiring resources and unused keys',
      needs: { all: ['organization:read'] },
      answer: overview.overview,
      handle: ({ permits: [permit] }) => overviews.overview(permit),
    }),
    route('GET /v1/attention', {
      operationId: 'getAttention',
      tag: 'overview',
      summary: 'List what needs attention: what has expired, fails, waits for a decision, or is unused',
      needs: { all: ['organization:read'] },
      answer: attention.attention,
      handle: ({ permits: [permit] }) => attentionOf(permit),
    }),
    route('GET /v1/about', {
      operationId: 'getAbout',
      tag: 'overview',
      summary: 'Get the version, database engine, root key provider and log public key',
      needs: { all: ['organization:read'] },
      answer: overview.about,
      handle: ({ permits: [permit] }) => overviews.about(permit),
    }),
  ];
}
