/** Retention of the audit log: old entries leave the database for archives, and all of the log can still be proven. */
import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseCheckpoint } from '../src/logs/checkpoints.ts';
import { databaseSource } from '../src/logs/source.ts';
import { type VerifyReport, verifyLogs } from '../src/logs/verify.ts';
import { openStrongroom } from '../src/service/opening/open.ts';
import { openLogs } from '../src/service/opening/open-data.ts';
import { placeOptions, serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { run } from './command.ts';
import { engines, type Service, startService, timePassing } from './harness.ts';
import { inDatabase } from './storage.ts';

const day = 86_400_000;

for (const engine of engines) {
  describe(`archives of the audit log on ${engine}`, () => {
    /** What the command does is tried on both; the command itself is the same. */
    const onlyOnSqlite = { skip: engine !== 'sqlite' };
    let service: Service;
    let folder: string;
    let vault: { id: string };
    let token: string;
    let receipt: string;

    before(async () => {
      service = await startService({ engine });
      folder = join(service.data, 'audit-archive');
      vault = (await service.call('POST', '/v1/vaults', { name: 'v' })).body;
      token = (await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'k' })).body.token;
      const secret = await service.call('POST', '/v1/secrets', {
        vault_id: vault.id,
        name: 'A',
        value: 'one',
      });
      await service.call('PUT', `/v1/secrets/${secret.body.id}`, { value: 'two' });
      await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'soon gone' });
      const gone = await service.call('POST', '/v1/secrets', { vault_id: vault.id, name: 'B', value: 'x' });
      await service.call('DELETE', `/v1/secrets/${gone.body.id}?purge=true`);
      await read();
      receipt = (await audits()).data[0].receipt;
    });
    after(() => service.stop());

    const read = async () => {
      const answer = await service.call('GET', `/api/v1/vaults/${vault.id}`, undefined, token);
      return answer.body.secrets?.map(({ value }: { value: string }) => value);
    };
    const audits = async () => (await service.call('GET', '/v1/audit-logs')).body;

    /** As the service does it once a minute, until nothing is left to do. */
    async function archive(
      days: number,
      meanwhile: () => Promise<unknown> = async () => {},
      beforehand: () => Promise<unknown> = async () => {},
    ): Promise<void> {
      // A command beside a service signs nothing while blocks are unfiled; whoever reads the log has them filed.
      await service.call('GET', '/v1/request-logs');
      const config = readConfig(serveOptions, service.place, {});
      const strongroom = await openStrongroom(config, false, service.clock.now, { elapsed: timePassing() });
      try {
        const { logs } = strongroom.store;
        const { living } = logs;
        logs.living = async ids => {
          await beforehand();
          const found = await living(ids);
          await meanwhile();
          return found;
        };
        while (await strongroom.domain.retention.archive({ aged: strongroom.aged, days }, folder));
      } finally {
        await strongroom.close();
      }
    }

    /** With the public key, the kept checkpoint and the rows, but without the keyring. */
    async function verify(
      archives: string | undefined = folder,
      receipts: string[] = [],
    ): Promise<VerifyReport> {
      const logs = await openLogs(readConfig(placeOptions, service.place, {}));
      try {
        return await verifyLogs(databaseSource(logs), {
          publicKey: await readFile(join(service.data, 'log-public-key.pem'), 'utf8'),
          kept: parseCheckpoint(await readFile(join(service.data, 'checkpoint.json'), 'utf8')),
          archives,
          receipts,
          now: service.clock.now,
        });
      } finally {
        await logs.close();
      }
    }

    const archivedIds = async (): Promise<string[]> =>
      readdirSync(folder).flatMap(name => {
        const lines = readFileSync(join(folder, name), 'utf8').trimEnd().split('\n');
        return lines.slice(1, -1).map(line => JSON.parse(line).id as string);
      });

    it('nothing leaves before its time, and nothing at all where none is set', async () => {
      const { total } = (await audits()).pagination;
      await archive(0);
      await archive(365);
      service.clock.pass(365 * day);
      await archive(366);
      assert.equal((await audits()).pagination.total, total);
      assert.throws(() => readdirSync(folder), /ENOENT/);
    });

    it('an entry that somebody changed stops it, and nothing is removed', async () => {
      service.clock.pass(2 * day);
      const alter = (from: string, to: string) =>
        inDatabase(service, `UPDATE audit_logs SET entry = replace(entry, '${from}', '${to}')`);
      const { total } = (await audits()).pagination;
      await alter('secret.created', 'secret.invented');
      await assert.rejects(archive(365), /nothing is archived: the audit entry \d+ of writer/);
      await alter('secret.invented', 'secret.created');
      assert.equal((await audits()).pagination.total, total);
    });

    it('a row that is removed at that moment is not vouched for: nothing is archived, and no file is left', async () => {
      const { total } = (await audits()).pagination;
      const removed = inDatabase.bind(null, service, "DELETE FROM credentials WHERE name = 'soon gone'");
      await archive(365, removed);
      assert.equal((await audits()).pagination.total, total);
      assert.deepEqual(readdirSync(folder), []);
    });

    it('old entries are in a file that only its owner reads, and no longer in the database', async () => {
      await service.prune(90); // An entry about the request log, which will be archived in its turn.
      const fresh = await service.call('POST', '/v1/vaults', { name: 'fresh' });
      assert.equal(fresh.status, 200);
      await archive(365);
      const [file = '', ...more] = readdirSync(folder);
      assert.deepEqual(more, []);
      assert.match(file, /^audit-000001-[0-9a-f]{8}\.jsonl$/);
      const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
      const actions = lines.slice(1, -1).map(line => JSON.parse(JSON.parse(line).text).action);
      assert.ok(
        actions.includes('secret.created') && actions.includes('access-key.created'),
        String(actions),
      );
      const left = await audits();
      assert.deepEqual(
        left.data.map(({ action }: { action: string }) => action),
        ['vault.created'],
      );
      assert.equal(left.pagination.total, 1);
      assert.equal(left.data[0].verified, true, 'although the entry before it is archived');
    });

    it('what they proved still holds: rows are read, changed, and found if they are put back', async () => {
      await service.restart();
      assert.deepEqual(await read(), ['two']);
      assert.equal((await service.call('GET', '/v1/secrets')).body.data.length, 1);
      const report = await verify();
      assert.deepEqual(report.findings, []);
      assert.ok(report.ok && report.archived?.number === 1 && report.archived.entries! > 5);
      await inDatabase(service, "UPDATE resources SET revision = revision - 1 WHERE name = 'A'");
      assert.deepEqual(await verify().then(({ findings }) => findings.map(({ what }) => what)), [
        'rolled-back',
      ]);
      await inDatabase(service, "UPDATE resources SET revision = revision + 1 WHERE name = 'A'");
    });

    it('archives follow each other, and what the first one told is not lost when its entry is archived too', async () => {
      service.clock.pass(400 * day);
      await archive(365);
      await service.restart();
      assert.deepEqual(await read(), ['two']);
      assert.equal(readdirSync(folder).length, 2);
      const report = await verify(folder, [receipt]);
      assert.deepEqual(report.findings, [], 'the receipt is found in the archive');
      assert.equal(report.archived?.number, 2);
      const alone = await verify('', []).catch(() => null);
      assert.notEqual(alone?.ok, true);
    });

    it(
      'strongroom audit verify proves archives and database together, or the database alone',
      onlyOnSqlite,
      async () => {
        const checkpoint = ['--checkpoint', join(service.data, 'checkpoint.json')];
        const flags = ['audit', 'verify', ...service.place, ...checkpoint];
        const both = await run(flags);
        // Its clock is the machine's own, and the entries are from later years: they are covered by checkpoints.
        assert.equal(both.code, 0, both.stdout + both.stderr);
        assert.match(both.stdout, /2 archives with \d+ audit entries/);
        const one = await run([...flags, '--without-archives']);
        assert.equal(one.code, 0, one.stdout);
        assert.match(one.stdout, /2 archives not verified/);
      },
    );

    it('replicas that archive at the same time leave one archive, with no gap before it and nothing twice', async () => {
      await read(); // Its entry is not filed yet.
      service.clock.pass(400 * day);
      const fresh = await service.call('POST', '/v1/vaults', { name: 'at the same time' });
      assert.equal(fresh.status, 200);
      const before = await archivedIds();
      const due = before.length + (await verify()).entries.audit - 1; // The newest entry stays.
      const { promise: bothAreThere, resolve } = Promise.withResolvers<void>();
      let arrived = 0;
      // Each has its file by then, and has not removed anything yet.
      const meet = async () => {
        if (++arrived === 2) resolve();
        await bothAreThere;
      };
      await Promise.all([archive(365, meet), archive(365, meet)]);
      assert.equal(arrived, 2);
      assert.equal(readdirSync(folder).length, 3);
      const ids = await archivedIds();
      assert.deepEqual([ids.length, new Set(ids).size], [due, due]);
      const report = await verify();
      assert.deepEqual(report.findings, []);
      assert.equal(report.archived?.number, 3);
    });

    it('which revision is carried on is what the entries said that were checked, whatever the database says then', async () => {
      const { body: key } = await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'r' });
      const keyRead = () => service.call('GET', `/api/v1/vaults/${vault.id}`, undefined, key.token);
      assert.equal((await keyRead()).status, 200);
      const earlier = `CREATE TABLE earlier AS SELECT * FROM credentials WHERE id = '${key.id}'`;
      await inDatabase(service, earlier);
      assert.equal((await service.call('DELETE', `/v1/access-keys/${key.id}`)).status, 200);
      await inDatabase(service, earlier.replace('earlier', 'newest'));
      await service.call('POST', '/v1/vaults', { name: 'behind it' });
      service.clock.pass(400 * day);
      const others = crypto.randomUUID();
      const hidden = `entry = replace(entry, '"id":"${key.id}"', '"id":"${others}"')`;
      // Between what is checked and what is carried on, the entry of the revocation is about something else.
      await archive(365, undefined, () =>
        inDatabase(
          service,
          `UPDATE audit_logs SET ${hidden} WHERE subject_id = '${key.id}' AND subject_revision = 2`,
        ),
      );
      const putBack = (from: string) =>
        inDatabase(
          service,
          `UPDATE credentials SET revision = t.revision, revoked_at = t.revoked_at, updated_at = t.updated_at,
            stamp = t.stamp FROM ${from} t WHERE credentials.id = t.id`,
        );
      await service.restartAfter(async () => {
        await putBack('earlier');
        await inDatabase(service, "DELETE FROM meta WHERE key = 'audited_revisions'");
      });
      assert.equal((await keyRead()).status, 500);
      assert.ok((await verify(undefined)).findings.some(({ what }) => what === 'rolled-back'));
      await putBack('newest');
      await inDatabase(service, 'DROP TABLE earlier');
      await inDatabase(service, 'DROP TABLE newest');
      await service.restart();
      assert.deepEqual((await verify()).findings, []);
    });

    it('a missing, changed or reordered archive is found', async () => {
      const [first = '', second = ''] = readdirSync(folder).map(name => join(folder, name));
      const found = async () => (await verify()).findings.map(({ what, where }) => `${what}: ${where}`);
      renameSync(first, `${first}.away`);
      assert.match(String(await found()), /^missing: archive 1 \(audit-000001-.*\)$/);
      renameSync(second, first);
      assert.match(String(await found()), /^missing: archive 2 \(audit-000002-.*\), so archives 1 to 1/);
      renameSync(`${first}.away`, second); // Each has the other's name.
      assert.match(String(await found()), /^edited: archive 2 /);
      renameSync(second, `${first}.away`);
      renameSync(first, second);
      renameSync(`${first}.away`, first);
      assert.deepEqual(await found(), []);
      const text = readFileSync(first, 'utf8');
      chmodSync(first, 0o600);
      writeFileSync(first, text.replace('secret.created', 'secret.updated'));
      assert.match(String(await found()), /^edited: archive 1 /);
      writeFileSync(first, text.replace('{"seal":', '{ "seal":'));
      assert.match(String(await found()), /^edited: archive 1 /, 'not a byte is another');
      const lines = text.split('\n');
      writeFileSync(first, [lines[0], lines[2], lines[1], ...lines.slice(3)].join('\n'));
      assert.match(String(await found()), /^edited: archive 1 /);
      writeFileSync(first, text);
      assert.deepEqual(await found(), []);
    });
  });
}
