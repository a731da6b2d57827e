/**
 * Checks that the numbers in a key belong together.
 *
 * Guarantees: an RSA or EC key that passes has acceptable sizes and a private key that matches its public key. All
 * checks use the parsed DER, before OpenSSL works with the numbers, so a 32,768-bit modulus or a thousand-bit exponent
 * costs nothing. OpenSSL's own checks are not enough: it loads an RSA key with wrong CRT values, and an EC key with
 * another key's public point.
 * Refuses: RSA under 2048 or over 8192 bits, even or huge exponents, multi-prime RSA, EC scalars out of range, points
 * at infinity, Ed25519 encodings that are not a point or have small order.
 */
import { invalid } from '../contract/errors.ts';
import {
  count,
  type Der,
  DerError,
  explicit,
  octets,
  optionals,
  sequence,
  toBigInt,
  unsigned,
  wholeBits,
} from './der.ts';
import { type Curve, readCurve } from './key-algorithms.ts';

const minModulusBits = 2048;
const maxModulusBits = 8192;
/** OpenSSL itself accepts no longer exponent with a modulus over 3072 bits. */
const maxExponentBits = 64;

const bitLength = (value: bigint): number => value.toString(2).length;

/** Checks modulus and exponent. Returns the number of bits of the modulus. */
function checkRsaNumbers(modulus: bigint, exponent: bigint, field: string): number {
  const bits = bitLength(modulus);
  if (bits < minModulusBits || bits > maxModulusBits)
    throw invalid(field, `is an RSA key outside ${minModulusBits} to ${maxModulusBits} bits`);
  if (modulus % 2n === 0n) throw invalid(field, 'is an RSA key with an even modulus');
  if (exponent < 3n || exponent % 2n === 0n || bitLength(exponent) > maxExponentBits)
    throw invalid(
      field,
      'is an RSA key with a bad public exponent: it must be odd, at least 3, at most 64 bits',
    );
  return bits;
}

export function checkRsaPublic(key: Der, field: string): number {
  const elements = sequence(key, 2, 2);
  refuseHugeNumbers(elements, field);
  const [modulus, exponent] = elements;
  return checkRsaNumbers(unsigned(modulus), unsigned(exponent), field);
}

/** RSAPrivateKey of RFC 8017. Every number is checked against the others. */
export function checkRsaPrivate(key: Der, field: string): number {
  const [version, ...elements] = sequence(key, 9, 10);
  if (unsigned(version) !== 0n || elements.length !== 8)
    throw invalid(field, 'is an RSA key with more than two primes');
  refuseHugeNumbers(elements, field);
  const [n, e, d, p, q, dp, dq, qInverse] = elements.map(unsigned) as Octet;
  const bits = checkRsaNumbers(n, e, field);
  if (!belongTogether([n, e, d, p, q, dp, dq, qInverse]))
    throw invalid(field, 'is an RSA key whose numbers are inconsistent');
  return bits;
}

type Octet = [bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint];

/** Sizes are checked first, because converting a huge number to a bigint and dividing it would be slow. */
function refuseHugeNumbers(elements: readonly Der[], field: string): void {
  if (elements.some(({ body }) => body.length > maxModulusBits / 8 + 1))
    throw invalid(field, `is an RSA key outside ${minModulusBits} to ${maxModulusBits} bits`);
}

function belongTogether([n, e, d, p, q, dp, dq, qInverse]: Octet): boolean {
  if (p < 3n || q < 3n || p === q || p * q !== n) return false;
  const fits = (exponent: bigint, prime: bigint) => (e * exponent) % (prime - 1n) === 1n;
  return (
    d < n &&
    fits(d, p) &&
    fits(d, q) &&
    dp === d % (p - 1n) &&
    dq === d % (q - 1n) &&
    qInverse < p &&
    (q * qInverse) % p === 1n
  );
}

/** ECPrivateKey of RFC 5915. `outer` is the curve that a PKCS#8 names; a SEC1 key must name its own. */
export function checkEcPrivate(key: Der, outer: Curve | undefined, field: string): Curve {
  const [version, scalar, ...options] = sequence(key, 2, 4);
  if (count(version) !== 1) throw new DerError('an EC key of an unsupported version');
  const [named, publicKey] = optionals(options, 0xa0, 0xa1);
  const inner = named ? readCurve(explicit(named, 0), field) : undefined;
  const curve = outer ?? inner;
  if (!curve) throw invalid(field, 'is an EC key that does not name its curve');
  if (inner && inner !== curve) throw invalid(field, 'is an EC key that names two curves');
  checkScalar(octets(scalar), curve, field);
  if (publicKey) checkPoint(wholeBits(explicit(publicKey, 1)), curve, field);
  return curve;
}

function checkScalar(scalar: Buffer, curve: Curve, field: string): void {
  const value = scalar.length <= curve.bytes ? toBigInt(scalar) : 0n;
  if (value === 0n || value >= curve.order) throw invalid(field, 'is an EC key that is out of range');
}

/** Only checks the form. OpenSSL checks that the point is on the curve when it loads it. */
export function checkPoint(point: Buffer, curve: Curve, field: string): void {
  const whole = point[0] === 4 && point.length === 1 + 2 * curve.bytes;
  const compressed = (point[0] === 2 || point[0] === 3) && point.length === 1 + curve.bytes;
  if (!whole && !compressed) throw invalid(field, 'is an EC key whose public point is malformed');
}

const prime25519 = 2n ** 255n - 19n;
const d25519 = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** OpenSSL loads any 32 bytes as an Ed25519 public key; half of them are not a point (RFC 8032, 5.1.3). */
export function checkEd25519Point(bytes: Buffer, field: string): void {
  const y = toBigInt(Buffer.from(bytes).reverse()) & (2n ** 255n - 1n);
  const ySquared = (y * y) % prime25519;
  const u = (ySquared - 1n + prime25519) % prime25519;
  const v = (d25519 * ySquared + 1n) % prime25519;
  // u/v is a square exactly if u·v is, and a square's Euler power is one.
  const isPoint = y < prime25519 && power((u * v) % prime25519, (prime25519 - 1n) / 2n) === 1n;
  if (!isPoint || hasSmallOrder(ySquared))
    throw invalid(field, 'is an Ed25519 key whose public point is malformed');
}

/** Anyone can sign for a key of order 1, 2, 4 or 8. Those have y² = 1, y = 0, or double to y = 0. */
function hasSmallOrder(ySquared: bigint): boolean {
  const doubled = (d25519 * ySquared * ySquared + 2n * ySquared - 1n) % prime25519;
  return ySquared === 1n || ySquared === 0n || doubled === 0n;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let square = base, rest = exponent; rest > 0n; rest >>= 1n, square = (square * square) % prime25519)
    if (rest & 1n) result = (result * square) % prime25519;
  return result;
}
