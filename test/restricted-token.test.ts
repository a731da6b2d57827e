/** The text of an access key that its holder restricted, as docs/agents.md describes it: what is one, and what is none. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  hasChain,
  isRestricted,
  parseRestricted,
  type RestrictedToken,
  restrictionKeyOf,
  restrictionsIn,
} from '../src/access/restricted-token.ts';
import { mintToken } from '../src/access/token.ts';
import { base62, restrictedFrom, withChecksum } from './restricted.ts';

const id = '0199a3c4-7f00-7abc-8def-0123456789ab';
const whole = mintToken('vault', id, size => Buffer.alloc(size, 7));
const idText = whole.slice(9, 31);
const link = '{"names":["CI_*"]}';
const mark = base62(Buffer.alloc(32, 9));
/** With these digits where the restrictions are. */
const written = (digits: string, parts: { id?: string; mark?: string; prefix?: string } = {}) =>
  withChecksum(`${parts.prefix ?? 'sr_narrow_'}${parts.id ?? idText}${digits}${parts.mark ?? mark}`);
const bytes = (...values: number[]) => written(base62(Buffer.from(values)));
const parsed = (text: string) => parseRestricted(text) as RestrictedToken;

describe('a restricted access key', () => {
  const examples = /```json narrowing\n([\s\S]*?)```/.exec(readFileSync('docs/agents.md', 'utf8'))![1]!;
  for (const { key, restrictions, token, id: logged } of JSON.parse(examples))
    it(`is read as documented: ${JSON.stringify(restrictions)}`, () => {
      const found = parsed(token);
      assert.equal(found.id, id);
      assert.deepEqual(
        found.links.map(one => JSON.parse(String(one))),
        restrictions,
      );
      assert.ok(hasChain(restrictionKeyOf(key), found));
      assert.deepEqual(restrictionsIn(found), { id: logged, restrictions });
    });

  it('is told from other credentials by how it begins', () => {
    assert.equal(isRestricted(restrictedFrom(whole, [link])), true);
    assert.equal(isRestricted(whole), false);
    assert.equal(isRestricted(` ${restrictedFrom(whole, [link])}`), false);
  });

  it('needs every link of its chain, in its order, from its own key', () => {
    const links = [link, '{"names_only":true}'];
    const key = restrictionKeyOf(whole);
    const good = parsed(restrictedFrom(whole, links));
    assert.equal(hasChain(key, good), true);
    for (const other of [[link], links.toReversed(), [...links, link], []])
      assert.equal(hasChain(key, { ...good, links: other.map(one => Buffer.from(one)) }), false);
    assert.equal(hasChain(restrictionKeyOf(`${whole}0`), good), false);
    assert.equal(hasChain(key, { ...good, mark: Buffer.alloc(32) }), false);
  });

  it('has at most 8 restrictions', () => {
    assert.equal(parseRestricted(restrictedFrom(whole, Array(8).fill(link)))?.links.length, 8);
    assert.equal(parseRestricted(restrictedFrom(whole, Array(9).fill(link))), null);
  });

  it('has at most 2,048 characters; the nearest lengths that can be written are 2,047 and 2,049', () => {
    const sized = (length: number) => bytes(1, length >> 8, length & 255, ...Buffer.alloc(length, 'a'));
    const [longest, tooLong] = [sized(45 * 32 + 23 - 3), sized(45 * 32 + 24 - 3)];
    assert.deepEqual([longest.length, tooLong.length], [2047, 2049]);
    assert.equal(parsed(longest).links[0]!.length, 1460);
    assert.equal(parseRestricted(tooLong), null);
  });

  it('may have a restriction of no length, which is then not known', () => {
    assert.deepEqual(
      parsed(bytes(1, 0, 0)).links.map(one => one.length),
      [0],
    );
    assert.equal(restrictionsIn(parsed(bytes(1, 0, 0))), null);
  });

  const good = restrictedFrom(whole, [link]);
  const nothing: [what: string, text: string][] = [
    ['an access key', whole],
    ['nothing', ''],
    ['the prefix', 'sr_narrow_'],
    ['another prefix', written(base62(Buffer.from([1, 0, 0])), { prefix: 'sr_narroW_' })],
    ['a wrong checksum', `${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`],
    ['something before it', ` ${good}`],
    ['something after it', `${good}\n`],
    ['no digit', written('0-')],
    ['a letter of another alphabet', written('0é')],
    ['no restrictions', bytes(1)],
    ['no body', written('')],
    [
      'too few characters, which would be read twice',
      withChecksum(`sr_narrow_${idText}${base62(Buffer.from([1, 0, 3, 9, 9, 9]))}000`),
    ],
    ['version 0', bytes(0, 0, 1, 97)],
    ['version 2', restrictedFrom(whole, [link], { version: 2 })],
    ['half a length', bytes(1, 0)],
    ['half a length after a restriction', bytes(1, 0, 1, 97, 0)],
    ['a length past the end', bytes(1, 0, 2, 97)],
    ['digits that are of no number of bytes', written('1')],
    ['four digits', written('0001')],
    ['digits of a larger number than the bytes', written('zz')],
    ['an id larger than any', written(base62(Buffer.from([1, 0, 1, 97])), { id: 'z'.repeat(22) })],
    ['a mark larger than any', written(base62(Buffer.from([1, 0, 1, 97])), { mark: 'z'.repeat(43) })],
  ];
  for (const [what, text] of nothing)
    it(`is none with ${what}`, () => assert.equal(parseRestricted(text), null));
});

describe('a restriction', () => {
  const known: string[] = [
    '{"names":["CI_*"]}',
    '{"names_only":true}',
    '{"may_use":false}',
    '{"cidrs":["10.0.0.0/8","::/0"]}',
    '{"expiration_date":"2030-01-01T00:00:00.000Z"}',
    '{"kinds":["secret"],"names_only":true}',
  ];
  for (const text of known)
    it(`is ${text}`, () =>
      assert.deepEqual(restrictionsIn(parsed(restrictedFrom(whole, [text])))?.restrictions, [
        JSON.parse(text),
      ]));

  const unknown: string[] = [
    '{}',
    '[]',
    'null',
    '{',
    '{"names_only":false}',
    '{"may_use":true}',
    '{"max_uses":1}',
    '{"names": ["CI_*"]}',
    ' {"names":["CI_*"]}',
    '\uFEFF{"names":["CI_*"]}',
    '{"names_only":true,"names":["a"]}',
    '{"names":["a"],"names":["b"]}',
    '{"names":["\\u0061"]}',
    '{"names":["e\\u0301"]}',
    '{"expiration_date":"2030-01-01T00:00:00Z"}',
    '{"cidrs":["10.0.0.0/33"]}',
    '{"cidrs":["10.0.0.0/8","here"]}',
  ];
  for (const text of unknown)
    it(`is not ${JSON.stringify(text)}`, () => {
      assert.equal(restrictionsIn(parsed(restrictedFrom(whole, [text]))), null);
      assert.equal(restrictionsIn(parsed(restrictedFrom(whole, [link, text]))), null);
      assert.equal(restrictionsIn(parsed(restrictedFrom(whole, [text, link]))), null);
    });

  it('is in UTF-8, and nothing is mended', () => {
    const bad = Buffer.concat([Buffer.from('{"names":["'), Buffer.from([0xff]), Buffer.from('"]}')]);
    assert.equal(restrictionsIn({ ...parsed(restrictedFrom(whole, [link])), links: [bad] }), null);
  });
});
