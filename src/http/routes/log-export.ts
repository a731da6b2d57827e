/**
 * Streams a log export: only a part of the log is in memory at any time, and other requests are served meanwhile. If the
 * caller loses access during the export, the connection is cut, so that the answer never looks complete.
 */
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import type { AuditLog, RequestLog } from '../../contract/logs.ts';
import type { Watched } from '../../domain/kernel/guard.ts';

const requestColumns = [
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
  'narrowing',
  'requested',
  'tool',
  'user_agent',
  'duration_ms',
  'request_id',
  'receipt',
  'count',
  'reason',
  'verified',
] as const satisfies readonly (keyof RequestLog)[];

const auditColumns = [
  'id',
  'created_at',
  'action',
  'outcome',
  'actor_kind',
  'actor_id',
  'actor_name',
  'subject_type',
  'subject_id',
  'subject_name',
  'revision',
  'vault_id',
  'ip_address',
  'user_agent',
  'request_id',
  'details',
  'receipt',
  'count',
  'effect',
  'verified',
] as const;

type Format = 'jsonl' | 'csv';

/** The size of a chunk, in characters. */
const pieceSize = 64 * 1024;

export function exportRequestLog(reply: FastifyReply, format: Format, entries: Watched<RequestLog>) {
  return send(reply, 'request-logs', format, entries, requestColumns, flatRequest);
}

export function exportAuditLog(reply: FastifyReply, format: Format, entries: Watched<AuditLog>) {
  return send(reply, 'audit-logs', format, entries, auditColumns, flat);
}

function send<Entry, Column extends string>(
  reply: FastifyReply,
  name: string,
  format: Format,
  entries: AsyncIterable<Entry>,
  columns: readonly Column[],
  row: (entry: Entry) => Readonly<Record<Column, unknown>>,
): FastifyReply {
  const lines = format === 'csv' ? csv(entries, columns, row) : jsonLines(entries);
  reply.header('content-type', format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl');
  reply.header('content-disposition', `attachment; filename="${name}.${format}"`);
  return reply.send(Readable.from(inPieces(lines)));
}

/** Groups lines into chunks, and yields to the event loop after each, however fast the client reads. */
async function* inPieces(lines: AsyncIterable<string>): AsyncIterable<string> {
  let piece = '';
  for await (const line of lines) {
    piece += line;
    if (piece.length < pieceSize) continue;
    yield piece;
    piece = '';
    await turn();
  }
  if (piece !== '') yield piece;
}

async function* jsonLines(entries: AsyncIterable<unknown>): AsyncIterable<string> {
  for await (const entry of entries) yield `${JSON.stringify(entry)}\n`;
}

async function* csv<Entry, Column extends string>(
  entries: AsyncIterable<Entry>,
  columns: readonly Column[],
  row: (entry: Entry) => Readonly<Record<Column, unknown>>,
): AsyncIterable<string> {
  yield `${columns.join(',')}\n`;
  for await (const entry of entries) {
    const cells = row(entry);
    yield `${columns.map(column => cell(cells[column])).join(',')}\n`;
  }
}

function flatRequest({ narrowing, ...entry }: RequestLog) {
  return { ...entry, narrowing: narrowing && JSON.stringify(narrowing) };
}

/** CSV has no nested fields. */
function flat({ actor, subject, details, ...entry }: AuditLog) {
  return {
    ...entry,
    actor_kind: actor.kind,
    actor_id: actor.id,
    actor_name: actor.name,
    subject_type: subject?.type ?? null,
    subject_id: subject?.id ?? null,
    subject_name: subject?.name ?? null,
    details: JSON.stringify(details),
  };
}

/** Matches what a spreadsheet may read as the start of a formula, including full-width forms and leading white space. */
const formula = /^(?:\s*[=+\-@|\uff1d\uff0b\uff0d\uff20\uff5c\u2212]|[\t\r\n])/;

/** Always quoted, and escaped so that no spreadsheet runs it as a formula. */
function cell(value: unknown): string {
  const text = value === null ? '' : String(value);
  const harmless = formula.test(text) ? `'${text}` : text;
  return `"${harmless.replaceAll('"', '""')}"`;
}
