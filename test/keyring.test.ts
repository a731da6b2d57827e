import assert from 'node:assert/strict';
import crypto, { createPublicKey, verify } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import promises, { rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, mock } from 'node:test';
import fc from 'fast-check';
import { Keyring, type SealedPlace, type StampField } from '../src/keyring/keyring.ts';
import { keyFile } from '../src/keyring/root-key/key-file.ts';
import { type Costs, passphrase } from '../src/keyring/root-key/passphrase.ts';
import { KeyringDamaged, RootKeyError } from '../src/keyring/root-key/root-key.ts';
import { Unsealable } from '../src/keyring/sealing/envelope.ts';
import { MemorySeal } from '../src/keyring/sealing/memory.ts';
import { KeyringWrapper } from '../src/keyring/stored-keyring.ts';
import { callsTo } from './effort.ts';
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

const isDamage = (error: unknown) =>
  error instanceof KeyringDamaged && refused(/^the stored keyring is damaged/)(error);

/** Cut off in several places, and with one byte changed at each of these. */
function damages(wrapped: Buffer, flips: readonly number[]): Buffer[] {
  const cuts = [0, 5, 6, 27, 33].map(length => wrapped.subarray(0, length));
  const flipped = flips.map(at => {
    const bytes = Buffer.from(wrapped);
    bytes[at]! ^= 1;
    return bytes;
  });
  return [...cuts, ...flipped];
}

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
    const sealer = ring.organizationSealer(frozen.place.organization);
    assert.equal(sealer.open(place, unhex(frozen.organizationSealed)).toString(), 'whsec_');
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
  const place: SealedPlace = { type: 'secret', resource: 'r1', field: 'value', version: 1 };
  const wrapped = ring.createVaultKey(vault);

  it('opens a value in its place alone: any other member of the context fails', () => {
    const sealer = ring.openVault(vault, wrapped);
    const sealed = sealer.seal(place, Buffer.from('x'));
    assert.equal(sealer.open(place, sealed).toString(), 'x');
    const elsewhere: SealedPlace[] = [
      { ...place, type: 'key' },
      { ...place, resource: 'r2' },
      { ...place, field: 'labels' },
      { ...place, version: 2 },
    ];
    for (const other of elsewhere) assert.throws(() => sealer.open(other, sealed), Unsealable);
  });

  it('two swapped ciphertexts of one vault both fail', () => {
    const sealer = ring.openVault(vault, wrapped);
    const other = { ...place, resource: 'r2' };
    const [first, second] = [sealer.seal(place, Buffer.from('1')), sealer.seal(other, Buffer.from('2'))];
    assert.throws(() => sealer.open(place, second), Unsealable);
    assert.throws(() => sealer.open(other, first), Unsealable);
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
        const sealer = ring.openVault(vault, wrapped);
        const sealed = sealer.seal({ ...place, type: a, resource: b }, Buffer.from('x'));
        assert.throws(() => sealer.open({ ...place, type: c, resource: d }, sealed), Unsealable);
      }),
    );
    const sealer = ring.openVault(vault, wrapped);
    const sealed = sealer.seal({ ...place, type: 'ab', resource: 'c' }, Buffer.from('x'));
    assert.throws(() => sealer.open({ ...place, type: 'a', resource: 'bc' }, sealed), Unsealable);
  });

  it('a new term opens everything of the old one, and moves vault keys once', () => {
    const sealed = ring.openVault(vault, wrapped).seal(place, Buffer.from('x'));
    const sealer = ring.organizationSealer('o1').seal(place, Buffer.from('y'));
    const rotated = ring.rotate(1);
    assert.equal(rotated.term, ring.term + 1);
    assert.equal(rotated.openVault(vault, wrapped).open(place, sealed).toString(), 'x');
    assert.equal(rotated.organizationSealer('o1').open(place, sealer).toString(), 'y');
    const moved = rotated.rewrapVaultKey(vault, wrapped)!;
    assert.equal(rotated.openVault(vault, moved).open(place, sealed).toString(), 'x');
    assert.equal(rotated.rewrapVaultKey(vault, moved), null);
    assert.throws(() => ring.openVault(vault, moved), Unsealable);
    assert.throws(() => rotated.rewrapVaultKey({ ...vault, vault: 'v2' }, wrapped), Unsealable);
  });

  it('a living keyring adopts a newer state of itself, and of nothing else', () => {
    const living = Keyring.create('deployment');
    const sealer = living.organizationSealer('o1');
    const old = sealer.seal(place, Buffer.from('old'));
    const second = living.rotate(1);
    const third = second.rotate(2).retire([1, 2, 3]);
    assert.deepEqual(third.terms, [{ id: 3, started: 2 }]);
    const kept = second
      .rotate(2)
      .retire([1])
      .terms.map(({ id }) => id);
    assert.deepEqual(kept, [2, 3], 'what is still needed stays');
    const fresh = third.organizationSealer('o1').seal(place, Buffer.from('new'));
    assert.equal(living.knows(fresh), false);
    living.adopt(third);
    assert.equal(sealer.open(place, fresh).toString(), 'new');
    assert.equal(sealer.open(place, old).toString(), 'old', 'what it has read already still opens');
    assert.ok(living.isCurrent(sealer.seal(place, Buffer.from('x'))));
    assert.throws(() => third.organizationSealer('o1').open(place, old), Unsealable);
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

  it('is not made where it can’t be put in its place, and leaves nothing there', async () => {
    const path = freshPath();
    const refused = Object.assign(new Error('no links here'), { code: 'EPERM' });
    const linking = mock.method(promises, 'link', () => Promise.reject(refused));
    syncBuiltinESMExports();
    try {
      await assert.rejects(keyFile(path).create(), refused);
    } finally {
      linking.mock.restore();
      syncBuiltinESMExports();
    }
    assert.deepEqual(readdirSync(join(path, '..')), []);
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
    await assert.rejects(keyFile(freshPath()).open(), refused(/can't be opened: it does not exist/));
    const good = keyFileHolding(frozen.rootKeyFile);
    const linked = join(mkdtempSync(join(folder, 'link-')), 'root.key');
    symlinkSync(good, linked);
    await assert.rejects(keyFile(linked).open(), refused(/can't be opened: it is a symbolic link/));
    for (const length of [0, 10, 23, 40, 66]) {
      const cut = keyFileHolding(frozen.rootKeyFile, 0o600);
      truncateSync(cut, length);
      await assert.rejects(keyFile(cut).open(), refused(/does not contain a Strongroom root key/));
    }
    for (const text of [
      'not a key\n',
      `strongroom-root-key-v2:${'A'.repeat(43)}=\n`,
      `${frozen.rootKeyFile}x`,
    ]) {
      await assert.rejects(keyFile(keyFileHolding(text)).open(), refused(/does not contain/));
    }
    for (const mode of [0o440, 0o404, 0o644, 0o420]) {
      await assert.rejects(keyFile(keyFileHolding(frozen.rootKeyFile, mode)).open(), refused(/chmod 400/));
    }
  });

  it('one that root owns may be read by its group, where that is how the service can read it, and by nobody else', async t => {
    if (process.geteuid?.() !== 0) return t.skip('only root can give a file to root');
    await keyFile(keyFileHolding(frozen.rootKeyFile, 0o440), 12_345).open();
    for (const mode of [0o444, 0o460, 0o450, 0o404]) {
      await assert.rejects(
        keyFile(keyFileHolding(frozen.rootKeyFile, mode), 12_345).open(),
        refused(/chmod 400/),
      );
    }
  });

  it('one that another user owns is refused in a folder where they or others could have put it, and no other', async () => {
    const path = keyFileHolding(frozen.rootKeyFile);
    const folder = join(path, '..');
    const owner = statSync(path).uid;
    // Root can give the file away; anyone else lets the process be another than they are.
    const stranger = owner === 0 ? 12_345 : owner;
    const self = owner === 0 ? 0 : owner + 1;
    if (owner === 0) chownSync(path, stranger, stranger);
    const opened = keyFile(path, self).open();
    if (owner === 0) {
      await opened;
      for (const mode of [0o770, 0o707, 0o777, 0o1777]) {
        chmodSync(folder, mode);
        await assert.rejects(keyFile(path, self).open(), refused(/belongs to another user/));
      }
      chmodSync(folder, 0o700);
      chownSync(folder, stranger, stranger);
    } else await assert.rejects(opened, refused(/belongs to another user/));
    await assert.rejects(keyFile(path, self).open(), refused(/belongs to another user/));
    await keyFile(path, stranger).open();
  });

  it('a damaged keyring says that it is damaged, wherever that is, and blames no key', async () => {
    const root = await keyFile(freshPath()).create();
    const wrapped = Buffer.from(await Keyring.create('d').wrap(root));
    const namesKey = (at: number) => at >= 2 && at < 6;
    const places = [...wrapped.keys()].filter(at => at < 40 || at % 7 === 0);
    for (const damaged of damages(
      wrapped,
      places.filter(at => !namesKey(at)),
    )) {
      await assert.rejects(Keyring.unwrap(root, damaged), isDamage);
    }
    for (const renamed of damages(wrapped, places.filter(namesKey)).slice(-4)) {
      await assert.rejects(Keyring.unwrap(root, renamed), refused(/is not the one/));
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
    ];
    const derivations = (offset: number, value: number) => {
      const edited = Buffer.from(wrapped);
      // Enough for each of these lanes.
      if (offset === 24) edited.writeUInt32BE(1_024, 16);
      edited.writeUInt32BE(value, offset);
      return callsTo(crypto, 'argon2', () => assert.rejects(unwrapWith(words, edited), RootKeyError));
    };
    for (const [offset, value] of edits)
      assert.deepEqual(await derivations(offset, value), [], `${value} at ${offset}`);
    assert.equal((await derivations(20, 2)).length, 1, 'costs within the bounds are tried');
    assert.equal((await derivations(24, 64)).length, 1, 'the most lanes');
    for (const length of [0, 10, 27, 28, 40]) {
      await assert.rejects(unwrapWith(words, wrapped.subarray(0, length)), RootKeyError);
    }
  });

  it('a damaged keyring says so where that shows; else the passphrase is doubted, and damage named too', async () => {
    const wrapped = Buffer.from(await wrapWith(words));
    for (const damaged of damages(wrapped, [28, 29, 33])) {
      await assert.rejects(unwrapWith(words, damaged), isDamage);
    }
    for (const [memory, lanes] of [
      [0xffffffff, 4],
      [31, 4],
    ] as const) {
      const edited = Buffer.from(wrapped);
      edited.writeUInt32BE(memory, 16);
      edited.writeUInt32BE(lanes, 24);
      await assert.rejects(unwrapWith(words, edited), isDamage);
    }
    const flipped = damages(wrapped, [wrapped.length - 1]).at(-1)!;
    for (const [given, bytes] of [
      ['another passphrase', wrapped],
      [words, flipped],
    ] as const) {
      await assert.rejects(
        unwrapWith(given, bytes),
        error => !(error instanceof KeyringDamaged) && refused(/is not the one/)(error),
      );
    }
  });

  it('what runs out inside of argon2 is no wrong passphrase', async t => {
    const wrapped = await wrapWith(words);
    t.mock.method(crypto, 'argon2', (_kind: string, _parameters: object, done: (error: Error) => void) =>
      done(new Error('out of memory')),
    );
    await assert.rejects(unwrapWith(words, wrapped), /^Error: out of memory$/);
  });

  it('costs by default are argon2id with 128 MiB and three passes', async () => {
    const wrapped = Buffer.from(await Keyring.create('d').wrap(await passphrase(async () => words).create()));
    assert.deepEqual(
      [16, 20, 24].map(at => wrapped.readUInt32BE(at)),
      [128 * 1024, 3, 4],
    );
  });
});

describe('the stored keyring', () => {
  it('is damaged where its record can’t be read, with whichever root key', async () => {
    const source = keyFile(freshPath());
    const lock = new KeyringWrapper(source);
    const stored = await lock.wrap(Keyring.create('d'));
    const { provider, wrapped } = JSON.parse(Buffer.from(stored).toString());
    const records = ['', '{', 'null', '[]', JSON.stringify({ provider }), JSON.stringify({ wrapped })];
    for (const record of [...records, JSON.stringify({ provider, wrapped: wrapped.slice(0, 40) })]) {
      await assert.rejects(lock.unwrap(Buffer.from(record)), isDamage);
      await assert.rejects(new KeyringWrapper(source).opens(Buffer.from(record)), isDamage);
    }
    assert.equal(await new KeyringWrapper(source).opens(stored), true);
  });
});
