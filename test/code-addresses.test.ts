/** One-time codes by the vectors of RFC 6238, and the addresses that they are made from. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { base32, codeAt, currentCode, fromBase32, readCodeAddress } from '../src/material/one-time-code.ts';

/** RFC 6238, appendix B: time in seconds, SHA1, SHA256, SHA512. Each seed is as long as its hash. */
const vectors = [
  [59, '94287082', '46119246', '90693936'],
  [1111111109, '07081804', '68084774', '25091201'],
  [1111111111, '14050471', '67062674', '99943326'],
  [1234567890, '89005924', '91819424', '93441116'],
  [2000000000, '69279037', '90698825', '38618901'],
  [20000000000, '65353130', '77737706', '47863826'],
] as const;
const seeds = { SHA1: 20, SHA256: 32, SHA512: 64 } as const;
const seedOf = (size: number) => Buffer.from('1234567890'.repeat(7).slice(0, size));

describe('a one-time code', () => {
  for (const [at, [algorithm, size]] of Object.entries(seeds).entries()) {
    it(`is that of RFC 6238 with ${algorithm}, by the address too`, () => {
      const secret = base32(seedOf(size));
      const address = `otpauth://totp/Acme:ada?secret=${secret}&issuer=Acme&algorithm=${algorithm}&digits=8&period=30`;
      for (const [seconds, ...codes] of vectors) {
        const name = algorithm.toLowerCase() as 'sha1' | 'sha256' | 'sha512';
        assert.equal(codeAt(seedOf(size), Math.floor(seconds / 30), name, 8), codes[at]);
        const { code, expires_in } = currentCode(readCodeAddress(address), seconds * 1_000 + 999);
        assert.deepEqual([code, expires_in], [codes[at], 30 - (seconds % 30)]);
      }
    });
  }

  it('has six digits, 30 seconds and SHA1 unless the address says otherwise, and counts down to 1', () => {
    const source = readCodeAddress('  OTPAUTH://TOTP/x?secret=gezd%20gnbv-gy3t+qojq+gezd+gnbv+gy3t+qojq==\n');
    assert.deepEqual(source, { seed: new Uint8Array(seedOf(20)), algorithm: 'sha1', digits: 6, period: 30 });
    assert.deepEqual(currentCode(source, 59_999), { code: '287082', expires_in: 1 });
    assert.equal(currentCode(source, 60_000).expires_in, 30);
    const slow = readCodeAddress(`otpauth://totp/x?secret=${base32(seedOf(20))}&digits=7&period=3600`);
    assert.equal(currentCode(slow, 59_000).expires_in, 3541);
    assert.equal(currentCode(slow, 59_000).code.length, 7);
  });

  it('comes from no other address, and no error repeats what it says', () => {
    const secret = 'GEZDGNBVGY3TQOJQ';
    const good = `otpauth://totp/x?secret=${secret}`;
    const longest = `${good}&issuer=`.padEnd(4_096, 'x');
    const bad: [string, RegExp][] = [
      ['', /not an otpauth/],
      [secret, /not an otpauth/],
      ['https://example.com/totp/?secret=GEZDGNBV', /not an otpauth/],
      [`otpauth://hotp/x?secret=${secret}&counter=1`, /not an otpauth/],
      [`otpauth://totp?secret=${secret}`, /not an otpauth/],
      [`${good}\nand more`, /not an otpauth/],
      [`${longest}x`, /not an otpauth/],
      ['otpauth://totp/x', /no secret in base32/],
      ['otpauth://totp/x?secret=', /no secret in base32/],
      ['otpauth://totp/x?secret=GEZDGNB1', /no secret in base32/],
      ['otpauth://totp/x?secret=GEZ', /no secret in base32/],
      [`${good}&secret=${secret}`, /more than one secret/],
      [`${good}&digits=6&digits=8`, /more than one digits/],
      [`${good}&algorithm=MD5`, /SHA1, SHA256 or SHA512/],
      [`${good}&algorithm=`, /SHA1, SHA256 or SHA512/],
      ...['5', '9', '06x', '', '-6', '1e1'].map((digits): [string, RegExp] => [
        `${good}&digits=${digits}`,
        /digits must be 6, 7 or 8/,
      ]),
      ...['0', '3601', 'x', '', '1.5'].map((period): [string, RegExp] => [
        `${good}&period=${period}`,
        /period must be 1 to 3600/,
      ]),
    ];
    for (const [address, reason] of bad) {
      assert.throws(
        () => readCodeAddress(address),
        ({ message }: Error) => reason.test(message) && !message.includes(secret),
        address,
      );
    }
    assert.equal(readCodeAddress(`${good}&period=1`).period, 1);
    assert.equal(readCodeAddress(longest).period, 30);
  });

  it('needs base32 of whole bytes', () => {
    for (let size = 0; size < 40; size++) {
      const bytes = new Uint8Array(seedOf(40).subarray(0, size));
      assert.deepEqual(fromBase32(base32(bytes)), bytes);
      assert.deepEqual(fromBase32(base32(bytes).toLowerCase()), bytes);
    }
    for (const text of ['A', 'AAA', 'AAAAAA', '0', '1', '8', 'AA\n', 'ÄÄ'])
      assert.equal(fromBase32(text), null);
  });
});
