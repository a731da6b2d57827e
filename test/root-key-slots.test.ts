/** The slots of the root key: who opens the data, and who does not, while the service runs. */
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { operatorOf } from '../src/cli/service/operator.ts';
import { newKeyPair } from '../src/keyring/age/keys.ts';
import { ageRecipients } from '../src/keyring/root-key/age.ts';
import { NoSlotOpens, type RootKey } from '../src/keyring/root-key/root-key.ts';
import { isSlotted, parse, type SlottedForm } from '../src/keyring/slots/stored-form.ts';
import type { Strongroom } from '../src/service/opening/open.ts';
import { run, start } from './command.ts';
import { beside, engines, type Service, startService } from './harness.ts';
import { dataFolder } from './postgres.ts';
import { inDatabase, storedBytes } from './storage.ts';

for (const engine of engines) {
  describe(`slots of the root key on ${engine}`, () => {
    let service: Service;
    let keys: string;
    let vaultId: string;
    let shares: string[];
    let extra: string;
    const at = (name: string) => join(keys, name);
    const original = () => join(service.data, 'root.key');
    const identity = newKeyPair();
    const command = async (args: readonly string[], flags: readonly string[] = []) => {
      const { code, stdout, stderr } = await run([...args, ...service.place, ...flags, '--json']);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    const refused = async (args: readonly string[], why: RegExp, flags: readonly string[] = []) => {
      const { code, stdout, stderr } = await run([...args, ...service.place, ...flags]);
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, why);
    };
    /** Whether a command with these flags would open the data, tried in this process. */
    const opens = (...flags: string[]) =>
      beside({ place: [...service.place, ...flags] }, async () => true).catch(error => {
        assert.ok(error instanceof NoSlotOpens, error);
        return false;
      });
    const nothing = () => ['--root-key-file', at('none')];
    const withShares = (...some: string[]) => {
      writeFileSync(at('shares'), some.join('\n'));
      return [...nothing(), '--share-file', at('shares')];
    };
    const withIdentity = () => [...nothing(), '--age-identity-file', at('identity')];
    const slotsOf = <T>(
      ask: (
        slots: Strongroom['domain']['rootKeySlots'],
        by: (id: string) => ReturnType<typeof operatorOf>,
      ) => Promise<T>,
    ) => beside(service, ({ domain, newId }) => ask(domain.rootKeySlots, id => operatorOf(id, newId)));
    const stored = async () =>
      (await storedBytes(service, "SELECT value FROM meta WHERE key = 'keyring'"))[0]!;
    const providers = () => slotsOf(async ({ list }) => (await list()).slots.map(({ provider }) => provider));
    const reads = async () => {
      const { body } = await service.call('GET', `/v1/vaults/${vaultId}`);
      assert.equal(body.description, 'd');
    };

    before(async () => {
      keys = await dataFolder();
      writeFileSync(at('identity'), identity.identity);
      service = await startService({ engine });
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'v', description: 'd' })).body.id;
    });
    after(async () => {
      await service.stop();
      await rm(keys, { recursive: true, force: true });
    });

    it('are one, the root key itself, until another is added, and that one can’t be removed', async () => {
      const before = parse(await stored());
      assert.equal(isSlotted(before), false, 'as in earlier releases');
      const { slots } = await command(['root-key', 'list']);
      assert.deepEqual(slots, [{ id: 'only', provider: 'key-file', created_at: null, opened: true }]);
      await refused(['root-key', 'remove', 'only'], /this is the last slot/);
      await refused(['root-key', 'remove', '0a0b0c0d'], /there is no such slot/);
      assert.deepEqual(parse(await stored()), before);
    });

    it('are two after the first addition: shares, which are shown once, and the root key as before', async () => {
      const added = await command(['root-key', 'add', 'shamir', '--shares', '3', '--threshold', '2']);
      assert.deepEqual([added.provider, added.shares.length], ['shamir', 3]);
      shares = added.shares;
      for (const [index, share] of shares.entries())
        assert.ok(share.startsWith(`sr_share_${added.slot}_${index + 1}_`));
      const { slots } = await command(['root-key', 'list']);
      assert.deepEqual(
        slots.map((slot: { provider: string; opened: boolean }) => [slot.provider, slot.opened]),
        [
          ['key-file', true],
          ['shamir', false],
        ],
      );
      assert.deepEqual([slots[1].threshold, slots[1].shares, slots[1].digests], [2, 3, undefined]);
      assert.equal(await opens(), true);
      assert.equal(await opens(...withShares(shares[2]!, shares[0]!)), true);
      assert.equal(await opens(...withShares(shares[1]!)), false);
      assert.equal(await opens(...nothing()), false);
      await reads();
      const made = await service.call('POST', '/v1/vaults', { name: 'after', description: 'd' });
      assert.equal(made.status, 200, 'the running service goes on');
      const { body } = await service.call('GET', '/v1/audit-logs?action=keyring.slot_added');
      assert.deepEqual(body.data[0].details, { slot: added.slot, provider: 'shamir' });
      assert.equal((await service.call('GET', '/v1/about')).body.root_key_provider, 'key-file, shamir');
      for (const share of shares) assert.equal((await stored()).includes(share.slice(20, 60)), false);
    });

    it('are sealed anew without their providers: a rotation of the keyring needs no share', async () => {
      await command(['root-key', 'add', 'age', '--recipient', identity.recipient]);
      assert.equal((await run(['keyring', 'rotate', ...service.place])).code, 0);
      for (const flags of [[], withShares(...shares.slice(1)), withIdentity()])
        assert.equal(await opens(...flags), true, flags.join(' '));
      await reads();
    });

    it('a drill tries each by itself, opens every vault’s key, and is recorded', async () => {
      const flags = ['--age-identity-file', at('identity')];
      const drill = await command(['root-key', 'drill'], flags);
      assert.deepEqual(
        drill.slots.map((slot: { provider: string; result: string }) => [slot.provider, slot.result]),
        [
          ['key-file', 'opens'],
          ['shamir', 'not configured'],
          ['age', 'opens'],
        ],
      );
      assert.deepEqual(drill.vaults, { opened: 2, damaged: 0 });
      const { body } = await service.call('GET', '/v1/audit-logs?action=keyring.slots_tested');
      assert.deepEqual(
        [body.data[0].details.opened.length, body.data[0].details.vaults],
        [2, { opened: 2, damaged: 0 }],
      );
      writeFileSync(at('shares'), `${shares[0]}\n${shares[1]!.replace(/.$/, 'g')}`);
      const { code, stdout } = await run([
        'root-key',
        'test',
        ...service.place,
        '--share-file',
        at('shares'),
      ]);
      assert.equal(code, 1);
      assert.match(stdout, /shamir +fails: .*sr_share_SLOT_NUMBER/);
    });

    it('another key file is one more, and the slot that opens the data can be replaced', async () => {
      extra = (await command(['root-key', 'add', 'key-file', '--new-root-key-file', at('extra')])).slot;
      assert.equal(await opens('--root-key-file', at('extra')), true);
      const { code, stderr } = await run([
        ...['root-key', 'rotate', ...service.place],
        ...['--new-root-key-file', at('two')],
      ]);
      assert.equal(code, 0, stderr);
      assert.equal(await opens(), false, 'the key file before');
      assert.equal(await opens('--root-key-file', at('two')), true);
      assert.equal(await opens('--root-key-file', at('extra')), true, 'the others remain');
      renameSync(original(), at('one'));
      renameSync(at('two'), original());
    });

    it('one that is removed opens nothing that is stored from then on', async () => {
      const before = await stored();
      await command(['root-key', 'remove', extra]);
      assert.equal(await opens('--root-key-file', at('extra')), false);
      assert.deepEqual(await providers(), ['key-file', 'shamir', 'age']);
      const { body } = await service.call('GET', '/v1/audit-logs?action=keyring.slot_removed');
      assert.deepEqual(body.data[0].details, { slot: extra, provider: 'key-file' });
      // What was stored for it earlier does not fit what is stored now.
      const old = (parse(before) as SlottedForm).slots.find(({ id }) => id === extra)!;
      const now = parse(await stored()) as SlottedForm;
      await withStored({ ...now, slots: [...now.slots, old] }, async () => {
        assert.equal(await opens('--root-key-file', at('extra')), false);
        assert.deepEqual(await providers(), ['key-file', 'shamir', 'age'], 'and is not listed');
      });
    });

    it('one that was written into the database is not believed, and neither is another keyring', async () => {
      const now = parse(await stored()) as SlottedForm;
      const [first, shamir] = [now.slots[0]!, now.slots[1]!];
      const foreign: [what: string, slots: typeof now.slots][] = [
        ['a copy under another id', [{ ...first, id: 'ffffffff' }, shamir]],
        ['another public key', [{ ...first, recipient: shamir.recipient }, shamir]],
        ['another key of the keyring', [{ ...first, key: shamir.key }, shamir]],
      ];
      for (const [what, slots] of foreign)
        await withStored({ ...now, slots }, async () => assert.equal(await opens(), false, what));
      await withStored({ ...now, slots: [...now.slots, { ...shamir, id: 'ffffffff' }] }, async () =>
        assert.deepEqual(await providers(), ['key-file', 'shamir', 'age']),
      );
    });

    it('killed at any moment, an addition or a removal leaves slots that open', async () => {
      for (let kills = 0; kills < 4; kills++) {
        const added = await slotsOf(async ({ list }) => (await list()).slots.length > 3);
        const last = added ? (await slotsOf(({ list }) => list())).slots.at(-1)!.id : null;
        const args = last === null ? ['root-key', 'add', 'shamir'] : ['root-key', 'remove', last];
        const killed = start([...args, ...service.place]);
        await sleep(200 + Math.random() * 250);
        killed.child.kill('SIGKILL');
        await killed.ended;
        for (const flags of [[], withShares(...shares.slice(1)), withIdentity()])
          assert.equal(await opens(...flags), true);
      }
      await reads();
    });

    it('are at most sixteen, and changes at the same time lose none', async () => {
      const adding = [1, 2].map(() =>
        slotsOf(({ add }, by) =>
          add(by, async () => ({ root: ageRecipients([identity.recipient]), settings: {} })),
        ),
      );
      const both = (await Promise.all(adding)).map(({ id }) => id);
      const { slots } = await slotsOf(({ list }) => list());
      assert.deepEqual(
        both.filter(id => slots.some(slot => slot.id === id)),
        both,
      );
      const root = ageRecipients([identity.recipient]);
      await slotsOf(async ({ add }, by) => {
        for (let count = slots.length; count < 16; count++)
          await add(by, async () => ({ root, settings: {} }));
        await assert.rejects(
          add(by, async () => ({ root, settings: {} })),
          /at most 16 slots/,
        );
      });
      assert.equal(await opens(...withShares(...shares.slice(1))), true);
    });

    it('the last one that needs no network is removed only by those who say so twice, and the last one never', async () => {
      // A double of a key service: it hides nothing.
      const root: RootKey = {
        provider: 'transit',
        wrap: async (_, plain) => Buffer.from(plain),
        unwrap: async (_, wrapped) => Buffer.from(wrapped),
      };
      await slotsOf(async ({ list, add, remove }, by) => {
        const [first, ...others] = (await list()).slots;
        for (const { id } of others) await remove(by, id, false);
        const far = await add(by, async () => ({ root, settings: {} }));
        await assert.rejects(remove(by, first!.id, false), { message: /repeat its id with --confirm/ });
        await remove(by, far.id, false);
        await assert.rejects(remove(by, first!.id, true), { message: /this is the last slot/ });
        await add(by, async () => ({ root, settings: {} }));
        await remove(by, first!.id, true);
      });
      assert.equal(await opens(), false);
    });

    /** Something done while the database says something else. */
    async function withStored(form: SlottedForm, done: () => Promise<void>): Promise<void> {
      const before = await stored();
      await replaceStored(Buffer.from(JSON.stringify(form)));
      await done().finally(() => replaceStored(before));
    }

    const replaceStored = (value: Uint8Array) =>
      inDatabase(service, "UPDATE meta SET value = ? WHERE key = 'keyring'", value);
  });
}
