/**
 * A root key in several hands: a random key, split into shares by Shamir's method, of which any `threshold` give it back
 * and fewer say nothing about it. The key is used once, to wrap a slot, and then exists only as shares.
 *
 * The slot keeps a digest of each share. A share has 256 random bits, so its digest reveals nothing; but a share that is
 * not one of these is recognized by itself, before it is combined with others, and one wrong share can't spoil the rest.
 */
import { createSecretKey, hash as digest, randomBytes } from 'node:crypto';
import { combine, split } from 'shamir-secret-sharing';
import { openDirect, type ParentKey, sealDirect } from '../sealing/envelope.ts';
import {
  KeyringDamaged,
  type RootKey,
  RootKeyError,
  type RootKeySource,
  type SlotFacts,
  type SlotMaterial,
} from './root-key.ts';
import { printedShare, type Share, ShareError, shareFrom } from './share-text.ts';

export const shamirProvider = 'shamir';
export const mostShares = 16;
export const fewestShares = 2;
const keySize = 32;

export interface SplitRootKey extends SlotMaterial {
  /** The shares, as they are printed. They exist nowhere else. */
  readonly shares: readonly string[];
}

/** A new key for the slot of this id, split into `count` shares. */
export async function splitRootKey(slot: string, count: number, threshold: number): Promise<SplitRootKey> {
  if (threshold < fewestShares || threshold > count || count > mostShares)
    throw new RangeError(
      `between ${fewestShares} and ${mostShares} shares, and no more are needed than exist`,
    );
  const key = new Uint8Array(randomBytes(keySize));
  const parts = await split(key, count, threshold);
  const root = rootKeyOf(key);
  key.fill(0);
  const shares = parts.map((bytes, at): Share => ({ slot, index: at + 1, bytes }));
  const settings = { shares: count, threshold, digests: shares.map(digestOf) };
  const printed = shares.map(printedShare);
  for (const { bytes } of shares) bytes.fill(0);
  return { root, settings, shares: printed };
}

/** What a Shamir slot says about itself; null if it is not as such a slot is stored. */
export interface ShamirSettings {
  readonly shares: number;
  readonly threshold: number;
  readonly digests: readonly string[];
}

export function shamirSettingsOf({ provider, settings }: SlotFacts): ShamirSettings | null {
  const { shares, threshold, digests } = settings;
  const isSound =
    provider === shamirProvider &&
    Number.isInteger(shares) &&
    Number.isInteger(threshold) &&
    Array.isArray(digests) &&
    digests.length === shares &&
    digests.length <= mostShares &&
    Number(threshold) >= fewestShares &&
    Number(threshold) <= digests.length &&
    digests.every(one => typeof one === 'string');
  return isSound
    ? { shares: Number(shares), threshold: Number(threshold), digests: digests as string[] }
    : null;
}

/** Throws `ShareError` if this is not one of the slot's shares. */
export function checkShare(slot: SlotFacts, share: Share): void {
  const settings = shamirSettingsOf(slot);
  const isOne =
    settings !== null && slot.id === share.slot && settings.digests[share.index - 1] === digestOf(share);
  if (!isOne) throw new ShareError(`share ${share.index} is not one of the slot ${share.slot}`);
}

/** Opens slots with the shares that `read` returns, as lines of text. */
export function shares(read: () => Promise<string>): RootKeySource {
  const open = async (slot?: SlotFacts) => {
    if (slot === undefined) throw new RootKeyError('shares open only a slot that was added for them');
    const given = (await read()).split(/\s+/).filter(line => line !== '');
    return rootKeyFromShares(slot, readShares(given));
  };
  return { provider: shamirProvider, exists: async () => false, open, create: open };
}

function readShares(given: readonly string[]): readonly Share[] {
  try {
    return given.map(shareFrom);
  } catch (cause) {
    throw new RootKeyError((cause as Error).message, cause);
  }
}

/** Throws `RootKeyError` if a share of the slot is wrong, or if there are too few. Shares of other slots are left out. */
export async function rootKeyFromShares(slot: SlotFacts, given: readonly Share[]): Promise<RootKey> {
  const settings = shamirSettingsOf(slot);
  if (settings === null) throw new KeyringDamaged();
  const distinct = new Map(given.filter(share => share.slot === slot.id).map(share => [share.index, share]));
  try {
    for (const share of distinct.values()) checkShare(slot, share);
  } catch (cause) {
    throw new RootKeyError((cause as Error).message, cause);
  }
  if (distinct.size < settings.threshold) {
    throw new RootKeyError(
      `${settings.threshold} of its ${settings.shares} shares are required, and ${distinct.size} were given`,
    );
  }
  const key = await combined([...distinct.values()].slice(0, settings.threshold));
  const root = rootKeyOf(key);
  key.fill(0);
  return root;
}

/** The digests may have been altered together with what is given, so the library's own checks count too. */
async function combined(some: readonly Share[]): Promise<Uint8Array> {
  try {
    return await combine(some.map(({ bytes }) => bytes));
  } catch (cause) {
    throw new RootKeyError('the shares do not belong together', cause);
  }
}

function rootKeyOf(key: Uint8Array): RootKey {
  const parent: ParentKey = { id: 0, key: createSecretKey(key) };
  return {
    provider: shamirProvider,
    wrap: async (context, plain) => sealDirect(parent, context, plain, randomBytes),
    unwrap: async (context, wrapped) => {
      try {
        return openDirect(parent, context, wrapped);
      } catch (cause) {
        throw new RootKeyError('the shares do not open this slot, or the slot is damaged', cause);
      }
    },
  };
}

function digestOf({ slot, index, bytes }: Share): string {
  return digest(
    'sha256',
    `strongroom share ${slot} ${index} ${Buffer.from(bytes).toString('hex')}`,
    'base64url',
  );
}
