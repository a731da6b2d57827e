/**
 * Reads both logs continuously, for copying them elsewhere: every entry at least once, each chain in order. The
 * position is tracked per chain, because entries that another replica wrote earlier may become visible later. It
 * advances only after the entries before it were taken, so a process that is killed in between takes some of them
 * again.
 */
import { effectOf } from '../contract/audit-actions.ts';
import { firstIdAt, timeOf } from '../contract/id.ts';
import type { PlacedAuditRow, Stream } from '../store/records/logs.ts';
import type { RequestBlockRow } from '../store/records/request-logs.ts';
import type { Snapshot } from '../store/store.ts';
import { entriesOf } from './blocks.ts';
import { receiptOf } from './chain.ts';
import type { AuditEntry } from './entries.ts';
import { readable } from './logged-link.ts';

/** How far one chain was read. */
interface Reached {
  readonly seq: number;
  /** The position of the audit entry, or the id of the block. */
  readonly at: number | string;
}

/** As saved: how far the logs were read in the order of storage, and how far each chain. */
export interface Position {
  readonly audit: number;
  readonly request: string | null;
  readonly chains: Readonly<Record<string, Reached>>;
}

export const logStart: Position = { audit: 0, request: null, chains: {} };

/** Entries as lines of JSON, and the position after them. */
interface Batch {
  readonly lines: readonly string[];
  readonly position: Position;
}

type Source = Pick<Snapshot, 'logs' | 'requestLogs'>;

interface Row {
  readonly writer: string;
  readonly seq: number;
  readonly at: number | string;
  readonly lines: () => readonly string[];
}

const auditsAtOnce = 500;
const blocksAtOnce = 50;
/** By another replica's clock, a new chain may have begun this much earlier than the last entry read. */
const lookBack = 86_400_000;
const positionsBack = 100_000;

/** Everything in a snapshot after a position. */
export async function* behind(
  source: Source,
  position: Position,
  streams: readonly Stream[],
): AsyncIterable<Batch> {
  const tail = new Tail(position);
  for (const stream of streams) yield* tail.inOrder(readerOf(source, stream), stream);
  for (const { stream, writer, seq } of await source.logs.heads()) {
    if (streams.includes(stream as Stream))
      yield* tail.ofChain(readerOf(source, stream as Stream), stream as Stream, writer, seq);
  }
}

interface Reader {
  readonly stretch: (after: Position) => Promise<readonly Row[]>;
  readonly ofWriter: (writer: string, from: number | string) => Promise<readonly Row[]>;
}

function readerOf({ logs, requestLogs }: Source, stream: Stream): Reader {
  if (stream === 'audit')
    return {
      stretch: async ({ audit }) => (await logs.auditStretch(audit, auditsAtOnce)).map(auditRow),
      ofWriter: async (writer, from) =>
        (await logs.auditsOfWriter(writer, from as number, auditsAtOnce)).map(auditRow),
    };
  return {
    stretch: async ({ request }) => (await requestLogs.stretch(request, blocksAtOnce)).map(blockRow),
    // One more, because the block taken last is among them.
    ofWriter: async (writer, from) =>
      (await requestLogs.ofWriter(writer, from as string, blocksAtOnce + 1)).map(blockRow),
  };
}

class Tail {
  readonly #chains: Map<string, Reached>;
  #audit: number;
  #request: string | null;

  constructor({ audit, request, chains }: Position) {
    this.#audit = audit;
    this.#request = request;
    this.#chains = new Map(Object.entries(chains));
  }

  get #position(): Position {
    return { audit: this.#audit, request: this.#request, chains: Object.fromEntries(this.#chains) };
  }

  async *inOrder({ stretch }: Reader, stream: Stream): AsyncIterable<Batch> {
    for (;;) {
      const rows = await stretch(this.#position);
      const last = rows.at(-1)?.at;
      if (last === undefined) return;
      if (stream === 'audit') this.#audit = last as number;
      else this.#request = last as string;
      yield this.#take(stream, rows);
    }
  }

  /** Entries of a chain that `inOrder` has already passed. */
  async *ofChain({ ofWriter }: Reader, stream: Stream, writer: string, head: number): AsyncIterable<Batch> {
    const chain = `${stream} ${writer}`;
    while ((this.#chains.get(chain)?.seq ?? 0) < head) {
      const at = this.#chains.get(chain)?.at ?? this.#back(stream);
      const rows = this.#fresh(stream, await ofWriter(writer, at));
      if (rows.length > 0) yield this.#take(stream, rows);
      else this.#chains.set(chain, { seq: head, at }); // Removed by retention.
    }
  }

  #back(stream: Stream): number | string {
    if (stream === 'audit') return Math.max(0, this.#audit - positionsBack);
    return firstIdAt(this.#request === null ? 0 : Math.max(0, timeOf(this.#request) - lookBack));
  }

  #fresh(stream: Stream, rows: readonly Row[]): readonly Row[] {
    return rows.filter(({ writer, seq }) => seq > (this.#chains.get(`${stream} ${writer}`)?.seq ?? 0));
  }

  #take(stream: Stream, rows: readonly Row[]): Batch {
    const fresh = this.#fresh(stream, rows);
    for (const { writer, seq, at } of fresh) this.#chains.set(`${stream} ${writer}`, { seq, at });
    return { lines: fresh.flatMap(row => row.lines()), position: this.#position };
  }
}

function auditRow({ position, writer, seq, entry, id, hash }: PlacedAuditRow): Row {
  const lines = () => {
    // An entry that can't be parsed is passed on as unreadable. The verifier reports it.
    const said: object = readable(() => JSON.parse(entry)) ?? { unreadable: true };
    const effect = effectOf(said as AuditEntry);
    return [lineOf('audit', { count: 1, ...said, id, receipt: receiptOf(id, hash), effect })];
  };
  return { writer, seq, at: position, lines };
}

function blockRow({ id, writer, seq, text, hash }: RequestBlockRow): Row {
  const lines = () =>
    entriesOf(id, text).map(entry =>
      lineOf('request', { ...entry, receipt: receiptOf(entry.id, hash), reason: entry.reason ?? null }),
    );
  return { writer, seq, at: id, lines };
}

function lineOf(log: Stream, entry: object): string {
  return JSON.stringify({ log, ...entry });
}
