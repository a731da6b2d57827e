/**
 * Backups that the service takes automatically, into a folder. One is due when the newest verified backup is old
 * enough. Expired backups are deleted only after a newer one was verified, and the newest always stays. The verified
 * ones are listed in a file next to them, each with a mark that requires the keyring: a file that merely has a backup's
 * name is ignored, reported and left alone.
 */
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, writeDurably } from '../base/durable-file.ts';
import { iso } from '../contract/text.ts';
import { type Taken, unfinished, unproven } from './backup.ts';

/** A number of backups, or a maximum age in milliseconds. */
export type Keep = { readonly count: number } | { readonly age: number };

interface ScheduleParts {
  readonly folder: string;
  readonly every: number;
  readonly keep: Keep;
  readonly now: () => number;
  readonly report: (line: string) => void;
  /** A mark over these fields that only this deployment's keyring can create. */
  readonly markOf: (fields: readonly (string | number)[]) => string;
  /** Takes a backup without blocking anything else. Fails if it is stopped. */
  readonly take: (file: string, stopping: AbortSignal) => Promise<Taken>;
}

interface ProvenBackup {
  readonly file: string;
  readonly created_at: string;
  readonly proven_at: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly mark: string;
}

type LastBackup = Omit<ProvenBackup, 'mark'>;

/** As stored in the file. */
export interface BackupStatus {
  readonly last: LastBackup | null;
  /** All verified backups that are kept, newest first. */
  readonly proven: readonly ProvenBackup[];
  /** The newest attempt, if it failed. */
  readonly failed: { readonly at: string; readonly reason: string } | null;
}

export const statusFile = 'strongroom-backups.json';
const named = /^strongroom-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.age$/;
const longestRetry = 15 * 60_000;
/** Unfinished files of a killed process are deleted after this time. Until then another process may be writing them. */
const leftFor = 24 * 3_600_000;

export class BackupSchedule {
  readonly #parts: ScheduleParts;
  readonly #stopping = new AbortController();
  readonly #strange = new Set<string>();
  #status: BackupStatus = { last: null, proven: [], failed: null };
  #due = 0;

  constructor(parts: ScheduleParts) {
    this.#parts = parts;
  }

  get status(): BackupStatus {
    return this.#status;
  }

  get every(): number {
    return this.#parts.every;
  }

  /** Reads the state left by earlier processes. */
  async begin(): Promise<void> {
    const { folder } = this.#parts;
    makeFolder(folder);
    await removeLeft(folder);
    await this.#look();
  }

  /** Takes a backup if one is due. */
  async step(): Promise<void> {
    const { now } = this.#parts;
    if (this.#stopping.signal.aborted || now() < this.#due) return;
    await this.#look(); // Another replica may use the same folder.
    if (now() >= this.#due) await this.#take();
  }

  /** Aborts a backup in progress. */
  stop(): void {
    this.#stopping.abort();
  }

  async #take(): Promise<void> {
    const { folder, every, now, take } = this.#parts;
    const at = now();
    const file = nameAt(at);
    const taking = take(join(folder, file), this.#stopping.signal);
    const taken = await taking.catch(error => this.#failed(at, error as Error));
    if (taken === null) return;
    this.#due = at + every;
    const { manifest, bytes, sha256, proven_at } = taken;
    const last = { file, created_at: manifest.created_at, proven_at: proven_at!, bytes, sha256 };
    const mark = this.#parts.markOf(markedOf(last));
    const { proven } = await this.#standing();
    const judged = Object.groupBy(proven, (one, index) =>
      isOld(this.#parts, Date.parse(one.created_at), index) ? 'old' : 'kept',
    );
    await this.#note({ last, proven: [{ ...last, mark }, ...(judged.kept ?? [])], failed: null });
    for (const one of judged.old ?? []) await rm(join(folder, one.file), { force: true });
  }

  /** The verified backups that exist, according to the record and its marks. */
  async #standing(): Promise<BackupStatus> {
    const { folder, markOf } = this.#parts;
    const { proven, failed } = await readStatus(folder);
    const isThere = async (one: ProvenBackup) =>
      one.mark === markOf(markedOf(one)) &&
      (await stat(join(folder, one.file)).catch(() => null))?.size === one.bytes;
    const there: ProvenBackup[] = [];
    for (const one of proven) if (await isThere(one)) there.push(one);
    there.sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
    const [newest] = there;
    return { last: newest === undefined ? null : unmarked(newest), proven: there, failed };
  }

  async #look(): Promise<void> {
    const { folder, every, now, report } = this.#parts;
    this.#status = await this.#standing();
    const { proven } = this.#status;
    // A clock that was ahead must not delay the next backup.
    const times = proven.map(one => Date.parse(one.created_at)).filter(time => time <= now());
    this.#due = Math.max(Number.NEGATIVE_INFINITY, ...times) + every;
    for (const name of await readdir(folder)) {
      const isStrange = named.test(name) && !proven.some(({ file }) => file === name);
      if (!isStrange || this.#strange.has(name)) continue;
      this.#strange.add(name);
      report(
        `${name} in --backup-to is not in the record of verified backups: it is ignored, and never removed`,
      );
    }
  }

  async #failed(at: number, { message: reason }: Error): Promise<null> {
    this.#due = at + Math.min(this.#parts.every, longestRetry);
    if (this.#stopping.signal.aborted) return null;
    this.#parts.report(`the backup failed: ${reason}`);
    await this.#note({ ...(await this.#standing()), failed: { at: iso(at), reason } });
    await removeUnproven(this.#parts);
    return null;
  }

  /** The status is also written to the file; if that fails, it is still shown. */
  async #note(status: BackupStatus): Promise<void> {
    const file = join(this.#parts.folder, statusFile);
    await writeDurably(file, `${JSON.stringify(status)}\n`).finally(() => {
      this.#status = status;
    });
  }
}

/** The recorded status of the backups in a folder; empty if there is none. Only the keyring can verify it. */
export async function readStatus(folder: string): Promise<BackupStatus> {
  try {
    const { last, proven, failed } = JSON.parse(await readFile(join(folder, statusFile), 'utf8'));
    return {
      last: last ?? null,
      proven: Array.isArray(proven) ? proven.filter(one => typeof one?.file === 'string') : [],
      failed: failed ?? null,
    };
  } catch {
    return { last: null, proven: [], failed: null };
  }
}

const unmarked = ({ mark: _, ...last }: ProvenBackup): LastBackup => last;

const markedOf = (one: LastBackup) => [one.file, one.created_at, one.proven_at, one.bytes, one.sha256];

/** For the backups before the newest, which always stays. */
function isOld({ keep, now }: ScheduleParts, time: number, index: number): boolean {
  return 'count' in keep ? index + 1 >= keep.count : time < now() - keep.age;
}

function nameAt(time: number): string {
  return `strongroom-${iso(time).replace(/\.\d+/, '').replaceAll(/[-:]/g, '')}.age`;
}

/** NaN if it is not one of our names. */
function timeIn(name: string): number {
  const [, year, month, day, ...clock] = named.exec(name) ?? [];
  return Date.parse(`${year}-${month}-${day}T${clock.join(':')}Z`);
}

/** Unverified backups are kept by the same rule, but separately: they never replace verified ones. */
async function removeUnproven(parts: ScheduleParts): Promise<void> {
  const { folder, now } = parts;
  const timeOf = (name: string) => timeIn(name.slice(0, -unproven.length));
  const ours = (await readdir(folder)).filter(name => name.endsWith(unproven) && timeOf(name) <= now());
  const [, ...older] = ours.sort().reverse();
  for (const [index, name] of older.entries())
    if (isOld(parts, timeOf(name), index)) await rm(join(folder, name));
}

async function removeLeft(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(unfinished)) continue;
    const path = join(folder, name);
    const left = await stat(path).catch(() => null);
    if (left !== null && Date.now() - left.mtimeMs > leftFor)
      await rm(path, { recursive: true, force: true });
  }
}
