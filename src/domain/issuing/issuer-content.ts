/**
 * What an issuer consists of beside its name and lives: the connection to its service and the template of what it
 * creates. Both are sealed with the vault's key, bound to the issuer and its revision.
 */

import { invalid } from '../../contract/errors.ts';
import type { Connection, Template } from '../../contract/issuers.ts';
import type { PostgresTarget } from '../../egress/postgres-sessions.ts';
import type { Sealer } from '../../keyring/keyring.ts';
import type { IssuerRow } from '../../store/records/leases.ts';

export interface IssuerContent {
  readonly connection: Connection;
  readonly template: Template;
}

type Revision = Pick<IssuerRow, 'id' | 'revision'>;

const defaultPort = 5432;
const sslModes: Readonly<Record<string, boolean>> = { disable: false, require: true, 'verify-full': true };

function contentPlace({ id, revision }: Revision) {
  return { type: 'issuer', resource: id, field: 'content', version: revision };
}

export function sealIssuer(sealer: Sealer, revision: Revision, content: IssuerContent) {
  return sealer.seal(contentPlace(revision), Buffer.from(JSON.stringify(content), 'utf8'));
}

export function openIssuer(sealer: Sealer, row: IssuerRow): IssuerContent {
  return JSON.parse(sealer.open(contentPlace(row), row.content).toString('utf8')) as IssuerContent;
}

/** Where a connection goes. Throws what would be right, without repeating the URL. */
export function targetOf({ url, ca }: Connection): PostgresTarget {
  const parsed = databaseUrl(url);
  const { hostname, port, pathname, searchParams } = parsed;
  const sslmode = searchParams.get('sslmode') ?? 'verify-full';
  if ([...searchParams.keys()].some(key => key !== 'sslmode') || parsed.hash !== '')
    throw invalid('connection', 'must have no parameter other than sslmode');
  if (!Object.hasOwn(sslModes, sslmode))
    throw invalid('connection', 'must have verify-full or disable as sslmode');
  const username = decoded(parsed.username);
  const password = decoded(parsed.password);
  // Without them, they would be looked for in the service's environment.
  if (username === '' || password === '') throw invalid('connection', 'must have a user and a password');
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? defaultPort : Number(port),
    database: decoded(pathname.slice(1)) || username,
    username,
    password,
    encrypted: sslModes[sslmode]!,
    ca: ca ?? null,
  };
}

/** The same address with another user, for clients of the server. */
export function urlFor(connection: Connection, username: string, password: string): string {
  const url = databaseUrl(connection.url);
  url.username = username;
  url.password = password;
  return url.href;
}

function databaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^postgres(?:ql)?:$/.test(url.protocol) || url.hostname === '')
    throw invalid('connection', 'must be a URL such as postgres://user:password@host/database');
  return url;
}

function decoded(text: string): string {
  try {
    const plain = decodeURIComponent(text);
    if (!plain.includes('\0')) return plain;
  } catch {}
  throw invalid('connection', 'must have its special characters percent-encoded');
}
