/**
 * From a token to who is asking, or to nobody. Missing, malformed, unknown, revoked, expired and misplaced
 * credentials all end in the same answer and cost the same work. Believed records are kept in memory, and
 * dropped the moment that a change to them is heard of; while changes can't be heard, nothing is kept.
 */
import { addressSet } from '../../access/address.ts';
import type { Caller, Origin, Reader, ResourceKind, Sender } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import { mintToken, parseToken } from '../../access/token.ts';
import { Failure } from '../../contract/errors.ts';
import { equalBytes, type Keyring } from '../../keyring/keyring.ts';
import { memoryDigest } from '../../keyring/memory.ts';
import type { CredentialRow } from '../../store/credentials.ts';
import type { IdentityRow } from '../../store/identities.ts';
import type { Store } from '../../store/store.ts';
import type { FailedAttempts } from '../kernel/failed-attempts.ts';
import { RowCache } from '../kernel/row-cache.ts';
import type { Stamps } from '../kernel/stamps.ts';
import { callerOf, makerOf, mayLend } from './api-key-callers.ts';
import type { Holder } from './member-rights.ts';

export const credentialKinds = {
  api: 'api-key',
  vault: 'access-key',
  pub: 'public-token',
  /** Proves an identity at its login, and is good for nothing else. */
  login: 'secret-id',
} as const;
type StoredKind = keyof typeof credentialKinds;

/** Scopes and narrowings, as a credential's record keeps them. */
export interface Narrowing {
  readonly scopes?: readonly Action[] | null;
  readonly vault_ids?: readonly string[] | null;
  readonly kinds?: readonly ResourceKind[] | null;
  readonly names?: readonly string[] | null;
  readonly names_only?: boolean;
  readonly may_use?: boolean;
  readonly cidrs?: readonly string[] | null;
  readonly rate_limit?: number | null;
  /** Of an access key: the one that it was created with. It sees what that one sees, and ends with it. */
  readonly parent?: string;
  /** Of what a member's sign-in gave: an API key, or an access key by OAuth. It ends with them, and with that epoch. */
  readonly login?: Login;
  /** Of any other API key: the member who created it, or whose API key did. Null where that was the operator’s. */
  readonly maker?: string | null;
  /** Of an access key by OAuth: the grant that it came of, which alone changes it. */
  readonly grant?: string;
}

export interface Login {
  readonly member_id: string;
  readonly epoch: number;
}

/** A believed record, with what can be worked out once. */
export interface Credential {
  readonly row: CredentialRow;
  readonly narrowing: Narrowing;
  readonly admits: (address: string) => boolean;
  /** What an access key is to the vault endpoint; null for the other kinds. */
  readonly reader: Reader | null;
}

/** Whose credential was shown, whether or not it is good for anything. */
export interface Owner {
  readonly id: string;
  readonly organizationId: string;
  /** The vault that it is for, or that its key is in. */
  readonly vaultId: string | null;
}

/** A refusal that knows whose credential was shown. That is for the log: the answer is the same for all. */
export class Refused extends Failure {
  readonly owner: Owner | null;

  constructor(wait: number, owner: Owner | null) {
    super(wait > 0 ? 'RATE_LIMITED' : 'UNAUTHORIZED', wait > 0 ? { retryAfter: wait } : {});
    this.owner = owner;
  }
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
  publicToken(token: string | null, sender: Sender): Promise<Owner & { readonly keyId: string }>;
  /** Whose token it is, of whatever kind and state. It proves nothing to anybody but the log. */
  ownerOf(token: string | null, sender: Sender): Promise<Owner | null>;
  /** Writes down when credentials were last used, every so often. */
  noteUses(): Promise<void>;
}

export interface AuthenticatorParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly stamps: Stamps;
  readonly attempts: FailedAttempts;
  readonly people: { byMember(memberId: string): Promise<Holder | undefined> };
  readonly now: () => number;
}

const mostKept = 20_000;

export function authenticatorWith({
  store,
  keyring,
  stamps,
  attempts,
  people,
  now,
}: AuthenticatorParts): Authenticator {
  const kept = new RowCache<Credential>(store, mostKept);
  const identities = new RowCache<IdentityRow>(store, mostKept);
  const used = new Map<string, number>();
  // Tokens that were proven before are known again by a mark of theirs; it stands as long as the record is kept.
  const markOf = memoryDigest();
  const proven = new Map<string, Credential>();
  // Whose an API key is never changes.
  const makers = new WeakMap<Credential, string | null>();
  const memories = new WeakMap<object, { readonly token: string; readonly credential: Credential }>();
  // What an unknown id is compared with, so that it takes as long as a known one.
  const nobody = keyring.tokenDigest(mintToken('api', '00000000-0000-7000-8000-000000000000'));

  async function load(id: string): Promise<Credential | undefined> {
    const row = await store.credentials.byId(id);
    return row && credentialOf(stamps.credential.believe(row));
  }

  async function loadIdentity(id: string): Promise<IdentityRow | undefined> {
    const row = await store.identities.anywhere(id);
    return row && stamps.identity.believe(row);
  }

  /** What an identity was given ends with any change to it. */
  async function isStillGiven({ row }: Credential, { address }: Sender): Promise<boolean> {
    const { identity_id: id } = row;
    if (id === null) return true;
    const look = () => identities.load(id, () => loadIdentity(id));
    return isGiven(row, identities.get(id) ?? (await attempts.lookUp(address, look)));
  }

  async function find(id: string, sender: Sender): Promise<Credential | undefined> {
    const known = kept.get(id);
    if (known !== undefined) return known;
    return attempts.lookUp(sender.address, () => kept.load(id, () => load(id)));
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
    const credential = token === null ? undefined : await recognise(token, sender);
    if (credential === undefined || credential.row.kind !== credentialKinds[kind])
      return refuse(sender, credential);
    if (!isGood(credential, sender)) return refuse(sender, credential);
    if (!(await isStillGiven(credential, sender))) return refuse(sender, credential);
    if (credential.narrowing.grant !== undefined && !(await isStillTheirs(credential)))
      return refuse(sender, credential);
    used.set(credential.row.id, now());
    return credential;
  }

  /** What a member gave by OAuth is good while they are who they were, and could still read all that it shows. */
  async function isStillTheirs({ row, narrowing }: Credential): Promise<boolean> {
    const { login } = narrowing;
    const holder = await people.byMember(login!.member_id);
    return holder !== undefined && mayLend(login!, holder, row.vault_id!, narrowing);
  }

  /** Whether it can be used now, from there. */
  function isGood({ row, admits }: Credential, { address }: Sender): boolean {
    return isUsable(row, now()) && admits(address);
  }

  /** One that was created with another access key sees what that one sees now, if that one is good here and now. */
  async function readerNow(credential: Credential, sender: Sender): Promise<Reader> {
    const { parent } = credential.narrowing;
    if (parent === undefined) return credential.reader!;
    const made = await find(parent, sender);
    if (made === undefined || !isGood(made, sender) || made.row.max_uses !== null)
      return refuse(sender, credential);
    return childReader(credential.reader!, made.reader!);
  }

  function refuse({ address }: Sender, shown: Credential | undefined): never {
    const wait = attempts.blockedFor(address);
    attempts.failed(address);
    throw new Refused(wait, shown === undefined ? null : ownerIn(shown));
  }

  return {
    remembered: (connection, token, vaultId, { address }) => {
      const memory = memories.get(connection);
      if (memory === undefined || memory.token !== token) return null;
      const { row, reader, admits } = memory.credential;
      if (kept.get(row.id) !== memory.credential || !isUsable(row, now()) || !admits(address)) return null;
      if (row.identity_id !== null && !isGiven(row, identities.get(row.identity_id))) return null;
      if (reader === null || (vaultId !== null && reader.vaultId !== vaultId)) return null;
      used.set(row.id, now());
      return reader;
    },

    remember: (connection, token, reader) => {
      const credential = kept.get(reader.id);
      const judged = reader.rateLimit !== null || reader.maxUses !== null || reader.byOAuth;
      if (credential?.reader === reader && !judged) memories.set(connection, { token: token!, credential });
    },

    apiKey: async (token, origin) => {
      const credential = await prove('api', token, origin);
      const maker = makers.get(credential) ?? (await makerOf({ store, stamps }, credential));
      makers.set(credential, maker);
      const holder = maker === null ? null : await people.byMember(maker);
      return callerOf(credential, origin, holder) ?? refuse(origin, credential);
    },

    accessKeyAnywhere: async (token, sender) => readerNow(await prove('vault', token, sender), sender),

    accessKey: async (token, vaultId, sender) => {
      const credential = await prove('vault', token, sender);
      const reader = await readerNow(credential, sender);
      return reader.vaultId === vaultId ? reader : refuse(sender, credential);
    },

    publicToken: async (token, sender) => {
      const credential = await prove('pub', token, sender);
      return { ...ownerIn(credential), keyId: credential.row.key_id! };
    },

    ownerOf: async (token, sender) => {
      const credential = token === null ? undefined : await recognise(token, sender);
      return credential === undefined ? null : ownerIn(credential);
    },

    noteUses: async () => {
      if (used.size === 0) return;
      const batch = new Map(used);
      used.clear();
      await store.credentials.noteUse(batch);
    },
  };
}

export function isUsable({ revoked_at, expiration_date }: CredentialRow, now: number): boolean {
  return revoked_at === null && (expiration_date === null || now < expiration_date);
}

/** Whether the identity is as it was when it was given the access key. */
function isGiven({ identity_revision }: CredentialRow, identity: IdentityRow | undefined): boolean {
  return identity !== undefined && identity.revision === identity_revision;
}

function ownerIn({ row }: Credential): Owner {
  return { id: row.id, organizationId: row.organization_id, vaultId: row.vault_id };
}

function viewOf({ kinds = null, names = null, names_only = false }: Narrowing): string {
  return kinds === null && names === null && !names_only ? '' : JSON.stringify([kinds, names, names_only]);
}

export function credentialOf(row: CredentialRow): Credential {
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
    mayUse: narrowing.may_use ?? false,
    cidrs: narrowing.cidrs ?? null,
    rateLimit: narrowing.rate_limit ?? null,
    maxUses: row.max_uses,
    expirationDate: row.expiration_date,
    parentName: null,
    countedAs: row.id,
    byOAuth: narrowing.grant !== undefined,
    view: viewOf(narrowing),
  };
}

/** It is another key, with its own end and its own number of uses; everything else is its parent's. */
function childReader({ id, name, maxUses, expirationDate }: Reader, parent: Reader): Reader {
  return { ...parent, id, name, parentName: parent.name, maxUses, expirationDate };
}
