/** How a value may be written, each form against a plain encoder of its own, and the windows of a text. */
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { describe, it, mock } from 'node:test';
import {
  type Form,
  fold,
  foldInto,
  foldingFor,
  formsOf,
  isRecognisable,
  secretPartOf,
} from '../src/egress/value-forms.ts';
import { randomFactor, WindowSet } from '../src/egress/window-set.ts';

const ascii = foldingFor(['plain']);
const beyond = foldingFor(['Zürich']);

describe('folding', () => {
  it('keeps digits and letters, in lower case, and beyond ASCII only where the value goes beyond it', () => {
    for (let byte = 0; byte < 256; byte++) {
      const char = String.fromCharCode(byte);
      const kept = /[a-z0-9]/i.test(char) ? char.toLowerCase() : '';
      assert.equal(fold(Buffer.from([byte]), ascii).toString('latin1'), kept, `byte ${byte}`);
      const wide = byte >= 0x80 ? char : kept;
      assert.equal(fold(Buffer.from([byte]), beyond).toString('latin1'), wide, `byte ${byte} beyond ASCII`);
    }
  });

  it('goes beyond ASCII as soon as one of the values does', () => {
    assert.equal(foldingFor([]), ascii);
    assert.equal(foldingFor(['\0a', 'b\x7f', '']), ascii);
    assert.equal(foldingFor(['a', 'b\x80']), beyond);
  });

  it('tells where each of the kept bytes stood', () => {
    const [kept, places] = [Buffer.alloc(6), new Uint32Array(6)];
    const length = foldInto(kept, Buffer.from('-A.b-9'), ascii, places);
    assert.deepEqual([kept.toString('latin1', 0, length), [...places]], ['ab9', [1, 3, 5, 0, 0, 0]]);
  });
});

describe('the part of a value that only its holders know', () => {
  const rest = 'q7Xz2mB9cK4w';
  const beginnings = [
    ...['github_pat_', 'github_pat_11', 'ghp_', 'glpat-', 'glrt-', 'sk-', 'sk-ant-api03-', 'sk-proj-'],
    ...['sk_live_', 'pk_test_', 'xoxb-123-456-', 'xapp-1-', 'npm_', 'pypi-AgEIcHlwaS5vcmc', 'SG.', 'dop_v1_'],
    ...['shpat_', 'hvs.', 'AKIA', 'AIzaSy', 'ya29.', 'sr_key_', 'acme_prod_', 'eyJhbGciOi.eyJzdWIi.'],
    ...['postgres://user:', 'https://:', '-----BEGIN EC PRIVATE KEY-----\n', ''],
  ];
  for (const known of beginnings)
    it(`is what stands behind ${JSON.stringify(known)}`, () => {
      const end = known.includes('://') ? '@db.example.com/main' : '';
      // A key's own first line may be known too, so what counts begins behind 64 characters of it.
      const known64 = known.startsWith('-----') ? known + 'M'.repeat(64) : known;
      assert.deepEqual(secretPartOf(known64 + rest + end), { known: known64, text: rest });
    });

  it('is all of it where what is left would be too short, or nothing in it is known', () => {
    for (const value of [
      'ghp_q7Xz2mB9cK4',
      'postgres://user:q7Xz2mB9cK4@db',
      'https://user@host.example.com/x',
    ])
      assert.deepEqual(secretPartOf(value), { known: '', text: value });
  });

  for (const [value, expected] of [
    ['a1b2c3d4e5f', false],
    ['a1b2c3d4e5f6', true],
    ['a1-b2-c3-d4-e5-f', false],
    ['ünïcödé', false],
    ['ünïcödés', true], // Of two bytes each, where they are not ASCII.
    ['', false],
  ] as const)
    it(`${expected ? 'is' : 'is not'} told from anything else: ${JSON.stringify(value)}`, () =>
      assert.equal(isRecognisable(value), expected));
});

const bytesOf = (text: string) => [...Buffer.from(text)];
const hex = (code: number, digits = 2) => code.toString(16).padStart(digits, '0');
const unitsOf = (text: string) => Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
const html: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The value's own share of a longer text in an encoding of so many bits a character. */
function shareOf(encoded: string, bits: number, lead: number, length: number): string {
  return encoded.slice(Math.ceil((lead * 8) / bits), Math.floor(((lead + length) * 8) / bits));
}

function base64In(bytes: Uint8Array, lead: number): string {
  const longer = Buffer.concat([Buffer.alloc(lead, 'x'), bytes, Buffer.alloc(5, 'y')]);
  return shareOf(longer.toString('base64'), 6, lead, bytes.length);
}

function base32In(bytes: Uint8Array, lead: number): string {
  let number = 0n;
  for (const byte of [
    ...Buffer.alloc(lead, 'x'),
    ...bytes,
    ...Buffer.alloc(5 - ((lead + bytes.length) % 5), 'y'),
  ])
    number = number * 256n + BigInt(byte);
  let text = '';
  for (; number > 0n; number /= 32n) text = 'abcdefghijklmnopqrstuvwxyz234567'[Number(number % 32n)] + text;
  const length = Math.ceil((lead + bytes.length + 1) / 5) * 8;
  return shareOf(text.padStart(length, 'a'), 5, lead, bytes.length);
}

interface Expected {
  readonly name: string;
  readonly pieces: readonly string[];
  /** How many of the pieces stand for twelve characters. */
  readonly count?: number;
  readonly isRagged?: boolean;
}

function plainly(value: string): Expected[] {
  const chars = [...value];
  const utf16 = Buffer.from(value, 'utf16le');
  const json = (char: string) => JSON.stringify(char).slice(1, -1);
  const ragged = (name: string, text: readonly string[], count: number) =>
    ({ name, pieces: text, count, isRagged: true }) as const;
  const inBase64 = (name: string, bytes: Uint8Array, least: number) =>
    [0, 1, 2].map(lead =>
      ragged(`${name} behind ${lead}`, [...base64In(bytes, lead)], Math.ceil((least * 4) / 3)),
    );
  return [
    { name: 'as it is', pieces: chars },
    { name: 'backwards', pieces: [...chars].reverse() },
    { name: 'JSON', pieces: chars.map(json) },
    { name: 'JSON in JSON', pieces: chars.map(char => json(json(char))) },
    { name: 'HTML', pieces: chars.map(char => html[char] ?? char) },
    { name: 'URL', pieces: chars.map(encodeURIComponent) },
    { name: 'URL in a URL', pieces: chars.map(char => encodeURIComponent(encodeURIComponent(char))) },
    { name: 'form', pieces: chars.map(char => String(new URLSearchParams([['', char]])).slice(1)) },
    { name: 'hex', pieces: bytesOf(value).map(byte => hex(byte)) },
    { name: 'escapes of C', pieces: bytesOf(value).map(byte => `\\x${hex(byte)}`) },
    { name: 'a list of hex', pieces: bytesOf(value).map(byte => `0x${hex(byte)},`) },
    { name: 'a list of decimals', pieces: bytesOf(value).map(byte => `${byte},`) },
    { name: 'octal', pieces: bytesOf(value).map(byte => byte.toString(8).padStart(3, '0')) },
    { name: 'binary', pieces: bytesOf(value).map(byte => byte.toString(2).padStart(8, '0')) },
    {
      name: 'units',
      pieces: chars.map(char =>
        unitsOf(char)
          .map(unit => `\\u${hex(unit, 4)}`)
          .join(''),
      ),
    },
    { name: 'hex entities', pieces: chars.map(char => `&#x${char.codePointAt(0)!.toString(16)};`) },
    { name: 'UTF-16 in hex', pieces: unitsOf(value).map(unit => hex(unit & 255) + hex(unit >> 8)) },
    { name: 'UTF-16 in hex, the big end first', pieces: unitsOf(value).map(unit => hex(unit, 4)) },
    ...inBase64('base64', Buffer.from(value), 12),
    ...inBase64('base64 of hex', Buffer.from(Buffer.from(value).toString('hex')), 24),
    ...inBase64('base64 of upper hex', Buffer.from(Buffer.from(value).toString('hex').toUpperCase()), 24),
    ...inBase64('base64 of UTF-16', utf16, 24),
    ...inBase64('base64 of UTF-16, the big end first', Buffer.from(utf16).swap16(), 24),
    ...inBase64('base64 of base64', Buffer.from(base64In(Buffer.from(value), 1)), 16),
    ...[0, 1, 2].flatMap(lead => {
      const text = [...base64In(Buffer.from(value), lead)];
      return [
        ragged(`base64 in a URL behind ${lead}`, text.map(encodeURIComponent), 16),
        ragged(`base64 backwards behind ${lead}`, [...text].reverse(), 16),
        ragged(
          `hex of base64 behind ${lead}`,
          text.map(char => hex(char.charCodeAt(0))),
          16,
        ),
      ];
    }),
    ...[0, 1, 2, 3, 4].map(lead =>
      ragged(`base32 behind ${lead}`, [...base32In(Buffer.from(value), lead)], Math.ceil(96 / 5)),
    ),
  ];
}

/** As long as the longest of so many pieces in a row, so that no shorter text is taken for as much. */
function written({ pieces, count = 12, isRagged = false }: Expected, folding = ascii): string {
  const folded = pieces.map(piece => fold(Buffer.from(piece), folding).toString('latin1'));
  const runs = folded.map((_, at) => folded.slice(Math.max(0, at - count + 1), at + 1).join('').length);
  const text = folded.join('');
  return `${text} ${Math.min(text.length, Math.max(12, ...runs))} ${isRagged}`;
}

const told = (forms: readonly Form[]) =>
  new Set(forms.map(({ text, size, isRagged }) => `${text.toString('latin1')} ${size} ${isRagged}`));

describe('the forms of a value', () => {
  const values = [
    ...['q7Xz2mB9cK4w', 'q7Xz2mB9cK4wT', 'q7Xz2mB9cK4wT1', 'q7Xz2mB9cK4wT1pL8vR3'],
    ...['1"2&3<4>5\'6\\7/8+9%a b{c}d\ne', '99999999999999999zz', 'Grüße-vön-Zürich-😀-37'],
  ];
  for (const value of values)
    it(`are those of plain encoders: ${JSON.stringify(value)}`, () => {
      const folding = foldingFor([value]);
      const forms = told(formsOf(value, folding));
      const missing = plainly(value).filter(one => !forms.has(written(one, folding)));
      assert.deepEqual(
        missing.map(({ name }) => name),
        [],
      );
    });

  it('are those of escapes and of Latin-1, for what is not ASCII alone', () => {
    const value = 'Grüße-vön-Zürich-37~😀';
    const escaped = (name: string, write: (char: string) => string): Expected => ({
      name,
      pieces: [...value].map(char => (char > '~' ? write(char) : char)),
    });
    const forms = told(formsOf(value, beyond));
    const all = [
      escaped('units', char =>
        unitsOf(char)
          .map(unit => `\\u${hex(unit, 4)}`)
          .join(''),
      ),
      escaped('entities', char => `&#${char.codePointAt(0)};`),
      escaped('hex entities', char => `&#x${char.codePointAt(0)!.toString(16)};`),
      escaped('Latin-1 in a URL', char => `%${hex(char.codePointAt(0)!)}`),
    ];
    assert.deepEqual(
      all.filter(one => !forms.has(written(one, beyond))).map(({ name }) => name),
      [],
    );
    assert.ok([...told(formsOf('Zürich-und-Bern', beyond))].includes('z\xfcrichundbern 12 false'));
    // A value of ASCII has none of them.
    const sized = (text: string) => formsOf(text, ascii).length;
    assert.equal(formsOf('q7Xz2mB9cK4wü', beyond).length, sized('q7Xz2mB9cK4w~ ') + 5);
  });

  it('stand for one character that is half of one as the encoders do that replace it', () => {
    const value = `q7Xz2mB9cK4w\ud83d`;
    const forms = told(formsOf(value, beyond));
    assert.ok(forms.has('q7xz2mb9ck4wefbfbd 17 false'));
  });

  it('are taken for the value from eight letters or digits on', () => {
    const texts = (value: string) => formsOf(value, ascii).map(({ text }) => text.toString('latin1'));
    assert.equal(texts('abcdefg').includes('abcdefg'), false);
    assert.equal(texts('abcdefgh').includes('abcdefgh'), true);
    assert.equal(texts('abcd').includes('61626364'), true);
  });

  it('have windows of fewer characters where fewer are asked for', () => {
    const sizes = new Map(
      formsOf('q7Xz2mB9cK4wT1pL8vR3', ascii, 5).map(({ text, size }) => [text.toString('latin1'), size]),
    );
    assert.equal(sizes.get('q7xz2mb9ck4wt1pl8vr3'), 5);
    assert.equal(sizes.get(Buffer.from('q7Xz2mB9cK4wT1pL8vR3').toString('hex')), 10);
    assert.equal(sizes.get(base64In(Buffer.from('q7Xz2mB9cK4wT1pL8vR3'), 0).toLowerCase()), 7);
  });

  it('are all known of a value of 1,024 characters, and the unusual ones at both ends of a longer one', () => {
    const long = (length: number) =>
      Array.from({ length }, (_, at) => (at * 7919 + at).toString(36).at(-1)).join('');
    const pieceOf = (value: string, text: string) =>
      formsOf(value, ascii).find(form => form.text.toString('latin1') === text)?.isPiece ?? null;
    const decimals = (value: string) => bytesOf(value).join('');
    const [whole, longer] = [long(1_024), long(1_025)];
    assert.equal(pieceOf(whole, decimals(whole)), false);
    assert.equal(pieceOf(longer, longer), false);
    assert.equal(pieceOf(longer, decimals(longer)), null);
    assert.equal(pieceOf(longer, decimals(longer.slice(0, 512))), true);
    assert.equal(pieceOf(longer, decimals(longer.slice(-512))), true);
  });
});

describe('a set of windows', () => {
  function sumsOf(text: Buffer, factor: number): Int32Array {
    const sums = new Int32Array(text.length + 1);
    for (const [at, byte] of text.entries()) sums[at + 1] = Math.imul(sums[at]!, factor) + byte;
    return sums;
  }

  function marked(
    texts: readonly string[],
    length: number,
    text: string,
    from = 0,
    to = text.length,
  ): number[] {
    const factor = randomFactor();
    const set = new WindowSet(
      length,
      factor,
      texts.map(one => Buffer.from(one)),
    );
    const longestAt = new Uint32Array(text.length);
    set.markIn(Buffer.from(text), sumsOf(Buffer.from(text), factor), from, to, longestAt, 0);
    return [...longestAt];
  }

  it('is found wherever one of them stands, and nowhere else', () => {
    // Every text of two letters, against every set of one text: a slow, plain look says where its windows are.
    const texts = Array.from({ length: 64 }, (_, at) => at.toString(2).padStart(6, '0'));
    for (const known of texts)
      for (const text of [...texts, '01', '011', '0110100110010110']) {
        const windows = [0, 1, 2, 3].map(at => known.slice(at, at + 3));
        const expected = [...text].map((_, at) => (windows.includes(text.slice(at, at + 3)) ? 3 : 0));
        assert.deepEqual(marked([known], 3, text), expected, `${known} in ${text}`);
      }
  });

  it('is found between two places only, as far as it begins there', () => {
    assert.deepEqual(marked(['abc'], 3, 'abcabcabc', 1, 6), [0, 0, 0, 3, 0, 0, 0, 0, 0]);
    assert.deepEqual(marked(['abc'], 3, 'abcabcabc', 3, 7), [0, 0, 0, 3, 0, 0, 3, 0, 0]);
    assert.deepEqual(marked(['abc'], 3, 'abcabcabc', 0, 6), [3, 0, 0, 3, 0, 0, 0, 0, 0]);
  });

  it('leaves a longer window that begins at the same place', () => {
    const text = Buffer.from('abcdef');
    const factor = randomFactor();
    const longestAt = new Uint32Array(6);
    for (const [length, expected] of [
      [3, 3],
      [5, 5],
      [3, 5],
    ] as const) {
      new WindowSet(length, factor, [text]).markIn(text, sumsOf(text, factor), 0, 1, longestAt, 0);
      assert.equal(longestAt[0], expected);
    }
  });

  it('has none of a text that is too short, and all of many texts', () => {
    assert.deepEqual(marked(['ab', ''], 3, 'abab'), [0, 0, 0, 0]);
    const many = Array.from({ length: 5_000 }, (_, at) => `k${at.toString().padStart(4, '0')}`);
    const found = marked(many, 5, many.join('')).filter(length => length === 5).length;
    assert.equal(found, 5_000);
    assert.deepEqual(
      marked(many, 5, 'k5000k0x00').every(length => length === 0),
      true,
    );
  });

  it('is not mixed up with another text of the same first hash', () => {
    // With the factor 1, the first hash is the sum of the bytes: every order of the same letters has the same.
    const [known, text] = [Buffer.from('abcdef'), Buffer.from('fedcbabadcfe')];
    const longestAt = new Uint32Array(text.length);
    new WindowSet(6, 1, [known]).markIn(text, sumsOf(text, 1), 0, text.length, longestAt, 0);
    assert.deepEqual(longestAt, new Uint32Array(text.length));
    const both = Buffer.from('abcdeffedcba');
    new WindowSet(6, 1, [known, Buffer.from('fedcba')]).markIn(both, sumsOf(both, 1), 0, 12, longestAt, 0);
    assert.deepEqual([...longestAt], [6, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0]);
  });

  it('has all windows of one hash, of which neither makes an empty place', () => {
    // With the factor -3, the first hash of each of these pairs is zero.
    const pairs = Array.from({ length: 85 }, (_, at) => Buffer.from([at + 1, (at + 1) * 3]));
    const text = Buffer.concat(pairs);
    const placesOf = (set: WindowSet) => {
      const longestAt = new Uint32Array(text.length);
      set.markIn(text, sumsOf(text, -3), 0, text.length, longestAt, 0);
      return pairs.map((_, at) => longestAt[2 * at]);
    };
    assert.deepEqual(placesOf(new WindowSet(2, -3, pairs)), Array(85).fill(2));
    assert.deepEqual(placesOf(new WindowSet(2, -3, pairs.slice(0, 1))), [2, ...Array(84).fill(0)]);
  });

  it('has those windows alone, of many with one second hash, that were put into it', () => {
    const drawn = mock.method(crypto, 'randomInt', () => 0);
    syncBuiltinESMExports();
    try {
      // With the factor 1, which is the second here, the hash is the sum of the bytes: of all orders the same.
      const orders = (letters: string): string[] =>
        letters === ''
          ? ['']
          : [...letters].flatMap(one => orders(letters.replace(one, '')).map(rest => one + rest));
      const all = orders('abcdefg').map(order => Buffer.from(order));
      const set = new WindowSet(
        7,
        7_919,
        all.filter((_, at) => at % 10 === 0),
      );
      const text = Buffer.concat(all);
      const longestAt = new Uint32Array(text.length);
      set.markIn(text, sumsOf(text, 7_919), 0, text.length, longestAt, 0);
      const found = all.filter((_, at) => longestAt[7 * at] === 7);
      assert.deepEqual(
        found,
        all.filter((_, at) => at % 10 === 0),
      );
      assert.equal(drawn.mock.callCount(), 1);
    } finally {
      drawn.mock.restore();
      syncBuiltinESMExports();
    }
  });

  it('takes memory by how many there are', () => {
    const bytes = (length: number) => new WindowSet(12, 1, [Buffer.alloc(length)]).bytes;
    assert.deepEqual([bytes(11), bytes(12), bytes(18), bytes(19)], [192, 192, 192, 384]);
    assert.deepEqual([bytes(11 + 1_023), bytes(11 + 1_024)], [24_576, 49_152]);
  });

  it('has a factor that is odd, so that every byte counts', () => {
    for (let number = 0; number < 100; number++) assert.equal(randomFactor() & 1, 1);
  });
});
