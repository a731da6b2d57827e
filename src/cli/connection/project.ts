/**
 * The project's `.strongroom.json`: the vault and the names that a project uses. A folder may come from anyone, so the
 * file has no influence on credentials: it can't contain one, and its address only selects among the person's stored
 * profiles (settings.ts). A file of another user, or one that everyone can write to, is ignored. The search ends at the
 * root of the repository, at the home folder and at the boundary of a file system.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Environment, serviceUrl } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { note } from '../terminal/terminal.ts';
import { parsed } from './profiles.ts';

export interface Project {
  readonly file: string;
  readonly url: string | null;
  readonly vault: string | null;
  /** The only secrets that this project uses. */
  readonly names: readonly string[];
  /** Maps a variable to a secret: `{"DB_URL": "DATABASE_URL"}`. */
  readonly map: Readonly<Record<string, string>>;
}

export const projectFile = '.strongroom.json';
const mostBytes = 64 * 1024;

/** Searches this folder and those above it. */
export function findProject(folder: string, environment: Environment): Project | null {
  const file = join(folder, projectFile);
  const source = trustedSource(file);
  if (source !== null) return readProject(file, source);
  return isLast(folder, environment) ? null : findProject(dirname(folder), environment);
}

function isLast(folder: string, { HOME }: Environment): boolean {
  const above = dirname(folder);
  return (
    above === folder ||
    existsSync(join(folder, '.git')) ||
    isSame(folder, HOME || homedir()) ||
    statSync(above).dev !== statSync(folder).dev
  );
}

/** Compares inodes, because the home folder may be reached through a link. */
function isSame(folder: string, other: string): boolean {
  const [one, two] = [statSync(folder), statSync(other, { throwIfNoEntry: false })];
  return one.ino === two?.ino && one.dev === two.dev;
}

/**
 * Null if there is no trusted file. It is opened first, so that the checked file is the one that is read; pipes don't
 * block.
 */
function trustedSource(file: string): string | null {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return null;
  let opened: number;
  try {
    opened = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return ignored(file, 'it can’t be read');
  }
  try {
    const found = fstatSync(opened);
    if (![lstatSync(file), found].every(({ uid }) => isOurs(uid)))
      return ignored(file, 'another user owns it');
    if ((found.mode & 0o002) !== 0) return ignored(file, 'everyone can write to it');
    if (!found.isFile() || found.size > mostBytes) return ignored(file, 'it is not a small file');
    return readFileSync(opened, 'utf8');
  } finally {
    closeSync(opened);
  }
}

/** Files of root are also accepted: images install them like this, and root can do anything anyway. */
function isOurs(owner: number): boolean {
  return process.getuid === undefined || owner === process.getuid() || owner === 0;
}

function ignored(file: string, reason: string): null {
  note(`ignored ${file}: ${reason}`);
  return null;
}

function readProject(file: string, source: string): Project {
  if (/\bsr_[a-z]+_\w{20}/.test(source))
    throw new Refusal(`${file} contains a key: revoke it, and keep keys in the environment or a profile`);
  const {
    url = null,
    vault = null,
    names = [],
    map = {},
    ...others
  } = parsed(file, source) as Partial<Project>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new Refusal(`${file}: unknown field ${JSON.stringify(unknown)}`);
  const texts = [url ?? '', vault ?? '', ...listIn(file, names), ...Object.values(Object(map))];
  if (!texts.every(one => typeof one === 'string')) throw new Refusal(`${file}: fields must contain strings`);
  return { file, url: url === null ? null : urlIn(file, url), vault, names, map };
}

function listIn(file: string, names: unknown): unknown[] {
  if (!Array.isArray(names)) throw new Refusal(`${file}: names must be an array`);
  return names;
}

function urlIn(file: string, url: string): string {
  try {
    return serviceUrl.parse(url)!;
  } catch (error) {
    throw new Refusal(`${file}: url ${(error as Error).message}`);
  }
}
