/**
 * The contents of a backup: lines of JSON, the same for both engines. The first line is the manifest. Each table is a
 * line that names its columns, followed by its rows. The last line has the count and the digest of each table's rows.
 * The root key is never included.
 */
import { createHash, type Hash } from 'node:crypto';
import { type Checkpoint, type SignedHead, signedHead } from '../logs/checkpoints.ts';
import type { TableShape } from '../store/dump/tables.ts';
import type { EngineName } from '../store/migrations/migrations.ts';
import { rowOf, rowText } from '../store/sqlite/row-text.ts';
import type { Snapshot } from '../store/store.ts';
import { BackupError } from './backup-error.ts';

export interface Manifest {
  /** The version of the format. */
  readonly strongroom_backup: 1;
  readonly created_at: string;
  /** Of the program that wrote it. */
  readonly version: string;
  readonly engine: EngineName;
  /** The migrations that created the tables. */
  readonly schema: readonly string[];
  readonly organizations: number;
  /** The number of rows in each table. */
  readonly rows: Readonly<Record<string, number>>;
  /** The newest checkpoint of the logs. */
  readonly checkpoint: Pick<Checkpoint, 'number' | 'created_at' | 'deployment'> | null;
  /** The end of each chain of the logs. */
  readonly heads: readonly SignedHead[];
}

interface TableTotal {
  readonly rows: number;
  readonly sha256: string;
}

export type Totals = Readonly<Record<string, TableTotal>>;

export interface Contents {
  readonly manifest: Manifest;
  readonly tables: Totals;
}

type OnRows = (count: number) => void;

export async function manifestOf(
  { tables, logs, organizations }: Snapshot,
  shapes: readonly TableShape[],
  facts: Pick<Manifest, 'created_at' | 'version' | 'engine'>,
): Promise<Manifest> {
  const rows: Record<string, number> = {};
  for (const shape of shapes) rows[shape.name] = await tables.count(shape);
  const last = await logs.lastCheckpoint();
  return {
    strongroom_backup: 1,
    ...facts,
    schema: await tables.schema(),
    organizations: (await organizations.all()).length,
    rows,
    checkpoint: last === undefined ? null : factsOf(JSON.parse(last.body) as Checkpoint),
    heads: (await logs.heads()).map(signedHead),
  };
}

function factsOf({ number, created_at, deployment }: Checkpoint): Manifest['checkpoint'] {
  return { number, created_at, deployment };
}

export async function* contentsOf(
  { tables }: Pick<Snapshot, 'tables'>,
  shapes: readonly TableShape[],
  manifest: Manifest,
  onRows: OnRows,
): AsyncIterable<Buffer> {
  yield line(manifest);
  const totals: Record<string, TableTotal> = {};
  for (const shape of shapes) {
    yield line({ table: shape.name, columns: shape.columns.map(({ name }) => name) });
    const counting = new Counting();
    for await (const rows of tables.rows(shape)) {
      yield Buffer.from(counting.add(rows.map(row => `${rowText(row)}\n`)));
      onRows(rows.length);
    }
    totals[shape.name] = counting.total();
  }
  yield line({ end: totals });
}

const line = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);

/** Counts and hashes rows. The result depends only on the rows and their order, not on how they are batched. */
export class Counting {
  readonly #hash: Hash = createHash('sha256');
  #rows = 0;

  add(lines: readonly string[]): string {
    const text = lines.join('');
    this.#hash.update(text);
    this.#rows += lines.length;
    return text;
  }

  total(): TableTotal {
    return { rows: this.#rows, sha256: this.#hash.digest('hex') };
  }
}

/** Receives the contents in the order of the file. */
export interface ContentsTaker {
  begin(manifest: Manifest): Promise<void>;
  table(name: string, columns: readonly string[]): Promise<void>;
  rows(rows: readonly (readonly unknown[])[]): Promise<void>;
}

const longest = 64 * 1024 * 1024;
const newline = 10;
const rowsAtOnce = 200;
/** In characters, because rows with large values are long. */
const mostAtOnce = 4 * 1024 * 1024;

/** Throws unless the contents are exactly what was written. */
export async function readContents(plain: AsyncIterable<Buffer>, taker: ContentsTaker): Promise<Contents> {
  const reading = new Reading(taker);
  for await (const text of linesOf(plain)) await reading.line(text);
  return reading.end();
}

class Reading {
  readonly #taker: ContentsTaker;
  readonly #totals: Record<string, TableTotal> = {};
  #manifest: Manifest | null = null;
  #table: { readonly name: string; readonly counting: Counting } | null = null;
  #held: string[] = [];
  #heldLength = 0;
  #said: Totals | null = null;

  constructor(taker: ContentsTaker) {
    this.#taker = taker;
  }

  async line(text: string): Promise<void> {
    if (this.#said !== null) throw unreadable();
    if (!text.startsWith('[')) return this.#head(readable(() => JSON.parse(text)));
    if (this.#table === null) throw unreadable();
    this.#held.push(text);
    this.#heldLength += text.length;
    if (this.#held.length >= rowsAtOnce || this.#heldLength >= mostAtOnce) await this.#hand();
  }

  end(): Contents {
    const [manifest, said] = [this.#manifest, this.#said];
    if (manifest === null || said === null) throw unreadable();
    for (const name of new Set([
      ...Object.keys(manifest.rows),
      ...Object.keys(said),
      ...Object.keys(this.#totals),
    ])) {
      const { rows, sha256 } = this.#totals[name] ?? {};
      if (rows !== manifest.rows[name] || rows !== said[name]?.rows || sha256 !== said[name]?.sha256)
        throw new BackupError(`the backup’s rows of ${name} don’t match its manifest`);
    }
    return { manifest, tables: said };
  }

  async #head(value: Record<string, unknown>): Promise<void> {
    await this.#endTable();
    if (this.#manifest === null) {
      this.#manifest = manifestIn(value);
      return this.#taker.begin(this.#manifest);
    }
    if ('end' in value) {
      this.#said = value.end as Totals;
      return;
    }
    const { table: name, columns } = value;
    if (typeof name !== 'string' || !Array.isArray(columns) || name in this.#totals) throw unreadable();
    this.#table = { name, counting: new Counting() };
    await this.#taker.table(name, columns);
  }

  async #hand(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    this.#heldLength = 0;
    this.#table!.counting.add(held.map(text => `${text}\n`));
    await this.#taker.rows(held.map(text => readable(() => rowOf(text))));
  }

  async #endTable(): Promise<void> {
    if (this.#table === null) return;
    if (this.#held.length > 0) await this.#hand();
    this.#totals[this.#table.name] = this.#table.counting.total();
    this.#table = null;
  }
}

function manifestIn(value: Record<string, unknown>): Manifest {
  const hasRows = typeof value.rows === 'object' && value.rows !== null;
  if (value.strongroom_backup === 1 && Array.isArray(value.schema) && hasRows)
    return value as unknown as Manifest;
  throw new BackupError('not a Strongroom backup, or made by a newer version');
}

const unreadable = (cause?: unknown) => new BackupError('the backup’s contents can’t be read', cause);

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unreadable(error);
  }
}

/**
 * Every line must end with a newline; anything after the last newline is an error. A line longer than any of ours is
 * refused instead of being buffered.
 */
export async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncIterable<string> {
  let parts: Buffer[] = [];
  let held = 0;
  for await (const piece of bytes) {
    let from = 0;
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, from)) {
      parts.push(piece.subarray(from, end));
      yield parts.length === 1 ? parts[0]!.toString('utf8') : Buffer.concat(parts).toString('utf8');
      parts = [];
      held = 0;
      from = end + 1;
    }
    parts.push(piece.subarray(from));
    held += piece.length - from;
    if (held > longest) throw new BackupError('the backup contains a line that is too long');
  }
  if (held > 0) throw new BackupError('the backup’s contents end in the middle of a line');
}
