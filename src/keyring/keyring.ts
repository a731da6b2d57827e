/**
 * The keyring: every key that protects data at rest, and the operations on it.
 *
 *   root key -> keyring -> key-encryption keys, one per version -> one key per vault -> one data key per value
 *                       -> token key   (digests of credentials)
 *                       -> row key     (stamps over metadata that matters; blind tag indexes)
 *                       -> chain key   (the log's links)
 *                       -> log key     (Ed25519, signs the log's checkpoints)
 *
 * Key bytes leave this folder in one form only: wrapped with the root key, or with those of several slots. (A keyring handed to another thread stays in
 * the memory of the process.) `seal` and `open` take the place of the value; the same bytes can't be opened anywhere
 * else. The code calls a keyring version a term. `rotate` starts a new one; earlier ones stay until `retire` names them,
 * because something may still need them. `adopt` brings a running process up to date with both.
 */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  hash as digest,
  generateKeyPairSync,
  type KeyObject,
  sign,
  timingSafeEqual,
} from 'node:crypto';
import { type Digest, type PublicBytes, publicBytes, type Sealed, type Stamp } from '../base/bytes.ts';
import type { RootKey } from './root-key/root-key.ts';
import {
  asBytes,
  type ByteText,
  lengthPrefixed,
  openDirect,
  openOneUse,
  type ParentKey,
  parentIdOf,
  type Random,
  sealDirect,
  sealOneUse,
  Unsealable,
  withLength,
} from './sealing/envelope.ts';
import { pooledRandom } from './sealing/randomness.ts';
import type { HeldSlot } from './slots/slot.ts';

/** The place of a value. All of it is bound into the ciphertext. */
export interface SealedPlace {
  readonly type: string;
  readonly resource: string;
  readonly field: string;
  readonly version: number;
}

/** A keyring version, and when it was started; null for the first one. */
export interface Term {
  readonly id: number;
  readonly started: number | null;
}

export interface VaultPlace {
  readonly organization: string;
  readonly vault: string;
}

/** Seals and opens the values of one vault, or values of an organization outside any vault. */
export interface Sealer {
  seal(place: SealedPlace, plain: Uint8Array): Sealed;
  open(place: SealedPlace, bytes: Uint8Array): Buffer;
}

/** A value covered by a stamp. Types are distinguished: the number 1 and the text "1" are different fields. */
export type StampField = string | number | boolean | null | Uint8Array;

interface KeyringContents {
  readonly deployment: string;
  readonly terms: readonly { readonly id: number; readonly key: string; readonly started?: number }[];
  readonly tokenKey: string;
  readonly rowKey: string;
  readonly chainKey: string;
  readonly logKey: string;
  /** The slots of the root key. Missing if the keyring has a single root key. */
  readonly slots?: readonly HeldSlot[];
}

/** The contents of a keyring, for passing it from one thread of a process to another. Only `Keyring` can read it. */
export interface HandedKeyring {
  readonly [handed]: never;
}
declare const handed: unique symbol;

const keySize = 32;
/** A SHA-256 in base64url. */
const linkLength = 43;
const wrapContext = lengthPrefixed(['strongroom', 'keyring', '1']);

export class Keyring {
  readonly deployment: string;
  /** The public key of the log key, as PEM, for verification. */
  readonly logPublicKey: string;
  #contents: KeyringContents;
  #terms: ReadonlyMap<number, ParentKey>;
  #current: ParentKey;
  readonly #tokenKey: KeyObject;
  readonly #rowKey: KeyObject;
  readonly #chainKey: string;
  readonly #logKey: KeyObject;
  readonly #random: Random;

  private constructor(contents: KeyringContents, random: Random) {
    this.#contents = contents;
    this.#random = random;
    this.deployment = contents.deployment;
    this.#terms = new Map(contents.terms.map(({ id, key }) => [id, { id, key: secretKey(key) }]));
    this.#current = this.#terms.get(contents.terms.at(-1)!.id)!;
    this.#tokenKey = secretKey(contents.tokenKey);
    this.#rowKey = secretKey(contents.rowKey);
    this.#chainKey = contents.chainKey;
    this.#logKey = createPrivateKey({
      key: Buffer.from(contents.logKey, 'base64'),
      format: 'der',
      type: 'pkcs8',
    });
    this.logPublicKey = createPublicKey(this.#logKey).export({ type: 'spki', format: 'pem' }).toString();
  }

  static create(deployment: string, random: Random = pooledRandom()): Keyring {
    const fresh = () => Buffer.from(random(keySize)).toString('base64');
    const logKey = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' });
    return new Keyring(
      {
        deployment,
        terms: [{ id: 1, key: fresh() }],
        tokenKey: fresh(),
        rowKey: fresh(),
        chainKey: fresh(),
        logKey: logKey.toString('base64'),
      },
      random,
    );
  }

  static async unwrap(root: RootKey, wrapped: Uint8Array, random: Random = pooledRandom()): Promise<Keyring> {
    const bytes = await root.unwrap(wrapContext, wrapped);
    const contents = JSON.parse(Buffer.from(bytes).toString('utf8')) as KeyringContents;
    bytes.fill(0);
    return new Keyring(contents, random);
  }

  /** Only for another thread of this same process. */
  handOver(): HandedKeyring {
    return this.#contents as object as HandedKeyring;
  }

  static takeOver(handed: HandedKeyring, random: Random = pooledRandom()): Keyring {
    return new Keyring(handed as object as KeyringContents, random);
  }

  wrap(root: RootKey): Promise<Uint8Array> {
    return root.wrap(wrapContext, Buffer.from(JSON.stringify(this.#contents), 'utf8'));
  }

  /** The version with which new vault keys are wrapped. */
  get term(): number {
    return this.#current.id;
  }

  /** All versions in the keyring, oldest first; the last one is current. */
  get terms(): readonly Term[] {
    return this.#contents.terms.map(({ id, started = null }) => ({ id, started }));
  }

  /** The slots for which it is sealed; none if it has a single root key. Other slots are not believed. */
  get slots(): readonly HeldSlot[] {
    return this.#contents.slots ?? [];
  }

  /** Returns the same keyring for other slots. */
  withSlots(slots: readonly HeldSlot[]): Keyring {
    return new Keyring({ ...this.#contents, slots }, this.#random);
  }

  /** Returns the same keyring with a new current version. Everything sealed before can still be opened. */
  rotate(now: number): Keyring {
    const key = Buffer.from(this.#random(keySize)).toString('base64');
    const terms = [...this.#contents.terms, { id: this.term + 1, key, started: now }];
    return new Keyring({ ...this.#contents, terms }, this.#random);
  }

  /** Returns the same keyring without versions that are no longer needed. The current one always stays. */
  retire(unneeded: readonly number[]): Keyring {
    const terms = this.#contents.terms.filter(({ id }) => id === this.term || !unneeded.includes(id));
    return new Keyring({ ...this.#contents, terms }, this.#random);
  }

  /**
   * Takes over the versions of a newer state of this same keyring. Versions retired there stay known here for as long
   * as the process runs, because it may just have read something wrapped with one of them.
   */
  adopt(newer: Keyring): void {
    const same = newer.deployment === this.deployment && newer.#chainKey === this.#chainKey;
    if (!same || newer.term < this.term) throw new Unsealable();
    this.#contents = newer.#contents;
    this.#terms = new Map([...this.#terms, ...newer.#terms]);
    this.#current = newer.#current;
  }

  /** Whether the version that the bytes name is available. */
  knows(bytes: Uint8Array): boolean {
    return this.#terms.has(parentIdOf(bytes));
  }

  /** Whether the bytes name the current version. */
  isCurrent(bytes: Uint8Array): boolean {
    return parentIdOf(bytes) === this.term;
  }

  createVaultKey(place: VaultPlace): Sealed {
    return sealDirect(this.#current, this.#vaultContext(place), this.#random(keySize), this.#random);
  }

  /** Returns the vault's key wrapped with the current version, or null if it already is. */
  rewrapVaultKey(place: VaultPlace, wrapped: Uint8Array): Sealed | null {
    if (this.isCurrent(wrapped)) return null;
    const context = this.#vaultContext(place);
    const key = openDirect(this.#termOf(wrapped), context, wrapped);
    const moved = sealDirect(this.#current, context, key, this.#random);
    key.fill(0);
    return moved;
  }

  openVault(place: VaultPlace, wrapped: Uint8Array): Sealer {
    const bytes = openDirect(this.#termOf(wrapped), this.#vaultContext(place), wrapped);
    const parent: ParentKey = { id: 1, key: createSecretKey(bytes) };
    bytes.fill(0);
    const parentOf = () => parent;
    return this.#sealer(place, parentOf, parentOf);
  }

  /** For secrets of an organization outside any vault: webhook secrets, second factors. */
  organizationSealer(organization: string): Sealer {
    const termOf = (bytes: Uint8Array) => this.#termOf(bytes);
    return this.#sealer({ organization, vault: '' }, termOf, () => this.#current);
  }

  /** Reseals a value of an organization with the current version. Returns null if it already is. */
  resealForOrganization(organization: string, place: SealedPlace, bytes: Uint8Array): Sealed | null {
    if (this.isCurrent(bytes)) return null;
    const sealer = this.organizationSealer(organization);
    const plain = sealer.open(place, bytes);
    const moved = sealer.seal(place, plain);
    plain.fill(0);
    return moved;
  }

  /** A keyed mark over the fields of a row: without the keyring, the row can't be edited or forged. */
  stamp(kind: string, fields: readonly StampField[]): Stamp {
    // The same as `lengthPrefixed`. Every row is stamped, and this is the fastest way to build the input.
    let bound = withLength(asBytes(this.deployment)) + withLength(asBytes(kind));
    for (const field of fields) bound += withLength(encodeField(field));
    return createHmac('sha256', this.#rowKey).update(bound, 'latin1').digest() as Uint8Array as Stamp;
  }

  stampHolds(kind: string, fields: readonly StampField[], stamp: Uint8Array): boolean {
    return equalBytes(this.stamp(kind, fields), stamp);
  }

  /** The form in which a credential is stored. */
  tokenDigest(token: string): Digest {
    return createHmac('sha256', this.#tokenKey).update(token).digest() as Uint8Array as Digest;
  }

  /** Finds rows by a sealed text without revealing it. Equal texts in one organization have equal indexes. */
  blindIndex(organization: string, text: string): string {
    return Buffer.from(this.stamp('blind-index', [organization, text]).subarray(0, 16)).toString('base64url');
  }

  /** Proves to another holder of this keyring that it is the same one. */
  answerTo(challenge: string): string {
    return Buffer.from(this.stamp('service-challenge', [challenge])).toString('base64url');
  }

  /**
   * The keyed part of a link in the log's chain. It is computed for every entry, so it uses a single hash over key and
   * input instead of an HMAC's two. This is safe because the input has a fixed length, so nothing can be appended to
   * it.
   */
  chainMark(hash: string): string {
    if (hash.length !== linkLength) throw new RangeError('a link’s hash has a fixed length');
    return digest('sha256', this.#chainKey + hash, 'base64url');
  }

  signCheckpoint(bytes: Uint8Array): PublicBytes {
    return publicBytes(sign(null, bytes, this.#logKey));
  }

  #sealer(vault: VaultPlace, parentOf: (bytes: Uint8Array) => ParentKey, current: () => ParentKey): Sealer {
    const context = (place: SealedPlace) =>
      lengthPrefixed([
        this.deployment,
        vault.organization,
        vault.vault,
        place.type,
        place.resource,
        place.field,
        String(place.version),
      ]);
    return {
      seal: (place, plain) => sealOneUse(current(), context(place), plain, this.#random),
      open: (place, bytes) => openOneUse(parentOf(bytes), context(place), bytes),
    };
  }

  #vaultContext({ organization, vault }: VaultPlace): Buffer {
    return lengthPrefixed([this.deployment, organization, vault, 'vault', vault, 'key', '1']);
  }

  #termOf(bytes: Uint8Array): ParentKey {
    const term = this.#terms.get(parentIdOf(bytes));
    if (term === undefined) throw new Unsealable();
    return term;
  }
}

/** Takes constant time for equal lengths. Stored digests have a fixed length, so any other length means damage. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function secretKey(base64: string): KeyObject {
  return createSecretKey(Buffer.from(base64, 'base64'));
}

function encodeField(field: StampField): ByteText {
  if (field === null) return '0';
  if (field instanceof Uint8Array) return `x${asBytes(field)}`;
  return `${(typeof field)[0]}${asBytes(String(field))}`;
}
