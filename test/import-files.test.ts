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
    it(`takes no longer than its length: ${about}`, () => {
      const begun = performance.now();
      try {
        readItems(Buffer.from(text), source, 'file');
      } catch (error) {
        assert.doesNotMatch((error as Error).message, /call stack/);
      }
      const taken = performance.now() - begun;
      assert.ok(taken < 5_000, `${taken} ms`);
    });
});

it('names in YAML end at a colon with a blank after it, and keep the colons within', () => {
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
  assert.deepEqual(parseYaml(text), read);
  for (const bad of ['a', 'a:b', '# x\na #: b', '- a: b', '? a: b'])
    assert.throws(() => parseYaml(bad), /of the YAML is not a name and a text/, bad);
});

it('PEM blocks are found beside beginnings that have no end', () => {
  const key = '-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----';
  const text = `-----BEGIN RSA PRIVATE KEY-----\n${key}\n-----BEGIN CERTIFICATE-----\nBB==\n-----END CERTIFICATE-----\n`;
  const kinds = readItems(Buffer.from(text), 'pem', 'site').map(({ kind, name }) => [kind, name]);
  assert.deepEqual(kinds, [
    ['key', 'site'],
    ['certificate', 'site'],
  ]);
});
