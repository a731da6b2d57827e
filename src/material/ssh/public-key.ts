/**
 * Public keys as OpenSSH writes them: one line with the type, the key in base64, and a comment.
 *
 * Guarantees: a key that was read has exactly the fields of its type, a point that is on its curve, and RSA numbers of
 * an accepted size; nothing follows.
 * Refuses: DSA, certificates in place of keys, private keys, and more than one line.
 */
import { createHash, createPublicKey } from 'node:crypto';
import { invalid } from '../../contract/errors.ts';
import { integer, SshFormatError, SshReader, text } from './wire.ts';

export interface SshPublicKey {
  readonly type: string;
  /** As it follows the type in the line, decoded. */
  readonly blob: Buffer;
}

type Curve = 'P-256' | 'P-384' | 'P-521';

/** The curves by their names in SSH, with the length of a coordinate in bytes. */
const curves: Readonly<Record<string, { readonly crv: Curve; readonly size: number }>> = {
  nistp256: { crv: 'P-256', size: 32 },
  nistp384: { crv: 'P-384', size: 48 },
  nistp521: { crv: 'P-521', size: 66 },
};
const [smallestModulus, largestModulus] = [2048, 8192];
const longestApplication = 255;

export function readSshPublicKey(line: string, field = 'public_key'): SshPublicKey {
  const [, type, encoded] = /^([a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?: [^\r\n]*)?$/.exec(line.trim()) ?? [];
  if (type === undefined || encoded === undefined)
    throw invalid(field, 'must be a public key as in a .pub file of OpenSSH, on one line');
  const check = Object.hasOwn(fieldsOf, type) ? fieldsOf[type] : undefined;
  if (check === undefined)
    throw invalid(field, `must be a key of one of these types: ${Object.keys(fieldsOf).join(', ')}`);
  const blob = Buffer.from(encoded, 'base64');
  try {
    const reader = new SshReader(blob);
    if (reader.text() !== type) throw new SshFormatError('another type');
    check(reader);
    reader.end();
  } catch {
    throw invalid(field, 'is not a valid public key: it is damaged, too small, or of another type');
  }
  return { type, blob };
}

type Check = (reader: SshReader) => void;

const ed25519: Check = reader => {
  if (reader.bytes().length !== 32) throw new SshFormatError('not a key of Ed25519');
};
const onCurve =
  (name: string): Check =>
  reader => {
    const { crv, size } = curves[name]!;
    if (reader.text() !== name) throw new SshFormatError('another curve');
    const point = reader.bytes();
    if (point.length !== 1 + 2 * size || point[0] !== 4) throw new SshFormatError('not a point');
    const part = (from: number) => point.subarray(from, from + size).toString('base64url');
    // Throws if the point is not on the curve.
    createPublicKey({ key: { kty: 'EC', crv, x: part(1), y: part(1 + size) }, format: 'jwk' });
  };
const rsa: Check = reader => {
  const exponent = reader.integer();
  const modulus = reader.integer();
  const bits = modulus.length * 8 - Math.clz32(modulus[0]!) + 24;
  const isOdd = (number: Buffer) => (number.at(-1)! & 1) === 1;
  const isSound = isOdd(modulus) && isOdd(exponent) && exponent.length <= 8 && !exponent.equals(Buffer.of(1));
  if (!isSound || bits < smallestModulus || bits > largestModulus)
    throw new SshFormatError('not a key of RSA');
};
const ofDevice =
  (check: Check): Check =>
  reader => {
    check(reader);
    if (reader.bytes().length > longestApplication) throw new SshFormatError('too long');
  };

/** The fields after the type. The last two are on a security key. */
const fieldsOf: Readonly<Record<string, Check>> = {
  'ssh-ed25519': ed25519,
  'ecdsa-sha2-nistp256': onCurve('nistp256'),
  'ecdsa-sha2-nistp384': onCurve('nistp384'),
  'ecdsa-sha2-nistp521': onCurve('nistp521'),
  'ssh-rsa': rsa,
  'sk-ssh-ed25519@openssh.com': ofDevice(ed25519),
  'sk-ecdsa-sha2-nistp256@openssh.com': ofDevice(onCurve('nistp256')),
};

/** A stored public key in SSH's form; null for keys that SSH has no type for. */
export function sshKeyOf(publicPem: string): SshPublicKey | null {
  if (publicPem === '') return null;
  const { kty, crv, x, y, n, e } = createPublicKey(publicPem).export({ format: 'jwk' });
  const part = (value = '') => Buffer.from(value, 'base64url');
  if (kty === 'OKP' && crv === 'Ed25519') return keyFrom('ssh-ed25519', text(part(x)));
  if (kty === 'RSA') return keyFrom('ssh-rsa', integer(part(e)), integer(part(n)));
  const [name] = Object.entries(curves).find(([, curve]) => curve.crv === crv) ?? [];
  if (kty !== 'EC' || name === undefined) return null;
  return keyFrom(`ecdsa-sha2-${name}`, text(name), text(Buffer.concat([Buffer.of(4), part(x), part(y)])));
}

function keyFrom(type: string, ...fields: readonly Buffer[]): SshPublicKey {
  return { type, blob: Buffer.concat([text(type), ...fields]) };
}

/** As in a `.pub` file. The comment must be without line breaks. */
export function sshLineOf({ type, blob }: SshPublicKey, comment: string): string {
  return `${type} ${blob.toString('base64')} ${comment}\n`;
}

const fingerprintPrefix = 'SHA256:';

/** As `ssh-keygen -l` prints it. */
export function fingerprintOf({ blob }: SshPublicKey): string {
  const digest = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '');
  return `${fingerprintPrefix}${digest}`;
}

export function digestIn(fingerprint: string): Buffer {
  return Buffer.from(fingerprint.slice(fingerprintPrefix.length), 'base64');
}
