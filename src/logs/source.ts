/** Where logs are verified from: a database, or a file that was exported from one. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Stream } from '../store/logs.ts';
import type { Store } from '../store/store.ts';
import type { LoggedEntry, LogSource, SignedCheckpoint } from './verify.ts';

const stretch = 1_000;

export function databaseSource(store: Store): LogSource {
  return {
    async *entries(stream) {
      let after = 0;
      for (;;) {
        const rows = await store.logs.stretch(stream, after, stretch);
        for (const { position, id, writer, seq, entry, hash, mark, ...row } of rows) {
          yield {
            id,
            writer,
            seq,
            entry,
            hash,
            mark,
            organization_id: row.organization_id,
            columns: columnsOf(row),
          };
        }
        if (rows.length < stretch) return;
        after = rows.at(-1)!.position;
      }
    },
    async *checkpoints() {
      let after = 0;
      for (;;) {
        const rows = await store.logs.checkpoints(after, stretch);
        for (const { body, signature } of rows) yield { body, signature };
        if (rows.length < stretch) return;
        after = rows.at(-1)!.number;
      }
    },
  };
}

/** The subject of an audit entry stands deeper in it, so only what has the same name in both is compared. */
function columnsOf(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { subject_id, subject_revision, ...same } = row;
  return same;
}

/** One line each: a head, then entries of both streams, then checkpoints. */
export async function* exportLines(
  source: LogSource,
  head: Readonly<Record<string, unknown>>,
): AsyncIterable<string> {
  yield `${JSON.stringify({ strongroom_logs: 1, ...head })}\n`;
  for (const stream of ['audit', 'request'] as const) {
    for await (const { columns, ...entry } of source.entries(stream))
      yield `${JSON.stringify({ stream, ...entry })}\n`;
  }
  for await (const { body, signature } of source.checkpoints()) {
    yield `${JSON.stringify({ checkpoint: body, signature: Buffer.from(signature).toString('base64') })}\n`;
  }
}

export function fileSource(path: string): LogSource {
  async function* lines(): AsyncIterable<Record<string, unknown>> {
    for await (const line of createInterface({ input: createReadStream(path, 'utf8') })) {
      if (line !== '') yield JSON.parse(line) as Record<string, unknown>;
    }
  }
  return {
    async *entries(stream: Stream) {
      for await (const line of lines()) if (line.stream === stream) yield line as unknown as LoggedEntry;
    },
    async *checkpoints() {
      for await (const line of lines()) if ('checkpoint' in line) yield parseCheckpoint(line);
    },
  };
}

export function parseCheckpoint(line: Record<string, unknown>): SignedCheckpoint {
  return { body: String(line.checkpoint), signature: Buffer.from(String(line.signature), 'base64') };
}
