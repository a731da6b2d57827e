/**
 * Keeps this command's own credentials from the program that it runs: the program gets the secrets of a vault, but
 * never the key that reads them, and the key is masked like any secret.
 */
import type { Environment } from '../../service/settings/options.ts';
import type { Masked } from '../terminal/mask.ts';
import type { Settings } from './settings.ts';

/** Removes all of our settings: an address or an identity would also let the program sign in as this command. */
export function withoutOurs(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !/^STRONGROOM_/i.test(name)));
}

/** The variables that contain one. */
export const credentials = [
  'STRONGROOM_ACCESS_KEY',
  'STRONGROOM_API_KEY',
  'STRONGROOM_SECRET_ID',
  'STRONGROOM_ID_TOKEN',
] as const;

export function ourSecrets({ accessKey, apiKey }: Settings, environment: Environment): Masked[] {
  const inUse: Environment = { STRONGROOM_ACCESS_KEY: accessKey ?? '', STRONGROOM_API_KEY: apiKey ?? '' };
  return credentials.flatMap(name =>
    [inUse[name], environment[name]].flatMap(value => (value ? [{ name, value }] : [])),
  );
}
