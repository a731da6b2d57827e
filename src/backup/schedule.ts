/**
 * Backups that the service takes by itself, into a folder: one is due when the newest that was proven is old enough.
 * What is past its time goes only after a newer one was proven, and the newest always stays. What happened last stands
 * in a file beside them, so that it is known after a restart, and to whoever watches.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { iso } from '../contract/text.ts';
import { makeFolder, writeDurably } from '../durable-file.ts';
import { type Taken, unfinished, unproven } from './backup.ts';

/** So many, or those of so many milliseconds. */
export type Keep = { readonly count: number } | { readonly age: number };

export interface ScheduleParts {
  readonly folder: string;
  readonly every: number;
  readonly keep: Keep;
  readonly now: () => number;
  readonly report: (line: string) => void;
  /** Takes one, beside everything else. Fails where it is stopped. */
  readonly take: (file: string, stopping: AbortSignal) => Promise<Taken>;
}

export interface LastBackup {
  readonly file: string;
  readonly created_at: string;
  readonly proven_at: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** As it stands in the file. */
export interface BackupStatus {
  readonly last: LastBackup | null;
  /** The newest attempt, where it failed. */
  readonly failed: { readonly at: string; readonly reason: string } | null;
}

export const statusFile = 'strongroom-backups.json';
const named = /^strongroom-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.age$/;
const longestRetry = 15 * 60_000;
/** What a process that was killed left unfinished is removed after this time: it may be at work elsewhere. */
const leftFor = 24 * 3_600_000;

export class BackupSchedule {
  readonly #parts: ScheduleParts;
  readonly #stopping = new AbortController();
  #status: BackupStatus = { last: null, failed: null };
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

  /** Finds out what was done before. */
  async begin(): Promise<void> {
    const { folder } = this.#parts;
    makeFolder(folder);
    await removeLeft(folder);
    const { last, failed } = await readStatus(folder);
    this.#status = { last: last !== null && existsSync(join(folder, last.file)) ? last : null, failed };
    this.#due = (await newestIn(folder)) + this.#parts.every;
  }

  /** Takes one where it is due. */
  async step(): Promise<void> {
    const { folder, every, now } = this.#parts;
    if (this.#stopping.signal.aborted || now() < this.#due) return;
    // Another replica may use the same folder.
    this.#due = (await newestIn(folder)) + every;
    if (now() >= this.#due) await this.#take();
  }

  /** One in progress is given up. */
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
    await this.#note({ last, failed: null });
    await removeOld(this.#parts, '');
  }

  async #failed(at: number, { message: reason }: Error): Promise<null> {
    this.#due = at + Math.min(this.#parts.every, longestRetry);
    if (this.#stopping.signal.aborted) return null;
    this.#parts.report(`the backup failed: ${reason}`);
    await this.#note({ last: this.#status.last, failed: { at: iso(at), reason } });
    await removeOld(this.#parts, unproven);
    return null;
  }

  /** What is shown stands in the file too, unless that can't be written. */
  async #note(status: BackupStatus): Promise<void> {
    const file = join(this.#parts.folder, statusFile);
    await writeDurably(file, `${JSON.stringify(status)}\n`).finally(() => {
      this.#status = status;
    });
  }
}

/** What is said of the backups in a folder; nothing where nothing is. */
export async function readStatus(folder: string): Promise<BackupStatus> {
  try {
    const { last, failed } = JSON.parse(await readFile(join(folder, statusFile), 'utf8'));
    return { last: last ?? null, failed: failed ?? null };
  } catch {
    return { last: null, failed: null };
  }
}

function nameAt(time: number): string {
  return `strongroom-${iso(time).replace(/\.\d+/, '').replaceAll(/[-:]/g, '')}.age`;
}

/** NaN where it is no name of ours. */
function timeIn(name: string): number {
  const [, year, month, day, ...clock] = named.exec(name) ?? [];
  return Date.parse(`${year}-${month}-${day}T${clock.join(':')}Z`);
}

/** Long ago where there is none. */
async function newestIn(folder: string): Promise<number> {
  const times = (await readdir(folder)).map(timeIn).filter(time => !Number.isNaN(time));
  return Math.max(Number.NEGATIVE_INFINITY, ...times);
}

/** What could not be proven is kept by the same rule, and apart: it takes the place of nothing that was. */
async function removeOld({ folder, keep, now }: ScheduleParts, end: '' | typeof unproven): Promise<void> {
  const ours = (await readdir(folder)).filter(name => name.endsWith(`.age${end}`) && isOurs(name));
  const [, ...older] = ours.sort().reverse();
  const isOld = (name: string, at: number) =>
    'count' in keep ? at + 1 >= keep.count : timeIn(bare(name)) < now() - keep.age;
  for (const name of older.filter(isOld)) await rm(join(folder, name));
}

const isOurs = (name: string): boolean => !Number.isNaN(timeIn(bare(name)));
const bare = (name: string): string => (name.endsWith(unproven) ? name.slice(0, -unproven.length) : name);

async function removeLeft(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(unfinished)) continue;
    const path = join(folder, name);
    const left = await stat(path).catch(() => null);
    if (left !== null && Date.now() - left.mtimeMs > leftFor)
      await rm(path, { recursive: true, force: true });
  }
}
