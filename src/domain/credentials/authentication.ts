/**
 * Authenticates tokens. Missing, malformed, unknown, revoked, expired and misplaced credentials all get the same
 * response and cost the same work.
 */
import type { Caller, Origin, Reader, Sender } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { RefusalReason } from '../../contract/refusals.ts';
import type { KeyNarrowing } from '../../contract/restrictions.ts';
import type { IdentityRow } from '../../store/records/identities.ts';
import { RowCache } from '../kernel/row-cache.ts';
import { faultSince, type GroundLookup, isGiven, readerNow } from './access-key-grounds.ts';
import { callerOf, goodMakers, makerOf } from './api-key-callers.ts';
import {
  type Credential,
  credentialKinds,
  faultOf,
  isUsable,
  type Restrictions,
  type StoredKind,
} from './credential.ts';
import type { Holder } from './member-rights.ts';
import { mostKept, type RecognitionParts, recognitionWith } from './recognition.ts';

/** The owner of a credential that was sent, whether or not it is valid. */
export interface Owner {
  readonly id: string;
  readonly organizationId: string;
  /** The vault that the credential is for, or that its key is in. */
  readonly vaultId: string | null;
  readonly narrowing: KeyNarrowing | null;
}

/** A refusal that knows the credential's owner, for the log; the response is the same for all. */
export class Refused extends Failure {
  readonly owner: Owner | null;

  constructor(wait: number, owner: Owner | null, because: RefusalReason) {
    super(
      wait > 0 ? 'RATE_LIMITED' : 'UNAUTHORIZED',
      wait > 0 ? { retryAfter: wait, because: 'too_many_failures' } : { because },
    );
    this.owner = owner;
  }
}

export type Authenticator = ReturnType<typeof authenticatorWith>;

interface AuthenticatorParts extends RecognitionParts {
  readonly people: { byMember(memberId: string): Promise<Holder | undefined> };
  readonly now: () => number;
}

export function authenticatorWith(parts: AuthenticatorParts) {
  const { store, stamps, attempts, people, now } = parts;
  const tokens = recognitionWith(parts);
  const { find, recognise, isCurrent } = tokens;
  const identities = new RowCache<IdentityRow>(store, mostKept);
  const used = new Map<string, number>();
  // The member that an API key belongs to never changes.
  const makers = new WeakMap<Credential, string | null>();
  const memories = new WeakMap<object, { readonly token: string; readonly credential: Credential }>();

  async function loadIdentity(id: string): Promise<IdentityRow | undefined> {
    const row = await store.identities.anywhere(id);
    return row && stamps.identity.believe(row);
  }

  /** The credential that the token proves, if it is of the required kind and can be used now. */
  async function prove(kind: StoredKind, token: string | null, sender: Sender): Promise<Credential> {
    const credential = token === null ? undefined : await recognise(token, sender);
    if (credential === undefined)
      return refuse(sender, credential, token === null ? 'no_credential' : 'unknown_credential');
    const fault = faultAs(kind, credential, sender) ?? (await faultBehind(credential, sender));
    if (fault !== null) return refuse(sender, credential, fault);
    used.set(credential.row.id, now());
    return credential;
  }

  function keysFrom(sender: Sender): GroundLookup {
    return {
      key: id => find(id, sender),
      member: async key => {
        const maker = makers.get(key) ?? (await makerOf({ store, stamps }, key));
        makers.set(key, maker);
        return maker;
      },
      holder: people.byMember,
      identity: async id => {
        const look = () => identities.load(id, () => loadIdentity(id));
        return identities.get(id) ?? attempts.lookUp(sender.address, look);
      },
      now,
    };
  }

  /** Whether all API keys that something was created with, and ends with, are valid. */
  async function areMakersGood(narrowing: Restrictions, sender: Sender): Promise<boolean> {
    return narrowing.made_with === undefined || (await goodMakers(keysFrom(sender), narrowing)) !== null;
  }

  function faultAs(kind: StoredKind, credential: Credential, sender: Sender): RefusalReason | null {
    return credential.row.kind === credentialKinds[kind] ? faultHere(credential, sender) : 'wrong_kind';
  }

  /** Most credentials rest on nothing but their own record. */
  async function faultBehind(credential: Credential, sender: Sender): Promise<RefusalReason | null> {
    const { row, narrowing } = credential;
    if (row.identity_id === null && narrowing.made_with === undefined && narrowing.grant === undefined)
      return null;
    return faultSince(keysFrom(sender), credential);
  }

  /** Why it can't be used now from this address; null if it can. */
  function faultHere({ row, end, admits }: Credential, { address }: Sender): RefusalReason | null {
    const time = now();
    if (time >= end) return faultOf(row, time) ?? 'expired';
    return faultOf(row, time) ?? (admits(address) ? null : 'outside_networks');
  }

  /** A key created with another access key is valid only if that one is, here and now. */
  async function readerHere(credential: Credential, sender: Sender): Promise<Reader> {
    const { parent, run_parent } = credential.narrowing;
    if (parent === undefined && run_parent === undefined) return credential.reader!;
    const isValid = (parent: Credential) => faultHere(parent, sender) === null;
    const reader = await readerNow(keysFrom(sender), credential, isValid);
    return reader ?? refuse(sender, credential, 'parent_not_valid');
  }

  function refuse({ address }: Sender, shown: Credential | undefined, because: RefusalReason): never {
    const wait = attempts.blockedFor(address);
    attempts.add(address);
    throw new Refused(wait, shown === undefined ? null : ownerIn(shown), because);
  }

  return {
    /** The access key that this connection proved by the same token, if nothing is counted. Null proves nothing. */
    remembered: (connection: object, token: string | null, vaultId: string | null, { address }: Sender) => {
      const memory = memories.get(connection);
      if (memory === undefined || memory.token !== token) return null;
      const { row, reader, end, admits } = memory.credential;
      const time = now();
      if (!isCurrent(memory.credential) || !isUsable(row, time) || time >= end || !admits(address))
        return null;
      if (row.identity_id !== null && !isGiven(row, identities.get(row.identity_id))) return null;
      if (reader === null || (vaultId !== null && reader.vaultId !== vaultId)) return null;
      used.set(row.id, time);
      return reader;
    },

    /** Lets a connection skip the proof as long as the credential's record is unchanged. */
    remember: (connection: object, token: string | null, reader: Reader): void => {
      const credential = tokens.provenBefore(token!, reader);
      if (credential?.reader !== reader) return;
      const byOAuth = credential.narrowing.grant !== undefined;
      const isBound = byOAuth || credential.narrowing.made_with !== undefined;
      const judged = reader.rateLimit !== null || reader.maxUses !== null || isBound;
      if (!judged) memories.set(connection, { token: token!, credential });
    },

    apiKey: async (token: string | null, origin: Origin): Promise<Caller> => {
      const credential = await prove('api', token, origin);
      const caller = await callerOf(keysFrom(origin), credential, origin);
      return caller ?? refuse(origin, credential, 'member_changed');
    },

    areMakersGood,

    /** The vault that an access key opens, if the request names none. */
    accessKeyAnywhere: async (token: string | null, sender: Sender): Promise<Reader> =>
      readerHere(await prove('vault', token, sender), sender),

    accessKey: async (token: string | null, vaultId: string, sender: Sender): Promise<Reader> => {
      const credential = await prove('vault', token, sender);
      const reader = await readerHere(credential, sender);
      return reader.vaultId === vaultId ? reader : refuse(sender, credential, 'wrong_vault');
    },

    /** The id of the key whose public key the token gives access to. */
    publicToken: async (token: string | null, sender: Sender) => {
      const credential = await prove('pub', token, sender);
      return { ...ownerIn(credential), keyId: credential.row.key_id! };
    },

    /** The owner of a token of any kind and state. Only the log may use the result; it proves nothing. */
    ownerOf: async (token: string | null, sender: Sender): Promise<Owner | null> => {
      const credential = token === null ? undefined : await recognise(token, sender);
      return credential === undefined ? null : ownerIn(credential);
    },

    /** Stores when credentials were last used. Called periodically. */
    noteUses: async (): Promise<void> => {
      await tokens.noteRestrictionKeys();
      if (used.size === 0) return;
      const batch = new Map(used);
      used.clear();
      await store.credentials.noteUse(batch);
    },
  };
}

function ownerIn({ row, reader }: Credential): Owner {
  const narrowing = reader?.narrowing ?? null;
  return { id: row.id, organizationId: row.organization_id, vaultId: row.vault_id, narrowing };
}
