/** Backups of a service that is at work, restored on either engine: whatever direction it goes, it is the same vault. */
import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Taken } from '../src/backup/backup.ts';
import type { Totals } from '../src/backup/contents.ts';
import { opened } from '../src/keyring/age/age.ts';
import { numberOf } from '../src/logs/checkpoint-file.ts';
import { parseCheckpoint } from '../src/logs/checkpoints.ts';
import { databaseSource, exportLines } from '../src/logs/source.ts';
import { verifyLogs } from '../src/logs/verify.ts';
import { locationOf } from '../src/service/opening/open-data.ts';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { openSnapshot } from '../src/store/store.ts';
import { configOf, emptyPlace, identity, pair, restoreFrom, take } from './backups.ts';
import { run } from './command.ts';
import { callService, cheapPasswords, type EngineName, engines, eventually } from './harness.ts';
import { oneThread } from './one-thread.ts';
import { dataFolder } from './postgres.ts';
import { intrude, type StoredWorld, startStoredWorld } from './stored-world.ts';

const canary = 'canary-7f3b1c9d-of-a-value';
const sideBySide = 6;

const start = (place: readonly string[]): Promise<Running> =>
  serve(readConfig(serveOptions, [...place, '--port', '0'], {}), {
    report: () => {},
    passwordCosts: cheapPasswords,
    ...oneThread,
  });

const numberIn = (kept: string) => numberOf(parseCheckpoint(readFileSync(kept, 'utf8')));

async function* bytesOf(file: string): AsyncIterable<Uint8Array> {
  yield readFileSync(file);
}

for (const engine of engines) {
  describe(`a backup of ${engine}`, () => {
    let world: StoredWorld;
    let folder: string;
    let file: string;
    let taken: Taken;
    let place: readonly string[];
    let receipt: string;
    let acknowledged: readonly string[];
    const restored = new Map<EngineName, { readonly place: readonly string[]; readonly tables: Totals }>();

    const call = (method: string, path: string, body?: unknown) =>
      callService(world.service.url, method, path, body, world.apiKey);

    /** Secrets are created for as long as something lasts; gives those that were acknowledged before it began. */
    async function underLoad<T>(work: () => Promise<T>): Promise<[names: string[], done: T]> {
      const names: string[] = [];
      let next = 0;
      let over = false;
      const writer = async () => {
        while (!over) {
          const name = `LOAD_${next++}`;
          const { status } = await call('POST', '/v1/secrets', {
            vault_id: world.vaultId,
            name,
            value: canary,
          });
          assert.equal(status, 200);
          names.push(name);
        }
      };
      const writing = Promise.all(Array.from({ length: sideBySide }, writer));
      await eventually('30 vaults were made', async () => names.length >= 30);
      const before = [...names];
      const done = await work().finally(() => {
        over = true;
      });
      await writing;
      assert.ok(names.length > before.length, 'writing went on meanwhile');
      return [before, done];
    }

    before(async () => {
      world = await startStoredWorld(engine);
      place = world.service.place;
      folder = await dataFolder();
      file = join(folder, 'backup.age');
      const headers = { authorization: `Bearer ${world.accessKey}` };
      const read = await fetch(`${world.service.url}/api/v1/vaults/${world.vaultId}`, { headers });
      receipt = read.headers.get('strongroom-receipt')!;
      [acknowledged, taken] = await underLoad(() => take(place, file));
    });
    after(async () => {
      await world.intruder.close();
      await world.stop();
      await rm(folder, { recursive: true, force: true });
      for (const one of restored.values()) await rm(one.place[1]!, { recursive: true, force: true });
    });

    it('is proven before it has its name, and leaves nothing else beside it', () => {
      assert.notEqual(taken.proven_at, null);
      assert.deepEqual(readdirSync(folder), ['backup.age']);
      const { manifest } = taken;
      assert.equal(manifest.engine, engine);
      assert.equal(manifest.organizations, 2);
      assert.ok(manifest.rows.audit_logs! > 30);
      assert.ok(manifest.heads.length > 0 && manifest.checkpoint !== null);
    });

    it('shows no value, no key and no name, and has neither value nor root key inside', async () => {
      const bytes = readFileSync(file);
      const [{ value: keyring }] = (await world.intruder.sql(
        `SELECT value FROM meta WHERE key = 'keyring'`,
      )) as [{ value: Uint8Array }];
      const [{ vault_key: wrapped }] = (await world.intruder.sql(
        `SELECT vault_key FROM resources WHERE type = 'vault'`,
      )) as [{ vault_key: Uint8Array }];
      const rootKey = readFileSync(join(world.service.data, 'root.key'), 'latin1').split(':')[1]!.trim();
      for (const secret of [Buffer.from(canary), keyring, wrapped, Buffer.from('owner@example.org')]) {
        const forms = [
          Buffer.from(secret),
          ...['base64', 'hex'].map(how => Buffer.from(Buffer.from(secret).toString(how as 'hex'))),
        ];
        for (const form of forms) assert.equal(bytes.indexOf(form), -1);
      }
      const parts: Buffer[] = [];
      for await (const part of opened(bytesOf(file), identity)) parts.push(part);
      const plain = Buffer.concat(parts).toString('latin1');
      assert.ok(plain.includes('owner@example.org'));
      for (const secret of [canary, Buffer.from(canary).toString('base64'), rootKey])
        assert.ok(!plain.includes(secret));
    });

    for (const target of engines) {
      it(`is the same vault on ${target}`, async () => {
        const to = await emptyPlace(target, world.service.data);
        const { tables, proof } = await restoreFrom(file, to);
        restored.set(target, { place: to, tables });
        assert.equal(proof!.report.ok, true);
        const snapshot = await openSnapshot(locationOf(configOf(to), false));
        try {
          const publicKey = proof!.keyring.logPublicKey;
          const report = await verifyLogs(databaseSource(snapshot), { publicKey, receipts: [receipt] });
          assert.deepEqual(report.findings, []);
        } finally {
          await snapshot.close();
        }
      });

      it(`is the same backup again when taken from ${target}`, async () => {
        const { place: from, tables } = restored.get(target)!;
        const again = join(folder, `again-${target}.age`);
        await take(from, again);
        const back = await emptyPlace(engine, world.service.data);
        const { tables: second } = await restoreFrom(again, back);
        assert.deepEqual(second, tables);
        await rm(back[1]!, { recursive: true, force: true });
      });

      it(`is served on ${target}: every write acknowledged before is there, and its logs go on`, async () => {
        const service = await start(restored.get(target)!.place);
        try {
          const path = `/api/v1/vaults/${world.vaultId}`;
          const read = await callService(service.url, 'GET', path, undefined, world.accessKey);
          assert.equal(read.status, 200, read.text);
          assert.ok(read.text.includes('w-one'));
          const names = await secretNames(service.url);
          assert.deepEqual(
            acknowledged.filter(name => !names.has(name)),
            [],
          );
          const made = { vault_id: world.vaultId, name: 'AFTER', value: 'after' };
          const { status } = await callService(service.url, 'POST', '/v1/secrets', made, world.apiKey);
          assert.equal(status, 200);
          await eventually('the restored log is verified', async () => {
            const path = '/v1/audit-logs/verification';
            const { body } = await callService(service.url, 'GET', path, undefined, world.apiKey);
            return body.ok === true;
          });
        } finally {
          await service.stop();
        }
      });
    }

    async function secretNames(url: string): Promise<Set<string>> {
      const names = new Set<string>();
      for (let page = 1; ; page++) {
        const path = `/v1/secrets?vault_id=${world.vaultId}&limit=100&page=${page}`;
        const { body } = await callService(url, 'GET', path, undefined, world.apiKey);
        for (const { name } of body.data) names.add(name);
        if (body.data.length < 100) return names;
      }
    }

    it('is refused by a place that is not empty, which stays as it is', async () => {
      const { place: taken } = restored.get(engine)!;
      await assert.rejects(restoreFrom(file, taken), /a database already exists|the database is not empty/);
      assert.deepEqual(
        readdirSync(taken[1]!).filter(name => name.startsWith('.strongroom-')),
        [],
      );
    });

    it('brings back what was revoked since, and revokes it again with one answer', async () => {
      const key = await call('POST', '/v1/access-keys', { vault_id: world.vaultId, name: 'doomed' });
      const later = join(folder, 'later.age');
      // Webhooks remember where they began, also once the events are gone.
      for (const table of ['deliveries', 'events']) await world.intruder.sql(`DELETE FROM ${table}`);
      const { manifest } = await take(place, later);
      const { status } = await call('DELETE', `/v1/access-keys/${key.body.id}`);
      assert.equal(status, 200);
      const { body } = await call('GET', '/v1/members?q=one@example.org');
      assert.equal((await call('DELETE', `/v1/members/${body.data[0].id}`)).status, 200);
      const log = join(folder, 'later.jsonl');
      const snapshot = await openSnapshot(locationOf(configOf(place), false));
      const lines: string[] = [];
      for await (const line of exportLines(databaseSource(snapshot), {})) lines.push(line);
      await snapshot.close();
      writeFileSync(log, lines.join(''));
      const keyFile = join(folder, 'key');
      writeFileSync(keyFile, `# a comment\n${pair.identity}\n`);
      const to = await emptyPlace('sqlite', world.service.data);
      const kept = join(world.service.data, 'checkpoint.json');
      await eventually(
        'a checkpoint after the backup is kept',
        async () => numberIn(kept) > manifest.checkpoint!.number,
      );
      copyFileSync(kept, join(to[1]!, 'checkpoint.json'));
      chmodSync(join(to[1]!, 'checkpoint.json'), 0o600);
      const flags = ['--backup-key-file', keyFile, '--newer-log', log, '--revoke-again', '--json'];
      const { code, stdout, stderr } = await run(['restore', later, ...to, ...flags]);
      assert.equal(code, 0, stderr);
      const report = JSON.parse(stdout);
      assert.deepEqual(report.revoked_since.map(({ action }: { action: string }) => action).sort(), [
        'access-key.revoked',
        'member.removed',
      ]);
      assert.equal(report.revoked_again, 2);
      await assert.rejects(start(to), new RegExp(`--accept-restore ${report.accept_restore},`));
      const service = await start([...to, '--accept-restore', String(report.accept_restore)]);
      const path = `/api/v1/vaults/${world.vaultId}`;
      const read = await callService(service.url, 'GET', path, undefined, key.body.token);
      const listed = '/v1/audit-logs?action=backup.restored';
      const told = await callService(service.url, 'GET', listed, undefined, world.apiKey);
      const made = { vault_id: world.vaultId, name: 'LATER', value: 'x' };
      await callService(service.url, 'POST', '/v1/secrets', made, world.apiKey);
      const found = await intrude({ data: to[1]!, databaseUrl: null });
      const [places] = (await found.sql(`SELECT (SELECT max(begins_after) FROM webhook_queues) AS began,
        (SELECT min(position) FROM events) AS next`)) as [{ began: number; next: number }];
      await found.close();
      await service.stop();
      assert.equal(read.status, 401);
      assert.equal(told.body.data.length, 1);
      assert.ok(places.began > 0 && places.next > places.began, JSON.stringify(places));
      await rm(to[1]!, { recursive: true, force: true });
    });

    it('believes no newer log that was edited, or is another’s', async () => {
      const to = await emptyPlace('sqlite', world.service.data);
      const edited = join(folder, 'edited.jsonl');
      const text = readFileSync(join(folder, 'later.jsonl'), 'utf8');
      writeFileSync(edited, text.replace('member.removed', 'member.invited'));
      const flags = ['--backup-key-file', join(folder, 'key'), '--newer-log', edited];
      const { code, stderr } = await run(['restore', join(folder, 'later.age'), ...to, ...flags]);
      assert.equal(code, 1);
      assert.match(stderr, /^strongroom: the newer log is not intact: edited: .*\n$/);
      assert.equal(existsSync(join(to[1]!, 'strongroom.db')), false);
      await rm(to[1]!, { recursive: true, force: true });
    });
  });
}
