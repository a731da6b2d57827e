import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { mintToken, parseToken, tokenKinds } from '../src/access/token.ts';
import { callsTo } from './effort.ts';
import { fixedRandom } from './fixed-random.ts';
import { withChecksum } from './restricted.ts';

const kind = fc.constantFrom(...tokenKinds);
const id = fc.uuid();
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_- \n\0ä';

describe('tokens', () => {
  it('parse gives back what was minted', () => {
    fc.assert(
      fc.property(kind, id, (kind, id) => assert.deepEqual(parseToken(mintToken(kind, id)), { kind, id })),
    );
    for (const edge of ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']) {
      assert.equal(parseToken(mintToken('api', edge))?.id, edge);
    }
  });

  it('have one shape, which scanners can know', () => {
    fc.assert(
      fc.property(kind, id, (kind, id) => {
        assert.match(mintToken(kind, id), new RegExp(`^sr_${kind}_[0-9A-Za-z]{71}$`));
      }),
    );
    const frozen = mintToken('vault', '0199a3c4-7f00-7abc-8def-0123456789ab', fixedRandom('token'));
    assert.equal(frozen, 'sr_vault_031ClNWBOZTcR6EZXG4JvHLEAwbSPDbzmX4ixLZJKkNj8ejcCm9CAtLSHNPtKSAPa25cgeX');
  });

  it('any changed, added, missing or swapped character is refused', () => {
    const token = mintToken('api', randomUUID());
    for (let at = 0; at < token.length; at++) {
      for (const other of alphabet) {
        if (other === token[at]) continue;
        assert.equal(parseToken(token.slice(0, at) + other + token.slice(at + 1)), null);
      }
      assert.equal(parseToken(token.slice(0, at) + token.slice(at + 1)), null);
      assert.equal(parseToken(`${token.slice(0, at)}0${token.slice(at)}`), null);
      if (at > 0 && token[at] !== token[at - 1]) {
        const swapped = token.slice(0, at - 1) + token[at]! + token[at - 1]! + token.slice(at + 1);
        assert.equal(parseToken(swapped), null);
      }
    }
    for (const around of [` ${token}`, `${token} `, `${token}\n`, `Bearer ${token}`, token.toUpperCase()]) {
      assert.equal(parseToken(around), null);
    }
  });

  it('a kind never passes for another', () => {
    for (const from of tokenKinds) {
      for (const to of tokenKinds) {
        if (from === to) continue;
        assert.equal(parseToken(mintToken(from, randomUUID()).replace(`sr_${from}_`, `sr_${to}_`)), null);
      }
    }
  });

  it('anything else is nothing, and what is too long is not even looked through', async () => {
    fc.assert(fc.property(fc.string(), text => assert.equal(parseToken(text), null)));
    const long = `sr_api_${'a'.repeat(1_000_000)}`;
    assert.deepEqual(await callsTo(zlib, 'crc32', () => assert.equal(parseToken(long), null)), []);
    const checked = await callsTo(zlib, 'crc32', () => parseToken(mintToken('api', randomUUID())));
    assert.equal(checked.length, 2, 'a checksum would have been noticed');
  });

  it('an id is at most the largest that there is', () => {
    const secret = '0'.repeat(43);
    const idOf = (text: string) => parseToken(withChecksum(`sr_api_${text}${secret}`))?.id ?? null;
    // 2 ** 128 - 1 and 2 ** 128, in base 62.
    assert.equal(idOf('7n42DGM5Tflk9n8mt7Fhc7'), 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    assert.equal(idOf('7n42DGM5Tflk9n8mt7Fhc8'), null);
    assert.equal(idOf('z'.repeat(22)), null);
  });

  it('carry 256 random bits: two of one id have nothing in common but the id', () => {
    const one = randomUUID();
    const secrets = new Set(Array.from({ length: 500 }, () => mintToken('api', one).slice(29, 72)));
    assert.equal(secrets.size, 500);
    assert.equal(62n ** 43n > 2n ** 256n, true);
  });
});
