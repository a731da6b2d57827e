/**
 * From a token to who is asking, or to nobody. Missing, malformed, unknown, revoked, expired and misplaced
 * credentials all end in the same answer and cost the same work. Believed records are kept in memory, and
 * dropped the moment that a change to them is heard of; while changes can't be heard, nothing is kept.
 */
import { addressSet } from '../access/address.ts';
import type { Caller, Origin, Reader, ResourceKind, Sender } from '../access/caller.ts';
import type { Action, Role } from '../access/policy.ts';
import { mintToken, parseToken } from '../access/token.ts';
import { Failure } from '../contract/errors.ts';
import { equalBytes, type Keyring } from '../keyring/keyring.ts';
import { memoryDigest } from '../keyring/memory.ts';
import type { CredentialRow } from '../store/credentials.ts';
import type { Store } from '../store/store.ts';
import type { Attempts } from './attempts.ts';
import { Kept } from './kept.ts';
import type { Stamps } from './stamps.ts';

export const credentialKinds = { api: 'api-key', vault: 'access-key', pub: 'public-token' } as const;
type StoredKind = keyof typeof credentialKinds;

/** Scopes and narrowings, as a credential's record keeps them. */
export interface Narrowing {
  readonly scopes?: readonly Action[] | null;
  readonly vault_ids?: readonly string[] | null;
  readonly kinds?: readonly ResourceKind[] | null;
  readonly names?: readonly string[] | null;
  readonly names_only?: boolean;
  readonly cidrs?: readonly string[] | null;
  readonly rate_limit?: number | null;
}

/** A believed record, with what can be worked out once. */
export interface Credential {
  readonly row: CredentialRow;
  readonly narrowing: Narrowing;
  readonly admits: (address: string) => boolean;
  /** What an access key is to the vault endpoint; null for the other kinds. */
  readonly reader: Reader | null;
}

export interface Authenticator {
  /**
   * The access key that this connection proved before, where it sends the same token again and nothing is to be
   * counted. Null says nothing: ask `accessKey`.
   */
  remembered(connection: object, token: string | null, vaultId: string | null, sender: Sender): Reader | null;
  /** Lets a connection skip the proof as long as the credential's record stays as it is. */
  remember(connection: object, token: string | null, reader: Reader): void;
  apiKey(token: string | null, origin: Origin): Promise<Caller>;
  accessKey(token: string | null, vaultId: string, sender: Sender): Promise<Reader>;
  /** Which vault an access key opens, where the request names none. */
  accessKeyAnywhere(token: string | null, sender: Sender): Promise<Reader>;
  /** The id of the key whose public half the token gives. */
  publicToken(
    token: string | null,
    sender: Sender,
  ): Promise<{ id: string; organizationId: string; keyId: string }>;
  /** Writes down when credentials were last used, every so often. */
  noteUses(): Promise<void>;
}

export interface AuthenticatorParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly stamps: Stamps;
  readonly attempts: Attempts;
  readonly now: () => number;
}

const mostKept = 20_000;

export function authenticatorWith({
  store,
  keyring,
  stamps,
  attempts,
  now,
}: AuthenticatorParts): Authenticator {
  const kept = new Kept<Credential>(store, mostKept);
  const used = new Map<string, number>();
  // Tokens that were proven before are known again by a mark of theirs; it stands as long as the record is kept.
  const markOf = memoryDigest();
  const proven = new Map<string, Credential>();
  const memories = new WeakMap<object, { readonly token: string; readonly credential: Credential }>();
  // What an unknown id is compared with, so that it takes as long as a known one.
  const nobody = keyring.tokenDigest(mintToken('api', '00000000-0000-7000-8000-000000000000'));

  async function load(id: string): Promise<Credential | undefined> {
    const row = await store.credentials.byId(id);
    return row && credentialOf(stamps.credential.believe(row));
  }

  async function find(id: string, sender: Sender): Promise<Credential | undefined> {
    const known = kept.get(id);
    if (known !== undefined) return known;
    const wait = attempts.blockedFor(sender.address);
    if (wait > 0) throw new Failure('RATE_LIMITED', { retryAfter: wait });
    return kept.load(id, () => load(id));
  }

  /** The credential whose token this is, or undefined. */
  async function recognise(token: string, sender: Sender): Promise<Credential | undefined> {
    const mark = markOf(token);
    const before = proven.get(mark);
    if (before !== undefined && kept.get(before.row.id) === before) return before;
    const parsed = parseToken(token);
    const credential = parsed === null ? undefined : await find(parsed.id, sender);
    const isIts = equalBytes(keyring.tokenDigest(token), credential?.row.digest ?? nobody);
    if (credential === undefined || !isIts) return undefined;
    if (proven.size >= mostKept) proven.clear();
    proven.set(mark, credential);
    return credential;
  }

  /** The credential that the token proves, of the kind that belongs here and able to be used now. */
  async function prove(kind: StoredKind, token: string | null, sender: Sender): Promise<Credential> {
    const credential = token?.startsWith(`sr_${kind}_`) ? await recognise(token, sender) : undefined;
    if (credential === undefined || credential.row.kind !== credentialKinds[kind]) return refuse(sender);
    if (!usable(credential.row) || !credential.admits(sender.address)) return refuse(sender);
    used.set(credential.row.id, now());
    return credential;
  }

  function usable({ revoked_at, expiration_date }: CredentialRow): boolean {
    return revoked_at === null && (expiration_date === null || now() < expiration_date);
  }

  function refuse({ address }: Sender): never {
    const wait = attempts.blockedFor(address);
    attempts.failed(address);
    throw wait > 0 ? new Failure('RATE_LIMITED', { retryAfter: wait }) : new Failure('UNAUTHORIZED');
  }

  async function accessKeyAnywhere(token: string | null, sender: Sender): Promise<Reader> {
    return (await prove('vault', token, sender)).reader!;
  }

  return {
    remembered: (connection, token, vaultId, { address }) => {
      const memory = memories.get(connection);
      if (memory === undefined || memory.token !== token) return null;
      const { row, reader, admits } = memory.credential;
      if (kept.get(row.id) !== memory.credential || !usable(row) || !admits(address)) return null;
      if (reader === null || (vaultId !== null && reader.vaultId !== vaultId)) return null;
      used.set(row.id, now());
      return reader;
    },

    remember: (connection, token, reader) => {
      const credential = kept.get(reader.id);
      const counted = reader.rateLimit !== null || reader.maxUses !== null;
      if (credential?.reader === reader && !counted) memories.set(connection, { token: token!, credential });
    },

    apiKey: async (token, origin) => callerOf(await prove('api', token, origin), origin),

    accessKeyAnywhere,

    accessKey: async (token, vaultId, sender) => {
      const reader = await accessKeyAnywhere(token, sender);
      return reader.vaultId === vaultId ? reader : refuse(sender);
    },

    publicToken: async (token, sender) => {
      const { row } = await prove('pub', token, sender);
      return { id: row.id, organizationId: row.organization_id, keyId: row.key_id! };
    },

    noteUses: async () => {
      if (used.size === 0) return;
      const batch = new Map(used);
      used.clear();
      await store.credentials.noteUse(batch);
    },
  };
}

function callerOf({ row, narrowing }: Credential, origin: Origin): Caller {
  return {
    kind: 'api-key',
    id: row.id,
    name: row.name,
    organizationId: row.organization_id,
    role: row.role as Role,
    scopes: narrowing.scopes ?? null,
    vaultIds: narrowing.vault_ids ?? null,
    origin,
  };
}

function viewOf({ kinds = null, names = null, names_only = false }: Narrowing): string {
  return kinds === null && names === null && !names_only ? '' : JSON.stringify([kinds, names, names_only]);
}

function credentialOf(row: CredentialRow): Credential {
  const narrowing = JSON.parse(row.narrowing) as Narrowing;
  const admits = narrowing.cidrs ? addressSet(narrowing.cidrs) : () => true;
  const reader = row.kind === credentialKinds.vault ? readerOf(row, narrowing) : null;
  return { row, narrowing, admits, reader };
}

function readerOf(row: CredentialRow, narrowing: Narrowing): Reader {
  return {
    kind: 'access-key',
    id: row.id,
    name: row.name,
    organizationId: row.organization_id,
    vaultId: row.vault_id!,
    kinds: narrowing.kinds ?? null,
    names: narrowing.names ?? null,
    namesOnly: narrowing.names_only ?? false,
    cidrs: narrowing.cidrs ?? null,
    rateLimit: narrowing.rate_limit ?? null,
    maxUses: row.max_uses,
    expirationDate: row.expiration_date,
    view: viewOf(narrowing),
  };
}
