import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  isDirect,
  lengthPrefixed,
  openDirect,
  openOneUse,
  type ParentKey,
  parentIdOf,
  parentMark,
  sealDirect,
  sealOneUse,
  Unsealable,
} from '../src/keyring/sealing/envelope.ts';
import { fixedRandom } from './fixed-random.ts';

const vectors = JSON.parse(readFileSync(new URL('vectors/envelope.json', import.meta.url), 'utf8'));
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const parent = (id: number, key: Uint8Array = randomBytes(32)): ParentKey => ({
  id,
  key: createSecretKey(key),
});
const here = parent(7);
const forms = {
  'one-use': { seal: sealOneUse, open: openOneUse },
  direct: { seal: sealDirect, open: openDirect },
} as const;

const bytes = fc.uint8Array({ maxLength: 300 });

describe('the frozen byte format', () => {
  for (const vector of vectors) {
    it(`${vector.name}: seals to the same bytes for ever, and opens them`, () => {
      const { seal, open } = forms[vector.form as keyof typeof forms];
      const key = parent(vector.keyId, Buffer.from(vector.key, 'hex'));
      const context = lengthPrefixed(vector.context);
      const plain = Buffer.from(vector.plain, 'hex');
      assert.equal(hex(seal(key, context, plain, fixedRandom(vector.seed))), vector.sealed);
      assert.equal(hex(open(key, context, Buffer.from(vector.sealed, 'hex'))), vector.plain);
    });
  }
});

for (const [name, { seal, open }] of Object.entries(forms)) {
  describe(`${name} sealing`, () => {
    const fails = (key: ParentKey, context: Uint8Array, sealed: Uint8Array) =>
      assert.throws(
        () => open(key, context, sealed),
        (error: unknown) => {
          assert.ok(error instanceof Unsealable);
          assert.equal(error.message, 'sealed bytes can’t be opened in this place with this key');
          return true;
        },
      );

    it('opens what it sealed', () => {
      fc.assert(
        fc.property(bytes, bytes, (context, plain) => {
          const sealed = seal(here, context, plain, randomBytes);
          assert.equal(parentIdOf(sealed), 7);
          assert.deepEqual(new Uint8Array(open(here, context, sealed)), plain);
        }),
      );
    });

    it('any changed byte fails', () => {
      const context = Buffer.from('place');
      const sealed = seal(here, context, Buffer.from('a value'), randomBytes);
      for (let at = 0; at < sealed.length; at++) {
        for (const flip of [1, 128, 255]) {
          const changed = Buffer.from(sealed);
          changed[at]! ^= flip;
          fails(here, context, changed);
        }
      }
    });

    it('a tag cut short, or anything cut or added, fails', () => {
      const context = Buffer.from('place');
      const sealed = Buffer.from(seal(here, context, Buffer.from('a value'), randomBytes));
      for (let length = 0; length < sealed.length; length++) fails(here, context, sealed.subarray(0, length));
      for (const more of [1, 4, 16]) fails(here, context, Buffer.concat([sealed, Buffer.alloc(more)]));
    });

    it('another context fails', () => {
      fc.assert(
        fc.property(bytes, bytes, bytes, (context, other, plain) => {
          fc.pre(Buffer.compare(context, other) !== 0);
          fails(here, other, seal(here, context, plain, randomBytes));
        }),
      );
    });

    it('another key, and the same key under another id, fail', () => {
      const key = randomBytes(32);
      const sealed = seal(parent(1, key), Buffer.from('place'), Buffer.from('x'), randomBytes);
      fails(parent(1), Buffer.from('place'), sealed);
      fails(parent(2, key), Buffer.from('place'), sealed);
    });

    it('the other form’s bytes fail, even under the same key and context', () => {
      const other = name === 'direct' ? sealOneUse : sealDirect;
      fails(here, Buffer.from('place'), other(here, Buffer.from('place'), Buffer.from('x'), randomBytes));
    });

    it('no two sealings of one value look alike', () => {
      const seen = new Set<string>();
      for (let turn = 0; turn < 200; turn++) {
        seen.add(hex(seal(here, Buffer.from('place'), Buffer.from('x'), randomBytes)));
      }
      assert.equal(seen.size, 200);
    });
  });
}

describe('length-prefixed contexts', () => {
  const fields = fc.array(fc.oneof(fc.string(), bytes), { maxLength: 6 });
  const asBytes = (all: readonly (string | Uint8Array)[]) =>
    all.map(field => hex(Buffer.from(field as string)));

  it('two different lists of fields never encode to the same bytes', () => {
    fc.assert(
      fc.property(fields, fields, (one, other) => {
        const same = JSON.stringify(asBytes(one)) === JSON.stringify(asBytes(other));
        assert.equal(lengthPrefixed(one).equals(lengthPrefixed(other)), same);
      }),
      { numRuns: 500 },
    );
  });

  it('fields that run into each other stay apart', () => {
    const encoded = [['ab', 'c'], ['a', 'bc'], ['abc'], ['abc', ''], ['', 'abc']].map(list =>
      hex(lengthPrefixed(list)),
    );
    assert.equal(new Set(encoded).size, encoded.length);
  });

  it('can be read back in one way', () => {
    fc.assert(
      fc.property(fields, list => {
        const encoded = lengthPrefixed(list);
        const read: string[] = [];
        for (let at = 0; at < encoded.length; ) {
          const length = encoded.readUInt32BE(at);
          read.push(hex(encoded.subarray(at + 4, at + 4 + length)));
          at += 4 + length;
        }
        assert.deepEqual(read, asBytes(list));
      }),
    );
  });
});

it('length-prefixed contexts count the bytes of a text in UTF-8, however many they are', () => {
  for (const field of [
    'Zo\u00eb',
    '\u0101',
    '😀',
    '\x7f',
    '\x80',
    'a'.repeat(255),
    'a'.repeat(256),
    'ö'.repeat(40_000),
  ]) {
    const text = Buffer.from(field, 'utf8');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.length);
    assert.equal(hex(lengthPrefixed([field, field])), hex(Buffer.concat([length, text, length, text])));
    assert.equal(hex(lengthPrefixed([text])), hex(lengthPrefixed([field])));
  }
});

describe('sealed bytes, by their first ones alone', () => {
  const empty = sealDirect(here, Buffer.from('place'), Buffer.alloc(0), randomBytes);
  const laid: [what: string, id: number, sealed: Uint8Array, expected: boolean][] = [
    ['of nothing', 7, empty, true],
    ['of something', 7, sealDirect(here, Buffer.from('place'), Buffer.from('x'), randomBytes), true],
    ['one byte too short', 7, empty.subarray(0, -1), false],
    ['under another parent', 8, empty, false],
    ['of the other form', 7, sealOneUse(here, Buffer.from('place'), Buffer.alloc(0), randomBytes), false],
    ['that are none', 7, Buffer.alloc(100), false],
  ];
  for (const [what, id, sealed, expected] of laid)
    it(`${expected ? 'are' : 'are not'} sealed directly: ${what}`, () =>
      assert.equal(isDirect(id, sealed), expected));

  it('name their parent, where there is a whole header of a known format', () => {
    assert.equal(parentIdOf(empty.subarray(0, 6)), 7);
    assert.equal(parentIdOf(Buffer.from([1, 9, 0xff, 0xff, 0xff, 0xfe])), 0xfffffffe);
    for (const bad of [
      Buffer.alloc(0),
      empty.subarray(0, 5),
      Buffer.from([2, 1, 0, 0, 0, 7]),
      Buffer.alloc(6),
    ])
      assert.throws(() => parentIdOf(bad), Unsealable);
    assert.equal(hex(parentMark(7)), hex(empty.subarray(2, 6)));
  });
});
