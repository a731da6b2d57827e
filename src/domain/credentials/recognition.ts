/**
 * From a token to the credential whose token it is, whatever that is good for. What is unknown costs the same work as what is
 * known. Believed records are kept in memory, and dropped the moment that a change to them is heard of; while changes
 * can't be heard, nothing is kept.
 */
import type { Reader, Sender } from '../../access/caller.ts';
import {
  hasChain,
  isRestricted,
  parseRestricted,
  restrictionKeyOf,
  restrictionsIn,
} from '../../access/restricted-token.ts';
import { mintToken, parseToken } from '../../access/token.ts';
import { equalBytes, type Keyring } from '../../keyring/keyring.ts';
import { memoryDigest } from '../../keyring/sealing/memory.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { Store } from '../../store/store.ts';
import type { FailedAttempts } from '../kernel/failed-attempts.ts';
import { RowCache } from '../kernel/row-cache.ts';
import type { Stamps } from '../kernel/stamps.ts';
import { type Credential, credentialKinds, credentialOf, restricted } from './credential.ts';
import type { RestrictionKeys } from './restriction-keys.ts';

export interface Recognition {
  find(id: string, sender: Sender): Promise<Credential | undefined>;
  /** The credential whose token this is, or undefined. */
  recognise(token: string, sender: Sender): Promise<Credential | undefined>;
  /** A credential stands as long as the record is kept that it was proven by. */
  isCurrent(credential: Credential): boolean;
  /** What the token of a reader proved, if that is still in memory. */
  provenBefore(token: string, reader: Reader): Credential | undefined;
  /** Stores the narrowing keys of access keys that were created before there were any, and were used since. */
  noteRestrictionKeys(): Promise<void>;
}

export interface RecognitionParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly stamps: Stamps;
  readonly attempts: FailedAttempts;
  readonly restrictionKeys: RestrictionKeys;
}

export const mostKept = 20_000;
/** Anyone who has an access key can make as many as they like: they crowd out each other, and nobody else. */
const mostRestricted = 2_000;

export function recognitionWith(parts: RecognitionParts): Recognition {
  const { store, keyring, stamps, attempts, restrictionKeys } = parts;
  const kept = new RowCache<Credential>(store, mostKept);
  // Tokens that were proven before are known again by a mark of theirs; it stands as long as the record is kept.
  const markOf = memoryDigest();
  const proven = new Map<string, Credential>();
  const provenRestricted = new Map<string, Credential>();
  // Of access keys that were created before there were any.
  const unkeyed = new Map<string, { readonly row: CredentialRow; readonly restrictionKey: Uint8Array }>();
  // What an unknown id is compared with, so that it takes as long as a known one.
  const nobody = keyring.tokenDigest(mintToken('api', '00000000-0000-7000-8000-000000000000'));

  async function load(id: string): Promise<Credential | undefined> {
    const row = await store.credentials.byId(id);
    return row && credentialOf(stamps.credential.believe(row));
  }

  async function find(id: string, sender: Sender): Promise<Credential | undefined> {
    const known = kept.get(id);
    if (known !== undefined) return known;
    return attempts.lookUp(sender.address, () => kept.load(id, () => load(id)));
  }

  async function recognise(token: string, sender: Sender): Promise<Credential | undefined> {
    const mark = markOf(token);
    const before = proven.get(mark) ?? provenRestricted.get(mark);
    if (before !== undefined && isCurrent(before)) return before;
    if (isRestricted(token))
      return keepProof(provenRestricted, mostRestricted, mark, await recogniseRestricted(token, sender));
    return keepProof(proven, mostKept, mark, await recogniseWhole(token, sender));
  }

  async function recogniseWhole(token: string, sender: Sender): Promise<Credential | undefined> {
    const parsed = parseToken(token);
    const credential = parsed === null ? undefined : await find(parsed.id, sender);
    const isIts = equalBytes(keyring.tokenDigest(token), credential?.row.digest ?? nobody);
    if (credential === undefined || !isIts) return undefined;
    const { row } = credential;
    const isUnkeyed = row.kind === credentialKinds.vault && row.narrowing_key === null;
    if (isUnkeyed) unkeyed.set(row.id, { row, restrictionKey: restrictionKeyOf(token) });
    return credential;
  }

  /** What a token says of itself is looked at once its chain holds: only then did a holder of the access key write it. */
  async function recogniseRestricted(token: string, sender: Sender): Promise<Credential | undefined> {
    const parsed = parseRestricted(token);
    const credential = parsed === null ? undefined : await find(parsed.id, sender);
    const opening = () => restrictionKeys.open(credential!.row);
    const key = credential === undefined ? null : await attempts.lookUp(sender.address, opening);
    const isIts =
      parsed === null ? equalBytes(keyring.tokenDigest(token), nobody) : hasChain(key ?? nobody, parsed);
    if (credential === undefined || key === null || !isIts) return undefined;
    const narrowing = restrictionsIn(parsed!);
    return narrowing === null ? undefined : restricted(credential, narrowing);
  }

  function isCurrent(credential: Credential): boolean {
    return kept.get(credential.row.id) === (credential.restrictedFrom ?? credential);
  }

  return {
    find,
    recognise,
    isCurrent,

    provenBefore: (token, { id, narrowing }) =>
      narrowing === null ? kept.get(id) : provenRestricted.get(markOf(token)),

    noteRestrictionKeys: async () => {
      for (const { row, restrictionKey } of takeAll(unkeyed)) {
        const narrowing_key = await restrictionKeys.seal(row, restrictionKey);
        await store.credentials.noteRestrictionKey(stamps.credential.stamp({ ...row, narrowing_key }));
      }
    },
  };
}

function keepProof(
  proofs: Map<string, Credential>,
  most: number,
  mark: string,
  proven: Credential | undefined,
): Credential | undefined {
  if (proven === undefined) return undefined;
  if (proofs.size >= most) proofs.clear();
  proofs.set(mark, proven);
  return proven;
}

function takeAll<T>(from: Map<string, T>): T[] {
  const all = [...from.values()];
  from.clear();
  return all;
}
