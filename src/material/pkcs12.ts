/**
 * PKCS#12 (RFC 7292, and RFC 9579 for PBMAC1): certificates and a key protected by one passphrase.
 *
 * Guarantees: every visible iteration count is checked before the first derivation, and the total is limited; the MAC
 * is verified before any content is decrypted or used; an empty and an absent passphrase both work, whichever of the
 * two the writer meant.
 * Refuses: no MAC, BER, public-key privacy modes, unknown bags, secrets, nesting, more than one key.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { invalid } from '../contract/errors.ts';
import { count, type Der, DerError, explicit, octets, oid, readDer, sequence, tags } from './der.ts';
import {
  checkIterations,
  derivePkcs12,
  encodePassphrase,
  hmacName,
  noPassphrase,
  type Passphrase,
  planDerivation,
  purposes,
  readSalt,
} from './derivation.ts';
import { type Opening, planOpening, wrongPassphrase } from './password-encryption.ts';
import { refusing } from './refusing.ts';

interface Pkcs12Contents {
  /** DER, in the order of the file. */
  readonly certificates: readonly Buffer[];
  /** PKCS#8 DER. */
  readonly key: Buffer | null;
}

const maxPkcs12Bytes = 256 * 1024;
/** Rounds of hashing for the whole file: the maximum each for a MAC, a bag of certificates and a key. */
const maxTotalCost = 3_000_000;
const maxBags = 64;

const field = 'pkcs12';
const unreadable = 'is not a readable PKCS#12: it is damaged or cut off, or its encoding is not strict DER';

const ids = {
  data: '1.2.840.113549.1.7.1',
  encryptedData: '1.2.840.113549.1.7.6',
  keyBag: '1.2.840.113549.1.12.10.1.1',
  shroudedKeyBag: '1.2.840.113549.1.12.10.1.2',
  certificateBag: '1.2.840.113549.1.12.10.1.3',
  crlBag: '1.2.840.113549.1.12.10.1.4',
  x509Certificate: '1.2.840.113549.1.9.22.1',
  pbmac1: '1.2.840.113549.1.5.14',
} as const;

/** The contents of a safe, found without decrypting anything. */
interface Plain {
  readonly kind: 'certificate' | 'key';
  readonly bytes: Buffer;
}
interface Locked {
  readonly kind: 'locked key' | 'locked safe';
  readonly bytes: Buffer;
  readonly opening: Opening;
}
type Item = Plain | Locked;

interface Mac {
  readonly cost: number;
  readonly expected: Buffer;
  compute(passphrase: Passphrase, content: Buffer): Buffer;
}

/** Counts costs and bags over the whole file, and refuses a file that exceeds the limits. */
class Budget {
  #cost = 0;
  #bags = 0;

  spend(cost: number): void {
    this.#cost += cost;
    if (this.#cost > maxTotalCost)
      throw invalid(
        field,
        'has iteration counts that are too high in total; export it again with lower ones',
      );
  }

  countBag(): void {
    if (++this.#bags > maxBags) throw invalid(field, `contains more than ${maxBags} bags`);
  }
}

/** Opens a PKCS#12. `passphrase` may be absent or empty for a file that was created without one. */
export function openPkcs12(bytes: Uint8Array, passphrase: string | undefined): Pkcs12Contents {
  if (bytes.length > maxPkcs12Bytes) throw invalid(field, `is larger than ${maxPkcs12Bytes} bytes`);
  const budget = new Budget();
  const { content, mac, items } = refusing(field, unreadable, () => planFile(bytes, budget));
  const tries = candidates(passphrase);
  budget.spend(mac.cost * (tries.length - 1));
  const proven = verifyMac(mac, content, tries);
  if (!proven && passphrase === undefined) throw invalid('passphrase', 'is required to open the file');
  if (!proven) throw wrongPassphrase();
  return openItems(items, proven, budget);
}

function planFile(bytes: Uint8Array, budget: Budget): { content: Buffer; mac: Mac; items: Item[] } {
  const [version, authSafe, macData] = sequence(readDer(bytes), 2, 3);
  if (count(version) !== 3) throw new DerError('a PKCS#12 of an unsupported version');
  if (!macData) throw invalid(field, 'has no MAC: export it again with a passphrase');
  const content = dataContent(authSafe!);
  const mac = planMac(macData);
  budget.spend(mac.cost);
  const items = sequence(readDer(content), 0, maxBags).flatMap(info => planSafe(info, budget));
  return { content, mac, items };
}

/** The bytes inside a ContentInfo of type data. */
function dataContent(contentInfo: Der): Buffer {
  const [type, content] = sequence(contentInfo, 2, 2);
  if (oid(type) !== ids.data)
    throw invalid(field, 'is signed or encrypted with a certificate; only a passphrase is supported');
  return octets(explicit(content, 0));
}

function planSafe(contentInfo: Der, budget: Budget): Item[] {
  const [type, content] = sequence(contentInfo, 2, 2);
  if (oid(type) !== ids.encryptedData) return planBags(dataContent(contentInfo), budget);
  const [, encrypted] = sequence(explicit(content, 0), 2, 3);
  const [innerType, algorithm, ciphertext] = sequence(encrypted, 3, 3);
  if (oid(innerType) !== ids.data || ciphertext!.tag !== 0x80)
    throw new DerError('an unknown encrypted content');
  return [lock('locked safe', algorithm!, ciphertext!.body, budget)];
}

function lock(kind: Locked['kind'], algorithm: Der, bytes: Buffer, budget: Budget): Locked {
  const opening = planOpening(algorithm, field);
  budget.spend(opening.cost);
  return { kind, bytes, opening };
}

function planBags(safe: Buffer, budget: Budget): Item[] {
  return sequence(readDer(safe)).flatMap(bag => {
    budget.countBag();
    const [type, value] = sequence(bag, 2, 3);
    return planBag(oid(type), explicit(value, 0), budget);
  });
}

function planBag(type: string, value: Der, budget: Budget): Item[] {
  switch (type) {
    case ids.certificateBag:
      return [{ kind: 'certificate', bytes: certificateIn(value) }];
    case ids.keyBag:
      return [{ kind: 'key', bytes: value.raw }];
    case ids.shroudedKeyBag: {
      const [algorithm, ciphertext] = sequence(value, 2, 2);
      return [lock('locked key', algorithm!, octets(ciphertext), budget)];
    }
    // Revocation lists are not stored, and leaving them out misleads no one.
    case ids.crlBag:
      return [];
    default:
      throw invalid(field, 'contains something other than certificates and a private key');
  }
}

function certificateIn(value: Der): Buffer {
  const [type, content] = sequence(value, 2, 2);
  if (oid(type) !== ids.x509Certificate) throw invalid(field, 'contains a certificate that is not X.509');
  return octets(explicit(content, 0));
}

const digests: Readonly<Record<string, string>> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.4': 'sha224',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
};

function planMac(macData: Der): Mac {
  const [digestInfo, saltElement, iterationElement] = sequence(macData, 2, 3);
  const [algorithm, expectedElement] = sequence(digestInfo, 2, 2);
  const [name, parameters] = sequence(algorithm, 1, 2);
  const expected = octets(expectedElement);
  if (oid(name) === ids.pbmac1) return planPbmac1(parameters!, expected);
  const digest = digests[oid(name)];
  if (!digest) throw invalid(field, 'has a MAC with a hash that is not supported');
  if (parameters && parameters.tag !== tags.null) throw new DerError('unexpected parameters');
  const salt = readSalt(saltElement);
  const iterations = checkIterations(iterationElement ? count(iterationElement) : 1, field);
  return {
    cost: iterations,
    expected,
    compute: (passphrase, content) => {
      const size = createHmac(digest, '').digest().length;
      const key = derivePkcs12({ digest, purpose: purposes.mac, salt, iterations }, passphrase, size);
      return createHmac(digest, key).update(content).digest();
    },
  };
}

/** RFC 9579: PBKDF2 and HMAC instead of PKCS#12's own derivation. */
function planPbmac1(parameters: Der, expected: Buffer): Mac {
  const [kdf, hmac] = sequence(parameters, 2, 2);
  const derivation = planDerivation(kdf!, field);
  const digest = hmacName(hmac!, field);
  // The RFC requires the length, of at least 20 bytes.
  const keySize = derivation.keyLength ?? 0;
  if (keySize < 20 || keySize > 64) throw new DerError('a MAC key of invalid length');
  return {
    cost: derivation.cost,
    expected,
    compute: (passphrase, content) =>
      createHmac(digest, derivation.derive(passphrase, keySize)).update(content).digest(),
  };
}

/** By the RFC, an empty passphrase is two zero bytes; some writers used none. The MAC shows which. */
function candidates(passphrase: string | undefined): Passphrase[] {
  return passphrase ? [encodePassphrase(passphrase)] : [encodePassphrase(''), noPassphrase];
}

function verifyMac(mac: Mac, content: Buffer, tries: readonly Passphrase[]) {
  for (const passphrase of tries) {
    const computed = mac.compute(passphrase, content);
    if (computed.length === mac.expected.length && timingSafeEqual(computed, mac.expected)) return passphrase;
  }
  return undefined;
}

function openItems(items: readonly Item[], passphrase: Passphrase, budget: Budget): Pkcs12Contents {
  const certificates: Buffer[] = [];
  const keys: Buffer[] = [];
  for (const item of openSafes(items, passphrase, budget)) {
    if (item.kind === 'certificate') certificates.push(item.bytes);
    else keys.push('opening' in item ? open(item, passphrase) : item.bytes);
    if (keys.length > 1) throw invalid(field, 'contains more than one private key');
  }
  return { certificates, key: keys[0] ?? null };
}

/** Replaces each locked safe with its contents. A bag in it can't be another safe: there is no such bag type. */
function openSafes(items: readonly Item[], passphrase: Passphrase, budget: Budget): Item[] {
  const opened: Item[] = [];
  for (const item of items) {
    if (item.kind !== 'locked safe') {
      opened.push(item);
      continue;
    }
    const safe = open(item, passphrase);
    opened.push(...refusing(field, unreadable, () => planBags(safe, budget)));
  }
  return opened;
}

function open({ opening, bytes }: Locked, passphrase: Passphrase): Buffer {
  return opening.open(bytes, passphrase);
}
