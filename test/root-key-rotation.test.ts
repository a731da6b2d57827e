import assert from 'node:assert/strict';
import { copyFileSync, existsSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RootKeyError } from '../src/keyring/root-key/root-key.ts';
import { type Result, run, start } from './command.ts';
import { beside, engines, type Service, startService } from './harness.ts';
import { dataFolder } from './postgres.ts';
import { storedBytes } from './storage.ts';

const failsWith = ({ code, stderr }: Result, expected: number, what: RegExp) => {
  assert.equal(code, expected, stderr);
  assert.match(stderr, what);
};

for (const engine of engines) {
  describe(`rotation of the root key on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let keys: string;
    const inKeys = (name: string) => join(keys, name);
    const file = (name: string) => ['--root-key-file', inKeys(name)];
    const change = (...flags: string[]) => run(['root-key', 'rotate', ...service.place, ...flags]);
    /** Whether a command with these flags would open the data, tried in this process. */
    const opens = (...flags: string[]) =>
      beside({ place: [...service.place, ...flags] }, async () => true).catch(error => {
        assert.ok(error instanceof RootKeyError, error);
        return false;
      });
    const stored = async () =>
      (await storedBytes(service, "SELECT value FROM meta WHERE key = 'keyring'"))[0]!.toString();
    const reads = async () => {
      const { body } = await service.call('GET', `/v1/vaults/${vaultId}`);
      assert.equal(body.description, 'd');
    };

    before(async () => {
      keys = await dataFolder();
      service = await startService({ engine });
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'v', description: 'd' })).body.id;
    });
    after(async () => {
      await service.stop();
      await rm(keys, { recursive: true, force: true });
    });

    it('from a key file to a new one, which is made 0400: from then on it alone opens the data', async () => {
      const { code, stdout, stderr } = await change('--new-root-key-file', inKeys('two'));
      assert.equal(code, 0, stderr);
      assert.ok(stdout.includes(inKeys('two')));
      assert.equal(statSync(inKeys('two')).mode & 0o777, 0o400);
      assert.deepEqual([await opens(), await opens(...file('two'))], [false, true]);
      failsWith(
        await run(['keyring', 'status', ...service.place]),
        1,
        /is not the one that protects this data/,
      );
      await reads();
      const made = await service.call('POST', '/v1/vaults', { name: 'after', description: 'd' });
      assert.equal(made.status, 200, 'the running service goes on');
      const { body } = await service.call('GET', '/v1/audit-logs?action=keyring.root_key_changed');
      assert.deepEqual(body.data[0].details, { provider: 'key-file' });
    });

    it('a service whose key file was replaced by the new one learns of later terms without a restart', async () => {
      copyFileSync(inKeys('two'), inKeys('moved'));
      renameSync(inKeys('moved'), join(service.data, 'root.key'));
      const { code, stderr } = await run(['keyring', 'rotate', ...service.place]);
      assert.equal(code, 0, stderr);
      await reads();
      assert.equal((await service.call('GET', '/v1/about')).body.keyring_term, 2);
    });

    it('from a key file to a passphrase and back; a service that lacks it says so, and nothing is lost', async () => {
      writeFileSync(inKeys('words'), 'correct horse battery\n', { mode: 0o400 });
      const words = ['--passphrase-file', inKeys('words')];
      assert.equal((await change('--new-passphrase-file', inKeys('words'))).code, 0);
      assert.deepEqual([await opens(), await opens(...words)], [false, true]);
      await reads();
      assert.equal((await service.call('GET', '/v1/about')).body.root_key_provider, 'passphrase');
      assert.equal((await run(['keyring', 'rotate', ...service.place, ...words])).code, 0);
      assert.equal((await service.call('GET', `/v1/vaults/${vaultId}`)).status, 503);
      assert.ok(service.reports.some(line => /protected by a passphrase/.test(line)));
      assert.equal((await change(...words, '--new-root-key-file', inKeys('three'))).code, 0);
      await service.restart(file('three'));
      await reads();
    });

    it('killed at any moment, either the old key opens the data or the new one does', async () => {
      let current = 'three';
      for (let kills = 0; kills < 4; kills++) {
        const next = `next-${kills}`;
        const flags = [...service.place, ...file(current), '--new-root-key-file', inKeys(next)];
        const command = start(['root-key', 'rotate', ...flags]);
        await sleep(200 + Math.random() * 250);
        command.child.kill('SIGKILL');
        await command.ended;
        const [old, fresh] = [
          await opens(...file(current)),
          existsSync(inKeys(next)) && (await opens(...file(next))),
        ];
        assert.equal(old !== fresh, true, `old ${old}, new ${fresh}`);
        if (fresh) current = next;
      }
      await service.restart(file(current));
      await reads();
      copyFileSync(inKeys(current), inKeys('last'));
    });

    it('a wrong old key, none or two new ones, a short passphrase, or the same key change nothing', async () => {
      const before = await stored();
      const last = file('last');
      copyFileSync(inKeys('last'), inKeys('copy'));
      writeFileSync(inKeys('short'), 'short\n', { mode: 0o400 });
      failsWith(await change('--new-root-key-file', inKeys('x')), 1, /is not the one that protects/);
      failsWith(await change(...last), 2, /exactly one of/);
      const two = ['--new-root-key-file', inKeys('x'), '--new-passphrase-file', inKeys('short')];
      failsWith(await change(...last, ...two), 2, /exactly one of/);
      failsWith(await change(...last, '--new-passphrase-file', inKeys('short')), 1, /too short/);
      failsWith(await change(...last, '--new-passphrase-prompt'), 1, /a terminal is required/);
      failsWith(await change(...last, '--new-root-key-file', inKeys('copy')), 1, /already in use/);
      assert.equal(existsSync(inKeys('x')), false);
      assert.equal(await stored(), before);
    });
  });
}
