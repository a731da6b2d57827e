/**
 * Turns flags and environment into one frozen Config; nothing else reads `process.env`. Every flag has an environment
 * variable (`--tls-cert`, `STRONGROOM_TLS_CERT`), and the flag wins. An unknown flag or an invalid value stops the
 * start with one line that names it.
 */
import { join, resolve } from 'node:path';
import { BadVariable, type TracingSettings, tracingSettingsIn } from '../../tracing/settings.ts';
import type { placeOptions, serveOptions } from './command-options.ts';
import { type Environment, type Options, readCommand, type ValuesOf } from './options.ts';
import { UsageError } from './report.ts';

export { type Environment, flag, type Option, type Options, text } from './options.ts';
export { StartRefused, UsageError } from './report.ts';

/** Secrets have no flags, because other users can see command lines. */
export interface EnvironmentSecrets {
  readonly passphrase: string | null;
  readonly oidcClientSecret: string | null;
  readonly smtpPassword: string | null;
  /** A vault access key, for commands that call a remote service. */
  readonly accessKey: string | null;
  /** The passphrase for backups. */
  readonly backupPassphrase: string | null;
  /** The variables that PostgreSQL's own clients also use. */
  readonly postgresEnvironment: Environment;
}

/** Settings from variables that other programs also use. */
interface EnvironmentSettings {
  /** Null if no traces are sent. */
  readonly tracing: TracingSettings | null;
}

export type DataPlace = ValuesOf<typeof placeOptions> & EnvironmentSecrets;
export type ServeConfig = ValuesOf<typeof serveOptions> & DataPlace & EnvironmentSettings;

/** The settings for the source of the root key. */
export type RootKeyPlace = Pick<
  DataPlace,
  'data' | 'root-key-file' | 'passphrase-file' | 'passphrase-prompt' | 'passphrase'
> &
  Partial<Pick<DataPlace, 'transit-key' | 'transit-token-file' | 'age-identity-file' | 'share-file'>>;

type Config<O extends Options> = ValuesOf<O> & EnvironmentSecrets & EnvironmentSettings;

export function readConfig<O extends Options>(
  options: O,
  args: readonly string[],
  environment: Environment,
): Config<O> {
  return readConfigOf(options, args, environment, 0).config;
}

/** The same, with at most `most` arguments that are not flags. */
export function readConfigOf<O extends Options>(
  options: O,
  args: readonly string[],
  environment: Environment,
  most: number,
): { readonly config: Config<O>; readonly positionals: readonly string[] } {
  const { values: read, positionals } = readCommand(options, args, environment, most);
  const values: Record<string, unknown> = { ...read };
  const { 'database-url': url = null, 'database-url-file': fromFile = null } = values;
  if (url !== null && fromFile !== null)
    throw new UsageError('--database-url and --database-url-file can’t be combined');
  if (fromFile !== null) values['database-url'] = fromFile;
  const secrets: EnvironmentSecrets = {
    passphrase: environment.STRONGROOM_PASSPHRASE ?? null,
    oidcClientSecret: environment.STRONGROOM_OIDC_CLIENT_SECRET ?? null,
    smtpPassword: environment.STRONGROOM_SMTP_PASSWORD ?? null,
    accessKey: environment.STRONGROOM_ACCESS_KEY?.trim() || null,
    backupPassphrase: environment.STRONGROOM_BACKUP_PASSPHRASE ?? null,
    postgresEnvironment: Object.fromEntries(
      Object.entries(environment).filter(([name]) => name.startsWith('PG')),
    ),
  };
  const tracing = tracingIn(options, environment);
  return { config: Object.freeze({ ...values, ...secrets, tracing }) as Config<O>, positionals };
}

/** Only read for `serve`, so that an invalid variable does not stop other commands. */
function tracingIn(options: Options, environment: Environment): TracingSettings | null {
  if (!('port' in options)) return null;
  try {
    return tracingSettingsIn(environment);
  } catch (error) {
    throw error instanceof BadVariable ? new UsageError(error.message) : error;
  }
}

export function databasePath({ data }: Pick<DataPlace, 'data'>): string {
  return join(resolve(data), 'strongroom.db');
}

export function inData({ data }: Pick<DataPlace, 'data'>, name: string): string {
  return join(resolve(data), name);
}
