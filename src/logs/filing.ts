/**
 * Filing: storing whose a block's entries are and how many there are of each, by which lists and totals find them, and
 * moving the head that checkpoints sign. A read waits for its block alone. Where this process is the only one that
 * writes, blocks are filed later and together, because many of them change the same few pages; elsewhere each is filed
 * with itself, so that every replica finds it at once.
 *
 * While a writer has blocks that are not filed, the store says from which on: whoever comes after a crash files them.
 */
import type { Statement } from '../store/engine.ts';
import type { RequestBlockRow, RequestIndexRow } from '../store/request-logs.ts';
import type { Store } from '../store/store.ts';
import { type BlockPart, countsOf, indexRowsOf, partsIn } from './blocks.ts';

/** What goes into a unit; and what is known once it is durable. */
export interface FilingStep {
  readonly statements: readonly Statement[];
  readonly done: () => void;
}

const nothing: FilingStep = { statements: [], done: () => {} };
/** In rows of the index, and one for each block: what one unit stores in a few milliseconds. */
const mostLeft = 4_000;

export class Filing {
  readonly #store: Store;
  readonly #writer: string;
  #rows: RequestIndexRow[] = [];
  #last: RequestBlockRow | null = null;
  #blocks = 0;

  constructor(store: Store, writer: string) {
    this.#store = store;
    this.#writer = writer;
  }

  /** Whether anything is durable, but not filed yet. */
  get isBehind(): boolean {
    return this.#last !== null;
  }

  /** For a unit that stores this block, or none: files it with all before it, or leaves it for later. */
  step(block: RequestBlockRow | null, parts: readonly BlockPart[], now: boolean): FilingStep {
    const rows = block === null ? [] : indexRowsOf(block.id, parts);
    const last = block ?? this.#last;
    if (last === null) return nothing;
    const left = this.#rows.length + this.#blocks + rows.length;
    if (now || !this.#store.isSole || left >= mostLeft) return this.#fileAll(rows, last);
    return block === null ? nothing : this.#leave(rows, block);
  }

  #fileAll(rows: readonly RequestIndexRow[], last: RequestBlockRow): FilingStep {
    const statements = filed(this.#store, [...this.#rows, ...rows], last);
    if (this.isBehind) statements.push(this.#store.requestLogs.noneLeft(this.#writer));
    return {
      statements,
      done: () => {
        this.#rows = [];
        this.#last = null;
        this.#blocks = 0;
      },
    };
  }

  #leave(rows: readonly RequestIndexRow[], block: RequestBlockRow): FilingStep {
    const { requestLogs } = this.#store;
    return {
      statements: this.isBehind ? [] : [requestLogs.leave({ writer: this.#writer, from_id: block.id })],
      done: () => {
        for (const row of rows) this.#rows.push(row);
        this.#last = block;
        this.#blocks++;
      },
    };
  }
}

/** Files what writers that are gone left behind. */
export async function fileLeft(store: Store, writerNow: string): Promise<void> {
  if (!store.isSole) return; // Then nobody leaves any.
  for (const { writer, from_id } of await store.requestLogs.left()) {
    if (writer === writerNow) continue;
    const blocks = await store.requestLogs.ofWriter(writer, from_id);
    const last = blocks.at(-1);
    const statements = last === undefined ? [] : filed(store, await missingRows(store, blocks), last);
    await store.commit([{ statements: [...statements, store.requestLogs.noneLeft(writer)] }]);
  }
}

/** What the index lacks. A row of `unfiled` that somebody put there, or a block he made unreadable, stops nobody. */
async function missingRows(store: Store, blocks: readonly RequestBlockRow[]): Promise<RequestIndexRow[]> {
  const rows = blocks.flatMap(({ id, text }) => indexRowsOf(id, readableParts(text)));
  const organizations = new Set(rows.map(row => row.organization_id));
  const ids = blocks.map(({ id }) => id);
  const known = await store.requestLogs.indexOf([...organizations], ids);
  const isThere = new Set(known.map(row => row.block_id));
  return rows.filter(row => !isThere.has(row.block_id));
}

/** None where an edit left no block at all: the verifier tells of it. */
function readableParts(text: string): BlockPart[] {
  try {
    return partsIn(text);
  } catch {
    return [];
  }
}

function filed(store: Store, rows: readonly RequestIndexRow[], last: RequestBlockRow): Statement[] {
  const { writer, seq, hash, mark } = last;
  const head = store.logs.setHead({ writer, stream: 'request', seq, hash, mark });
  if (rows.length === 0) return [head];
  return [head, store.requestLogs.addToIndex(rows), store.logs.count(countsOf('request', rows))];
}
