/**
 * OpenSSH certificates (PROTOCOL.certkeys): the bytes to sign, and the certificate with its signature. Pure: time, serial
 * and nonce are handed in, and the signature is created elsewhere.
 *
 * Guarantees: at least one principal, because a certificate without any is valid for every user or host; extensions and
 * critical options in the order that OpenSSH requires.
 */
import { invalid } from '../../contract/errors.ts';
import type { SshPublicKey } from './public-key.ts';
import { integer, text, uint32, uint64 } from './wire.ts';

/** What a certificate says. */
export interface SshStatement {
  readonly key: SshPublicKey;
  readonly nonce: Buffer;
  readonly serial: bigint;
  readonly type: 'user' | 'host';
  readonly keyId: string;
  readonly principals: readonly string[];
  /** In seconds since 1970. It is valid from the first until just before the second. */
  readonly validAfter: number;
  readonly validBefore: number;
  /** An option without a value has an empty one. */
  readonly criticalOptions: Readonly<Record<string, string>>;
  readonly extensions: readonly string[];
}

const numberOf = { user: 1, host: 2 } as const;
const nonceLength = 32;

/** With each type of key that can be certified, the name of its certificates. */
export function certificateTypeOf(keyType: string): string {
  return keyType.endsWith('@openssh.com')
    ? keyType.replace('@openssh.com', '-cert-v01@openssh.com')
    : `${keyType}-cert-v01@openssh.com`;
}

export function bytesToSign(statement: SshStatement, authority: SshPublicKey): Buffer {
  const { key, nonce, serial, type, keyId, principals, validAfter, validBefore } = statement;
  if (principals.length === 0) throw invalid('principals', 'must not be empty');
  if (nonce.length !== nonceLength) throw new RangeError('a nonce must have 32 bytes');
  const fields = key.blob.subarray(4 + key.type.length);
  return Buffer.concat([
    text(certificateTypeOf(key.type)),
    text(nonce),
    fields,
    uint64(serial),
    uint32(numberOf[type]),
    text(keyId),
    text(Buffer.concat(principals.map(text))),
    uint64(BigInt(validAfter)),
    uint64(BigInt(validBefore)),
    text(optionsIn(Object.entries(statement.criticalOptions))),
    text(optionsIn(statement.extensions.map(name => [name, '']))),
    text(''),
    text(authority.blob),
  ]);
}

/** The certificate as in a `-cert.pub` file. */
export function signedLine(statement: SshStatement, signed: Buffer, signature: Buffer): string {
  const whole = Buffer.concat([signed, text(signature)]).toString('base64');
  return `${certificateTypeOf(statement.key.type)} ${whole} ${statement.keyId}\n`;
}

function optionsIn(entries: readonly (readonly [string, string])[]): Buffer {
  const sorted = [...entries].sort(([one], [other]) => (one < other ? -1 : 1));
  const parts = sorted.flatMap(([name, value]) => [text(name), text(value === '' ? '' : text(value))]);
  return Buffer.concat(parts);
}

/** The signature of an authority in SSH's form, from the one of JOSE. */
export function sshSignature(authority: SshPublicKey, signature: Buffer): Buffer {
  if (authority.type === 'ssh-ed25519') return Buffer.concat([text(authority.type), text(signature)]);
  if (authority.type === 'ssh-rsa') return Buffer.concat([text('rsa-sha2-512'), text(signature)]);
  const half = signature.length / 2;
  const numbers = [integer(signature.subarray(0, half)), integer(signature.subarray(half))];
  return Buffer.concat([text(authority.type), text(Buffer.concat(numbers))]);
}

/** The algorithm of JOSE with which a key of this type signs certificates; null if it can't. */
export function signingAlgorithmOf({ type }: SshPublicKey) {
  return Object.hasOwn(algorithms, type) ? algorithms[type as keyof typeof algorithms] : null;
}

const algorithms = {
  'ssh-ed25519': 'EdDSA',
  'ecdsa-sha2-nistp256': 'ES256',
  'ecdsa-sha2-nistp384': 'ES384',
  'ecdsa-sha2-nistp521': 'ES512',
  'ssh-rsa': 'RS512',
} as const;
