import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { Unsealable } from '../src/keyring/envelope.ts';
import { Keyring, type Place, type StampField } from '../src/keyring/keyring.ts';
import { MemorySeal } from '../src/keyring/memory.ts';
import { keyFile } from '../src/keyring/root-key/key-file.ts';
import { type Costs, passphrase } from '../src/keyring/root-key/passphrase.ts';
import { RootKeyError } from '../src/keyring/root-key/root-key.ts';
import { fixedRandom } from './fixed-random.ts';

const frozen = JSON.parse(readFileSync(new URL('vectors/keyring.json', import.meta.url), 'utf8'));
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const unhex = (text: string) => Buffer.from(text, 'hex');
const folder = mkdtempSync(join(tmpdir(), 'strongroom-keyring-'));
after(() => rm(folder, { recursive: true, force: true }));
let files = 0;
const freshPath = () => join(folder, `${files++}`, 'root.key');

function keyFileHolding(text: string, mode = 0o400): string {
  const path = join(mkdtempSync(join(folder, 'key-')), 'root.key');
  writeFileSync(path, text, { mode });
  chmodSync(path, mode);
  return path;
}

const refused = (what: RegExp) => (error: unknown) => {
  assert.ok(error instanceof RootKeyError, String(error));
  assert.match(error.message, what);
  assert.ok(!error.message.includes('\n'));
  return true;
};

describe('the frozen keyring', () => {
  const fields: StampField[] = frozen.stampFields.map((field: StampField | number[]) =>
    Array.isArray(field) ? Uint8Array.from(field) : field,
  );
  const open = async () => {
    const root = await keyFile(keyFileHolding(frozen.rootKeyFile)).open();
    return Keyring.unwrap(root, unhex(frozen.wrapped), fixedRandom(frozen.seed));
  };

  it('opens what earlier releases wrapped, by key file and by passphrase', async () => {
    const ring = await open();
    assert.equal(ring.deployment, frozen.deployment);
    assert.equal(ring.logPublicKey, frozen.logPublicKey);
    const root = await passphrase(async () => frozen.passphrase).open();
    const same = await Keyring.unwrap(root, unhex(frozen.wrappedByPassphrase));
    assert.equal(same.logPublicKey, frozen.logPublicKey);
  });

  it('opens what earlier releases sealed', async () => {
    const ring = await open();
    const vault = ring.openVault(frozen.place, unhex(frozen.vaultKey));
    assert.equal(vault.open(frozen.value, unhex(frozen.sealed)).toString(), frozen.plain);
    const place = { type: 'webhook', resource: frozen.value.resource, field: 'secret', version: 1 };
    const box = ring.organizationBox(frozen.place.organization);
    assert.equal(box.open(place, unhex(frozen.organizationSealed)).toString(), 'whsec_');
  });

  it('seals, stamps, digests, marks and signs as earlier releases did', async () => {
    const ring = await open();
    const vaultKey = ring.createVaultKey(frozen.place);
    assert.equal(hex(vaultKey), frozen.vaultKey);
    assert.equal(
      hex(ring.openVault(frozen.place, vaultKey).seal(frozen.value, Buffer.from(frozen.plain))),
      frozen.sealed,
    );
    assert.equal(hex(ring.stamp('resource', fields)), frozen.stamp);
    assert.equal(hex(ring.tokenDigest('sr_api_x')), frozen.tokenDigest);
    assert.equal(ring.blindIndex(frozen.place.organization, '["team","payments"]'), frozen.blindIndex);
    const signature = ring.signCheckpoint(Buffer.from('checkpoint'));
    assert.equal(hex(signature), frozen.signature);
    assert.ok(verify(null, Buffer.from('checkpoint'), createPublicKey(frozen.logPublicKey), signature));
  });
});

describe('the keyring', () => {
  const ring = Keyring.create('deployment');
  const vault = { organization: 'o1', vault: 'v1' };
  const place: Place = { type: 'secret', resource: 'r1', field: 'value', version: 1 };
  const wrapped = ring.createVaultKey(vault);

  it('opens a value in its place alone: any other member of the context fails', () => {
    const box = ring.openVault(vault, wrapped);
    const sealed = box.seal(place, Buffer.from('x'));
    assert.equal(box.open(place, sealed).toString(), 'x');
    const elsewhere: Place[] = [
      { ...place, type: 'key' },
      { ...place, resource: 'r2' },
      { ...place, field: 'labels' },
      { ...place, version: 2 },
    ];
    for (const other of elsewhere) assert.throws(() => box.open(other, sealed), Unsealable);
  });

  it('two swapped ciphertexts of one vault both fail', () => {
    const box = ring.openVault(vault, wrapped);
    const other = { ...place, resource: 'r2' };
    const [first, second] = [box.seal(place, Buffer.from('1')), box.seal(other, Buffer.from('2'))];
    assert.throws(() => box.open(place, second), Unsealable);
    assert.throws(() => box.open(other, first), Unsealable);
  });

  it('a vault key opens in its vault, its organization and its deployment alone', () => {
    const sealed = ring.openVault(vault, wrapped).seal(place, Buffer.from('x'));
    assert.throws(() => ring.openVault({ ...vault, vault: 'v2' }, wrapped), Unsealable);
    assert.throws(() => ring.openVault({ ...vault, organization: 'o2' }, wrapped), Unsealable);
    assert.throws(() => Keyring.create('deployment').openVault(vault, wrapped), Unsealable);
    const otherVault = { ...vault, vault: 'v2' };
    const otherBox = ring.openVault(otherVault, ring.createVaultKey(otherVault));
    assert.throws(() => otherBox.open(place, sealed), Unsealable);
  });

  it('members of the context never run into each other', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (a, b, c, d) => {
        fc.pre(a !== c || b !== d);
        const box = ring.openVault(vault, wrapped);
        const sealed = box.seal({ ...place, type: a, resource: b }, Buffer.from('x'));
        assert.throws(() => box.open({ ...place, type: c, resource: d }, sealed), Unsealable);
      }),
    );
    const box = ring.openVault(vault, wrapped);
    const sealed = box.seal({ ...place, type: 'ab', resource: 'c' }, Buffer.from('x'));
    assert.throws(() => box.open({ ...place, type: 'a', resource: 'bc' }, sealed), Unsealable);
  });

  it('a new term opens everything of the old one, and moves vault keys once', () => {
    const sealed = ring.openVault(vault, wrapped).seal(place, Buffer.from('x'));
    const box = ring.organizationBox('o1').seal(place, Buffer.from('y'));
    const rotated = ring.rotate(1);
    assert.equal(rotated.term, ring.term + 1);
    assert.equal(rotated.openVault(vault, wrapped).open(place, sealed).toString(), 'x');
    assert.equal(rotated.organizationBox('o1').open(place, box).toString(), 'y');
    const moved = rotated.rewrapVaultKey(vault, wrapped)!;
    assert.equal(rotated.openVault(vault, moved).open(place, sealed).toString(), 'x');
    assert.equal(rotated.rewrapVaultKey(vault, moved), null);
    assert.throws(() => ring.openVault(vault, moved), Unsealable);
    assert.throws(() => rotated.rewrapVaultKey({ ...vault, vault: 'v2' }, wrapped), Unsealable);
  });

  it('a living keyring adopts a newer state of itself, and of nothing else', () => {
    const living = Keyring.create('deployment');
    const box = living.organizationBox('o1');
    const old = box.seal(place, Buffer.from('old'));
    const second = living.rotate(1);
    const third = second.rotate(2).retire([1, 2, 3]);
    assert.deepEqual(third.terms, [{ id: 3, started: 2 }]);
    const fresh = third.organizationBox('o1').seal(place, Buffer.from('new'));
    assert.equal(living.knows(fresh), false);
    living.adopt(third);
    assert.equal(box.open(place, fresh).toString(), 'new');
    assert.equal(box.open(place, old).toString(), 'old', 'what it has read already still opens');
    assert.ok(living.isCurrent(box.seal(place, Buffer.from('x'))));
    assert.throws(() => third.organizationBox('o1').open(place, old), Unsealable);
    assert.throws(() => living.adopt(second), Unsealable);
    assert.throws(() => living.adopt(Keyring.create('deployment').rotate(1).rotate(2).rotate(3)), Unsealable);
    assert.equal(living.term, 3);
  });

  it('a stamp holds for the very same fields alone, of the very same types', () => {
    const field = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.uint8Array());
    const fields = fc.array(field, { minLength: 1, maxLength: 5 });
    const form = (list: readonly StampField[]) =>
      JSON.stringify(list.map(one => (one instanceof Uint8Array ? { bytes: hex(one) } : [typeof one, one])));
    fc.assert(
      fc.property(fields, fields, (one, other) => {
        const stamp = ring.stamp('row', one);
        assert.ok(ring.stampHolds('row', one, stamp));
        assert.equal(ring.stampHolds('row', other, stamp), form(one) === form(other));
        assert.ok(!ring.stampHolds('other', one, stamp));
        assert.ok(!ring.stampHolds('row', one, stamp.subarray(0, 31)));
        assert.ok(!ring.stampHolds('row', one, Buffer.alloc(0)));
      }),
    );
    const alike: StampField[][] = [
      [1],
      ['1'],
      [true],
      ['true'],
      [null],
      [''],
      ['0'],
      [0],
      [false],
      [Buffer.from('1')],
    ];
    assert.equal(new Set(alike.map(list => hex(ring.stamp('row', list)))).size, alike.length);
  });

  it('another deployment’s keyring makes other stamps, digests and indexes', () => {
    const other = Keyring.create('deployment');
    assert.notDeepEqual(other.stamp('row', ['x']), ring.stamp('row', ['x']));
    assert.notDeepEqual(other.tokenDigest('x'), ring.tokenDigest('x'));
    assert.notEqual(other.blindIndex('o1', 'x'), ring.blindIndex('o1', 'x'));
    assert.notEqual(ring.blindIndex('o2', 'x'), ring.blindIndex('o1', 'x'));
  });

  it('what is sealed in memory opens in its place and process alone', () => {
    const seal = new MemorySeal();
    const [a, b] = [Buffer.from('a'), Buffer.from('b')];
    const sealed = seal.seal(a, Buffer.from('x'));
    assert.equal(seal.open(a, sealed).toString(), 'x');
    assert.throws(() => seal.open(b, sealed), Unsealable);
    assert.throws(() => new MemorySeal().open(a, sealed), Unsealable);
  });
});

describe('the key file', () => {
  it('is made once, 0400, alone in its folder, and opens again', async () => {
    const path = freshPath();
    const ring = Keyring.create('d');
    const wrapped = await ring.wrap(await keyFile(path).create());
    assert.equal(statSync(path).mode & 0o777, 0o400);
    assert.match(readFileSync(path, 'utf8'), /^strongroom-root-key-v1:[A-Za-z0-9+/]{43}=\n$/);
    assert.deepEqual(readdirSync(join(path, '..')), ['root.key']);
    assert.equal((await Keyring.unwrap(await keyFile(path).open(), wrapped)).logPublicKey, ring.logPublicKey);
    const before = readFileSync(path, 'utf8');
    await keyFile(path).create();
    assert.equal(readFileSync(path, 'utf8'), before);
  });

  it('two first starts at once end with one key', async () => {
    const path = freshPath();
    const roots = await Promise.all(Array.from({ length: 8 }, () => keyFile(path).create()));
    const wrapped = await Keyring.create('d').wrap(roots[0]!);
    for (const root of roots) await Keyring.unwrap(root, wrapped);
    assert.deepEqual(readdirSync(join(path, '..')), ['root.key']);
  });

  it('another key is refused with one line', async () => {
    const wrapped = await Keyring.create('d').wrap(await keyFile(freshPath()).create());
    const other = await keyFile(freshPath()).create();
    await assert.rejects(Keyring.unwrap(other, wrapped), refused(/is not the one that protects this data/));
  });

  it('a missing file, a link, a truncated or foreign one, and one that others can read are refused', async () => {
    await assert.rejects(keyFile(freshPath()).open(), refused(/can't be opened/));
    const good = keyFileHolding(frozen.rootKeyFile);
    const linked = join(mkdtempSync(join(folder, 'link-')), 'root.key');
    symlinkSync(good, linked);
    await assert.rejects(keyFile(linked).open(), refused(/can't be opened/));
    for (const length of [0, 10, 23, 40, 66]) {
      const cut = keyFileHolding(frozen.rootKeyFile, 0o600);
      truncateSync(cut, length);
      await assert.rejects(keyFile(cut).open(), refused(/does not hold a Strongroom root key/));
    }
    for (const text of [
      'not a key\n',
      `strongroom-root-key-v2:${'A'.repeat(43)}=\n`,
      `${frozen.rootKeyFile}x`,
    ]) {
      await assert.rejects(keyFile(keyFileHolding(text)).open(), refused(/does not hold/));
    }
    for (const mode of [0o440, 0o404, 0o644, 0o420]) {
      await assert.rejects(keyFile(keyFileHolding(frozen.rootKeyFile, mode)).open(), refused(/chmod 400/));
    }
  });

  it('a wrapped keyring that was edited is refused', async () => {
    const root = await keyFile(freshPath()).create();
    const wrapped = await Keyring.create('d').wrap(root);
    for (let at = 0; at < wrapped.length; at += 7) {
      const edited = Buffer.from(wrapped);
      edited[at]! ^= 1;
      await assert.rejects(Keyring.unwrap(root, edited), refused(/is not the one/));
    }
  });
});

describe('the passphrase', () => {
  const cheap: Costs = { memory: 64, passes: 1, parallelism: 1 };
  const words = 'correct horse battery';
  const wrapWith = async (text: string) =>
    Keyring.create('d').wrap(await passphrase(async () => text, cheap).create());
  const unwrapWith = async (text: string, wrapped: Uint8Array) =>
    Keyring.unwrap(await passphrase(async () => text).open(), wrapped);

  it('opens what it wrapped, with the costs it was wrapped with, and a salt of its own each time', async () => {
    const [one, two] = [await wrapWith(words), await wrapWith(words)];
    await unwrapWith(words, one);
    assert.notDeepEqual(one.subarray(0, 16), two.subarray(0, 16));
  });

  it('a wrong one is refused with one line that does not repeat it', async () => {
    await assert.rejects(unwrapWith('another long phrase', await wrapWith(words)), (error: unknown) => {
      refused(/is not the one/)(error);
      assert.ok(!(error as Error).message.includes('another'));
      return true;
    });
  });

  it('a short one is refused; characters count, not bytes', async () => {
    await assert.rejects(wrapWith('elevenchars'), refused(/too short/));
    await assert.rejects(wrapWith('🔑🔑🔑🔑🔑🔑'), refused(/too short/));
    await assert.rejects(wrapWith(''), refused(/too short/));
    await wrapWith('twelve chars');
  });

  it('typed on two keyboards it is the same (NFKC), and a line break after it is not part of it', async () => {
    const wrapped = await wrapWith('pässwörd ﬁnally ok');
    await unwrapWith('pässwörd ﬁnally ok'.normalize('NFD'), wrapped);
    await unwrapWith('pässwörd finally ok', wrapped);
    await unwrapWith('pässwörd finally ok\n', wrapped);
    await unwrapWith('pässwörd finally ok\r\n', wrapped);
    await assert.rejects(unwrapWith('password finally ok', wrapped), refused(/is not the one/));
  });

  it('edited costs never exhaust the machine: they are refused before any work, or open nothing', async () => {
    const wrapped = Buffer.from(await wrapWith(words));
    const edits: [offset: number, value: number][] = [
      [16, 0],
      [16, 0xffffffff],
      [16, 2 * 1024 * 1024 + 1],
      [20, 0],
      [20, 65],
      [20, 0xffffffff],
      [24, 0],
      [24, 65],
      [20, 2],
    ];
    for (const [offset, value] of edits) {
      const edited = Buffer.from(wrapped);
      edited.writeUInt32BE(value, offset);
      const started = performance.now();
      await assert.rejects(unwrapWith(words, edited), RootKeyError);
      assert.ok(performance.now() - started < 2_000, 'refused quickly');
    }
    for (const length of [0, 10, 27, 28, 40]) {
      await assert.rejects(unwrapWith(words, wrapped.subarray(0, length)), RootKeyError);
    }
  });

  it('costs by default are argon2id with 128 MiB and three passes', async () => {
    const wrapped = Buffer.from(await Keyring.create('d').wrap(await passphrase(async () => words).create()));
    assert.deepEqual(
      [16, 20, 24].map(at => wrapped.readUInt32BE(at)),
      [128 * 1024, 3, 4],
    );
  });
});
