/**
 * Turns a backup into a database, and compares the two: every row is read back and must match the file, and with the
 * keyring the logs and all stamps are verified too. The caller decides whether the database then becomes visible; if
 * anything is thrown here, it must not.
 */
import type { Sealed } from '../base/bytes.ts';
import { rowCheckWith } from '../domain/kernel/row-check.ts';
import { stampsWith } from '../domain/kernel/stamps.ts';
import { opened } from '../keyring/age/age.ts';
import type { AgeIdentity } from '../keyring/age/keys.ts';
import type { Keyring } from '../keyring/keyring.ts';
import { isMarked } from '../logs/chain.ts';
import { databaseSource } from '../logs/source.ts';
import { type LogSource, type VerifyReport, verifyLogs } from '../logs/verify.ts';
import { lastStep } from '../store/dump/loading.ts';
import type { TableShape } from '../store/dump/tables.ts';
import { stampedTables } from '../store/integrity/stamped-rows.ts';
import { rowText } from '../store/sqlite/row-text.ts';
import type { Loading, Snapshot } from '../store/store.ts';
import { BackupError } from './backup-error.ts';
import {
  type Contents,
  type ContentsTaker,
  Counting,
  type Manifest,
  readContents,
  type Totals,
} from './contents.ts';

/** Opens the keyring in a backup. */
export type OpenKeyring = (stored: Sealed) => Promise<Keyring>;

/** Receives the progress. */
export interface Watcher {
  /** Adds steps to those expected. */
  expect(steps: number): void;
  advance(steps: number): void;
}

export const noWatcher: Watcher = { expect: () => {}, advance: () => {} };

export interface RestoreParts {
  readonly source: AsyncIterable<Uint8Array>;
  readonly identity: AgeIdentity;
  /** Null to skip the verification of the logs and the stamps. */
  readonly openKeyring: OpenKeyring | null;
  readonly watcher?: Watcher;
}

export interface Restored extends Contents {
  /** Null if the logs were not verified. */
  readonly proof: Proof | null;
}

export interface Proof {
  readonly report: VerifyReport;
  /** The keyring in the backup. */
  readonly keyring: Keyring;
}

export async function restoreInto(loading: Loading, parts: RestoreParts): Promise<Restored> {
  const { watcher = noWatcher } = parts;
  const contents = await readContents(opened(parts.source, parts.identity), loader(loading, watcher));
  await compare(loading.snapshot, contents.tables, watcher);
  await loading.complete();
  const { openKeyring } = parts;
  const proof = openKeyring === null ? null : await verify(loading.snapshot, openKeyring, watcher);
  return { ...contents, proof };
}

/** Names come from the database that is filled, never from the file. */
function loader(loading: Loading, watcher: Watcher): ContentsTaker {
  let shapes: ReadonlyMap<string, TableShape> = new Map();
  let current: TableShape;
  return {
    begin: async manifest => {
      checkSchema(manifest);
      watcher.expect(stepsOf(manifest));
      await loading.create(manifest.schema);
      shapes = new Map((await loading.snapshot.tables.shapes()).map(shape => [shape.name, shape]));
    },
    table: async (name, columns) => {
      const shape = shapes.get(name);
      if (shape?.columns.map(column => column.name).join() !== columns.join())
        throw new BackupError('the backup’s tables don’t match the version that it names');
      current = shape;
    },
    rows: async rows => {
      if (rows.some(row => row.length !== current.columns.length))
        throw new BackupError(`a row of ${current.name} in the backup has the wrong number of columns`);
      await loading.insert(current, rows);
      watcher.advance(rows.length);
    },
  };
}

function checkSchema({ schema, version }: Manifest): void {
  if (lastStep(schema) === undefined)
    throw new BackupError(
      `this backup was written by another version (${version}): restore it with that one or a newer one`,
    );
}

/** Loading and reading back every row, plus the verification. */
function stepsOf({ rows }: Manifest): number {
  const all = Object.values(rows).reduce((sum, count) => sum + count, 0);
  const verified = ['audit_logs', 'request_blocks', ...stampedTables];
  return 2 * all + verified.reduce((sum, table) => sum + (rows[table] ?? 0), 0);
}

/** Every row that the database returns must match the file. */
async function compare({ tables }: Snapshot, totals: Totals, watcher: Watcher): Promise<void> {
  for (const shape of await tables.shapes()) {
    const counting = new Counting();
    for await (const rows of tables.rows(shape)) {
      counting.add(rows.map(row => `${rowText(row)}\n`));
      watcher.advance(rows.length);
    }
    const { rows, sha256 } = counting.total();
    const due = totals[shape.name];
    if (rows !== (due?.rows ?? 0) || (due !== undefined && sha256 !== due.sha256))
      throw new BackupError(`the restored rows of ${shape.name} don’t match the backup`);
  }
}

async function verify(snapshot: Snapshot, openKeyring: OpenKeyring, watcher: Watcher): Promise<Proof> {
  const stored = await snapshot.keyring.read();
  if (stored === undefined) throw new BackupError('the backup contains no keyring');
  const keyring = await openKeyring(stored);
  const report = await verifyLogs(watched(databaseSource(snapshot), watcher), {
    publicKey: keyring.logPublicKey,
    hasMark: (hash, mark) => isMarked(keyring, hash, mark),
    isSound: rowCheckWith(stampsWith(keyring)),
  });
  const [first] = report.findings;
  if (first === undefined) return { report, keyring };
  const more = report.findings.length > 1 ? `, and ${report.findings.length - 1} more` : '';
  throw new Unproven(`the backup’s contents are not intact: ${first.what}: ${first.where}${more}`);
}

/** The file matches the database, but the stored data is not as it was written. */
export class Unproven extends BackupError {}

function watched(source: LogSource & Required<Pick<LogSource, 'rows'>>, watcher: Watcher): LogSource {
  async function* counted<T>(items: AsyncIterable<T>): AsyncIterable<T> {
    for await (const item of items) {
      yield item;
      watcher.advance(1);
    }
  }
  return { ...source, links: stream => counted(source.links(stream)), rows: () => counted(source.rows()) };
}
