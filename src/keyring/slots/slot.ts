/**
 * A slot of the root key: one of several ways to open the same keyring. Each slot has a key pair and a secret of its own,
 * which its provider wraps once, when the slot is added. The keyring is sealed for all slots with their public keys and
 * secrets alone, so it can be sealed again without any provider at hand: shares stay in their drawers, and a key service
 * that is gone delays nothing.
 *
 * A slot's private key is known only to those who can use its provider: someone who opened an earlier keyring through
 * another slot can't open a later one through this slot. Its secret is known only inside the keyring and its own
 * wrapping: someone who can write to the database, and reads every public key there, can't seal another keyring for a
 * slot, or add a slot that is used.
 */
import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import {
  KeyringDamaged,
  type RootKey,
  RootKeyError,
  type SlotFacts,
  type SlotMaterial,
} from '../root-key/root-key.ts';
import { lengthPrefixed, openDirect, type ParentKey, sealDirect, Unsealable } from '../sealing/envelope.ts';

/** A slot as it is stored, unencrypted. Nothing of it is trusted before the keyring names the same slot. */
export interface Slot extends SlotFacts {
  readonly created: number;
  /** Its X25519 public key, in base64url. */
  readonly recipient: string;
  /** Its private key and secret, wrapped by its provider, in base64. */
  readonly sealed: string;
}

/** A slot as the keyring contains it. */
export interface HeldSlot extends Slot {
  /** 32 random bytes in base64url. */
  readonly secret: string;
}

/** An opened slot. Only for this process and its threads. */
export interface OpenedSlot {
  readonly id: string;
  readonly recipient: string;
  readonly privateKey: string;
  readonly secret: string;
}

const keySize = 32;
const idSize = 4;
const curve = 'X25519';
export const mostSlots = 16;

/** Short, because people read it aloud and find it on printed shares. */
export function newSlotId(taken: readonly Slot[]): string {
  for (;;) {
    const id = randomBytes(idSize).toString('hex');
    if (!taken.some(slot => slot.id === id)) return id;
  }
}

/** Creates a slot, and proves that its provider opens what it wrapped. */
export async function newSlot(id: string, { root, settings }: SlotMaterial, now: number): Promise<HeldSlot> {
  const pair = generateKeyPairSync('x25519');
  const { x: recipient, d: privateKey } = pair.privateKey.export({ format: 'jwk' }) as {
    x: string;
    d: string;
  };
  const secret = randomBytes(keySize).toString('base64url');
  const plain = Buffer.concat([Buffer.from(privateKey, 'base64url'), Buffer.from(secret, 'base64url')]);
  const sealed = Buffer.from(await root.wrap(contextOf(id), plain));
  const opened = Buffer.from(await root.unwrap(contextOf(id), sealed));
  const isSame = opened.equals(plain);
  for (const bytes of [plain, opened]) bytes.fill(0);
  if (!isSame) throw new RootKeyError(`the ${root.provider} did not return what it had wrapped`);
  return {
    id,
    provider: root.provider,
    created: now,
    settings,
    recipient,
    sealed: sealed.toString('base64'),
    secret,
  };
}

/** Throws `RootKeyError` if this is not the root key of the slot, or if the slot is not as it was stored. */
export async function openSlot(root: RootKey, { id, recipient, sealed }: Slot): Promise<OpenedSlot> {
  const plain = Buffer.from(await root.unwrap(contextOf(id), Buffer.from(sealed, 'base64')));
  if (plain.length !== 2 * keySize) throw new KeyringDamaged();
  const textAt = (from: number) => plain.toString('base64url', from, from + keySize);
  const opened = { id, recipient, privateKey: textAt(0), secret: textAt(keySize) };
  plain.fill(0);
  return opened;
}

/** Seals a key for a slot. */
export function sealForSlot(slot: HeldSlot, plain: Uint8Array): string {
  const own = generateKeyPairSync('x25519');
  const share = Buffer.from(own.publicKey.export({ format: 'jwk' }).x!, 'base64url');
  const parent = parentOf(slot, own.privateKey, publicKeyOf(slot.recipient), share);
  return Buffer.concat([share, sealDirect(parent, contextOf(slot.id), plain, randomBytes)]).toString(
    'base64',
  );
}

/** Throws `Unsealable`. */
export function openForSlot(slot: OpenedSlot, sealed: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64');
  const share = bytes.subarray(0, keySize);
  if (share.length !== keySize) throw new Unsealable();
  const parent = unsealing(() =>
    parentOf(slot, privateKeyOf(slot), publicKeyOf(share.toString('base64url')), share),
  );
  return openDirect(parent, contextOf(slot.id), bytes.subarray(keySize));
}

type Secrets = Pick<OpenedSlot, 'id' | 'recipient' | 'secret'>;

/** The secret is part of the input, so that the public key alone is not enough to seal. */
function parentOf(slot: Secrets, mine: KeyObject, theirs: KeyObject, share: Uint8Array): ParentKey {
  const agreed = diffieHellman({ privateKey: mine, publicKey: theirs });
  const secret = Buffer.from(slot.secret, 'base64url');
  const salt = Buffer.concat([share, Buffer.from(slot.recipient, 'base64url')]);
  const bytes = Buffer.from(
    hkdfSync('sha256', Buffer.concat([agreed, secret]), salt, contextOf(slot.id), keySize),
  );
  const key = createSecretKey(bytes);
  for (const spent of [agreed, secret, bytes]) spent.fill(0);
  return { id: 0, key };
}

function contextOf(id: string): Buffer {
  return lengthPrefixed(['strongroom', 'root-key slot', '1', id]);
}

function publicKeyOf(x: string): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: curve, x }, format: 'jwk' });
}

function privateKeyOf({ privateKey: d, recipient: x }: OpenedSlot): KeyObject {
  return createPrivateKey({ key: { kty: 'OKP', crv: curve, d, x }, format: 'jwk' });
}

/** Keys that were altered in the database make the runtime throw errors of its own. */
function unsealing<T>(make: () => T): T {
  try {
    return make();
  } catch (cause) {
    throw new Unsealable(cause);
  }
}
