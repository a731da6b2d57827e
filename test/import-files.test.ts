/** Files that a stranger wrote, at `strongroom import`: read as meant, refused where not, and in time that grows with their size alone. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ImportSource, readItems } from '../src/cli/vault/import-formats.ts';
import { parseYaml } from '../src/cli/vault/yaml.ts';
import { parseText } from '../web/src/import/parse.ts';

const length = 200_000;
const blanks = ' '.repeat(length);
/** Each takes minutes where something in it is looked at again for each character. */
const hostile: readonly (readonly [about: string, source: ImportSource, text: string])[] = [
  ['a name without a colon', 'yaml', `a${blanks}b`],
  ['blanks in a value', 'yaml', `a: b${blanks}c${blanks}d`],
  ['colons', 'yaml', `a${':'.repeat(length)}b`],
  ['colons with blanks before', 'yaml', `a${' :x'.repeat(length)}`],
  ['comments', 'yaml', `a: b${' #'.repeat(length)}`],
  ['a quote that never ends', 'yaml', `a: "${'\\a'.repeat(length)}`],
  [
    'one in another, a thousand deep',
    'yaml',
    Array.from({ length: 1_000 }, (_, at) => `${' '.repeat(at)}a:\n`).join(''),
  ],
  ['lists in lists', 'yaml', `a: ${'['.repeat(20_000)}`],
  ['mappings in mappings', 'yaml', 'a: {'.repeat(20_000)],
  ['anchors', 'yaml', `a: ${'&b '.repeat(20_000)}`],
  ['many names', 'yaml', Array.from({ length: 20_000 }, (_, at) => `a${at}: b\n`).join('')],
  [
    'a text that would be ten to the fifty times as long',
    'yaml',
    `a0: &a0 x\n${Array.from({ length: 50 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(10)}]\n`).join('')}`,
  ],
  ['beginnings without an end', 'pem', '-----BEGIN KEY-----\n'.repeat(length)],
  [
    'beginnings of many kinds',
    'pem',
    Array.from({ length: 20_000 }, (_, at) => `-----BEGIN KEY ${at}-----\n`).join(''),
  ],
  ['lists in lists', 'json', '['.repeat(length) + ']'.repeat(length)],
];

/** The dashboard's importer, in the person's browser. */
const pasted: readonly (readonly [about: string, text: string])[] = [
  ['empty lines', `${'\n'.repeat(length)}x`],
  ['blanks in a value', `A=b${blanks}c${blanks}d`],
  ['a name without a value', `${'a'.repeat(length)}`],
  ['blanks after a name', `A${blanks}b`],
  ['comments', `A=b${' #'.repeat(length)}`],
  ['beginnings without an end', '-----BEGIN KEY-----\n'.repeat(length)],
  ['quotes', `${'A="x\n'.repeat(length / 10)}`],
  ['quotes of several kinds', `${`A="x'\nB='x"\n`.repeat(length / 10)}`],
];

describe('a hostile text in the dashboard', () => {
  for (const [about, text] of pasted)
    it(`takes no longer than its length: ${about}`, () => {
      const begun = performance.now();
      parseText(text);
      const taken = performance.now() - begun;
      assert.ok(taken < 5_000, `${taken} ms`);
    });
});

describe('a hostile file', () => {
  for (const [about, source, text] of hostile)
    it(`takes no longer than its length: ${about}`, async () => {
      const begun = performance.now();
      try {
        await readItems(Buffer.from(text), source, 'file');
      } catch (error) {
        assert.doesNotMatch((error as Error).message, /call stack/);
      }
      const taken = performance.now() - begun;
      assert.ok(taken < 5_000, `${taken} ms`);
    });
});

it('names in YAML end at a colon with a blank after it, and keep the colons within', async () => {
  const text = 'a: 1\nb:c: 2\n"d: e": 3\nf g : 4 # no more\nurl: http://x:1/#y\n-h: 5\ni:\n  j: k\nl : \n';
  const read = {
    a: '1',
    'b:c': '2',
    'd: e': '3',
    'f g': '4',
    url: 'http://x:1/#y',
    '-h': '5',
    i: { j: 'k' },
    l: '',
  };
  assert.deepEqual(await parseYaml(text), read);
  for (const bad of ['a', 'a:b', 'a: b: c', '# x\na #: b', '- a: b', '? a: b'])
    await assert.rejects(() => parseYaml(bad), /of the YAML is not a name with a text/, bad);
});

it('texts in YAML stay as they are written, over several lines too', async () => {
  const text =
    '%YAML 1.1\n---\na: no\nb: 0123\nc: ~\nd: one\n  two\ne: "one\\\n  two"\nf: |+\n  one\n\n__proto__: x\n<<: y\n...\n';
  assert.deepEqual(Object.entries(await parseYaml(text)), [
    ['a', 'no'],
    ['b', '0123'],
    ['c', '~'],
    ['d', 'one two'],
    ['e', 'onetwo'],
    ['f', 'one\n\n'],
    ['__proto__', 'x'],
    ['<<', 'y'],
  ]);
  for (const nothing of ['', '# nothing\n', '---\n', '...\n']) assert.deepEqual(await parseYaml(nothing), {});
});

it('PEM blocks are found beside beginnings that have no end', async () => {
  const key = '-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----';
  const text = `-----BEGIN RSA PRIVATE KEY-----\n${key}\n-----BEGIN CERTIFICATE-----\nBB==\n-----END CERTIFICATE-----\n`;
  const kinds = (await readItems(Buffer.from(text), 'pem', 'site')).map(({ kind, name }) => [kind, name]);
  assert.deepEqual(kinds, [
    ['key', 'site'],
    ['certificate', 'site'],
  ]);
});
