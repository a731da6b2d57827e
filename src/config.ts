/**
 * Flags and environment become one frozen Config; nothing else reads `process.env`. Every flag has a twin in
 * the environment (`--tls-cert`, `STRONGROOM_TLS_CERT`), and the flag wins. A flag that is not known or a value
 * that can't be right stops the start with one line that names it.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isCidr } from './access/address.ts';
import { mostEnterpriseLimit } from './contract/access.ts';

/** The command line is wrong. The message is the one line that its user sees. */
export class UsageError extends Error {}

export interface Option<T> {
  /** What stands behind the flag in the help; a flag without one is a switch. */
  readonly value?: string;
  readonly help: string;
  readonly fallback: T;
  /** Throws with what would be right. */
  readonly parse: (text: string) => T;
}

export type Options = Readonly<Record<string, Option<unknown>>>;
type ValuesOf<O extends Options> = {
  readonly [Name in keyof O]: O[Name] extends Option<infer T> ? T : never;
};

export const text = (value: string, help: string): Option<string | null> => ({
  value,
  help,
  fallback: null,
  parse: given => {
    if (given === '') throw new Error('must not be empty');
    return given;
  },
});

export const flag = (help: string): Option<boolean> => ({
  help,
  fallback: false,
  parse: given => {
    if (!['true', 'false', '1', '0'].includes(given)) throw new Error('must be true or false');
    return given === 'true' || given === '1';
  },
});

const whole = (
  value: string,
  help: string,
  fallback: number,
  least: number,
  most: number,
): Option<number> => ({
  value,
  help,
  fallback,
  parse: given => {
    if (!/^\d{1,9}$/.test(given) || Number(given) < least || Number(given) > most) {
      throw new Error(`must be a whole number from ${least} to ${most}`);
    }
    return Number(given);
  },
});

const choice = <T extends string>(help: string, values: readonly T[]): Option<T | null> => ({
  value: values.join('|'),
  help,
  fallback: null,
  parse: given => {
    if (!values.includes(given as T)) throw new Error(`must be one of: ${values.join(', ')}`);
    return given as T;
  },
});

const cidrs = (help: string): Option<readonly string[]> => ({
  value: 'CIDR[,CIDR]',
  help,
  fallback: [],
  parse: given => {
    const list = given.split(',').map(part => part.trim());
    if (!list.every(isCidr)) throw new Error('must be ranges such as 10.0.0.0/8');
    return list;
  },
});

const urls = (help: string): Option<readonly string[]> => ({
  value: 'URL[,URL]',
  help,
  fallback: [],
  parse: given => {
    const list = given.split(',').map(part => part.trim());
    if (!list.every(isHttpUrl)) throw new Error('must be addresses such as https://vault.example.com');
    return list;
  },
});

function isHttpUrl(given: string): boolean {
  const url = URL.parse(given);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

/** Where the data and its root key are: the same for every command that touches them. */
export const placeOptions = {
  data: { ...text('DIR', 'the data folder (default ./data)'), fallback: 'data' } as Option<string>,
  'database-url': {
    ...text('URL', 'a PostgreSQL database instead of the embedded one'),
    parse: given => {
      if (!/^postgres(ql)?:\/\/./.test(given)) throw new Error('must begin with postgres://');
      return given;
    },
  } satisfies Option<string | null> as Option<string | null>,
  'root-key-file': text('FILE', 'the root key (default root.key in the data folder)'),
  'passphrase-file': text(
    'FILE',
    'protect the keyring by the passphrase in FILE, instead of a root key file',
  ),
  'passphrase-prompt': flag('ask for that passphrase at the start'),
};

export const serveOptions = {
  ...placeOptions,
  host: {
    ...text('H', 'the address to listen on (default 127.0.0.1)'),
    fallback: '127.0.0.1',
  } as Option<string>,
  port: whole('N', 'the port to listen on (default 8420; 0 takes a free one)', 8420, 0, 65_535),
  'tls-cert': text('FILE', 'the certificate, with its chain; read again when it changes'),
  'tls-key': text('FILE', 'the certificate’s private key'),
  tls: choice('make a local authority and a certificate in the data folder', ['auto'] as const),
  'behind-proxy': cidrs('the proxies that end TLS; forwarded headers are believed from them alone'),
  'oidc-issuer': {
    ...text('URL', 'sign in by this OpenID Connect issuer, too'),
    parse: given => {
      const local = /^http:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|\/|$)/.test(given);
      if (!URL.canParse(given) || !(local || given.startsWith('https://'))) {
        throw new Error('must be a URL that begins with https://');
      }
      return given;
    },
  } satisfies Option<string | null> as Option<string | null>,
  'oidc-client-id': text('ID', 'who we are to that issuer; its secret is STRONGROOM_OIDC_CLIENT_SECRET'),
  'oidc-name': text('NAME', 'what the button says (default: Single sign-on)'),
  'public-url': urls('where clients reach the service; the tool endpoint refuses other Host headers'),
  'mcp-base-url': urls('what else a tool call may name as its baseUrl; compared, never fetched'),
  'checkpoint-file': text(
    'FILE',
    'where the newest signed log checkpoint is kept (default in the data folder)',
  ),
  'allow-private-webhooks': cidrs('inner ranges that webhooks may be sent to, there also by plain http'),
  'log-retention-days': whole(
    'N',
    'days that request logs are kept (default 90; 0 keeps them)',
    90,
    0,
    36_500,
  ),
};

export const planOption = choice('the plan', ['free', 'pro', 'enterprise'] as const);

export const setupOptions = {
  ...placeOptions,
  organization: text('NAME', 'the organization (default: Default)'),
  plan: { ...planOption, help: 'its plan (default pro)' },
  'enterprise-limit': whole(
    'N',
    'requests a minute on the enterprise plan (default 0: unlimited)',
    0,
    0,
    mostEnterpriseLimit,
  ),
  'new-key': flag('add an owner’s key to an organization that exists'),
  json: flag('print one JSON object'),
};

export const setPlanOptions = {
  ...placeOptions,
  organization: text('NAME', 'the organization'),
  plan: planOption,
  'enterprise-limit': setupOptions['enterprise-limit'],
};

/** What is secret has no flag: a command line is for everyone to see. */
export interface EnvironmentSecrets {
  readonly passphrase: string | null;
  readonly oidcClientSecret: string | null;
  /** A vault access key, for commands that call a remote service. */
  readonly accessKey: string | null;
}

const serviceUrl: Option<string | null> = {
  value: 'URL',
  help: 'the address of the service',
  fallback: null,
  parse: given => {
    if (!isHttpUrl(given)) throw new Error('must be an address such as https://vault.example.com');
    const { protocol, hostname } = new URL(given);
    if (protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) {
      throw new Error('must begin with https://, for a key is sent there');
    }
    return given.replace(/\/+$/, '').replace(/\/mcp$/, '');
  },
};

export const mcpOptions = {
  url: serviceUrl,
  names: choice('how tools are named (default dotted)', ['dotted', 'underscore'] as const),
};

export const mcpConfigOptions = {
  client: choice('which client', ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'inspector'] as const),
  url: { ...serviceUrl, help: 'the address of the service (default http://127.0.0.1:8420)' },
};

export type Place = ValuesOf<typeof placeOptions> & EnvironmentSecrets;
export type ServeConfig = ValuesOf<typeof serveOptions> & Place;

/** What says where a root key comes from. */
export type RootKeyPlace = Pick<
  Place,
  'data' | 'root-key-file' | 'passphrase-file' | 'passphrase-prompt' | 'passphrase'
>;

export interface Environment {
  readonly [name: string]: string | undefined;
}

export function readConfig<O extends Options>(
  options: O,
  args: readonly string[],
  environment: Environment,
): ValuesOf<O> & EnvironmentSecrets {
  const given = parseFlags(options, args);
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    const twin = `STRONGROOM_${name.toUpperCase().replaceAll('-', '_')}`;
    const [source, value] =
      given[name] === undefined ? [twin, environment[twin]] : [`--${name}`, given[name]];
    values[name] = value === undefined ? option.fallback : parseValue(option, source, value);
  }
  const secrets: EnvironmentSecrets = {
    passphrase: environment.STRONGROOM_PASSPHRASE ?? null,
    oidcClientSecret: environment.STRONGROOM_OIDC_CLIENT_SECRET ?? null,
    accessKey: environment.STRONGROOM_ACCESS_KEY?.trim() || null,
  };
  return Object.freeze({ ...values, ...secrets }) as ValuesOf<O> & EnvironmentSecrets;
}

function parseFlags(options: Options, args: readonly string[]): Record<string, string | undefined> {
  const entries = Object.entries(options).map(
    ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
  );
  try {
    const { values } = parseArgs({ args: [...args], options: Object.fromEntries(entries), strict: true });
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
  } catch (error) {
    throw new UsageError((error as Error).message.split(/\.\s/)[0]!);
  }
}

function parseValue(option: Option<unknown>, source: string, value: string): unknown {
  try {
    return option.parse(value);
  } catch (error) {
    throw new UsageError(`${source} ${(error as Error).message}`);
  }
}

export function helpFor(usage: string, what: string, options: Options): string {
  const lines = Object.entries(options).map(([name, { value, help }]) => {
    const head = `  --${name}${value === undefined ? '' : ` ${value}`}`;
    return `${head.padEnd(36)} ${help}`;
  });
  return `${what}\n\nUsage: strongroom ${usage}\n\n${lines.join('\n')}\n\nEvery flag has a twin in the environment: --tls-cert is STRONGROOM_TLS_CERT. The flag wins.\n`;
}

export function databasePath({ data }: Pick<Place, 'data'>): string {
  return join(resolve(data), 'strongroom.db');
}

export function inData({ data }: Pick<Place, 'data'>, name: string): string {
  return join(resolve(data), name);
}
