/**
 * The URL of an issuer's connection: where it goes and as whom, for each provider. What is not understood is refused,
 * without repeating it, instead of being left to a client library.
 */
import { invalid } from '../../contract/errors.ts';
import type { Connection } from '../../contract/issuers.ts';
import type { ProviderName } from '../../contract/names.ts';
import type { ServiceTarget } from '../../egress/judged-sockets.ts';

interface Form {
  readonly schemes: RegExp;
  readonly example: string;
  readonly port: number;
  /** Who signs in if the URL names nobody; null if it has to. */
  readonly username: string | null;
  /** Whether the connection is encrypted; throws if the URL says something else. */
  readonly encrypted: (url: URL) => boolean;
  readonly database: (given: string, username: string) => string;
}

const sslModes: Readonly<Record<string, boolean>> = { disable: false, require: true, 'verify-full': true };

const forms: Readonly<Record<ProviderName, Form>> = {
  postgresql: {
    schemes: /^postgres(?:ql)?:$/,
    example: 'postgres://user:password@host/database',
    port: 5432,
    username: null,
    encrypted: bySslMode,
    database: (given, username) => given || username,
  },
  redis: {
    schemes: /^(?:redis|valkey)s?:$/,
    example: 'rediss://user:password@host',
    port: 6379,
    username: 'default',
    encrypted: url => {
      if (url.search !== '') throw invalid('connection', 'must have no parameters');
      return url.protocol === 'rediss:' || url.protocol === 'valkeys:';
    },
    database: given => {
      if (!/^\d{0,5}$/.test(given)) throw invalid('connection', 'must have the number of a database as path');
      return given;
    },
  },
};

/** Where a connection goes. Throws what would be right, without repeating the URL. */
export function targetOf(provider: ProviderName, { url, ca }: Connection): ServiceTarget {
  const form = forms[provider];
  const parsed = connectionUrl(form, url);
  const { hostname, port, pathname, hash } = parsed;
  const encrypted = form.encrypted(parsed);
  if (hash !== '') throw invalid('connection', 'must have no fragment');
  const username = decoded(parsed.username) || form.username || '';
  const password = decoded(parsed.password);
  // Without them, they would be looked for in the service's environment.
  if (username === '' || password === '') throw invalid('connection', 'must have a user and a password');
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? form.port : Number(port),
    database: form.database(decoded(pathname.slice(1)), username),
    username,
    password,
    encrypted,
    ca: ca ?? null,
  };
}

/** The same address with another user, for clients of the server. */
export function urlFor(
  provider: ProviderName,
  connection: Connection,
  { username, password }: { readonly username: string; readonly password: string },
): string {
  const url = connectionUrl(forms[provider], connection.url);
  url.username = username;
  url.password = password;
  return url.href;
}

function bySslMode({ searchParams }: URL): boolean {
  if ([...searchParams.keys()].some(key => key !== 'sslmode'))
    throw invalid('connection', 'must have no parameter other than sslmode');
  const sslmode = searchParams.get('sslmode') ?? 'verify-full';
  if (!Object.hasOwn(sslModes, sslmode))
    throw invalid('connection', 'must have verify-full or disable as sslmode');
  return sslModes[sslmode]!;
}

function connectionUrl({ schemes, example }: Form, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !schemes.test(url.protocol) || url.hostname === '')
    throw invalid('connection', `must be a URL such as ${example}`);
  return url;
}

function decoded(text: string): string {
  try {
    const plain = decodeURIComponent(text);
    if (!plain.includes('\0')) return plain;
  } catch {}
  throw invalid('connection', 'must have its special characters percent-encoded');
}
