/**
 * Parses the URL of a PostgreSQL database like PostgreSQL's own clients: several hosts separated by commas, parameters
 * by their names, and the `PG…` variables and files in the home folder for anything the URL leaves out. Unknown
 * parameters are refused. Error messages never repeat part of the URL, because it may contain a password.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';

type Parameters = Readonly<Record<string, string>>;

export interface PostgresHost {
  readonly host: string;
  readonly port: number;
}

export interface PostgresAddress {
  readonly hosts: readonly PostgresHost[];
  readonly user: string | undefined;
  readonly database: string | undefined;
  readonly password: string | null;
  readonly parameters: Parameters;
}

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof sslModes)[number];

const defaultPort = 5432;
/** Parameters that have an effect, and the environment variables that supply those missing from the URL. */
const variables: Readonly<Record<string, string>> = {
  application_name: 'PGAPPNAME',
  channel_binding: 'PGCHANNELBINDING',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  dbname: 'PGDATABASE',
  host: 'PGHOST',
  options: 'PGOPTIONS',
  passfile: 'PGPASSFILE',
  password: 'PGPASSWORD',
  port: 'PGPORT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  sslmode: 'PGSSLMODE',
  sslnegotiation: 'PGSSLNEGOTIATION',
  sslrootcert: 'PGSSLROOTCERT',
  user: 'PGUSER',
};

/**
 * The others are known and have no effect: a server that accepts writes is always required, and connections are always
 * kept alive.
 */
const known = new Set([
  ...Object.keys(variables),
  'client_encoding',
  'fallback_application_name',
  'gssencmode',
  'keepalives',
  'keepalives_count',
  'keepalives_idle',
  'keepalives_interval',
  'load_balance_hosts',
  'ssl',
  'target_session_attrs',
  'tcp_user_timeout',
  'uselibpqcompat',
]);
const writable = ['read-write', 'primary'];

/** Environment variables of PostgreSQL's own clients. */
export interface PostgresEnvironment {
  readonly [name: string]: string | undefined;
}

/** Throws an error that says what would be right. */
export function addressIn(url: string, environment: PostgresEnvironment = {}): PostgresAddress {
  const [, rest] = /^postgres(?:ql)?:\/\/(.+)$/s.exec(url) ?? [];
  if (rest === undefined) throw new Error('must begin with postgres://');
  const [place, query] = cutAt(rest, rest.indexOf('?'));
  const [authority, path] = cutAt(place, place.indexOf('/'));
  const at = authority.lastIndexOf('@');
  const [user, password] = at < 0 ? ['', ''] : cutAt(authority.slice(0, at), authority.indexOf(':'), at);
  const given = parametersIn(query);
  const parameters = { ...unless(given, environment), ...given };
  const decoded = (text: string, name: string) => given[name] ?? (decode(text) || parameters[name]);
  const address = {
    hosts: hostsIn(authority.slice(at + 1), given, parameters),
    user: decoded(user, 'user'),
    database: decoded(path, 'dbname'),
    password: decoded(password, 'password') ?? null,
    parameters,
  };
  sslModeOf(address);
  return address;
}

/** Splits the text at an index; all of it comes before if there is no such index. */
function cutAt(text: string, at: number, end = text.length): [before: string, after: string] {
  return at < 0 || at >= end ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('must have its special characters percent-encoded');
  }
}

function parametersIn(query: string): Record<string, string> {
  const pairs = query.split('&').filter(pair => pair !== '');
  const parameters = Object.fromEntries(pairs.map(pair => cutAt(pair, pair.indexOf('=')).map(decode)));
  if (Object.keys(parameters).some(name => !known.has(name)))
    throw new Error('has a parameter that PostgreSQL’s clients don’t support');
  if (!writable.includes(parameters.target_session_attrs ?? 'primary'))
    throw new Error('must have read-write or primary as target_session_attrs');
  return parameters;
}

/** Parameters from the environment that are not given in the URL. */
function unless(given: Parameters, environment: PostgresEnvironment): Record<string, string> {
  const said = Object.entries(variables).flatMap(([name, variable]) => {
    const value = environment[variable];
    const isGiven = name in given || (name === 'sslmode' && 'ssl' in given);
    return value === undefined || value === '' || isGiven ? [] : [[name, value]];
  });
  return Object.fromEntries(said);
}

function hostsIn(authority: string, given: Parameters, parameters: Parameters): PostgresHost[] {
  const parts = authority.split(',').map(part => /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(part) ?? []);
  const named = parts.map(([, host = '']) => decode(host).replace(/^\[(.*)\]$/s, '$1'));
  const hosts = given.host?.split(',') ?? named;
  const ports = given.port?.split(',') ?? parts.map(([, , port = '']) => port);
  if (ports.length !== 1 && ports.length !== hosts.length)
    throw new Error('must have one port, or one for each host');
  return hosts.map((host, index) => ({
    host: host || parameters.host || 'localhost',
    port: portOf(ports[ports.length === 1 ? 0 : index]! || parameters.port || String(defaultPort)),
  }));
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new Error('must have ports from 1 to 65535');
  return port;
}

function sslModeOf({ parameters }: Pick<PostgresAddress, 'parameters'>): SslMode {
  const { ssl, sslmode, sslrootcert } = parameters;
  const bySystem = sslrootcert === 'system' ? 'verify-full' : 'prefer';
  const mode = sslmode ?? (ssl === 'true' ? 'require' : bySystem);
  if (!sslModes.includes(mode as SslMode))
    throw new Error(`must have one of ${sslModes.join(', ')} as sslmode`);
  if (sslrootcert === 'system' && mode !== 'verify-full')
    throw new Error('must have verify-full as sslmode if sslrootcert is system');
  return mode as SslMode;
}

/**
 * Whether to connect with encryption, in the order to try. Certificates are verified by `verify-ca` and `verify-full`,
 * and by the weaker modes if there is a root certificate; host names only by `verify-full`.
 */
export function encryptionsOf(address: PostgresAddress, { host }: PostgresHost): readonly boolean[] {
  const mode = sslModeOf(address);
  if (mode === 'disable' || host.startsWith('/')) return [false];
  if (mode === 'allow') return [false, true];
  return mode === 'prefer' ? [true, false] : [true];
}

/** Read for each connection, so that certificates can be renewed. */
export function tlsOf(address: PostgresAddress): ConnectionOptions {
  const mode = sslModeOf(address);
  const { sslrootcert, sslcert, sslkey } = address.parameters;
  const ca = sslrootcert === 'system' ? undefined : contentOf(sslrootcert, 'root.crt');
  const cert = contentOf(sslcert, 'postgresql.crt');
  const key = cert === undefined ? undefined : contentOf(sslkey, 'postgresql.key');
  if (mode === 'verify-ca' && ca === undefined)
    throw new Error('sslmode verify-ca requires the CA certificate as sslrootcert');
  const given = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  if (mode === 'verify-full') return given;
  return ca === undefined
    ? { ...given, rejectUnauthorized: false }
    : { ...given, checkServerIdentity: () => undefined };
}

/** The content of a file named by the URL or the environment, or found where PostgreSQL's clients look for it. */
function contentOf(named: string | undefined, usual: string): string | undefined {
  if (named !== undefined) return readFileSync(named, 'utf8');
  const found = join(homedir(), '.postgresql', usual);
  return existsSync(found) ? readFileSync(found, 'utf8') : undefined;
}

/**
 * The password from the flag's file, the URL, PGPASSWORD, or the password file of PostgreSQL's clients. Files are read
 * when a server asks for a password, so that it can be changed. Undefined if there is none.
 */
export async function passwordFor(
  address: PostgresAddress,
  target: PostgresHost,
  file: string | null,
): Promise<string | undefined> {
  if (file !== null) return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  if (address.password !== null) return address.password;
  const passfile = address.parameters.passfile ?? join(homedir(), '.pgpass');
  if (!existsSync(passfile)) return undefined;
  if ((statSync(passfile).mode & 0o077) !== 0)
    throw new Error('the password file can be read by other users: chmod 600');
  const user = address.user ?? userInfo().username;
  const wanted = [target.host, String(target.port), address.database ?? user, user];
  return passwordIn(await readFile(passfile, 'utf8'), wanted);
}

/** Lines of `host:port:database:user:password`, of which the first match counts. `:` and `\` are escaped with `\`. */
function passwordIn(content: string, wanted: readonly string[]): string | undefined {
  for (const line of content.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const fields = [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field]) => field!);
    const plain = fields.map(field => field.replace(/\\(.)/g, '$1'));
    if (wanted.every((value, index) => fields[index] === '*' || plain[index] === value)) return plain[4];
  }
  return undefined;
}
