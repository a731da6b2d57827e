/**
 * `strongroom login` and `strongroom logout`. The first signs a person in with their browser and stores the key in a profile, or stores a key that was
 * created in the dashboard, once the service has accepted it. Such a key is typed unseen or piped in, never an
 * argument. The second ends a sign-in at the service, and deletes its profile; a stored key stays valid.
 */
import { fstatSync } from 'node:fs';
import type { Whoami } from '../../client/api.ts';
import { flag, text } from '../../service/settings/options.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import {
  forgetKey,
  keptKey,
  keysOf,
  kindOf,
  type Profile,
  profilesFile,
  readProfiles,
  storeProfiles,
} from '../connection/profiles.ts';
import { findProject } from '../connection/project.ts';
import { askJson } from '../connection/remote.ts';
import { missingAddress, serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { prompted, standardInput } from '../terminal/input.ts';
import { note, printable, printJson } from '../terminal/terminal.ts';
import { endSignIn, signInAtBrowser } from './device-login.ts';

const defaultProfile = 'default';
const options = {
  ...serviceOptions,
  'no-browser': flag('print the address and the code, without opening a browser'),
  'with-key': flag('store an API key or an access key, typed or piped in'),
  'no-keyring': flag('store the key in the profile’s file, not in the system’s keyring'),
};

export const command = commandOf({
  usage: 'login [flags]',
  summary: 'sign in with a browser, or store a key, in a profile',
  options,
  about:
    'Opens the dashboard, where you allow this command line to act as you, for 12 hours unless you choose otherwise.\nA key that is piped in is checked and stored instead. Keys go to the system’s keyring if there is one, otherwise to\n~/.config/strongroom with mode 0600. A key in the environment takes precedence.',
  run: async given => {
    const file = profilesFile(process.env);
    const { profiles } = readProfiles(file);
    const name = given.profile ?? defaultProfile;
    const url = given.url ?? profiles[name]?.url;
    if (url === undefined) throw new UsageError(missingAddress(findProject(process.cwd(), process.env)));
    const byKey = given['with-key'] || (!given['no-browser'] && isPiped());
    const key = byKey
      ? await typedKey(url)
      : await signInAtBrowser(url, given['no-browser'] ? null : process.env);
    const found = await look(url, key);
    const stored: Profile = {
      url,
      ...keptKey(key, name, given['no-keyring'] ? null : process.env),
      ...(given.vault === null ? {} : { vault: given.vault }),
      ...(byKey ? {} : { member: found.member!, expires_at: found.expires! }),
    };
    await storeProfiles(file, name, { ...profiles, [name]: stored });
    if (profiles[name] !== undefined) await endProfile(profiles[name], name);
    if (given.json) printJson({ profile: name, url, ...found });
    else note(`signed in to ${url} (${described(found)}) as profile ${printable(name)}`);
  },
});

const logoutOptions = {
  profile: text('NAME', 'the profile (default: the one in use)'),
  json: flag('print JSON'),
};

export const logoutCommand = commandOf({
  usage: 'logout [flags]',
  summary: 'sign out, and delete the profile',
  options: logoutOptions,
  about:
    'Revokes the key of a browser sign-in, and deletes the profile with its key. A key that you stored yourself stays\nvalid: revoke it in the dashboard to end it everywhere.',
  run: async ({ profile, json }) => {
    const file = profilesFile(process.env);
    const { current, profiles } = readProfiles(file);
    const name = profile ?? current;
    const gone = name === null ? undefined : profiles[name];
    if (name === null || gone === undefined) throw new Refusal('there is no such profile');
    const { [name]: _, ...left } = profiles;
    const ended = await endProfile(gone, name);
    await storeProfiles(file, current === name ? (Object.keys(left)[0] ?? null) : current, left);
    const revoked = gone.member !== undefined && ended;
    if (json) printJson({ profile: name, url: gone.url, revoked });
    else
      note(
        revoked
          ? `signed out of ${gone.url}, and deleted the profile ${printable(name)}`
          : `deleted the profile ${printable(name)}; revoke its key in the dashboard if it is no longer needed`,
      );
  },
});

/** Ends the sign-in of a profile and removes its key from the keyring. Returns false if the sign-in is still valid. */
export async function endProfile(profile: Profile, name: string): Promise<boolean> {
  const ended = profile.member === undefined || (await endedAtService(profile, name));
  forgetKey(profile, process.env);
  return ended;
}

async function endedAtService(profile: Profile, name: string): Promise<boolean> {
  try {
    return await endSignIn(profile.url, keysOf(profile, name, process.env).apiKey!);
  } catch {
    // It has expired, or its key is no longer in the keyring.
    return Date.now() >= Date.parse(profile.expires_at!);
  }
}

/** Whether the input comes from a pipe or a file, and not from a terminal or `/dev/null`. */
function isPiped(): boolean {
  if (process.stdin.isTTY) return false;
  const input = fstatSync(0);
  return input.isFIFO() || input.isFile() || input.isSocket();
}

async function typedKey(url: string): Promise<string> {
  if (!process.stdin.isTTY) return (await standardInput()).trim();
  note(`create a key in the dashboard: ${url}/`);
  return (await prompted('API key or access key: ')).trim();
}

interface Found {
  readonly vault?: string;
  readonly organization?: string;
  readonly member?: string;
  readonly role?: string;
  readonly expires?: string;
}

/** Checks the key, and returns what it gives access to. */
export async function look(url: string, key: string): Promise<Found> {
  if (kindOf(key) === 'access_key')
    return {
      vault: (await askJson<{ name: string }>(url, { path: '/api/v1/vaults/self?secrets=names', key })).name,
    };
  const { organization, member, role, expiration_date } = await askJson<Whoami>(url, {
    path: '/v1/whoami',
    key,
  });
  return {
    organization: organization.name,
    ...(member === null ? {} : { member: member.email }),
    role,
    ...(expiration_date === null ? {} : { expires: expiration_date }),
  };
}

function described({ vault, organization, member, role, expires }: Found): string {
  const inOrganization = role === 'none' ? [] : [role!];
  const parts = member === undefined ? [vault ?? organization!] : [organization!, member, ...inOrganization];
  return printable([...parts, ...(expires === undefined ? [] : [`until ${expires}`])].join(', '));
}
