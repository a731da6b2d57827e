/** SSH certificates and revocation lists, byte for byte against those of OpenSSH. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { bytesToSign, certificateTypeOf } from '../src/material/ssh/certificate.ts';
import { digestIn, fingerprintOf, readSshPublicKey } from '../src/material/ssh/public-key.ts';
import { revocationList } from '../src/material/ssh/revocation-list.ts';
import { integer } from '../src/material/ssh/wire.ts';
import { readCertificate } from './ssh-reader.ts';

interface Vectors {
  readonly certificates: readonly Readonly<
    Record<'authority' | 'public_key' | 'authority_key' | 'certificate' | 'listing', string> & {
      type: 'user' | 'host';
    }
  >[];
  readonly revocation_list: Readonly<
    Record<'authority_key' | 'key' | 'fingerprint' | 'list', string> & {
      version: number;
      generated_at: number;
      serials: readonly string[];
      key_ids: readonly string[];
    }
  >;
}

const { certificates, revocation_list: list }: Vectors = JSON.parse(
  readFileSync(new URL('vectors/ssh.json', import.meta.url), 'utf8'),
);

describe('SSH certificates', () => {
  for (const { authority, type, public_key, authority_key, certificate } of certificates) {
    it(`have the bytes that ssh-keygen signs for a ${type} with an authority of ${authority}`, () => {
      const found = readCertificate(certificate);
      const signed = bytesToSign(
        {
          key: readSshPublicKey(public_key),
          nonce: found.nonce,
          serial: 6113279213468224581n,
          type,
          keyId: 'ada on laptop',
          principals: ['deploy', 'web-1'],
          validAfter: Date.UTC(2026, 10, 15, 9, 30) / 1_000,
          validBefore: Date.UTC(2026, 10, 15, 10, 45) / 1_000,
          criticalOptions:
            type === 'user'
              ? { 'source-address': '10.0.0.0/8,2001:db8::1', 'force-command': '/bin/true' }
              : {},
          extensions: type === 'user' ? ['permit-pty', 'permit-port-forwarding'] : [],
        },
        readSshPublicKey(authority_key),
      );
      assert.equal(signed.toString('base64'), found.signed.toString('base64'));
    });
  }

  it('are never for no one, which OpenSSH takes for everyone', () => {
    const key = readSshPublicKey(certificates[0]!.public_key);
    const statement = {
      key,
      nonce: Buffer.alloc(32),
      serial: 1n,
      type: 'user' as const,
      keyId: 'x',
      principals: [],
      validAfter: 0,
      validBefore: 1,
      criticalOptions: {},
      extensions: [],
    };
    assert.throws(() => bytesToSign(statement, key), { field: 'principals' });
    assert.throws(() => bytesToSign({ ...statement, nonce: Buffer.alloc(31), principals: ['a'] }, key));
  });

  it('have types of their own for keys on security keys', () => {
    assert.equal(certificateTypeOf('sk-ssh-ed25519@openssh.com'), 'sk-ssh-ed25519-cert-v01@openssh.com');
    assert.equal(certificateTypeOf('ssh-rsa'), 'ssh-rsa-cert-v01@openssh.com');
  });
});

describe('revocation lists', () => {
  it('have the bytes that ssh-keygen writes', () => {
    const written = revocationList({
      version: list.version,
      generatedAt: list.generated_at,
      comment: '',
      authorities: [readSshPublicKey(list.authority_key)],
      serials: list.serials.map(BigInt),
      keyIds: list.key_ids,
      keys: [readSshPublicKey(list.key)],
      digests: [digestIn(list.fingerprint)],
    });
    assert.equal(written.toString('base64'), list.list);
  });

  it('are valid while nothing is revoked', () => {
    const parts = {
      version: 1,
      generatedAt: 0,
      comment: 'x',
      serials: [],
      keyIds: [],
      keys: [],
      digests: [],
    };
    const empty = revocationList({ ...parts, authorities: [readSshPublicKey(list.authority_key)] });
    assert.equal(empty.length, 8 + 4 + 8 + 8 + 8 + 4 + 5);
  });
});

describe('public keys of SSH', () => {
  const line = certificates[0]!.public_key;
  const [type, encoded] = line.split(' ') as [string, string];
  const changed = (change: (bytes: Buffer) => Buffer) =>
    `${type} ${change(Buffer.from(encoded, 'base64')).toString('base64')}`;

  it('are read with and without a comment', () => {
    assert.equal(
      fingerprintOf(readSshPublicKey(line)),
      fingerprintOf(readSshPublicKey(`${type} ${encoded}\n`)),
    );
  });

  it('are refused if anything about them is wrong', () => {
    const point = Buffer.alloc(65, 1);
    point[0] = 4;
    const string = (bytes: Buffer | string) => {
      const content = Buffer.from(bytes as string);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(content.length);
      return Buffer.concat([length, content]);
    };
    const keyOf = (name: string, ...fields: Buffer[]) =>
      `${name} ${Buffer.concat([string(name), ...fields]).toString('base64')}`;
    const modulus = (bytes: number, last: number) => {
      const number = Buffer.alloc(bytes, 0xff);
      number[bytes - 1] = last;
      return integer(number);
    };
    const wrong: Readonly<Record<string, string>> = {
      nothing: '',
      'two lines': `${line}\n${line}`,
      'a certificate': certificates[0]!.certificate,
      DSA: keyOf('ssh-dss', string('x')),
      'another type inside': `ssh-rsa ${encoded}`,
      'cut off': changed(bytes => bytes.subarray(0, -1)),
      'followed by more': changed(bytes => Buffer.concat([bytes, Buffer.of(0)])),
      'a point beside the curve': keyOf('ecdsa-sha2-nistp256', string('nistp256'), string(point)),
      'another curve': keyOf('ecdsa-sha2-nistp256', string('nistp384'), string(point)),
      'RSA of 1024 bits': keyOf('ssh-rsa', integer(Buffer.of(1, 0, 1)), modulus(128, 1)),
      'an even modulus': keyOf('ssh-rsa', integer(Buffer.of(1, 0, 1)), modulus(256, 2)),
      'an exponent of one': keyOf('ssh-rsa', integer(Buffer.of(1)), modulus(256, 1)),
      'a negative modulus': keyOf('ssh-rsa', integer(Buffer.of(3)), string(Buffer.alloc(256, 0xff))),
      'a padded modulus': keyOf('ssh-rsa', integer(Buffer.of(3)), string(Buffer.alloc(257))),
      'an unknown type': keyOf('constructor', string('x')),
    };
    for (const [what, text] of Object.entries(wrong))
      assert.throws(() => readSshPublicKey(text), Failure, what);
    readSshPublicKey(keyOf('ssh-rsa', integer(Buffer.of(1, 0, 1)), modulus(256, 1)));
    const onDevice = (length: number) =>
      keyOf('sk-ssh-ed25519@openssh.com', string(Buffer.alloc(32, 1)), string('a'.repeat(length)));
    readSshPublicKey(onDevice(255));
    assert.throws(() => readSshPublicKey(onDevice(256)), Failure);
  });
});
