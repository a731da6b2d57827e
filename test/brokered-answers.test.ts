/** What becomes of an answer to a call with a secret: decoded, bounded, scrubbed, shown, stored or withheld. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type BrokeredCall, resultOf, Withheld } from '../src/egress/brokered-answer.ts';
import { scrubberOf } from '../src/egress/scrubbing.ts';

const value = 'q7xz2mb9ck4wt1pl8vr3';
const { scrub } = scrubberOf([value]);
const most = 200;

interface Given {
  readonly body?: string | Buffer;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  readonly isCut?: boolean;
  readonly order?: Partial<BrokeredCall>;
}

/** The result, or why it is withheld, with the status and the length that are told of it. */
async function given({ body = '', status = 200, headers = {}, isCut = false, order = {} }: Given) {
  const bytes = Buffer.from(body as string);
  const read = Readable.from(bytes.length === 0 ? [] : [bytes]);
  const response = Object.assign(read, { statusCode: status, headers, complete: !isCut });
  const call = {
    method: 'GET',
    response: 'full',
    responseHeaders: ['x-*', 'etag'],
    maxResponse: most,
    binary: false,
  };
  return resultOf(response as unknown as IncomingMessage, { ...call, ...order } as BrokeredCall, scrub).then(
    ({ outcome, status: told, headers: shown, body: text, bodyBase64, redacted, bytes: size, minted }) => ({
      ...{ outcome, told, size },
      ...(Object.keys(shown).length > 0 && { shown }),
      ...(text !== null && { text }),
      ...(bodyBase64 !== null && { bodyBase64 }),
      ...(redacted > 0 && { redacted }),
      ...(minted !== null && { minted }),
    }),
    error => {
      assert.ok(error instanceof Withheld, String(error));
      return `${error.message} (${error.status}, ${error.bytes}, ${error.parts})`;
    },
  );
}

const answered = (size: number, more: object, told = 200) => ({ outcome: 'answered', told, size, ...more });
const cut = 'the answer contains the value in a form that can’t be redacted';
const binary = { binary: true };
const octets = { 'content-type': 'application/octet-stream' };
const encoded = (name: string) => ({ 'content-encoding': name });
const store = (pointer: string | null) => ({ order: { response: 'store', pointer } as const });
const token = (length: number) => JSON.stringify({ a: 'x'.repeat(length) });
const large = { maxResponse: 200_000 };
const noField = (length: number) => `the answer does not contain the field to store (200, ${length}, 0)`;

const rows: readonly (readonly [what: string, given: Given, result: unknown])[] = [
  ['text', { body: 'fine' }, answered(4, { text: 'fine' })],
  ['nothing', { body: '', headers: octets }, answered(0, { text: '' })],
  ['another status', { body: 'no', status: 404 }, answered(2, { text: 'no' }, 404)],
  ['the value', { body: `a ${value}` }, answered(22, { text: 'a [redacted]', redacted: 1 })],
  ['a part of it', { body: value.slice(0, 12) }, `${cut} (200, 12, 1)`],
  [
    'the status alone',
    { body: value.slice(0, 12), status: 206, order: { response: 'status-only' } },
    answered(0, {}, 206),
  ],
  ['a part of an answer', { body: 'x', status: 206 }, 'the answer is incomplete (206, 0, 0)'],
  [
    'a range',
    { body: 'x', headers: { 'content-range': 'bytes 0-1/2' } },
    'the answer is incomplete (200, 0, 0)',
  ],
  ['as much as there may be', { body: 'x'.repeat(most) }, answered(most, { text: 'x'.repeat(most) })],
  ['more', { body: 'x'.repeat(most + 1) }, `the answer is too long (200, ${most + 1}, 0)`],
  ['what was cut off', { body: 'half', isCut: true }, 'the answer was cut off (200, 4, 0)'],
  // How it is written.
  [
    'gzip',
    { body: gzipSync('fine'), headers: encoded('gzip') },
    answered(gzipSync('fine').length, { text: 'fine' }),
  ],
  [
    'x-gzip',
    { body: gzipSync('fine'), headers: encoded('X-GZIP') },
    answered(gzipSync('fine').length, { text: 'fine' }),
  ],
  ['deflate', { body: deflateSync('fine'), headers: encoded('deflate') }, answered(12, { text: 'fine' })],
  ['brotli', { body: brotliCompressSync('fine'), headers: encoded('br') }, answered(8, { text: 'fine' })],
  [
    'zstd',
    { body: zstdCompressSync('fine'), headers: encoded('zstd') },
    answered(zstdCompressSync('fine').length, { text: 'fine' }),
  ],
  [
    'identity',
    { body: 'fine', headers: encoded('identity, ,identity,identity') },
    answered(4, { text: 'fine' }),
  ],
  [
    'three encodings, the last first',
    { body: brotliCompressSync(gzipSync(deflateSync('fine'))), headers: encoded('deflate, gzip, br') },
    answered(brotliCompressSync(gzipSync(deflateSync('fine'))).length, { text: 'fine' }),
  ],
  [
    'four',
    { body: 'fine', headers: encoded('br,br,br,br') },
    'the answer has too many encodings (200, 0, 0)',
  ],
  ['another', { body: 'fine', headers: encoded('rot13') }, 'the answer has an unknown encoding (200, 4, 0)'],
  [
    'one of every object',
    { body: 'fine', headers: encoded('constructor') },
    'the answer has an unknown encoding (200, 4, 0)',
  ],
  [
    'no such encoding',
    { body: 'fine', headers: encoded('gzip') },
    'the answer can’t be decoded, or is too long (200, 4, 0)',
  ],
  [
    'as much as there may be once decoded',
    { body: gzipSync('x'.repeat(most)), headers: encoded('gzip') },
    answered(gzipSync('x'.repeat(most)).length, { text: 'x'.repeat(most) }),
  ],
  [
    'more once decoded',
    { body: gzipSync('x'.repeat(most + 1)), headers: encoded('gzip') },
    `the answer can’t be decoded, or is too long (200, ${gzipSync('x'.repeat(most + 1)).length}, 0)`,
  ],
  [
    'HEAD of what is encoded',
    { headers: encoded('gzip'), order: { method: 'HEAD' } },
    answered(0, { text: '' }),
  ],
  ['nothing of what is encoded', { headers: encoded('gzip') }, answered(0, { text: '' })],
  [
    'a body to HEAD',
    { body: 'fine', headers: encoded('rot13'), order: { method: 'HEAD' } },
    answered(4, { text: 'fine' }),
  ],
  ['nothing, where nothing may be', { order: { maxResponse: 0 } }, answered(0, { text: '' })],
  ['packed', { body: gzipSync('fine') }, `the answer is compressed (200, ${gzipSync('fine').length}, 0)`],
  // What it is.
  ['bytes', { body: 'a', headers: octets }, 'the answer is not text (200, 1, 0)'],
  [
    'bytes where they may be',
    { body: 'a', headers: octets, order: binary },
    answered(1, { bodyBase64: 'YQ==' }),
  ],
  ['text where bytes may be', { body: 'a', order: binary }, answered(1, { text: 'a' })],
  [
    'JSON',
    { body: '1', headers: { 'content-type': 'Application/JSON ; charset=UTF-8' } },
    answered(1, { text: '1' }),
  ],
  [
    'JSON of a kind',
    { body: '1', headers: { 'content-type': 'application/a.b+json' } },
    answered(1, { text: '1' }),
  ],
  ['of an empty type', { body: '1', headers: { 'content-type': '' } }, 'the answer is not text (200, 1, 0)'],
  [
    'Latin-1',
    { body: '1', headers: { 'content-type': 'text/plain; a=b; charset="latin1"' } },
    answered(1, { text: '1' }),
  ],
  [
    'another charset',
    { body: '1', headers: { 'content-type': 'text/plain; a=b; charset=utf-16' } },
    'the answer is not in UTF-8 (200, 1, 0)',
  ],
  // Its headers.
  [
    'headers that are allowed',
    { headers: { etag: '"1"', 'x-a': ['1', '2'], y: '3', 'etag-2': '4', 'x-gone': undefined } },
    answered(0, { shown: { etag: '"1"', 'x-a': '1, 2' }, text: '' }),
  ],
  [
    'headers that are never shown',
    { headers: { 'set-cookie': ['a'], 'content-length': '0', etag: 'b' }, order: { responseHeaders: ['*'] } },
    answered(0, { shown: { etag: 'b' }, text: '' }),
  ],
  [
    'headers with the value',
    { body: value, headers: { etag: value, [`x-${value}`]: 'c' } },
    answered(20, { shown: { etag: '[redacted]', 'x-[redacted]': 'c' }, text: '[redacted]', redacted: 3 }),
  ],
  ['a header with a part', { headers: { etag: value.slice(0, 12) } }, `${cut} (200, 0, 1)`],
  ['a name with a part', { headers: { [`x-${value.slice(0, 12)}`]: '' } }, `${cut} (200, 0, 1)`],
  // What is stored of it.
  ['a field to store', { body: '{"a":"b"}', ...store('/a') }, answered(9, { minted: 'b' })],
  ['with 299', { body: '"b"', status: 299, ...store(null) }, answered(3, { minted: 'b' }, 299)],
  ['with 300', { body: '"b"', status: 300, ...store('') }, answered(3, {}, 300)],
  ['all of it', { body: '"b"', ...store(null) }, answered(3, { minted: 'b' })],
  [
    'a field of a field',
    { body: '{"a":{"b/~":["c","d"]}}', ...store('/a/b~1~0/1') },
    answered(23, { minted: 'd' }),
  ],
  ['no such field', { body: '{"a":"b"}', ...store('/c') }, noField(9)],
  ['a field of every object', { body: '{"a":"b"}', ...store('/constructor/name') }, noField(9)],
  ['a field of a text', { body: '{"a":"b"}', ...store('/a/0') }, noField(9)],
  ['the length of a text', { body: '{"a":"b"}', ...store('/a/length') }, noField(9)],
  ['a field of null', { body: '{"a":null}', ...store('/a/b') }, noField(10)],
  ['a number', { body: '{"a":1}', ...store('/a') }, noField(7)],
  ['an empty text', { body: '{"a":""}', ...store('/a') }, noField(8)],
  ['half a character', { body: '{"a":"\\ud800"}', ...store('/a') }, noField(14)],
  ['no JSON', { body: '{', ...store('/a') }, noField(1)],
  [
    '65,536 bytes',
    { body: token(65_536), order: { ...store('/a').order, ...large } },
    answered(65_544, { minted: 'x'.repeat(65_536) }),
  ],
  ['one more', { body: token(65_537), order: { ...store('/a').order, ...large } }, noField(65_545)],
];

describe('an answer', () => {
  for (const [what, one, result] of rows)
    it(`is judged: ${what}`, async () => assert.deepEqual(await given(one), result));

  it('that breaks off is a failure, not an answer that is too long', async () => {
    const broken = new Readable({ read: () => {} });
    const response = Object.assign(broken, { statusCode: 200, headers: {}, complete: false });
    const call = {
      method: 'GET',
      response: 'full',
      responseHeaders: [],
      maxResponse: most,
    } as unknown as BrokeredCall;
    const result = resultOf(response as unknown as IncomingMessage, call, scrub);
    broken.destroy(Object.assign(new Error('gone'), { code: 'ECONNRESET' }));
    await assert.rejects(result, { code: 'ECONNRESET' });
  });
});
