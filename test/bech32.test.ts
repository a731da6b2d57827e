/** Bech32, by the examples of BIP 173 and against a plain encoder. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bech32, fromBech32 } from '../src/keyring/age/bech32.ts';

const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

/** The checksum of BIP 173 as polynomials over bits, so that texts can be made that no encoder writes. */
function remainder(prefix: string, digits: readonly number[]): bigint {
  const codes = [...prefix].map(char => char.charCodeAt(0));
  const generators = [0x3b6a57b2n, 0x26508e6dn, 0x1ea119fan, 0x3d4233ddn, 0x2a1462b3n];
  let sum = 1n;
  for (const digit of [...codes.map(code => code >> 5), 0, ...codes.map(code => code & 31), ...digits]) {
    const top = sum >> 25n;
    sum = ((sum & 0x1ffffffn) << 5n) ^ BigInt(digit);
    for (const [at, generator] of generators.entries()) if ((top >> BigInt(at)) & 1n) sum ^= generator;
  }
  return sum;
}

function textOf(prefix: string, digits: readonly number[], checksum = 6): string {
  const sum = remainder(prefix, [...digits, ...Array.from({ length: checksum }, () => 0)]) ^ 1n;
  const rest = Array.from({ length: checksum }, (_, at) =>
    Number((sum >> BigInt(5 * (checksum - 1 - at))) & 31n),
  );
  return `${prefix}1${[...digits, ...rest].map(digit => alphabet[digit] ?? 'b').join('')}`;
}

describe('bech32', () => {
  const valid: [prefix: string, text: string, hex: string][] = [
    ['a', 'a12uel5l', ''],
    ['a', 'A12UEL5L', ''],
    ['A', 'a12uel5l', ''],
    ['?', '?1ezyfcl', ''],
    ['abcdef', 'abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw', '00443214c74254b635cf84653a56d7c675be77df'],
    [
      'split',
      'split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w',
      'c5f38b70305f519bf66d85fb6cf03058f3dde463ecd7918f2dc743918f2d',
    ],
  ];
  for (const [prefix, text, hex] of valid)
    it(`is read: ${text}`, () => assert.equal(fromBech32(prefix, text)?.toString('hex'), hex));

  const invalid: [why: string, prefix: string, text: string][] = [
    ['both cases', 'a', 'A12uEL5L'],
    ['another prefix', 'b', 'a12uel5l'],
    ['another prefix, and the checksum of ours', 'a', 'b12uel5l'],
    ['a letter that is none of the alphabet, and a checksum to go with it', 'a', textOf('a', [-1, 28])],
    ['a prefix without its end', 'a', 'a2uel5l'],
    ['a letter that is none of the alphabet', 'x', 'x1b4n0q5v'],
    ['a checksum that is too short', 'li', 'li1dgmt3'],
    ['no checksum', 'a', 'a1'],
    ['a checksum over the prefix in upper case', 'a', 'A1G7SGD8'],
    ['a digit that was changed', 'abcdef', 'abcdef1ppzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw'],
    ['five bits of padding', 'a', textOf('a', [0])],
    ['seven bits of padding', 'a', textOf('a', [0, 0, 0])],
    ['padding that is not zero', 'a', textOf('a', [0, 1])],
    ['padding that is not zero, in its first bit', 'a', textOf('a', [31, 31])],
  ];
  for (const [why, prefix, text] of invalid)
    it(`is refused with ${why}: ${text}`, () => assert.equal(fromBech32(prefix, text), null));

  it('is refused where it is shorter than a checksum, even if the sum is right', () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyz'];
    const right = letters
      .flatMap(one => letters.map(other => one + other))
      .map(prefix => ({ prefix, text: textOf(prefix, [], 5) }))
      .filter(
        ({ prefix, text }) =>
          remainder(
            prefix,
            [...text.slice(3)].map(char => alphabet.indexOf(char)),
          ) === 1n,
      );
    assert.ok(right.length > 0);
    for (const { prefix, text } of right) assert.equal(fromBech32(prefix, text), null);
  });

  it('is written as it is read, for every length', () => {
    for (let length = 0; length <= 41; length++) {
      const bytes = Buffer.from(Array.from({ length }, (_, at) => (at * 73 + length * 29) & 255));
      const text = bech32('key-', bytes);
      const bits = [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('');
      const digits = (bits.match(/.{1,5}/g) ?? []).map(five => Number.parseInt(five.padEnd(5, '0'), 2));
      assert.equal(text, textOf('key-', digits));
      assert.deepEqual(fromBech32('key-', text), bytes);
      assert.deepEqual(fromBech32('KEY-', text.toUpperCase()), bytes);
    }
  });
});
