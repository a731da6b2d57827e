/**
 * Filing: storing the index rows and totals of a block's entries, by which lists find them, and moving the head that
 * checkpoints sign. A read waits only for its block to be stored. If this process is the only writer, blocks are filed
 * later in groups, because many of them change the same few pages. Otherwise each block is filed when it is stored, so
 * that every replica finds it immediately.
 *
 * While a writer has unfiled blocks, the store records the first of them, so that they can be filed after a crash.
 */
import { isId } from '../contract/id.ts';
import { isStored, type Statement } from '../store/engine/engine.ts';
import type { LogCountRow, Stream } from '../store/records/logs.ts';
import type { RequestBlockRow, RequestIndexRow } from '../store/records/request-logs.ts';
import type { Store } from '../store/store.ts';
import { type BlockPart, countsOf, indexRowsOf, partsIn } from './blocks.ts';
import { headDigest, isMarked, type Link, type Marker } from './chain.ts';
import { readable } from './logged-link.ts';

export interface FilingParts {
  readonly store: Store;
  readonly keyring: Marker;
}

/** The statements for a unit, its additions to the totals, and what to do once it is durable. */
export interface FilingStep {
  readonly statements: readonly Statement[];
  readonly counts: readonly LogCountRow[];
  readonly done: () => void;
}

const nothing: FilingStep = { statements: [], counts: [], done: () => {} };
/** In index rows, plus one per block: what a unit stores in about two milliseconds. */
const mostLeft = 250;
/** In blocks. */
const stretch = 100;

export class Filing {
  readonly #parts: FilingParts;
  readonly #writer: string;
  #rows: RequestIndexRow[] = [];
  #last: RequestBlockRow | null = null;
  #blocks = 0;

  constructor(parts: FilingParts, writer: string) {
    this.#parts = parts;
    this.#writer = writer;
  }

  /** Whether anything is durable but not filed yet. */
  get isBehind(): boolean {
    return this.#last !== null;
  }

  /** For a unit that stores this block, or none: files it with all before it, or leaves it for later. */
  step(block: RequestBlockRow | null, parts: readonly BlockPart[], now: boolean): FilingStep {
    const rows = block === null ? [] : indexRowsOf(block.id, parts);
    const last = block ?? this.#last;
    if (last === null) return nothing;
    const left = this.#rows.length + this.#blocks + rows.length;
    if (now || !this.#parts.store.isSole || left >= mostLeft) return this.#fileAll(rows, last);
    return block === null ? nothing : this.#leave(rows, block);
  }

  #fileAll(fresh: readonly RequestIndexRow[], last: RequestBlockRow): FilingStep {
    const { requestLogs } = this.#parts.store;
    const rows = [...this.#rows, ...fresh];
    const statements = [setHead(this.#parts, 'request', last)];
    if (rows.length > 0) statements.push(requestLogs.addToIndex(rows));
    if (this.isBehind) statements.push(requestLogs.noneLeft(this.#writer));
    return {
      statements,
      counts: countsOf('request', rows),
      done: () => {
        this.#rows = [];
        this.#last = null;
        this.#blocks = 0;
      },
    };
  }

  #leave(rows: readonly RequestIndexRow[], block: RequestBlockRow): FilingStep {
    const { requestLogs } = this.#parts.store;
    return {
      statements: this.isBehind ? [] : [requestLogs.leave({ writer: this.#writer, from_id: block.id })],
      counts: [],
      done: () => {
        for (const row of rows) this.#rows.push(row);
        this.#last = block;
        this.#blocks++;
      },
    };
  }
}

/** Moves a chain's head to its newest link, with its own mark. */
export function setHead(
  { store, keyring }: FilingParts,
  stream: Stream,
  { writer, seq, hash }: Link & { readonly writer: string },
): Statement {
  const head = { writer, stream, seq, hash };
  return store.logs.setHead({ ...head, mark: keyring.chainMark(headDigest(head)) });
}

/**
 * Files blocks that earlier writers left unfiled. It trusts nothing that it finds: a forged row in `unfiled` or a
 * changed block must not stop it, nor the filing of the rest.
 */
export async function fileLeft(parts: FilingParts, writerNow: string): Promise<void> {
  const { store } = parts;
  if (!store.isSole) return; // The serving process files its own blocks.
  for (const { writer, from_id } of await store.requestLogs.left()) {
    let fromId: string | null = writer === writerNow ? null : from_id;
    while (fromId !== null) fromId = await fileStretch(parts, writer, fromId);
  }
}

/** Returns where the next batch begins, or null after the last. */
async function fileStretch(parts: FilingParts, writer: string, fromId: string): Promise<string | null> {
  const { requestLogs, logs, commit } = parts.store;
  const found = await requestLogs.ofWriter(writer, fromId, stretch + 1);
  const [blocks, next] = [found.slice(0, stretch), found[stretch]?.id ?? null];
  const rows = await missingRows(parts.store, blocks);
  const last = blocks.findLast(({ hash, mark }) => isMarked(parts.keyring, hash, mark));
  const statements = [requestLogs.noneLeft(writer)];
  if (next !== null) statements.push(requestLogs.leave({ writer, from_id: next }));
  if (last !== undefined) statements.push(setHead(parts, 'request', last));
  if (rows.length > 0) statements.push(requestLogs.addToIndex(rows), logs.count(countsOf('request', rows)));
  await isStored(commit([{ statements }]));
  return next;
}

async function missingRows(store: Store, blocks: readonly RequestBlockRow[]): Promise<RequestIndexRow[]> {
  const rows = blocks.flatMap(({ id, text }) => indexRowsOf(id, readableParts(text)));
  const organizations = new Set(rows.map(row => row.organization_id));
  const ids = blocks.map(({ id }) => id);
  const known = await store.requestLogs.indexOf([...organizations], ids);
  const isThere = new Set(known.map(row => row.block_id));
  return rows.filter(row => !isThere.has(row.block_id));
}

/** Returns none if an edit left no readable block. The verifier reports it. */
function readableParts(text: string): BlockPart[] {
  return readable(() => partsIn(text).filter(isPart)) ?? [];
}

function isPart(part: BlockPart): boolean {
  const ids = [part.organization_id, part.vault_id, part.access_key_id];
  return (
    ids.every(id => id === null || isId(String(id))) &&
    [part.status, part.entries, part.requests ?? 0].every(Number.isSafeInteger) &&
    typeof part.ip_address === 'string'
  );
}
