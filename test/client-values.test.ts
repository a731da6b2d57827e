/** What the client holds, keeps in a file and restricts, each by itself. */
import assert from 'node:assert/strict';
import { createHmac, hash } from 'node:crypto';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import { openCache, sealCache } from '../src/client/cache.ts';
import { StrongroomError } from '../src/client/errors.ts';
import { file } from '../src/client/file-cache.ts';
import { HeldValues, missingError } from '../src/client/held-values.ts';
import { narrow, type Restrictions } from '../src/client/narrow.ts';
import { type StandardSchema, text } from '../src/client/standard-schema.ts';

describe('the values that a client holds', () => {
  const number: StandardSchema<number> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: value =>
        /^\d+$/.test(String(value)) ? { value: Number(value) } : { issues: [{ message: 'no number' }] },
    },
  } as StandardSchema<number>;
  const made = () => new HeldValues({ NAME: text, PORT: number }, { maxStale: 100, grace: 10 });
  const good = new Map([
    ['NAME', 'a'],
    ['PORT', '80'],
    ['OTHER', 'x'],
  ]);

  async function taken(at = 0) {
    const held = made();
    held.take(await held.examine(good), at);
    return held;
  }

  const failing = (run: () => unknown, code: string, names: readonly string[]) =>
    assert.throws(run, error => {
      assert.ok(error instanceof StrongroomError);
      assert.deepEqual([error.code, error.names], [code, names]);
      return true;
    });

  it('are those that are declared and match their schema', async () => {
    const held = made();
    assert.deepEqual([held.areComplete, held.confirmedAt, held.raws()], [false, null, null]);
    const found = await held.examine(new Map([['PORT', 'eighty']]));
    assert.deepEqual([[...found.good], found.missing, found.invalid], [[], ['NAME'], ['PORT']]);
    const { good: sound, invalid } = await held.examine(
      new Map([
        ['NAME', 'a'],
        ['PORT', 'eighty'],
      ]),
    );
    assert.deepEqual([[...sound.keys()], invalid], [['NAME'], ['PORT']]);
    assert.deepEqual(held.take(await held.examine(good), 5), ['NAME', 'PORT']);
    assert.deepEqual([held.areComplete, held.confirmedAt, held.raws()], [true, 5, { NAME: 'a', PORT: '80' }]);
    assert.deepEqual([held.read('NAME', 5), held.read('PORT', 5)], ['a', 80]);
  });

  it('tell which of them are new', async () => {
    const held = await taken();
    assert.deepEqual(held.take(await held.examine(good), 1), []);
    assert.deepEqual(held.take(await held.examine(new Map([...good, ['PORT', '81']])), 2), ['PORT']);
    assert.equal(held.read('PORT', 2), 81);
  });

  it('are made once for each text', async () => {
    let count = 0;
    const counting = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) => ({ value: [value, ++count] }),
      },
    };
    const held = new HeldValues({ NAME: counting as StandardSchema }, { maxStale: 1, grace: 1 });
    for (const value of ['a', 'a', 'b']) held.take(await held.examine(new Map([['NAME', value]])), 0);
    assert.deepEqual(held.read('NAME', 0), ['b', 2]);
  });

  it('are given out until they were not confirmed for too long', async () => {
    const held = await taken();
    assert.equal(held.read('NAME', 100), 'a');
    failing(() => held.read('NAME', 101), 'STALE', ['NAME']);
    held.confirm(50);
    assert.equal(held.read('NAME', 150), 'a');
    assert.equal(held.confirmedAt, 50);
  });

  it('keep a last good value that went missing until that is too old, whatever else is confirmed', async () => {
    const held = await taken();
    held.take(await held.examine(new Map([['NAME', 'a']])), 60);
    held.confirm(90);
    assert.deepEqual([held.read('PORT', 100), held.read('NAME', 190), held.raws()], [80, 'a', null]);
    failing(() => held.read('PORT', 101), 'STALE', ['PORT']);
  });

  it('are given out for a while after the vault first refused the key, until it answers again', async () => {
    const held = await taken();
    held.refuse(20);
    held.refuse(25);
    assert.equal(held.read('NAME', 30), 'a');
    failing(() => held.read('NAME', 31), 'UNAUTHORIZED', ['NAME']);
    held.confirm(31);
    assert.equal(held.read('NAME', 100), 'a');
  });

  it('are missed by their names', () => {
    failing(() => made().read('NAME', 0), 'MISSING_SECRET', ['NAME']);
    const rows: [missing: string[], invalid: string[], code: string, message: string][] = [
      [['A', 'B'], [], 'MISSING_SECRET', 'Declared secrets are not in the vault: A, B.'],
      [[], ['C'], 'INVALID_SECRET', 'Declared secrets are not what the schema accepts: C.'],
      [
        ['A'],
        ['C'],
        'MISSING_SECRET',
        'Declared secrets are not in the vault: A; not what the schema accepts: C.',
      ],
    ];
    for (const [missing, invalid, code, message] of rows) {
      const error = missingError(missing, invalid);
      assert.deepEqual([error.code, error.message, error.names], [code, message, [...missing, ...invalid]]);
    }
  });
});

describe('a cache', () => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-client-cache-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const binding = { url: 'https://a.example', vault: 'main', key: 'sr_vault_x' };
  const cached = { confirmedAt: 7, values: { A: 'b' } };

  it('opens for the same service, vault and key alone, and as it was', async () => {
    const sealed = await sealCache(cached, binding);
    assert.deepEqual(await openCache(sealed, binding), cached);
    for (const other of [{ url: 'x' }, { vault: 'x' }, { key: 'x' }])
      assert.equal(await openCache(sealed, { ...binding, ...other }), null);
    for (const length of [0, 43, 44, 45, sealed.length - 1])
      assert.equal(await openCache(sealed.subarray(0, length), binding), null);
  });

  it('is a file of its owner alone, replaced as a whole', async () => {
    const path = join(folder, 'deep', 'cache');
    const storage = file(path);
    assert.equal(await storage.load(), null);
    for (const content of ['one', 'two']) {
      await storage.save(Buffer.from(content));
      assert.equal(Buffer.from((await storage.load())!).toString(), content);
    }
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(folder, 'deep')), ['cache']);
    await storage.clear();
    await storage.clear();
    assert.equal(await storage.load(), null);
  });

  it('is not read where it is larger than any of ours, and fails where it can’t be read or replaced', async () => {
    const path = join(folder, 'large');
    writeFileSync(path, '');
    truncateSync(path, 32 * 1024 * 1024);
    assert.equal((await file(path).load())!.length, 32 * 1024 * 1024);
    truncateSync(path, 32 * 1024 * 1024 + 1);
    assert.equal(await file(path).load(), null);
    await assert.rejects(file(folder).load(), { code: 'EISDIR' });
    await assert.rejects(file(folder).save(Buffer.from('x')));
    await assert.rejects(file(join(path, 'below')).load(), { code: 'ENOTDIR' });
    assert.deepEqual(
      readdirSync(folder).filter(name => name.startsWith('.')),
      [],
    );
    assert.equal(readFileSync(path).length, 32 * 1024 * 1024 + 1);
  });
});

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function base62(bytes: Uint8Array, length: number): string {
  let value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
  let written = '';
  for (; written.length < length; value /= 62n) written = digits[Number(value % 62n)] + written;
  return written;
}

function fromBase62(text: string, size: number): Buffer {
  const value = [...text].reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n);
  return Buffer.from(value.toString(16).padStart(size * 2, '0'), 'hex');
}

function checked(unchecked: string): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(unchecked));
  return unchecked + base62(sum, 6);
}

describe('a restricted key', () => {
  const key = checked(`sr_vault_${'A'.repeat(22)}${'b'.repeat(43)}`);
  const at = new Date('2027-01-01T00:00:00.000Z');

  /** As docs/agents.md describes it: what it is restricted to, in order. */
  function restrictionsOf(token: string): unknown[] {
    assert.equal(checked(token.slice(0, -6)), token);
    const written = token.slice('sr_narrow_'.length + 22, -49);
    const parts = written
      .match(/.{1,43}/g)!
      .map(part => fromBase62(part, Math.floor((part.length * Math.log2(62)) / 8)));
    const bytes = Buffer.concat(parts);
    assert.equal(bytes[0], 1);
    const found: Buffer[] = [];
    for (let from = 1; from < bytes.length; from += 2 + bytes.readUInt16BE(from))
      found.push(bytes.subarray(from + 2, from + 2 + bytes.readUInt16BE(from)));
    let chain: Buffer = createHmac('sha256', key).update('strongroom narrow 1').digest();
    for (const one of found) chain = createHmac('sha256', chain).update(one).digest();
    assert.equal(token.slice(-49, -6), base62(chain, 43));
    assert.ok(token.startsWith(`sr_narrow_${'A'.repeat(22)}`));
    return found.map(one => JSON.parse(one.toString()));
  }

  const many = (length: number, one = 'a') => Array.from({ length }, () => one);
  const rows: [given: Restrictions, written: object | RegExp][] = [
    [{ names: ['A*', 'Zoe\u0308'] }, { names: ['A*', 'Zo\u00eb'] }],
    [{ kinds: ['secret', 'key', 'certificate'] }, { kinds: ['secret', 'key', 'certificate'] }],
    [{ cidrs: ['10.0.0.0/8', '2001:DB8::/32'] }, { cidrs: ['10.0.0.0/8', '2001:DB8::/32'] }],
    [
      { namesOnly: true, mayUse: false },
      { may_use: false, names_only: true },
    ],
    [{ expiresAt: at }, { expiration_date: at.toISOString() }],
    [{ expiresAt: new Date(0) }, { expiration_date: new Date(0).toISOString() }],
    [{ expiresAt: new Date(Date.UTC(9999, 11, 31)) }, { expiration_date: '9999-12-31T00:00:00.000Z' }],
    [{ names: many(50) }, { names: many(50) }],
    [{ names: ['😀'.repeat(255)] }, { names: ['😀'.repeat(255)] }],
    [{}, /nothing is restricted/],
    [{ name: ['A'] } as never, /a restriction is unknown/],
    [{ namesOnly: false } as never, /namesOnly must be true/],
    [{ mayUse: true } as never, /mayUse must be false/],
    [{ names: [] }, /names must be a list of 1 to 50/],
    [{ names: many(51) }, /names must be a list of 1 to 50/],
    [{ names: ['a'.repeat(256)] }, /names must be/],
    [{ names: ['A', ''] }, /names must be/],
    [{ names: [7] } as never, /names must be/],
    [{ names: ['a\u202eb'] }, /names must be/],
    [{ kinds: ['vault'] } as never, /kinds must be/],
    [{ cidrs: ['10.0.0.0'] }, /cidrs must be/],
    [{ cidrs: ['host/8'] }, /cidrs must be/],
    [{ expiresAt: at, expiresInSeconds: 1 }, /can’t be combined with expiresInSeconds/],
    [{ expiresAt: new Date(-1) }, /must be a date/],
    [{ expiresAt: new Date(Date.UTC(9999, 11, 31) + 1) }, /must be a date/],
    [{ expiresAt: new Date(Number.NaN) }, /must be a date/],
    [{ expiresInSeconds: Number.NaN }, /must be a date/],
  ];
  for (const [given, expected] of rows)
    it(`${expected instanceof RegExp ? 'is refused' : 'is written'}: ${JSON.stringify(given).slice(0, 60)}`, async () => {
      if (expected instanceof RegExp)
        await assert.rejects(narrow(key, given), { code: 'INVALID_OPTIONS', message: expected });
      else assert.deepEqual(restrictionsOf((await narrow(` ${key}\n`, given)).token), [expected]);
    });

  it('ends so many seconds from now', async () => {
    const before = Date.now();
    const [written] = restrictionsOf((await narrow(key, { expiresInSeconds: 1.5 })).token) as [
      { expiration_date: string },
    ];
    const end = Date.parse(written.expiration_date);
    assert.ok(end >= before + 1_500 && end <= Date.now() + 1_500);
  });

  it('can be restricted further, eight times, and has an id by what it is restricted to', async () => {
    let narrowed = { token: key, id: '' };
    const ids = new Set<string>();
    for (let number = 1; number <= 8; number++) {
      narrowed = await narrow(narrowed.token, { names: [`N${number}*`] });
      ids.add(narrowed.id);
      assert.equal(restrictionsOf(narrowed.token).length, number);
      assert.equal(narrowed.id, hash('sha256', narrowed.token.slice(10, -49), 'hex').slice(0, 16));
    }
    assert.equal(ids.size, 8);
    await assert.rejects(
      narrow(narrowed.token, { mayUse: false }),
      /at most 8 restrictions and 2048 characters/,
    );
    await assert.rejects(narrow(key, { names: many(50, 'a'.repeat(60)) }), /at most 8 restrictions/);
  });

  it('is at most 2,048 characters long', async () => {
    const lengths = new Set<number>();
    for (let length = 1_415; length < 1_470; length++) {
      const names = [...many(5, 'a'.repeat(250)), 'b'.repeat(length - 1_250)];
      const { token } = await narrow(key, { names }).catch(() => ({ token: '' }));
      lengths.add(token.length);
    }
    assert.ok(lengths.has(0) && Math.max(...lengths) <= 2_048);
  });

  const keys: [given: unknown, message: RegExp][] = [
    [undefined, /must be an access key/],
    ['', /must be an access key/],
    [key.slice(1), /must be an access key/],
    [key.slice(0, -1), /must be an access key/],
    [`${key}0`, /must be an access key/],
    [key.replace('vault', 'api'), /must be an access key/],
    [checked(`sr_narrow_${'A'.repeat(65)}`), /must be an access key/],
    [key.replace('bb', 'bc'), /incomplete or mistyped/],
    [checked(`sr_narrow_${'A'.repeat(22)}03${'b'.repeat(43)}`).replace('03', '02'), /incomplete or mistyped/],
    [checked(`sr_narrow_${'A'.repeat(22)}02${'b'.repeat(43)}`), /by a newer version/],
  ];
  for (const [given, message] of keys)
    it(`is not made of what is no key: ${JSON.stringify(given)?.slice(0, 40)}`, async () =>
      assert.rejects(narrow(given as string, { mayUse: false }), { code: 'INVALID_OPTIONS', message }));
});
