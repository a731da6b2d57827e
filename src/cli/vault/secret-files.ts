/**
 * Files with secrets for a program that `run` starts: new files that only their owner can read, at a given path or in
 * a fresh private folder, in memory if possible. An existing file is never overwritten. All of them are removed at the
 * end, unless someone else has replaced them; what a killed process left in its private folder, by the next one.
 */
import {
  accessSync,
  constants,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { createNow, replaceNow } from '../../base/durable-file.ts';
import type { Environment } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { note } from '../terminal/terminal.ts';

export interface SecretFile {
  readonly name: string;
  /** Null for a file in the private folder. */
  readonly path: string | null;
  readonly value: string;
  /** The variable that contains its path. */
  readonly variable: string;
}

/** Which file it is, however its path may change. */
type Identity = string;

const readable = 0o400;

export interface SecretFiles {
  /** Creates the files, or replaces those that it created before. Returns the variables with their paths. */
  put(files: readonly SecretFile[]): Readonly<Record<string, string>>;
  remove(): void;
}

export function secretFiles(environment: Environment): SecretFiles {
  const ours = new Map<string, Identity>();
  let folder: string | null = null;

  function pathOf({ name, path }: SecretFile): string {
    if (path !== null) return resolve(path);
    folder ??= privateFolder(environment);
    return join(
      folder,
      encodeURIComponent(name).replace(/^\.+$/, dots => '%2E'.repeat(dots.length)),
    );
  }

  function place(path: string, value: string): void {
    const known = ours.get(path);
    if (known === undefined) ours.set(path, created(path, value));
    else if (identityOf(path) !== known) note(`${path} was replaced, and stays as it is`);
    else ours.set(path, identityIn(replaceNow(path, value, readable)));
  }

  function remove(): void {
    process.off('exit', remove);
    for (const [path, known] of ours) if (identityOf(path) === known) unlinkSync(path);
    ours.clear();
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
    folder = null;
  }

  return {
    put: files => {
      // Should this process end in any other way than it does below.
      if (files.length > 0 && ours.size === 0) process.on('exit', remove);
      const paths = files.map(file => [file.variable, pathOf(file), file.value] as const);
      for (const [, path, value] of paths) place(path, value);
      return Object.fromEntries(paths.map(([variable, path]) => [variable, path]));
    },
    remove,
  };
}

function created(path: string, value: string): Identity {
  try {
    return identityIn(createNow(path, value, readable));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Refusal(`${path} exists already: --file only creates new files, and removes them at the end`);
  }
}

function identityIn({ dev, ino }: Stats): Identity {
  return `${dev} ${ino}`;
}

function identityOf(path: string): Identity | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : identityIn(found);
}

function privateFolder({ XDG_RUNTIME_DIR = '' }: Environment): string {
  const inMemory = [XDG_RUNTIME_DIR, '/dev/shm'].find(isUsableMemory);
  if (inMemory === undefined) return mkdtempSync(join(tmpdir(), 'strongroom-'));
  removeLeftBehind(inMemory);
  return mkdtempSync(join(inMemory, `${ownFolders()}${process.pid}-`));
}

/** A process is known by its id only within its namespace, and containers may share a folder. */
function ownFolders(): string {
  return `strongroom-run-${/\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0]}-`;
}

/** Removes the folders of our own earlier processes that were killed before they could. */
function removeLeftBehind(place: string): void {
  const begin = ownFolders();
  for (const name of readdirSync(place)) {
    const pid = name.startsWith(begin) ? /^(\d+)-/.exec(name.slice(begin.length))?.[1] : undefined;
    if (pid === undefined || isRunning(Number(pid))) continue;
    const path = join(place, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() && found.uid === process.getuid!())
      rmSync(path, { recursive: true, force: true });
  }
}

/** Also if it belongs to someone else. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

const memoryTypes = new Set([0x01021994, 0x858458f6]);

/** Whether it is a folder in memory in which nobody else can exchange ours: our own, or one whose files are their owners’. */
function isUsableMemory(path: string): boolean {
  if (process.platform !== 'linux' || !isAbsolute(path)) return false;
  try {
    const { uid, mode } = statSync(path);
    accessSync(path, constants.W_OK | constants.X_OK);
    const isSafe = (uid === process.getuid!() && (mode & 0o022) === 0) || (mode & 0o1000) !== 0;
    return isSafe && memoryTypes.has(statfsSync(path).type);
  } catch {
    return false;
  }
}
