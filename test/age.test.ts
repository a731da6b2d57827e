/** Backups are files in the age format: the vectors of its community, and what a stream must refuse. */
import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { inflateSync } from 'node:zlib';
import { chunkSize, opened, sealed } from '../src/keyring/age/age.ts';
import { AgeError } from '../src/keyring/age/header.ts';
import {
  type AgeIdentity,
  identityFrom,
  newKeyPair,
  passphraseIdentity,
  passphraseRecipient,
  recipientFrom,
} from '../src/keyring/age/keys.ts';
import published from './vectors/age.json' with { type: 'json' };

interface Vector {
  readonly name: string;
  readonly expect: string;
  readonly payload?: string;
  readonly identity?: string;
  readonly passphrase?: string;
  readonly compressed?: string;
  readonly file: string;
}

async function* piecesOf(bytes: Uint8Array, size = 1_000): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function all(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const piece of pieces) parts.push(piece);
  return Buffer.concat(parts);
}

function identityOf({ identity, passphrase }: Vector): AgeIdentity {
  if (passphrase !== undefined) return passphraseIdentity(passphrase);
  return identityFrom(identity ?? '') ?? (async () => null);
}

const why: Readonly<Record<string, AgeError['why']>> = { 'no match': 'locked' };

describe('the age format', () => {
  for (const vector of published.vectors as Vector[]) {
    it(`${vector.name}: ${vector.expect}`, async () => {
      const file = Buffer.from(vector.file, 'base64');
      const bytes = vector.compressed === undefined ? file : inflateSync(file);
      const opening = all(opened(piecesOf(bytes), identityOf(vector)));
      if (vector.expect === 'success') {
        assert.equal(hash('sha256', await opening), vector.payload);
        return;
      }
      const error = await opening.then(
        () => assert.fail('it was opened'),
        (thrown: unknown) => thrown,
      );
      assert.ok(error instanceof AgeError, String((error as Error).stack));
      assert.equal(error.why, why[vector.expect] ?? 'damaged');
    });
  }

  const pair = newKeyPair();
  const recipient = recipientFrom(pair.recipient)!;
  const identity = identityFrom(pair.identity)!;

  for (const length of [0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 3 * chunkSize]) {
    it(`gives back ${length} bytes, however they come`, async () => {
      const plain = randomBytes(length);
      const file = await all((await sealed([recipient], piecesOf(plain, 7_777))).bytes);
      assert.deepEqual(await all(opened(piecesOf(file, 100_003), identity)), plain);
    });
  }

  it('is opened by each of its recipients, by whoever wrote it, and by nobody else', async () => {
    const other = newKeyPair();
    const plain = Buffer.from('twice');
    const file = await sealed([recipient, recipientFrom(other.recipient)!], piecesOf(plain));
    const bytes = await all(file.bytes);
    for (const one of [identity, identityFrom(other.identity)!, file.identity])
      assert.deepEqual(await all(opened(piecesOf(bytes), one)), plain);
    const stranger = identityFrom(newKeyPair().identity)!;
    await assert.rejects(all(opened(piecesOf(bytes), stranger)), { why: 'locked' });
  });

  it('takes a passphrase, typed on any keyboard', async () => {
    const file = await all(
      (await sealed([passphraseRecipient('correct é horse', 10)], piecesOf(Buffer.from('x')))).bytes,
    );
    assert.equal(String(await all(opened(piecesOf(file), passphraseIdentity('correct e\u0301 horse')))), 'x');
    await assert.rejects(all(opened(piecesOf(file), passphraseIdentity('another'))), { why: 'locked' });
  });

  it('finds every byte that was changed, and every end that was cut off', async () => {
    const file = await all((await sealed([recipient], piecesOf(randomBytes(100)))).bytes);
    for (let at = 0; at < file.length; at++) {
      const changed = Buffer.from(file);
      changed[at]! ^= 1 << (at % 8);
      await assert.rejects(all(opened(piecesOf(changed), identity)), AgeError, `byte ${at}`);
      await assert.rejects(all(opened(piecesOf(file.subarray(0, at)), identity)), AgeError, `cut at ${at}`);
    }
    await assert.rejects(all(opened(piecesOf(Buffer.concat([file, Buffer.alloc(1)])), identity)), AgeError);
  });

  const text = Buffer.from('text');

  it('is read with a header of 64 KiB, and not with one byte more', async () => {
    const pair = newKeyPair();
    /** Its first stanza, which no one can open, makes it longer. */
    const fileWith = async (length: number) => {
      const grease = async () => ({ type: 'grease', args: ['a'.repeat(length)], body: Buffer.alloc(0) });
      return all((await sealed([grease, recipientFrom(pair.recipient)!], piecesOf(text))).bytes);
    };
    const open = async (more: number) =>
      all(opened(piecesOf(await fileWith(1 + more)), identityFrom(pair.identity)!));
    const shortest = (await fileWith(1)).toString('latin1');
    const header = shortest.indexOf('\n', shortest.indexOf('\n--- ') + 1) + 1;
    assert.deepEqual(await open(64 * 1024 - header), text);
    await assert.rejects(open(64 * 1024 - header + 1), AgeError);
  });

  it('with a header that does not end is refused before it takes memory', async () => {
    let given = 0;
    async function* endless() {
      yield Buffer.from('age-encryption.org/v1\n');
      for (; given < 64; given++) yield Buffer.from(`-> grease\n${'A'.repeat(60)}\n`.repeat(1_000));
      assert.fail('it was read on');
    }
    await assert.rejects(all(opened(endless(), async () => null)), AgeError);
    assert.ok(given < 3);
  });

  it('has a passphrase as its only way in, or none', async () => {
    const pair = newKeyPair();
    const mixed = [passphraseRecipient('a passphrase', 10), recipientFrom(pair.recipient)!];
    for (const identity of [identityFrom(pair.identity)!, passphraseIdentity('a passphrase')]) {
      const { bytes } = await sealed(mixed, piecesOf(text));
      await assert.rejects(all(opened(bytes, identity)), AgeError);
    }
  });
});
