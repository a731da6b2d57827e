/** The request log as a stream: however long it is, only a stretch of it is in memory. */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { RequestLog } from '../contract/logs.ts';

const columns = [
  'id',
  'created_at',
  'success',
  'resource_type',
  'ip_address',
  'route',
  'method',
  'status',
  'vault_id',
  'access_key_id',
  'requested',
  'tool',
  'user_agent',
  'duration_ms',
  'request_id',
  'receipt',
] as const satisfies readonly (keyof RequestLog)[];

export function exportRequestLog(
  reply: FastifyReply,
  format: 'jsonl' | 'csv',
  entries: AsyncIterable<RequestLog>,
): FastifyReply {
  const lines = format === 'csv' ? csv(entries) : jsonLines(entries);
  reply.header('content-type', format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl');
  reply.header('content-disposition', `attachment; filename="request-logs.${format}"`);
  return reply.send(Readable.from(lines));
}

async function* jsonLines(entries: AsyncIterable<RequestLog>): AsyncIterable<string> {
  for await (const entry of entries) yield `${JSON.stringify(entry)}\n`;
}

async function* csv(entries: AsyncIterable<RequestLog>): AsyncIterable<string> {
  yield `${columns.join(',')}\n`;
  for await (const entry of entries) yield `${columns.map(column => cell(entry[column])).join(',')}\n`;
}

/** Quoted always; and a leading =, +, - or @ is kept from being run by a spreadsheet. */
function cell(value: unknown): string {
  const text = value === null ? '' : String(value);
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${harmless.replaceAll('"', '""')}"`;
}
