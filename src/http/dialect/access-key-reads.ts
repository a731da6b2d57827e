/**
 * Reads with an access key in Vault's dialect: maps each to a selection of the vault read and to the encoding of its
 * answer. Encoded answers are cached in memory, without the id of the request.
 */
import type { z } from 'zod';
import { type Failure, invalid } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import type { vaultDescription } from '../../contract/tools.ts';
import type { AnswerEncoding, PlainSelection, Selection } from '../../domain/reads/vault-request.ts';
import type { KeyVersions } from '../../domain/resources/key-versions.ts';
import { failureOf } from '../listener/errors.ts';
import {
  configForm,
  dataForm,
  envelope,
  historyForm,
  listForm,
  lookupForm,
  mountForm,
  noMount,
  notFound,
  omissionWarnings,
  readOnlyKey,
  subkeysForm,
  Unsupported,
  versionMetadata,
} from './forms.ts';
import { databaseMount, databaseMountForm } from './leases/target.ts';
import { type StoreCall, type Target, versionIn } from './target.ts';
import { keyForm } from './transit/key-forms.ts';
import type { TransitCall } from './transit/target.ts';

/** The mount of the access key's own vault, whatever the vault is called. */
export const ownMount = 'secret';
/** In place of a secret's name: all secrets of the vault, as one map. */
export const allSecrets = '_all';

interface DialectRead {
  /** Null if the access key determines the vault. */
  readonly vaultId: string | null;
  readonly selection: Selection | Failure;
  readonly encoding: AnswerEncoding | null;
}

type Parsed = readonly [PlainSelection, AnswerEncoding];

/** `token` is the credential of the request. */
export function readOf(asked: Target, url: string, token: string | null, now: () => number): DialectRead {
  const mount = mountOf(asked);
  const vaultId = isId(mount) ? mount : null;
  try {
    const [selection, encoding] = parsed(asked, url, token, now);
    const isNamed = vaultId === null && mount !== ownMount;
    return {
      vaultId,
      selection: isNamed ? { of: 'named-vault', name: mount, selection } : selection,
      encoding,
    };
  } catch (error) {
    return { vaultId, selection: failureOf(error), encoding: null };
  }
}

function mountOf(asked: Target): string {
  if (asked.of === 'store') return asked.mount;
  return (asked.of === 'transit' && asked.mount) || ownMount;
}

function parsed(asked: Target, url: string, token: string | null, now: () => number): Parsed {
  switch (asked.of) {
    case 'store':
      return storeRead(asked, url);
    case 'transit':
      return transitRead(asked);
    case 'mount':
      return [{ of: 'access-key' }, mountEncoding(asked.path)];
    case 'token':
      if (asked.call !== 'lookup-self') throw notFound();
      return [{ of: 'access-key' }, lookupEncoding(token!, now)];
    case 'nothing':
      throw asked.failure;
    default:
      throw notFound();
  }
}

function storeRead({ verb, path, isList }: StoreCall, url: string): Parsed {
  if (verb === 'config') return [{ of: 'access-key' }, plainEncoding];
  if (isList) return [{ of: 'kind', kind: 'secret', fields: 'names' }, listEncoding(path)];
  if (path === '') throw notFound();
  if (verb === 'metadata') return [secretNamed(path, 'metadata'), historyEncoding];
  if (verb === 'data' && path === allSecrets) return [{ of: 'values', format: 'map' }, allEncoding];
  if (verb === 'data') return [secretNamed(path, 'value'), dataEncoding(versionIn(url))];
  if (verb === 'subkeys') return [secretNamed(path, 'value'), subkeysEncoding(versionIn(url), depthIn(url))];
  throw readOnlyKey();
}

/** The keys that the access key sees; with names only, nothing else of them. */
function transitRead(asked: TransitCall): Parsed {
  if (asked.verb !== 'keys' || asked.action !== '') throw new Unsupported('unsupported operation');
  if (asked.key === '') return [{ of: 'kind', kind: 'key', fields: 'names' }, keyListEncoding];
  const nameOrId = asked.key.normalize('NFC');
  return [{ of: 'item', kind: 'key', nameOrId, fields: 'versions' }, keyEncoding];
}

function secretNamed(name: string, fields: 'value' | 'metadata'): PlainSelection {
  return { of: 'item', kind: 'secret', nameOrId: name.normalize('NFC'), fields, versioned: true };
}

export function depthIn(url: string): number {
  const depth = new URL(url, 'http://localhost').searchParams.get('depth') ?? '0';
  if (!/^\d{1,3}$/.test(depth)) throw invalid('depth', 'must be a whole number');
  return Number(depth);
}

/** Encoded answers are cached under this name, so it must contain every input of the encoding other than the answer. */
function encoding(name: string, write: (answer: never) => string, mountType?: 'transit'): AnswerEncoding {
  return {
    name: `vault-${name}`,
    encode: (body, unresolved) => {
      const data = write(JSON.parse(body.toString('utf8')) as never);
      return envelope(data, 'null', omissionWarnings(unresolved), mountType);
    },
  };
}

interface Secret {
  readonly name: string;
  readonly value: string;
  readonly content_type: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly version: number;
  readonly version_created_at: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** An access key reads the current version only: an earlier one may have been replaced because it leaked. */
function checkCurrent({ version }: Secret, wanted: number | null): void {
  if (wanted !== null && wanted !== version) throw notFound();
}

function dataEncoding(wanted: number | null): AnswerEncoding {
  return encoding(`data ${wanted ?? 0}`, (secret: Secret) => {
    checkCurrent(secret, wanted);
    return dataForm(secret);
  });
}

function subkeysEncoding(wanted: number | null, depth: number): AnswerEncoding {
  return encoding(`subkeys ${wanted ?? 0} ${depth}`, (secret: Secret) => {
    checkCurrent(secret, wanted);
    return JSON.stringify(subkeysForm(secret, depth));
  });
}

const historyEncoding = encoding('metadata', (secret: Secret) =>
  JSON.stringify(
    historyForm({
      ...secret,
      versions: [{ version: secret.version, created_at: secret.version_created_at }],
    }),
  ),
);

/** The prefix is quoted, so that it can't be confused with the selection's name that follows it. */
function listEncoding(folder: string): AnswerEncoding {
  const name = `list ${JSON.stringify(folder)}`;
  return encoding(name, ({ secrets }: { secrets: readonly { name: string }[] }) =>
    JSON.stringify(
      listForm(
        secrets.map(one => one.name),
        folder.normalize('NFC'),
      ),
    ),
  );
}

const keyEncoding = encoding('key', (key: KeyVersions) => JSON.stringify(keyForm(key)), 'transit');

const keyListEncoding = encoding(
  'keys',
  ({ keys }: { keys: readonly { name: string }[] }) => {
    if (keys.length === 0) throw notFound();
    return JSON.stringify({ keys: keys.map(one => one.name).sort() });
  },
  'transit',
);

/** A whole vault has no version and no creation time. */
const allEncoding = encoding('all', (values: object) =>
  JSON.stringify({
    data: values,
    metadata: versionMetadata({ version: 1, version_created_at: '1970-01-01T00:00:00.000Z' }),
  }),
);

const plainEncoding = encoding('config', () => JSON.stringify(configForm));

type Described = z.output<typeof vaultDescription>;
interface AccessKeyAnswer {
  readonly vault: Described['vault'];
  readonly access_key: Pick<Described['access_key'], 'id' | 'name' | 'max_uses' | 'expiration_date'>;
}

function mountEncoding(path: string): AnswerEncoding {
  return encoding('mount', ({ vault }: AccessKeyAnswer) => {
    const mount = [ownMount, vault.id, vault.name].find(name => path === name || path.startsWith(`${name}/`));
    if (mount === undefined && isDatabase(path)) return JSON.stringify(databaseMountForm(vault.id));
    if (mount === undefined) throw noMount();
    return JSON.stringify(mountForm(vault.id, mount));
  });
}

function isDatabase(path: string): boolean {
  return path === databaseMount || path.startsWith(`${databaseMount}/`);
}

export function tokenFactsOf({ access_key }: AccessKeyAnswer) {
  const { id, name, max_uses, expiration_date } = access_key;
  const expiresAt = expiration_date === null ? null : Date.parse(expiration_date);
  return { id, name, expiresAt, maxUses: max_uses, isChild: false };
}

/** The answer about an access key itself is not cached, so it may contain the token. */
function lookupEncoding(token: string, now: () => number): AnswerEncoding {
  return encoding('lookup-self', (answer: AccessKeyAnswer) =>
    JSON.stringify(lookupForm(token, tokenFactsOf(answer), now())),
  );
}
