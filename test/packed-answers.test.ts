/** An answer that is compressed without saying so could hide the value in any form: nothing of it is shown. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { type BrokeredCall, resultOf, Withheld } from '../src/egress/brokered-answer.ts';

const call = {
  method: 'GET',
  response: 'full',
  responseHeaders: [],
  maxResponse: 8 * 1024 * 1024,
  binary: true,
} as unknown as BrokeredCall;

/** An upstream's answer, as the HTTP client hands it over. */
function answer(bytes: Buffer, headers: Record<string, string> = {}): IncomingMessage {
  const type = { 'content-type': 'application/octet-stream' };
  const read = Readable.from([bytes]) as unknown as IncomingMessage;
  return Object.assign(read, { statusCode: 200, headers: { ...type, ...headers }, complete: true });
}

/** Why nothing of it is shown; null where it is. */
async function withheld(bytes: Buffer, headers?: Record<string, string>): Promise<string | null> {
  const scrub = async (plain: Buffer) => ({ bytes: plain, redacted: 0, kept: null, parts: 0 });
  return resultOf(answer(bytes, headers), call, scrub as never).then(
    () => null,
    error => {
      assert.ok(error instanceof Withheld, String(error));
      return error.message;
    },
  );
}

const text = Buffer.from('a text that is repeated, a text that is repeated, a text that is repeated');
const behind = (bytes: number) => Buffer.concat([deflateRawSync(text), randomBytes(bytes)]);
/** Text that happens to be a stored block of a deflated stream. */
const textLikeDeflated = Buffer.concat([
  Buffer.from([0x01, 0x20, 0x40, 0xdf, 0xbf]),
  Buffer.alloc(0x4020, 'a'),
]);
const compressed = 'the answer is compressed';

describe('an answer of bytes', () => {
  const rows: readonly (readonly [string, Buffer, string | null])[] = [
    ['random', Buffer.concat([Buffer.from([0xff, 0xfe]), randomBytes(100)]), null],
    ['text that could be inflated', textLikeDeflated, null],
    ['gzip', gzipSync(text), compressed],
    ['deflated with a head', deflateSync(text), compressed],
    ['deflated without one', deflateRawSync(text), compressed],
    ['deflated to exactly 4 MiB', deflateRawSync(Buffer.alloc(4 * 1024 * 1024)), compressed],
    ['deflated to more', deflateRawSync(Buffer.alloc(4 * 1024 * 1024 + 1)), compressed],
  ];
  for (const [what, bytes, reason] of rows)
    it(`${what}: ${reason ?? 'is shown'}`, async () => assert.equal(await withheld(bytes), reason));

  it('deflated is withheld with up to 8 bytes behind its end, such as a checksum', async () => {
    assert.equal(await withheld(behind(8)), compressed);
    assert.equal(await withheld(behind(9)), null);
  });

  it('is decoded once as it says, and withheld where it is compressed below that', async () => {
    const encoding = { 'content-encoding': 'gzip' };
    assert.equal(await withheld(gzipSync(text), encoding), null);
    assert.equal(await withheld(gzipSync(gzipSync(text)), encoding), compressed);
    assert.equal(await withheld(gzipSync(deflateRawSync(text)), encoding), compressed);
  });
});
