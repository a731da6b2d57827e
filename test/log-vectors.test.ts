import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Keyring } from '../src/keyring/keyring.ts';
import { keyFile } from '../src/keyring/root-key/key-file.ts';
import { chainStart, headDigest, type Link, linkHash } from '../src/logs/chain.ts';
import { checkpointBody, checkpointHash, isSignedBy, parseCheckpoint } from '../src/logs/checkpoints.ts';
import type { LoggedLink } from '../src/logs/logged-link.ts';
import { verifyLogs } from '../src/logs/verify.ts';
import type { Stream } from '../src/store/records/logs.ts';

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`vectors/${name}.json`, import.meta.url), 'utf8'));
const frozen = read('logs');
const { rootKeyFile, wrapped, logPublicKey } = read('keyring');
const links: (LoggedLink & { stream: Stream })[] = frozen.links;

describe('the frozen log', () => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-log-vectors-'));
  let keyring: Keyring;
  before(async () => {
    const path = join(folder, 'root.key');
    writeFileSync(path, rootKeyFile);
    chmodSync(path, 0o400);
    keyring = await Keyring.unwrap(await keyFile(path).open(), Buffer.from(wrapped, 'hex'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('a link hashes the link before it, whose it is, its place, its id and its text', () => {
    const ends = new Map<string, Link>();
    for (const { stream, writer, id, text, seq, hash, mark } of links) {
      assert.equal(linkHash(stream, writer, ends.get(stream) ?? chainStart, id, text), hash);
      assert.equal(keyring.chainMark(hash), mark);
      ends.set(stream, { seq, hash, mark });
    }
  });

  it('each part of the link before, and each of its own, changes the hash', () => {
    const first = links[0]!;
    const [before, { stream, writer, id, text, hash }] = [first, links[1]!];
    const others = [
      linkHash(stream, writer, { ...before, hash: 'B'.repeat(43) }, id, text),
      linkHash(stream, writer, { ...before, mark: 'B'.repeat(43) }, id, text),
      linkHash(stream, writer, { ...before, seq: 2 }, id, text),
      linkHash('request', writer, before, id, text),
      linkHash(stream, id, before, id, text),
      linkHash(stream, writer, before, writer, text),
      linkHash(stream, writer, before, id, `${text} `),
    ];
    assert.equal(new Set([hash, ...others]).size, 8);
  });

  it('a head’s digest and mark are as they were', () => {
    for (const { digest, mark, ...head } of frozen.heads) {
      assert.equal(headDigest(head), digest);
      assert.equal(keyring.chainMark(digest), mark);
    }
  });

  it('a checkpoint’s text, hash and signature are as they were', () => {
    for (const { checkpoint, body, hash, signature } of frozen.checkpoints) {
      assert.equal(checkpointBody(checkpoint), body);
      assert.equal(checkpointHash(body), hash);
      assert.equal(Buffer.from(keyring.signCheckpoint(Buffer.from(body))).toString('base64'), signature);
      const kept = parseCheckpoint(JSON.stringify({ checkpoint: body, signature }));
      assert.ok(isSignedBy(createPublicKey(logPublicKey), kept));
      assert.ok(!isSignedBy(createPublicKey(logPublicKey), { ...kept, body: `${body} ` }));
    }
  });

  it('the whole of it verifies, and so does a checkpoint of an earlier version', async () => {
    const source = {
      async *links(stream: Stream) {
        yield* links.filter(link => link.stream === stream);
      },
      async *checkpoints() {
        for (const { body, signature } of frozen.checkpoints)
          yield { body, signature: Buffer.from(signature, 'base64') };
      },
    };
    const { findings, unsigned, checkpoints } = await verifyLogs(source, { publicKey: logPublicKey });
    assert.deepEqual([findings, unsigned, checkpoints], [[], 0, 2]);
    const { body, signature } = frozen.withoutAge;
    const earlier = parseCheckpoint(JSON.stringify({ checkpoint: body, signature }));
    assert.ok(isSignedBy(createPublicKey(logPublicKey), earlier));
  });
});
