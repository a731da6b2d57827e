/**
 * Where a command finds the service and its credential: flag, then environment, then the project's `.strongroom.json`,
 * then the profile of the person. A machine that the environment makes an identity needs no key. A key of a profile goes only to the address that it was stored for, whatever a project
 * file says, and a project file can't contain one.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Environment, flag, serviceAddress, serviceUrl, text } from '../options.ts';
import { Refusal, UsageError } from '../report.ts';
import { keysOf, type Profile, type Profiles, parsed, profilesFile, readProfiles } from './profiles.ts';
import { type Workload, workloadIn } from './workload.ts';

export const urlOption = { url: serviceAddress };

export const serviceOptions = {
  url: serviceAddress,
  vault: text('NAME', 'the vault, by name or id (default: the vault of the access key)'),
  profile: text('NAME', 'the profile to use (default: the last one that was signed in)'),
  json: flag('print JSON'),
};

export interface Settings {
  readonly url: string;
  readonly vault: string | null;
  readonly accessKey: string | null;
  readonly apiKey: string | null;
  /** What this machine proves itself by, where it has no key. */
  readonly workload: Workload | null;
  readonly project: Project | null;
  readonly profile: string | null;
  /** Where the keys come from, for people. */
  readonly source: string;
}

export interface Project {
  readonly file: string;
  readonly url: string | null;
  readonly vault: string | null;
  /** The only secrets that this project wants. */
  readonly names: readonly string[];
  /** The variable that gets a secret: `{"DB_URL": "DATABASE_URL"}`. */
  readonly map: Readonly<Record<string, string>>;
}

interface Given {
  readonly url: string | null;
  readonly vault: string | null;
  readonly profile: string | null;
}

export function settingsFor(given: Given, environment: Environment, folder = process.cwd()): Settings {
  const { stored, ...place } = placeFor(given, environment, folder);
  return { ...place, ...keysFrom(environment, stored, place.profile) };
}

/** Where the service is, for those who need no key: none is looked up, and none can have expired. */
export function placeFor(given: Given, environment: Environment, folder = process.cwd()) {
  const project = findProject(folder);
  const stored = readProfiles(profilesFile(environment));
  const wanted = given.url ?? project?.url ?? null;
  const [name, profile] = pickProfile(stored, given.profile, wanted);
  const url = wanted ?? profile?.url;
  if (url === undefined)
    throw new UsageError(
      'STRONGROOM_URL is required: the address of the service, or sign in with strongroom login',
    );
  const vault = given.vault ?? project?.vault ?? profile?.vault ?? null;
  return { url, vault, project, profile: name, stored: profile };
}

/** A key of the environment is never mixed with those of a profile. */
function keysFrom(environment: Environment, profile: Profile | null, name: string | null) {
  const accessKey = keyIn(environment, 'STRONGROOM_ACCESS_KEY', 'sr_vault_', 'sr_narrow_');
  const apiKey = keyIn(environment, 'STRONGROOM_API_KEY', 'sr_api_');
  const none = { accessKey, apiKey, workload: null };
  if (accessKey !== null || apiKey !== null) return { ...none, source: 'the environment' };
  const workload = workloadIn(environment);
  if (workload !== null) return { ...none, workload, source: workload.source };
  if (profile === null || name === null) return { ...none, source: 'nowhere' };
  return { ...none, ...keysOf(profile, name, environment), source: `the profile ${name}` };
}

function keyIn(environment: Environment, name: string, ...prefixes: string[]): string | null {
  const key = environment[name]?.trim() || null;
  if (key === null || (/^\w+$/.test(key) && prefixes.some(prefix => key.startsWith(prefix)))) return key;
  throw new UsageError(`${name} must be a key that begins with ${prefixes.join(' or ')}`);
}

function pickProfile(
  { current, profiles }: Profiles,
  named: string | null,
  url: string | null,
): [name: string | null, profile: Profile | null] {
  const name = named ?? current;
  const chosen = name === null ? undefined : profiles[name];
  if (named !== null && chosen === undefined) throw new UsageError('--profile names no stored profile');
  if (chosen !== undefined && (url === null || chosen.url === url)) return [name, chosen];
  if (named !== null)
    throw new UsageError('--profile was stored for another address than the one to be used');
  return Object.entries(profiles).find(([, other]) => other.url === url) ?? [null, null];
}

const projectFile = '.strongroom.json';

/** In this folder or one above it, up to the root of the repository. */
export function findProject(folder: string): Project | null {
  const file = join(folder, projectFile);
  if (existsSync(file)) return readProject(file);
  const above = dirname(folder);
  return above === folder || existsSync(join(folder, '.git')) ? null : findProject(above);
}

function readProject(file: string): Project {
  const source = readFileSync(file, 'utf8');
  if (/\bsr_(api|vault|narrow)_\w{20}/.test(source))
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
