/** Every provider of a root key, through the one exercise, and what is particular to each. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { combine } from 'shamir-secret-sharing';
import { transitAddress } from '../src/egress/transit-address.ts';
import { newKeyPair } from '../src/keyring/age/keys.ts';
import { ageIdentities, ageRecipients } from '../src/keyring/root-key/age.ts';
import { keyFile } from '../src/keyring/root-key/key-file.ts';
import { passphrase } from '../src/keyring/root-key/passphrase.ts';
import { RootKeyError, type SlotFacts } from '../src/keyring/root-key/root-key.ts';
import {
  checkShare,
  rootKeyFromShares,
  type SplitRootKey,
  shares as sharesSource,
  splitRootKey,
} from '../src/keyring/root-key/shamir.ts';
import { type Share, ShareError, shareFrom } from '../src/keyring/root-key/share-text.ts';
import { transitAt } from '../src/service/opening/transit-source.ts';
import { type Service, startService } from './harness.ts';
import { dataFolder } from './postgres.ts';
import { exercise } from './root-key-exercise.ts';

let folder: string;
const at = (name: string) => join(folder, name);
before(async () => {
  folder = await dataFolder();
});
after(() => rm(folder, { recursive: true, force: true }));

describe('a key file', () => {
  exercise({
    provider: 'key-file',
    wraps: () => keyFile(at('one.key')).create(),
    opens: () => keyFile(at('one.key')).open(),
    another: () => keyFile(at('two.key')).create(),
  });
});

describe('a passphrase', () => {
  const cheap = { memory: 64, passes: 1, parallelism: 1 };
  const of = (words: string) => () => passphrase(async () => words, cheap).open();
  exercise({
    provider: 'passphrase',
    wraps: of('correct horse battery'),
    opens: of('correct horse battery'),
    another: of('another horse battery'),
  });
});

describe('age identities', () => {
  const [one, other, third] = [newKeyPair(), newKeyPair(), newKeyPair()];
  const of = (text: string) => () => ageIdentities(async () => text).open();
  exercise({
    provider: 'age',
    wraps: async () => ageRecipients([one.recipient, other.recipient]),
    opens: of(`# kept in the safe\n\n${third.identity}\n${other.identity}\n`),
    another: of(third.identity),
  });

  it('are refused where the text is none', async () => {
    for (const text of [
      '',
      '# only a comment',
      'AGE-SECRET-KEY-1',
      `${one.identity}\nrubbish`,
      `${one.identity}\n`.repeat(33),
    ])
      await assert.rejects(of(text)(), RootKeyError);
    assert.throws(() => ageRecipients(['age1nothing']), RootKeyError);
  });
});

const slotOf = (id: string, { settings }: SplitRootKey): SlotFacts => ({
  id,
  provider: 'shamir',
  created: 0,
  settings,
});

describe('shares', () => {
  const id = '0a1b2c3d';
  let made: SplitRootKey;
  let another: SplitRootKey;
  before(async () => {
    [made, another] = [await splitRootKey(id, 3, 2), await splitRootKey(id, 3, 2)];
  });
  exercise({
    provider: 'shamir',
    wraps: async () => made.root,
    opens: () => sharesSource(async () => made.shares.slice(1).join('\n')).open(slotOf(id, made)),
    another: () => sharesSource(async () => another.shares.slice(1).join('\n')).open(slotOf(id, another)),
  });

  it('any k of n of them open, and no fewer do', async () => {
    const sizes = fc
      .tuple(fc.integer({ min: 2, max: 6 }), fc.integer({ min: 2, max: 6 }))
      .map(([a, b]) => ({ count: Math.max(a, b), threshold: Math.min(a, b) }));
    await fc.assert(
      fc.asyncProperty(sizes, fc.infiniteStream(fc.nat()), async ({ count, threshold }, order) => {
        const split = await splitRootKey(id, count, threshold);
        const slot = slotOf(id, split);
        const plain = randomBytes(64);
        const wrapped = await split.root.wrap(Buffer.of(1), plain);
        const shuffled = split.shares
          .map(text => ({ share: shareFrom(text), rank: order.next().value as number }))
          .sort((a, b) => a.rank - b.rank)
          .map(({ share }) => share);
        const some = shuffled.slice(0, threshold);
        const root = await rootKeyFromShares(slot, some);
        assert.deepEqual(Buffer.from(await root.unwrap(Buffer.of(1), wrapped)), plain);
        const fewer = some.slice(1);
        await assert.rejects(rootKeyFromShares(slot, fewer), /shares are required, and/);
        // Neither does a copy count twice, nor the method itself give the key away.
        await assert.rejects(rootKeyFromShares(slot, [...fewer, ...fewer]), /shares are required, and/);
        if (fewer.length < 2) return;
        const lower = { ...slot, settings: { ...slot.settings, threshold: fewer.length } };
        const guess = await rootKeyFromShares(lower, fewer);
        await assert.rejects(guess.unwrap(Buffer.of(1), wrapped), RootKeyError);
      }),
      { numRuns: 60 },
    );
  });

  it('have the layout of other tools: a byte for each byte of the secret, and then the position', async () => {
    // A line of slope 7 through each byte of the secret over the field of AES, at the positions 1 and 2.
    const secret = Uint8Array.of(0, 1, 0x53, 0xff);
    const first = Uint8Array.of(...secret.map(byte => byte ^ 7), 1);
    const second = Uint8Array.of(...secret.map(byte => byte ^ 14), 2);
    assert.deepEqual(await combine([first, second]), secret);
    assert.deepEqual(await combine([second, first]), secret);
    for (const text of made.shares) assert.equal(shareFrom(text).bytes.length, 33);
  });

  it('name themselves where they are mistyped, of another slot, or not one of its own', async () => {
    const text = made.shares[1]!;
    assert.match(text, /^sr_share_0a1b2c3d_2_[0-9a-f]{74}$/);
    assert.deepEqual(shareFrom(` ${text.toUpperCase().replace('SR_SHARE', 'sr_share')}\n`), shareFrom(text));
    const mistyped = text.replace(/.$/, last => (last === '0' ? '1' : '0'));
    const cut = text.slice(0, -1);
    for (const wrong of [mistyped, cut, `${text}0`])
      assert.throws(() => shareFrom(wrong), {
        message: 'share 2 of the slot 0a1b2c3d is damaged or mistyped',
      });
    for (const none of ['', 'sr_share_', 'sr_vault_0a1b2c3d_2_00', text.replace('_2_', '_0_')])
      assert.throws(() => shareFrom(none), ShareError);
    const foreign = shareFrom(another.shares[1]!);
    assert.throws(() => checkShare(slotOf(id, made), foreign), {
      message: 'share 2 is not one of the slot 0a1b2c3d',
    });
    const good = shareFrom(made.shares[0]!);
    await assert.rejects(rootKeyFromShares(slotOf(id, made), [good, foreign]), {
      message: 'share 2 is not one of the slot 0a1b2c3d',
    });
  });

  it('of another slot are left out, and a slot that is not as it was stored opens with none', async () => {
    const elsewhere: Share = { ...shareFrom(made.shares[2]!), slot: 'ffffffff' };
    await assert.rejects(
      rootKeyFromShares(slotOf(id, made), [shareFrom(made.shares[0]!), elsewhere]),
      /2 of its 3 shares are required, and 1 were given/,
    );
    const { settings } = made;
    for (const altered of [
      { threshold: 1 },
      { threshold: 4 },
      { shares: 2 },
      { digests: 'none' },
      { digests: [] },
    ]) {
      const slot = { ...slotOf(id, made), settings: { ...settings, ...altered } };
      await assert.rejects(rootKeyFromShares(slot, made.shares.map(shareFrom)), RootKeyError);
    }
  });

  it('are between 2 and 16, and no more are needed than exist', async () => {
    for (const [count, threshold] of [
      [1, 1],
      [3, 1],
      [2, 3],
      [17, 2],
    ] as const)
      await assert.rejects(splitRootKey(id, count, threshold), RangeError);
    assert.equal((await splitRootKey(id, 16, 16)).shares.length, 16);
  });
});

describe('another vault’s transit engine', () => {
  let engine: Service;
  let vaultId: string;
  let slow: ReturnType<typeof createServer>;
  const addressOf = (name: string) => `${engine.url}/vault/v1/${vaultId}/transit/keys/${name}`;
  const open = (key: string, patience = 5_000) => transitAt({ key, tokenFile: at('token'), patience }).open();
  before(async () => {
    engine = await startService();
    vaultId = (await engine.call('POST', '/v1/vaults', { name: 'seals' })).body.id;
    writeFileSync(at('token'), `${engine.key}\n`);
    for (const name of ['seal', 'other']) {
      const headers = { 'x-vault-token': engine.key };
      const { status, text } = await engine.call(
        'POST',
        new URL(addressOf(name)).pathname,
        {},
        null,
        headers,
      );
      assert.ok(status < 300, text);
    }
    slow = createServer(() => {});
    await new Promise<void>(resolve => slow.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    await engine.stop();
    slow.closeAllConnections();
    slow.close();
  });
  const portOf = () => (slow.address() as AddressInfo).port;
  exercise({
    provider: 'transit',
    wraps: () => open(addressOf('seal')),
    opens: () => open(addressOf('seal')),
    another: () => open(addressOf('other')),
    service: {
      unreachable: () => open('http://127.0.0.1:1/v1/transit/keys/seal'),
      slow: () => open(`http://127.0.0.1:${portOf()}/v1/transit/keys/seal`, 50),
      rotate: async () => {
        const headers = { 'x-vault-token': engine.key };
        const { status, text } = await engine.call(
          'POST',
          new URL(`${addressOf('seal')}/rotate`).pathname,
          {},
          null,
          headers,
        );
        assert.ok(status < 300, text);
      },
    },
  });

  it('that refuses the token, or has no such key, is not one that is lost', async () => {
    const wrapped = await (await open(addressOf('seal'))).wrap(Buffer.of(1), Buffer.of(2));
    writeFileSync(at('wrong'), 'sr_api_wrong');
    const refused = await transitAt({ key: addressOf('seal'), tokenFile: at('wrong') }).open();
    await assert.rejects(refused.unwrap(Buffer.of(1), wrapped), { message: /refused the token/ });
    const none = await transitAt({ key: addressOf('seal'), tokenFile: at('missing') }).open();
    await assert.rejects(none.unwrap(Buffer.of(1), wrapped), { message: /can’t be read/ });
  });

  it('is sent nothing but what it may have wrapped', async () => {
    const lost = await open('http://127.0.0.1:1/v1/transit/keys/seal');
    for (const text of ['', 'vault:v1:', 'secret', 'vault:v0:AAAA', 'vault:v1:AA\n'])
      await assert.rejects(lost.unwrap(Buffer.of(1), Buffer.from(text)), {
        message: /not as the transit engine/,
      });
  });

  it('has the address of a key', () => {
    assert.equal(
      transitAddress('https://v.example/v1/transit/keys/k', 'decrypt'),
      'https://v.example/v1/transit/decrypt/k',
    );
    for (const text of [
      'https://v.example',
      'https://v.example/v1/keys/k',
      'https://v.example/v1/t/keys/k?x=1',
      'x',
    ])
      assert.equal(transitAddress(text, 'decrypt'), null);
  });
});
