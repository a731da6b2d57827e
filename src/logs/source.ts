/** Sources of logs for verification: a database, or a file exported from one. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { CheckpointRow, PlacedAuditRow, Stream } from '../store/records/logs.ts';
import type { RequestBlockRow, RequestIndexRow } from '../store/records/request-logs.ts';
import type { Store } from '../store/store.ts';
import { indexRowsOf, partsIn } from './blocks.ts';
import { exportLine, parseCheckpoint } from './checkpoints.ts';
import type { AuditEntry } from './entries.ts';
import { type Filed, type LoggedLink, readable } from './logged-link.ts';
import { storedRows } from './row-verification.ts';
import type { LogSource } from './verify.ts';

const stretch = 1_000;
/** Smaller, because blocks are long. */
const blocksAtOnce = 100;

/** If entries are added or removed during the read, use a snapshot. */
export function databaseSource(
  store: Pick<Store, 'logs' | 'requestLogs' | 'stampedRows' | 'diagnostics'>,
): LogSource & Required<Pick<LogSource, 'rows'>> {
  const { logs, requestLogs } = store;

  async function* audits(): AsyncIterable<LoggedLink> {
    const read = (last?: PlacedAuditRow) => logs.auditStretch(last?.position ?? 0, stretch);
    for await (const rows of batches(stretch, read)) yield* rows.map(auditLink);
  }

  async function* blocks(): AsyncIterable<LoggedLink> {
    const read = (last?: RequestBlockRow) => requestLogs.stretch(last?.id ?? null, blocksAtOnce);
    for await (const rows of batches(blocksAtOnce, read)) yield* await blockLinks(rows);
  }

  /** The index rows of all blocks are read together. */
  async function blockLinks(rows: readonly RequestBlockRow[]): Promise<LoggedLink[]> {
    const due = rows.map(({ id, text }) => readable(() => indexRowsOf(id, partsIn(text))));
    const organizations = new Set(due.flatMap(parts => parts ?? []).map(part => part.organization_id));
    const blockIds = rows.map(({ id }) => id);
    const filed = Map.groupBy(
      await requestLogs.indexOf([...organizations], blockIds),
      ({ block_id }) => block_id,
    );
    return rows.map((link, index) => ({ ...link, filed: filedAs(due[index] ?? null, filed.get(link.id)) }));
  }

  return {
    links: stream => (stream === 'audit' ? audits() : blocks()),
    rows: () => storedRows(store),
    schema: async () => (await store.diagnostics.schemaFault()) ?? store.diagnostics.damage(),
    async *checkpoints() {
      const read = (last?: CheckpointRow) => logs.checkpoints(last?.number ?? 0, stretch);
      for await (const rows of batches(stretch, read)) yield* rows;
    },
  };
}

/** Reads until a batch is not full. `read` begins after the last row of the batch before. */
async function* batches<Row>(
  size: number,
  read: (last?: Row) => Promise<readonly Row[]>,
): AsyncIterable<readonly Row[]> {
  for (let rows = await read(); ; rows = await read(rows.at(-1))) {
    yield rows;
    if (rows.length < size) return;
  }
}

function auditLink({ entry, id, writer, seq, hash, mark, ...row }: PlacedAuditRow): LoggedLink {
  const said = readable(() => lookUpColumns(JSON.parse(entry) as AuditEntry & { id: string }));
  const { position, ...columns } = { id, ...row };
  const isRight = said !== null && isSame(said, columns);
  return { id, writer, seq, text: entry, hash, mark, filed: isRight ? 'right' : 'wrong' };
}

type LookUpColumns = Omit<PlacedAuditRow, 'position' | 'entry' | 'writer' | 'seq' | 'hash' | 'mark'>;

/** The index columns of an entry, derived from its text. */
function lookUpColumns(entry: AuditEntry & { readonly id: string }): LookUpColumns {
  const { id, organization_id, action, subject, revision } = entry;
  return { id, organization_id, action, subject_id: subject?.id ?? null, subject_revision: revision };
}

function isSame(said: LookUpColumns, stored: LookUpColumns): boolean {
  const names = Object.keys(said) as (keyof LookUpColumns)[];
  return names.every(name => said[name] === stored[name]);
}

function filedAs(due: readonly RequestIndexRow[] | null, filed: readonly RequestIndexRow[] = []): Filed {
  if (due === null) return 'wrong';
  if (filed.length === 0) return due.length === 0 ? 'right' : 'not-yet';
  const text = (rows: readonly RequestIndexRow[]) => rows.map(indexText).join('\n');
  return text(due) === text(filed) ? 'right' : 'wrong';
}

function indexText(row: RequestIndexRow): string {
  const { organization_id, part, vault_id, access_key_id, status, ip_address, entries, requests } = row;
  const columns = [organization_id, part, vault_id, access_key_id, status, ip_address, entries, requests];
  return JSON.stringify(columns);
}

/** One line each: a head, then the links of both streams, then checkpoints. */
export async function* exportLines(
  source: LogSource,
  head: Readonly<Record<string, unknown>>,
): AsyncIterable<string> {
  yield `${JSON.stringify({ strongroom_logs: 1, ...head })}\n`;
  for (const stream of ['audit', 'request'] as const) {
    for await (const { filed, ...link } of source.links(stream))
      yield `${JSON.stringify({ stream, ...link })}\n`;
  }
  for await (const { body, signature } of source.checkpoints()) {
    yield exportLine({ body, signature });
  }
}

export function fileSource(path: string): LogSource {
  async function* lines(): AsyncIterable<readonly [line: string, read: Record<string, unknown>]> {
    for await (const line of createInterface({ input: createReadStream(path, 'utf8') })) {
      if (line !== '') yield [line, JSON.parse(line) as Record<string, unknown>];
    }
  }
  return {
    async *links(stream: Stream) {
      for await (const [, read] of lines()) if (read.stream === stream) yield read as unknown as LoggedLink;
    },
    async *checkpoints() {
      for await (const [line, read] of lines()) if ('checkpoint' in read) yield parseCheckpoint(line);
    },
  };
}
