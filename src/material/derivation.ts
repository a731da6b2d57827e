/**
 * Derives key bytes from a passphrase, at a cost known beforehand.
 *
 * Guarantees: reading the parameters (`planX`) costs nothing and refuses excessive ones; only `derive` does the work. A
 * derivation blocks its thread until it is done, so it belongs in the worker pool, whose threads serve no requests.
 * Refuses: more than a million iterations, scrypt beyond 64 MiB, salts beyond 1 KiB.
 */
import { hash, pbkdf2Sync, scryptSync } from 'node:crypto';
import { invalid } from '../contract/errors.ts';
import { count, type Der, DerError, octets, oid, optionals, sequence, tags } from './der.ts';

const maxIterations = 1_000_000;
const maxScryptMemory = 64 * 1024 * 1024;
/** Memory times parallelism, which limits scrypt's time. */
const maxScryptWork = 4 * maxScryptMemory;
const maxSalt = 1024;
const maxPassphrase = 1024;

/** A passphrase in the two encodings that the standards use. */
export interface Passphrase {
  readonly utf8: Buffer;
  /** UTF-16BE with a terminating zero, as PKCS#12 requires. */
  readonly bmp: Buffer;
}

/** No passphrase, which PKCS#12 distinguishes from an empty one. */
export const noPassphrase: Passphrase = { utf8: Buffer.alloc(0), bmp: Buffer.alloc(0) };

export function encodePassphrase(text: string): Passphrase {
  if (text.length > maxPassphrase) throw invalid('passphrase', `is longer than ${maxPassphrase} characters`);
  return { utf8: Buffer.from(text), bmp: Buffer.from(`${text}\0`, 'utf16le').swap16() };
}

export interface Derivation {
  /** Rounds of hashing, in the unit of `maxIterations`. */
  readonly cost: number;
  /** The length of the key, if the file states it. */
  readonly keyLength: number | undefined;
  derive(passphrase: Passphrase, length: number): Buffer;
}

/** HMAC identifiers, as used by PBKDF2 and PBMAC1. */
const hmacs: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.8': 'sha224',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
};

export function hmacName(algorithm: Der, field: string): string {
  const name = hmacs[oid(sequence(algorithm, 1, 2)[0])];
  if (!name) throw invalid(field, 'is protected with a hash that is not supported');
  return name;
}

export function checkIterations(iterations: number, field: string): number {
  if (iterations < 1) throw invalid(field, 'has an iteration count of zero');
  if (iterations > maxIterations)
    throw invalid(field, `has an iteration count over ${maxIterations}; protect it again with a lower one`);
  return iterations;
}

export function readSalt(element: Der | undefined): Buffer {
  const salt = octets(element);
  if (salt.length > maxSalt) throw new DerError('a salt that is too long');
  return salt;
}

/** The key derivation function of PBES2 or PBMAC1, from its AlgorithmIdentifier. */
export function planDerivation(algorithm: Der, field: string): Derivation {
  const [name, parameters] = sequence(algorithm, 2, 2);
  switch (oid(name)) {
    case '1.2.840.113549.1.5.12':
      return planPbkdf2(parameters!, field);
    case '1.3.6.1.4.1.11591.4.11':
      return planScrypt(parameters!, field);
    default:
      throw invalid(field, 'is protected with a key derivation that is not supported');
  }
}

function planPbkdf2(parameters: Der, field: string): Derivation {
  const [saltElement, iterationElement, ...options] = sequence(parameters, 2, 4);
  const salt = readSalt(saltElement);
  const iterations = checkIterations(count(iterationElement), field);
  const [length, prf] = optionals(options, tags.integer, tags.sequence);
  const digest = prf ? hmacName(prf, field) : 'sha1';
  return {
    cost: iterations,
    keyLength: length && count(length),
    derive: ({ utf8 }, length) => pbkdf2Sync(utf8, salt, iterations, length, digest),
  };
}

function planScrypt(parameters: Der, field: string): Derivation {
  const [saltElement, ...numbers] = sequence(parameters, 4, 5);
  const salt = readSalt(saltElement);
  const [length] = optionals(numbers.slice(3), tags.integer);
  const [N, r, p] = numbers.slice(0, 3).map(count) as [number, number, number];
  // Each is limited before they are multiplied, so that the product stays exact.
  const sane =
    [N, r, p].every(value => value >= 1 && value <= 2 ** 24) && Number.isInteger(Math.log2(N)) && N > 1;
  if (!sane) throw invalid(field, 'has scrypt parameters that are out of range');
  if (128 * N * r > maxScryptMemory || 128 * N * r * p > maxScryptWork || 128 * r * p > maxScryptMemory)
    throw invalid(field, 'has scrypt parameters that need too much memory; protect it again with lower ones');
  const maxmem = 3 * maxScryptMemory;
  return {
    cost: N * r * p,
    keyLength: length && count(length),
    derive: ({ utf8 }, length) => scryptSync(utf8, salt, length, { N, r, p, maxmem }),
  };
}

/** The purposes of the PKCS#12 function's output (RFC 7292, B.3). */
export const purposes = { key: 1, iv: 2, mac: 3 } as const;

interface Pkcs12Parameters {
  readonly digest: string;
  readonly purpose: number;
  readonly salt: Buffer;
  readonly iterations: number;
}

/** The derivation of RFC 7292, appendix B.2. */
export function derivePkcs12(
  { digest, purpose, salt, iterations }: Pkcs12Parameters,
  passphrase: Passphrase,
  length: number,
): Buffer {
  const blockSize = digest === 'sha384' || digest === 'sha512' ? 128 : 64;
  const diversifier = Buffer.alloc(blockSize, purpose);
  const input = Buffer.concat([fillBlocks(salt, blockSize), fillBlocks(passphrase.bmp, blockSize)]);
  const output: Buffer[] = [];
  for (let size = 0; size < length; size += output.at(-1)!.length) {
    const block = hashRepeatedly(digest, Buffer.concat([diversifier, input]), iterations);
    output.push(block);
    addToEachBlock(input, fillBlocks(block, blockSize).subarray(0, blockSize), blockSize);
  }
  input.fill(0);
  return Buffer.concat(output).subarray(0, length);
}

function hashRepeatedly(digest: string, first: Buffer, iterations: number): Buffer {
  let value = hash(digest, first, 'buffer');
  for (let round = 1; round < iterations; round++) value = hash(digest, value, 'buffer');
  return value;
}

/** Repeats `bytes` until they fill whole blocks. */
function fillBlocks(bytes: Buffer, blockSize: number): Buffer {
  if (bytes.length === 0) return bytes;
  return Buffer.alloc(blockSize * Math.ceil(bytes.length / blockSize), bytes);
}

/** Step 6.C: adds `addend` plus one to each block, as a big-endian number that wraps. */
function addToEachBlock(input: Buffer, addend: Buffer, blockSize: number): void {
  for (let start = 0; start < input.length; start += blockSize) {
    let carry = 1;
    for (let i = blockSize - 1; i >= 0; i--) {
      carry += input[start + i]! + addend[i]!;
      input[start + i] = carry & 0xff;
      carry >>= 8;
    }
  }
}
