/**
 * Finds the credential that a token belongs to, whether or not it may be used. An unknown token costs the same work
 * as a known one. Verified records are cached and dropped as soon as a change to them is reported; while changes
 * can't be received, nothing is cached.
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
import { equalBytes } from '../../keyring/keyring.ts';
import { memoryDigest } from '../../keyring/sealing/memory.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { MinuteCounter } from '../kernel/minute-counter.ts';
import type { Parts } from '../kernel/parts.ts';
import { RowCache } from '../kernel/row-cache.ts';
import { type Credential, credentialKinds, credentialOf, restricted } from './credential.ts';
import type { RestrictionKeys } from './restriction-keys.ts';

export interface RecognitionParts extends Pick<Parts, 'store' | 'keyring' | 'stamps'> {
  readonly attempts: MinuteCounter;
  readonly restrictionKeys: RestrictionKeys;
}

export const mostKept = 20_000;
/** The holder of an access key can create any number of restricted ones, so these displace only each other. */
const mostRestricted = 2_000;

export function recognitionWith(parts: RecognitionParts) {
  const { store, keyring, stamps, attempts, restrictionKeys } = parts;
  const kept = new RowCache<Credential>(store, mostKept);
  // Tokens that were proven before are recognized by a digest, which is valid as long as the record is cached.
  const markOf = memoryDigest();
  const proven = new Map<string, Credential>();
  const provenRestricted = new Map<string, Credential>();
  // Access keys that have no stored restriction key yet.
  const unkeyed = new Map<string, { readonly row: CredentialRow; readonly restrictionKey: Uint8Array }>();
  // Compared with the digest of an unknown id, so that it takes as long as a known one.
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

  /** Restrictions are read only once the chain proves that a holder of the access key wrote them. */
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

  /** Whether the record that proved the credential is still cached. */
  function isCurrent(credential: Credential): boolean {
    return kept.get(credential.row.id) === (credential.restrictedFrom ?? credential);
  }

  return {
    find,
    recognise,
    isCurrent,

    /** The credential that a reader's token proved, if it is still cached. */
    provenBefore: (token: string, { id, narrowing }: Reader): Credential | undefined =>
      narrowing === null ? kept.get(id) : provenRestricted.get(markOf(token)),

    /** Stores the restriction keys of access keys that are older than this feature and have been used since. */
    noteRestrictionKeys: async (): Promise<void> => {
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
