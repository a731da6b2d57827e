/** The flags of the commands that open the data and of the MCP commands: their names, values and help. */
import { readFileSync } from 'node:fs';
import { isCidr } from '../../access/address.ts';
import type { Keep } from '../../backup/schedule.ts';
import { isThisMachine } from '../../base/this-machine.ts';
import { mostEnterpriseLimit } from '../../contract/access.ts';
import { type ClientDocument, clientDocument } from '../../contract/oauth.ts';
import { transitAddress } from '../../egress/transit-address.ts';
import { recipientFrom } from '../../keyring/age/keys.ts';
import { mostReaders } from '../../metrics/planes.ts';
import { addressIn } from '../../store/postgres/address.ts';
import { choice, flag, isHttpUrl, list, type Option, serviceUrl, text, textOr, whole } from './options.ts';

/** 0, which is not the number of any checkpoint, if none is given. */
const checkpointNumber = (help: string) => whole('N', help, 0, 1, 999_999_999);

const cidrs = (help: string) => list('CIDR', isCidr, 'must be ranges such as 10.0.0.0/8', help);

const urls = (help: string) =>
  list('URL', isHttpUrl, 'must be addresses such as https://vault.example.com', help);

const days = (help: string, fallback: number) => whole('N', help, fallback, 0, 36_500);

function databaseUrl(given: string): string {
  addressIn(given);
  return given;
}

function issuerUrl(given: string): string {
  const { protocol, hostname } = URL.parse(given) ?? {};
  if (protocol !== 'https:' && !(protocol === 'http:' && isThisMachine(hostname!)))
    throw new Error('must be a URL that begins with https://');
  return given;
}

function smtpUrl(given: string): string {
  const url = URL.parse(given);
  const isServer = url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== '';
  if (!isServer || !['', '/'].includes(url.pathname) || url.search !== '' || url.hash !== '')
    throw new Error('must be smtp://HOST or smtps://HOST, with a user and a port if needed');
  if (url.password !== '') throw new Error('must not contain the password: use STRONGROOM_SMTP_PASSWORD');
  return given;
}

function sender(given: string): string {
  const isSender =
    /^(?:[^<>\p{C}]{0,100}<[^\s<>@\p{C}]+@[^\s<>@\p{C}]+>|[^\s<>@\p{C}]+@[^\s<>@\p{C}]+)$/u.test(given);
  if (!isSender) throw new Error('must be an address, or a name and an address in angle brackets');
  return given;
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new Error('names a file that can’t be read');
  }
}

function clientsIn(content: string): readonly ClientDocument[] {
  try {
    return clientDocument.array().parse(JSON.parse(content));
  } catch {
    throw new Error('must name a file with a JSON list of client metadata documents');
  }
}

/** A token must not travel in the clear, except on this machine. */
function transitKey(given: string): string {
  const { protocol, hostname } = URL.parse(given) ?? {};
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isThisMachine(hostname!));
  if (!isSafe || transitAddress(given, 'encrypt') === null)
    throw new Error('must be the address of a key, such as https://HOST/v1/transit/keys/NAME');
  return given;
}

/** The location of the data and its root key, for every command that uses them. */
export const placeOptions = {
  data: textOr('data', 'DIR', 'the data folder (default: ./data)'),
  'database-url': text('URL', 'use this PostgreSQL database instead of the embedded SQLite', databaseUrl),
  'database-url-file': text(
    'FILE',
    'read the database URL from FILE, so that it is not visible in the process list',
    file => databaseUrl(contentOf(file)),
  ),
  'database-password-file': text('FILE', 'read the database password from FILE, for each new connection'),
  'database-listen-url': text(
    'URL',
    'a direct URL of the same database, for notifications, if --database-url is that of a pooler',
    databaseUrl,
  ),
  'root-key-file': text('FILE', 'the root key file (default: root.key in the data folder)'),
  'passphrase-file': text(
    'FILE',
    'protect the keyring with the passphrase in FILE instead of a root key file',
  ),
  'passphrase-prompt': flag('ask for the passphrase on the terminal at startup'),
  'transit-key': text(
    'URL',
    'open the transit slot of the root key with this key of another vault (https://HOST/v1/transit/keys/NAME)',
    transitKey,
  ),
  'transit-token-file': text('FILE', 'the file with the token for --transit-key; read for each call'),
  'age-identity-file': text('FILE', 'open an age slot of the root key with the private keys in FILE'),
  'share-file': text('FILE', 'open a slot of the root key with the shares in FILE'),
};

const newDatabase = flag('create a new database although a root key already exists');

/** The recipients of an encrypted backup. */
export const recipientOptions = {
  'backup-recipient': list(
    'KEY',
    key => recipientFrom(key) !== null,
    'must be public keys such as age1…',
    'encrypt backups for these public keys (age1…)',
  ),
  'backup-passphrase-file': text('FILE', 'encrypt backups with the passphrase in FILE instead'),
};

/** For commands that write or read archives of the audit log. */
export const archiveOptions = {
  'audit-archive': text(
    'DIR',
    'the folder for archives of the audit log (default: audit-archive in the data folder)',
  ),
};

/** Parses a duration such as `6h` into milliseconds. */
function durationOf(given: string): number {
  const [, count, unit] = /^([1-9]\d{0,3})([mhd])$/.exec(given) ?? [];
  if (count === undefined)
    throw new Error('must be a number of minutes, hours or days, such as 30m, 6h or 1d');
  return Number(count) * { m: 60_000, h: 3_600_000, d: 86_400_000 }[unit as 'm' | 'h' | 'd'];
}

const scheduleOptions = {
  'backup-to': text('DIR', 'let the service take backups into this folder'),
  'backup-every': {
    value: 'TIME',
    help: 'how often to take a backup, such as 30m, 6h or 1d (default: 6h)',
    fallback: durationOf('6h'),
    parse: durationOf,
  } satisfies Option<number> as Option<number>,
  keep: {
    value: 'N|TIME',
    help: 'how many of these backups to keep, or for how long, such as 30d (default: 28)',
    fallback: { count: 28 },
    parse: given => (/^[1-9]\d{0,4}$/.test(given) ? { count: Number(given) } : { age: durationOf(given) }),
  } satisfies Option<Keep> as Option<Keep>,
};

export const serveOptions = {
  ...placeOptions,
  'new-database': newDatabase,
  host: textOr('127.0.0.1', 'H', 'the address to listen on (default: 127.0.0.1)'),
  port: whole('N', 'the port to listen on (default: 8420; 0 picks a free one)', 8420, 0, 65_535),
  socket: text('FILE', 'listen on this Unix socket instead of --host and --port'),
  'socket-mode': {
    value: 'MODE',
    help: 'who may connect to the Unix socket (default: 0660, owner and group)',
    fallback: 0o660,
    parse: given => {
      if (!/^0?[0-7]{3}$/.test(given)) throw new Error('must be an octal mode such as 0660');
      return Number.parseInt(given, 8);
    },
  } satisfies Option<number> as Option<number>,
  'tls-cert': text('FILE', 'the TLS certificate with its chain; reloaded when it changes'),
  'tls-key': text('FILE', 'the private key of the TLS certificate'),
  tls: choice('create a local certificate authority and a certificate in the data folder', ['auto'] as const),
  'client-certificates': flag('ask TLS clients for a certificate, for identities that log in with one'),
  'behind-proxy': cidrs('the proxies that terminate TLS; forwarded headers are trusted only from them'),
  readers: {
    value: 'N',
    help: `how many threads answer vault reads, at most ${mostReaders} (default: one less than there are cores, at least 1, at most 8)`,
    fallback: null,
    parse: given => {
      if (!/^[1-9]\d?$/.test(given) || Number(given) > mostReaders)
        throw new Error(`must be a whole number from 1 to ${mostReaders}`);
      return Number(given);
    },
  } satisfies Option<number | null> as Option<number | null>,
  'connections-per-address': whole(
    'N',
    'maximum connections per client address, except proxies (default: 1000)',
    1_000,
    1,
    10_000,
  ),
  'oidc-issuer': text('URL', 'offer sign-in through this OpenID Connect issuer', issuerUrl),
  'oidc-client-id': text(
    'ID',
    'the client id at the issuer; the client secret is STRONGROOM_OIDC_CLIENT_SECRET',
  ),
  'oidc-name': text('NAME', 'the issuer’s name on the sign-in button (default: Single sign-on)'),
  'oidc-groups-claim': text(
    'NAME',
    'the claim with a person’s groups; it fills the groups with single_sign_on that have these names',
  ),
  'public-url': urls(
    'the addresses at which clients reach the service; sign-in and the tool endpoint refuse other Host headers',
  ),
  oauth: choice(
    'let clients of the tool endpoint sign in: on the first call without a key (offered), or on the first request (required)',
    ['offered', 'required'] as const,
  ),
  'oauth-client': {
    ...text('FILE', 'further OAuth clients: a JSON list of client metadata documents'),
    fallback: [],
    parse: file => clientsIn(contentOf(file)),
  } satisfies Option<readonly ClientDocument[]> as Option<readonly ClientDocument[]>,
  'oauth-fetch-clients': flag('fetch the metadata documents of unknown OAuth clients from public addresses'),
  'oauth-registration': flag('let unknown OAuth clients register themselves'),
  'mcp-base-url': urls('other addresses that a tool call may give as baseUrl; compared, never fetched'),
  'checkpoint-file': text(
    'FILE',
    'where to keep the newest signed log checkpoint (default: checkpoint.json in the data folder)',
  ),
  'accept-restore': checkpointNumber(
    'accept, once, a restored database that does not match the kept checkpoint N',
  ),
  'accept-clock': checkpointNumber('accept, once, a clock that is far behind the time of checkpoint N'),
  'allow-private-webhooks': cidrs('private networks that webhooks may be sent to, also over plain http'),
  'smtp-url': text(
    'URL',
    'send mail through this server: smtp://USER@HOST:587 (with STARTTLS) or smtps://USER@HOST; the password is STRONGROOM_SMTP_PASSWORD',
    smtpUrl,
  ),
  'smtp-password-file': text('FILE', 'read the password for the mail server from FILE instead'),
  'mail-from': text('ADDRESS', 'the sender of mails, such as Strongroom <vault@example.com>', sender),
  'allow-plain-smtp': flag('send mail without encryption if the server does not offer it'),
  'log-format': choice('print reports as text to stderr (default), or as lines of JSON to stdout', [
    'text',
    'json',
  ] as const),
  'metrics-port': {
    ...whole('N', 'serve Prometheus metrics on this port (default: off; 0 picks a free one)', 0, 0, 65_535),
    fallback: null,
  } satisfies Option<number | null> as Option<number | null>,
  'metrics-host': textOr('127.0.0.1', 'H', 'the address on which metrics are served (default: 127.0.0.1)'),
  'allow-private-issuers': cidrs(
    'private networks from which keys of token issuers may be fetched, also over plain http',
  ),
  'allow-private-leases': cidrs(
    'private networks in which issuers may create credentials, also over unencrypted connections',
  ),
  'log-retention-days': days('days to keep request log entries (default: 90; 0 keeps them indefinitely)', 90),
  'audit-retention-days': days(
    'days to keep audit log entries before they are archived (default: 0, which keeps them indefinitely)',
    0,
  ),
  ...archiveOptions,
  ...scheduleOptions,
  ...recipientOptions,
};

const planOption = choice('the plan', ['free', 'pro', 'enterprise'] as const);

export const setupOptions = {
  ...placeOptions,
  'new-database': newDatabase,
  organization: text('NAME', 'the name of the organization (default: Default, if there is none yet)'),
  plan: { ...planOption, help: 'the plan of the organization (default: pro)' },
  'enterprise-limit': whole(
    'N',
    'requests per minute on the enterprise plan (default: 0, unlimited)',
    0,
    0,
    mostEnterpriseLimit,
  ),
  'new-key': flag('add an owner’s API key to an existing organization'),
  email: text('ADDRESS', 'invite this person as an owner, and print the link with which they join'),
  'public-url': urls('the address of the dashboard, for the link (default: http://localhost:8420)'),
  json: flag('print one JSON object'),
};

export const setPlanOptions = {
  ...placeOptions,
  organization: text('NAME', 'the name of the organization'),
  plan: planOption,
  'enterprise-limit': setupOptions['enterprise-limit'],
};

export const ownerResetOptions = {
  ...placeOptions,
  organization: text('NAME', 'the name of the organization, if there are several'),
  email: text('ADDRESS', 'the owner’s email address'),
  url: { ...serviceUrl, help: 'the address of the dashboard, for the link (default: http://localhost:8420)' },
  json: flag('print one JSON object'),
};

export const mcpOptions = {
  url: serviceUrl,
  names: choice('how tools are named (default: dotted)', ['dotted', 'underscore'] as const),
};

export const mcpConfigOptions = {
  client: choice('the client to configure', [
    'claude-code',
    'claude-desktop',
    'codex',
    'copilot',
    'cursor',
    'gemini',
    'opencode',
    'vscode',
    'zed',
    'inspector',
  ] as const),
  url: { ...serviceUrl, help: 'the address of the service (default: http://127.0.0.1:8420)' },
};
