/**
 * The service and credential of a command: from flags, then the environment, then the project's `.strongroom.json`,
 * then the person's profile. A machine whose environment names an identity needs no key. A credential goes only to an
 * address of the same trust: one from the environment to an address that the person or the environment named, one from
 * a profile to the address it was stored for. A project file only chooses among profiles, and sends nothing anywhere
 * else.
 */
import { type Environment, flag, serviceAddress, text } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { keysOf, type Profile, type Profiles, profilesFile, readProfiles } from './profiles.ts';
import { findProject, type Project } from './project.ts';
import { type Workload, workloadIn } from './workload.ts';

export const serviceOptions = {
  url: serviceAddress,
  vault: text('NAME', 'the vault, by name or id (default: the vault of the access key)'),
  profile: text('NAME', 'the profile to use (default: that of the last sign-in)'),
  json: flag('print JSON'),
};

export interface Settings {
  readonly url: string;
  readonly vault: string | null;
  readonly accessKey: string | null;
  readonly apiKey: string | null;
  /** How this machine proves its identity, if it has no key. */
  readonly workload: Workload | null;
  readonly project: Project | null;
  readonly profile: string | null;
  /** The source of the keys, for display. */
  readonly source: string;
}

interface Given {
  readonly url: string | null;
  readonly vault: string | null;
  readonly profile: string | null;
}

export function settingsFor(given: Given, environment: Environment, folder = process.cwd()): Settings {
  const { stored, isByProject, ...place } = placeFor(given, environment, folder);
  const keys = keysFrom(environment, stored, place.profile);
  // A folder must not decide to which of a person's services a key of the environment is sent.
  if (keys.isOfEnvironment && isByProject)
    throw new UsageError(
      `${place.project!.file} names ${place.url}: set STRONGROOM_URL too, because a project file does not decide where a key from the environment is sent`,
    );
  return { ...place, ...keys };
}

/** The location of the service, for commands without a key: no key is looked up, so none can have expired. */
export function placeFor(given: Given, environment: Environment, folder = process.cwd()) {
  const project = findProject(folder, environment);
  const stored = readProfiles(profilesFile(environment));
  const wanted = given.url ?? project?.url ?? null;
  const [name, profile] = pickProfile(stored, given.profile, wanted);
  const [unprompted] = pickProfile(stored, given.profile, given.url);
  const url = given.url ?? profile?.url;
  if (url === undefined) throw new UsageError(missingAddress(project));
  const vault = given.vault ?? project?.vault ?? profile?.vault ?? null;
  return { url, vault, project, profile: name, stored: profile, isByProject: name !== unprompted };
}

/** The project file's address is only shown, for the person to check, and not used. */
export function missingAddress(project: Project | null): string {
  return project?.url
    ? `${project.file} names ${project.url}, but there is no profile for it: if you trust that address, set STRONGROOM_URL or use --url`
    : 'STRONGROOM_URL is required: the address of the service, or sign in with strongroom login';
}

/** Keys from the environment are never mixed with those of a profile. */
function keysFrom(environment: Environment, profile: Profile | null, name: string | null) {
  const accessKey = keyIn(environment, 'STRONGROOM_ACCESS_KEY', 'sr_vault_', 'sr_narrow_');
  const apiKey = keyIn(environment, 'STRONGROOM_API_KEY', 'sr_api_');
  const none = { accessKey, apiKey, workload: null, isOfEnvironment: true };
  if (accessKey !== null || apiKey !== null) return { ...none, source: 'the environment' };
  const workload = workloadIn(environment);
  if (workload !== null) return { ...none, workload, source: workload.source };
  const stored = { ...none, isOfEnvironment: false };
  if (profile === null || name === null) return { ...stored, source: 'nowhere' };
  return { ...stored, ...keysOf(profile, name, environment), source: `the profile ${name}` };
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
  if (named !== null) throw new UsageError('--profile was stored for another address');
  return Object.entries(profiles).find(([, other]) => other.url === url) ?? [null, null];
}
