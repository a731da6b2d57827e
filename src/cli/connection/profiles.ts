/**
 * The services that a person is signed in to, in a file that only they can read. If there is a system keyring, the key
 * is stored there and the file has only a reference; otherwise the file contains the key.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Environment } from '../../service/settings/options.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { printable } from '../terminal/terminal.ts';
import { systemKeyring } from './system-keyring.ts';

export interface Profile {
  readonly url: string;
  readonly vault?: string;
  readonly access_key?: string;
  readonly api_key?: string;
  /** The reference to the key in the system's keyring. */
  readonly keyring?: string;
  /** The member who signed in with a browser; the key was created for this sign-in, and ends with it. */
  readonly member?: string;
  readonly expires_at?: string;
}

export interface Profiles {
  readonly current: string | null;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export function profilesFile(environment: Environment): string {
  return join(homeFolder(environment, 'XDG_CONFIG_HOME', '.config'), 'strongroom', 'profiles.json');
}

/** Ignores a relative path, as the XDG specification requires: it would be a different folder in each project. */
export function homeFolder(environment: Environment, variable: string, name: string): string {
  const { [variable]: base = '', HOME: home } = environment;
  return isAbsolute(base) ? base : resolve('/', home || homedir(), name);
}

export function readProfiles(file: string): Profiles {
  if (!existsSync(file)) return { current: null, profiles: {} };
  if ((statSync(file).mode & 0o077) !== 0)
    throw new Refusal(`${file} can be read by others: chmod 600 it, and replace the keys in it`);
  const { current = null, profiles = {} } = parsed(file, readFileSync(file, 'utf8')) as Partial<Profiles>;
  return { current, profiles };
}

/** Stores the profiles; `current` is used from now on. */
export async function storeProfiles(
  file: string,
  current: string | null,
  profiles: Readonly<Record<string, Profile>>,
) {
  const { makeFolder, writeDurably } = await import('../../base/durable-file.ts');
  makeFolder(dirname(file));
  await writeDurably(file, `${JSON.stringify({ current, profiles }, null, 2)}\n`);
}

export interface Keys {
  readonly accessKey: string | null;
  readonly apiKey: string | null;
}

/** Returns the keys of a profile. Refuses if its sign-in has expired or its key can't be found. */
export function keysOf(profile: Profile, name: string, environment: Environment): Keys {
  const { expires_at, keyring, access_key = null, api_key = null } = profile;
  if (expires_at !== undefined && Date.now() >= Date.parse(expires_at))
    throw new Refusal(`the sign-in of the profile ${printable(name)} has expired: run strongroom login`);
  if (keyring === undefined) return { accessKey: access_key, apiKey: api_key };
  const key = systemKeyring(environment)?.find(keyring) ?? null;
  if (key === null)
    throw new Refusal(
      `the key of the profile ${printable(name)} can’t be read from the system’s keyring: run strongroom login`,
    );
  const isAccessKey = kindOf(key) === 'access_key';
  return { accessKey: isAccessKey ? key : null, apiKey: isAccessKey ? null : key };
}

/** Stores the key in the system's keyring if possible, and returns the fields for the profile's file. */
export function keptKey(key: string, name: string, environment: Environment | null): Partial<Profile> {
  const kind = kindOf(key);
  const reference = process.getBuiltinModule('node:crypto').randomUUID();
  const keyring = environment && systemKeyring(environment);
  if (keyring?.store(reference, `Strongroom (${name})`, key)) return { keyring: reference };
  return { [kind]: key };
}

export function forgetKey({ keyring }: Profile, environment: Environment): void {
  if (keyring !== undefined) systemKeyring(environment)?.forget(keyring);
}

export function kindOf(key: string): 'access_key' | 'api_key' {
  if (/^sr_(vault|narrow)_\w+$/.test(key)) return 'access_key';
  if (/^sr_api_\w+$/.test(key)) return 'api_key';
  throw new UsageError('a key begins with sr_api_ or sr_vault_');
}

export function parsed(file: string, source: string): object {
  try {
    const value = JSON.parse(source);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The parser's message would quote the file.
  }
  throw new Refusal(`${file} must contain one JSON object`);
}
