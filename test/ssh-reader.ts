/** Reads OpenSSH certificates and checks their signatures, independently of the service's own code. */
import assert from 'node:assert/strict';
import { createPublicKey, type KeyObject, verify } from 'node:crypto';

class Bytes {
  at = 0;
  readonly all: Buffer;
  constructor(all: Buffer) {
    this.all = all;
  }
  take(length: number): Buffer {
    assert.ok(this.at + length <= this.all.length, 'cut off');
    this.at += length;
    return this.all.subarray(this.at - length, this.at);
  }
  number = () => this.take(4).readUInt32BE();
  long = () => this.take(8).readBigUInt64BE();
  string = () => this.take(this.number());
  get rest(): boolean {
    return this.at < this.all.length;
  }
}

const fieldsOfType: Readonly<Record<string, number>> = {
  'ssh-ed25519': 1,
  'ssh-rsa': 2,
  'ecdsa-sha2-nistp256': 2,
  'ecdsa-sha2-nistp384': 2,
  'ecdsa-sha2-nistp521': 2,
};

export function readCertificate(line: string) {
  const [type, encoded] = line.split(' ');
  const bytes = new Bytes(Buffer.from(encoded!, 'base64'));
  assert.equal(bytes.string().toString(), type);
  const nonce = bytes.string();
  const base = type!.replace('-cert-v01@openssh.com', '');
  const fields = Array.from({ length: fieldsOfType[base]! }, () => bytes.string());
  const serial = bytes.long();
  const kind = bytes.number();
  const keyId = bytes.string().toString();
  const principals = texts(bytes.string());
  const [after, before] = [bytes.long(), bytes.long()];
  const options = pairs(bytes.string());
  const extensions = pairs(bytes.string());
  assert.equal(bytes.string().length, 0);
  const authority = bytes.string();
  const signed = bytes.all.subarray(0, bytes.at);
  const signature = bytes.string();
  assert.equal(bytes.rest, false);
  return {
    type: kind === 1 ? 'user' : 'host',
    nonce,
    fields,
    serial: String(serial),
    keyId,
    principals,
    validAfter: Number(after),
    validBefore: Number(before),
    options,
    extensions,
    authority,
    signed,
    signature,
  };
}

function texts(content: Buffer): string[] {
  const bytes = new Bytes(content);
  const found: string[] = [];
  while (bytes.rest) found.push(bytes.string().toString());
  return found;
}

function pairs(content: Buffer): Record<string, string> {
  const bytes = new Bytes(content);
  const found: [string, string][] = [];
  while (bytes.rest) {
    const name = bytes.string().toString();
    const value = bytes.string();
    found.push([name, value.length === 0 ? '' : new Bytes(value).string().toString()]);
  }
  const names = found.map(([name]) => name);
  assert.deepEqual(names, [...names].sort(), 'in order');
  return Object.fromEntries(found);
}

/** Whether the authority with this public key signed it. */
export function isSignedBy(
  publicPem: string,
  { signed, signature }: Pick<ReturnType<typeof readCertificate>, 'signed' | 'signature'>,
): boolean {
  const key = createPublicKey(publicPem);
  const bytes = new Bytes(signature);
  const algorithm = bytes.string().toString();
  const blob = bytes.string();
  const digests: Readonly<Record<string, string | null>> = {
    'ssh-ed25519': null,
    'rsa-sha2-512': 'sha512',
    'ecdsa-sha2-nistp256': 'sha256',
    'ecdsa-sha2-nistp384': 'sha384',
    'ecdsa-sha2-nistp521': 'sha512',
  };
  assert.ok(algorithm in digests, algorithm);
  return verify(digests[algorithm]!, signed, { key, dsaEncoding: 'ieee-p1363' }, plain(key, blob));
}

/** The numbers of an ECDSA signature joined, each with the length of the curve. */
function plain(key: KeyObject, blob: Buffer): Buffer {
  if (key.asymmetricKeyType !== 'ec') return blob;
  const numbers = new Bytes(blob);
  const names = { prime256v1: 32, secp384r1: 48, secp521r1: 66 };
  const size = names[key.asymmetricKeyDetails!.namedCurve as keyof typeof names];
  const parts = [numbers.string(), numbers.string()].map(one =>
    Buffer.concat([Buffer.alloc(size), one]).subarray(-size),
  );
  return Buffer.concat(parts);
}
