/** The logs and what can be seen of them at a glance. */
import { z } from 'zod';
import { listOf } from '../contract/common.ts';
import * as logs from '../contract/logs.ts';
import * as overview from '../contract/overview.ts';
import type { Domain } from '../vault/domain.ts';
import { exportAuditLog, exportRequestLog } from './log-export.ts';
import type { Route } from './route.ts';

export function logRoutes({ logs: service, logCheck }: Domain): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/request-logs',
      tag: 'request-logs',
      summary: 'List vault requests, newest first',
      needs: { all: ['logs:read'] },
      query: logs.requestLogQuery,
      answer: listOf(logs.requestLog),
      handle: ({ caller, query }) => service.requests(caller, query),
    },
    {
      method: 'GET',
      path: '/v1/request-logs/export',
      tag: 'request-logs',
      summary: 'Export vault requests as a stream of JSON Lines or CSV',
      needs: { all: ['logs:read'] },
      query: logs.requestLogExport,
      answer: z.string().meta({ example: '{"id":"0199a3c4-7f00-7abc-8def-0123456789ab","success":true}\n' }),
      answerTypes: ['application/jsonl', 'text/csv'],
      handle: async ({ caller, query, reply }) => {
        const { format, ...filter } = query as z.output<typeof logs.requestLogExport>;
        return exportRequestLog(reply, format, await service.exportRequests(caller, filter));
      },
    },
    {
      method: 'GET',
      path: '/v1/request-logs/{id}',
      tag: 'request-logs',
      summary: 'Get one entry of the request log',
      needs: { all: ['logs:read'] },
      answer: logs.requestLog,
      handle: ({ caller, id }) => service.request(caller, id),
    },
    {
      method: 'GET',
      path: '/v1/audit-logs',
      tag: 'audit-logs',
      summary: 'List changes, reveals and refusals, newest first',
      needs: { all: ['logs:read'] },
      query: logs.auditLogQuery,
      answer: listOf(logs.auditLog),
      handle: ({ caller, query }) => service.audits(caller, query),
    },
    {
      method: 'GET',
      path: '/v1/audit-logs/export',
      tag: 'audit-logs',
      summary: 'Export changes, reveals and refusals as a stream of JSON Lines or CSV',
      needs: { all: ['logs:read'] },
      query: logs.auditLogExport,
      answer: z
        .string()
        .meta({ example: '{"id":"0199a3c4-7f00-7abc-8def-0123456789ab","action":"secret.updated"}\n' }),
      answerTypes: ['application/jsonl', 'text/csv'],
      handle: async ({ caller, query, reply }) => {
        const { format, ...filter } = query as z.output<typeof logs.auditLogExport>;
        return exportAuditLog(reply, format, await service.exportAudits(caller, filter));
      },
    },
    {
      method: 'GET',
      path: '/v1/audit-logs/verification',
      tag: 'audit-logs',
      summary: 'Prove that no entry of the logs was edited, removed or cut off',
      needs: { all: ['logs:read'] },
      answer: logs.logVerification,
      handle: ({ caller }) => logCheck(caller),
    },
    {
      method: 'GET',
      path: '/v1/audit-logs/{id}',
      tag: 'audit-logs',
      summary: 'Get one entry of the audit log',
      needs: { all: ['logs:read'] },
      answer: logs.auditLog,
      handle: ({ caller, id }) => service.audit(caller, id),
    },
  ];
}

export function overviewRoutes({ overviews }: Domain): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/overview',
      tag: 'overview',
      summary: 'What is read, what expires and what nobody uses, at a glance',
      needs: { all: ['organization:read'] },
      answer: overview.overview,
      handle: ({ caller }) => overviews.overview(caller),
    },
    {
      method: 'GET',
      path: '/v1/about',
      tag: 'overview',
      summary: 'What runs here: version, engine, root key provider and the log’s public key',
      needs: { all: ['organization:read'] },
      answer: overview.about,
      handle: ({ caller }) => overviews.about(caller),
    },
  ];
}
