/**
 * Every step of a rotation is interrupted: at each unit that the service stores, before or after it reached the
 * database, and at each call to another service. Whatever happens, the stored value works, and another process finishes
 * what was begun. The places are counted, not listed: a new step joins by itself.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { trustedCaller } from '../src/access/caller.ts';
import { openStrongroom, type Strongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { onBothEngines } from './at-once.ts';
import { type EngineName, loopbackWebhooks, makeOrganization } from './harness.ts';
import { databaseWithTables, dataFolder } from './postgres.ts';
import { startKeyService } from './rotations-world.ts';

type When = 'before' | 'after';

/** What a process that was killed would have done next, is not done: everything that it stores from then on fails. */
class Killed extends Error {}

onBothEngines('rotations that are interrupted', (engine: EngineName) => {
  let keys: Awaited<ReturnType<typeof startKeyService>>;
  let place: readonly string[];
  let organizationId: string;
  let time = Date.now();
  const open: Strongroom[] = [];

  /** A process of its own, which can be killed at its next unit with a number. */
  async function process() {
    const config = readConfig(serveOptions, [...place, ...loopbackWebhooks], {});
    const strongroom = await openStrongroom(config, false, () => time);
    open.push(strongroom);
    return strongroom;
  }

  before(async () => {
    keys = await startKeyService();
    const databaseUrl = engine === 'postgres' ? ['--database-url', await databaseWithTables()] : [];
    place = ['--data', await dataFolder(), ...databaseUrl];
    ({ organizationId } = await makeOrganization(place, 'Test', 'enterprise', 0));
  });
  after(async () => {
    for (const one of open) await one.close();
    await keys.close();
  });

  it('leave the value that works, and are finished by another process', async () => {
    const first = await process();
    const { domain, newId } = first;
    const owner = trustedCaller('operator', 'operator', 'operator', organizationId, newId());
    const vault = await domain.vaults.create(await domain.guard.admit(owner, 'vaults:write'), { name: 'v' });
    const writing = await domain.guard.admit(owner, 'secrets:write');
    const secret = await domain.secrets.create(writing, {
      vault_id: vault.id,
      name: 'KEY',
      value: keys.add().key,
    });
    const rule = await domain.useRules.create(await domain.guard.admit(owner, 'use-rules:write'), {
      secret_id: secret.id,
      name: 'keys',
      hosts: [keys.host],
      methods: ['GET', 'POST', 'DELETE'],
      paths: ['/keys', '/keys/*', '/me'],
      place: { type: 'bearer' },
    });
    await domain.secrets.update(writing, secret.id, {
      rotation: {
        every: '1d',
        overlap: '1h',
        by: {
          kind: 'http',
          create: { rule: rule.id, url: `${keys.host}/keys`, value: '/key', id: '/id' },
          try: { rule: rule.id, method: 'GET', url: `${keys.host}/me` },
          delete: { rule: rule.id, method: 'DELETE', url: `${keys.host}/keys/{id}` },
        },
      },
    });
    const value = async (of: Strongroom) =>
      (
        await of.domain.secrets.reveal(
          await of.domain.guard.admit(owner, 'secrets:reveal'),
          secret.id,
          undefined,
        )
      ).value;
    const states = async () =>
      (
        await domain.rotations.history(await domain.guard.admit(owner, 'secrets:read'), secret.id, {
          page: 1,
          limit: 5,
        })
      ).data.map(({ state }) => state);
    const works = async (what: string) => {
      const now = await value(first);
      assert.ok([...keys.keys.values()].includes(now), `${what}: the value works`);
    };
    /** As long as a process is alive, it does what is due; time passes until nothing is left. */
    async function finish(by: Strongroom, what: string): Promise<void> {
      for (let turn = 0; turn < 12; turn++) {
        await by.domain.rotationKeeper.step(error => assert.fail(`${what}: ${error}`));
        await by.domain.rotationKeeper.idle();
        await works(what);
        const [newest] = await states();
        if (newest === 'done') return;
        time += 3_601_000;
      }
      assert.fail(`${what}: ${await states()}`);
    }
    const release = (by: Strongroom) => by.store.rotations.queues.abandon();

    // An embedded database has one process at a time.
    const other = engine === 'postgres' ? await process() : first;
    let version = 1;
    for (let at = 1, isCut = true; isCut; at++) {
      for (const when of ['before', 'after'] as When[]) {
        const what = `${when} unit ${at}`;
        time += 25 * 3_600_000;
        const killed = other;
        isCut = false;
        let units = 0;
        const { commit } = killed.store;
        Object.assign(killed.store, {
          commit: async (...given: Parameters<typeof commit>) => {
            units += 1;
            if (units < at) return commit(...given);
            isCut = true;
            if (units === at && when === 'after') await commit(...given);
            throw new Killed();
          },
        });
        await killed.domain.rotationKeeper.step(() => {});
        await killed.domain.rotationKeeper.idle();
        Object.assign(killed.store, { commit });
        await works(what);
        // Its claim ends, as the database's clock would end it.
        await release(first);
        await finish(first, what);
        const now = await domain.secrets.get(await domain.guard.admit(owner, 'secrets:read'), secret.id);
        assert.ok(now.version > version, `${what}: it was rotated`);
        version = now.version;
        if (!isCut) break;
      }
      assert.ok(at < 60);
    }
    assert.ok(version >= 8, `${version} versions`);
  });
});
