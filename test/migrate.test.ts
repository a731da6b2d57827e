/** Upgrades: a migration can be tried before it is made, and what runs goes on while a later one comes beneath it. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { Kysely } from 'kysely';
import { migrateAs, migrateOptions } from '../src/cli/service/migrate.ts';
import { databaseSource } from '../src/logs/source.ts';
import { verifyLogs } from '../src/logs/verify.ts';
import { locationOf } from '../src/service/opening/open-data.ts';
import { placeOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { migrate as migrateTables, migrationsDone, steps } from '../src/store/migrations/migrations.ts';
import { adapt, TransactionalDdlDialect } from '../src/store/sqlite/sqlite.ts';
import { openSnapshot, openTrial } from '../src/store/store.ts';
import { run } from './command.ts';
import { beside, engines, type Service, startService } from './harness.ts';
import { copyOf, releases } from './kept-databases.ts';
import { inDatabase } from './storage.ts';

for (const release of releases) {
  for (const engine of engines) {
    describe(`strongroom migrate over the ${engine} database that ${release} left behind`, () => {
      let copy: Awaited<ReturnType<typeof copyOf>>;
      before(async () => {
        copy = await copyOf(release, engine);
      });
      after(() => rm(copy.data, { recursive: true, force: true }));
      const location = () => locationOf(readConfig(placeOptions, copy.place, {}), false);
      const stepsLeft = async () => {
        const snapshot = await openSnapshot(location());
        return snapshot.diagnostics.stepsLeft().finally(() => snapshot.close());
      };

      it('a trial shows it as this version would have it, intact, and leaves it as it is', async () => {
        const left = await stepsLeft();
        const isThisVersion = left.length === 0;
        if (!isThisVersion) assert.deepEqual(left, Object.keys(steps).slice(-left.length));
        const digest = () =>
          engine === 'sqlite'
            ? createHash('sha256')
                .update(readFileSync(join(copy.data, 'strongroom.db')))
                .digest('hex')
            : '';
        const before = digest();
        const trial = await openTrial(location(), copy.data);
        assert.deepEqual(await trial.diagnostics.stepsLeft(), []);
        const publicKey = readFileSync(join(copy.data, 'log-public-key.pem'), 'utf8');
        const { findings, entries } = await verifyLogs(databaseSource(trial), { publicKey });
        assert.deepEqual(findings, []);
        assert.ok(entries.audit > 10);
        await trial.close();
        assert.deepEqual(await stepsLeft(), left);
        assert.equal(digest(), before);
        await rm(join(copy.data, 'trial.db'), { force: true });
      });

      it('the command says what it would do, and leaves nothing behind', async () => {
        const files = readdirSync(copy.data).sort();
        const left = await stepsLeft();
        const { steps, migrated, verified } = await migrate(copy.place, '--dry-run');
        assert.deepEqual([steps, migrated], [left, false]);
        assert.ok(verified!.audit > 10);
        const strange = readdirSync(copy.data).filter(
          name => !files.includes(name) && !/-(shm|wal)$/.test(name),
        );
        assert.deepEqual(strange, []);
      });

      it('without --dry-run it is done, once', async () => {
        const left = await stepsLeft();
        assert.deepEqual((await migrate(copy.place)).steps, left);
        assert.deepEqual(await stepsLeft(), []);
        assert.equal((await migrate(copy.place)).migrated, false);
      });
    });
  }
}

/** As the command does it. */
const migrate = (place: readonly string[], ...flags: string[]) =>
  migrateAs(readConfig(migrateOptions, [...place, ...flags], {}));

/** As if much had been removed: some sixteen megabytes. */
function fillAndFree(database: DatabaseSync): void {
  database.exec(`CREATE TABLE theirs (t text);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
    INSERT INTO theirs SELECT hex(randomblob(2000)) FROM n;
    DROP TABLE theirs`);
}

describe('strongroom migrate', () => {
  let service: Service;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  it('on a full disk says that, and changes nothing', async () => {
    const database = new DatabaseSync(':memory:');
    const db = new Kysely<never>({ dialect: new TransactionalDdlDialect({ database: adapt(database) }) });
    await migrateTables(db, 'sqlite', { upTo: '009-identities' });
    const pages = () => Number(database.prepare('PRAGMA page_count').get()!.page_count);
    database.exec(`PRAGMA max_page_count = ${pages()}`);
    await assert.rejects(
      migrateTables(db, 'sqlite'),
      /it failed at 0\d\d-\S+: the disk is full\. Nothing was changed$/,
    );
    assert.equal((await migrationsDone(db)).at(-1), '009-identities');
    await db.destroy();
  });

  it('refuses a database that is being served, in one line; a trial runs beside it', async () => {
    const { code, stderr } = await run(['migrate', ...service.place]);
    assert.equal(code, 1);
    assert.equal(
      stderr,
      'strongroom: the database is being served: stop the service first, or use --dry-run\n',
    );
    const { code: tried, stdout } = await run(['migrate', ...service.place, '--dry-run']);
    assert.equal(tried, 0);
    assert.match(stdout, /^Nothing to do: .*\nVerified: /);
  });

  it('--compact makes the file smaller, and the service gives space back by itself from then on', async () => {
    const file = join(service.data, 'strongroom.db');
    await service.restartAfter(async () => {
      const database = new DatabaseSync(file, { timeout: 5_000 });
      // As a database of an earlier version is, with much in it that was removed.
      database.exec('PRAGMA auto_vacuum = NONE; VACUUM');
      fillAndFree(database);
      database.close();
      const before = statSync(file).size;
      assert.match(String((await migrate(service.place, '--compact')).lines), /bytes; before, it was/);
      assert.ok(statSync(file).size < before / 4);
      const again = new DatabaseSync(file, { timeout: 5_000 });
      assert.equal(again.prepare('PRAGMA auto_vacuum').get()!.auto_vacuum, 2);
      fillAndFree(again);
      again.close();
    });
    const large = statSync(file).size;
    let steps = 0;
    await beside(service, async ({ store }) => {
      while (await store.giveBackSpace()) steps++;
    });
    assert.ok(steps > 10, 'a little at a time');
    assert.equal((await service.call('GET', '/readyz')).status, 200);
    await service.restart(); // The file is cut when the write-ahead log is folded into it.
    assert.ok(statSync(file).size < large / 2);
  });
});

for (const engine of engines) {
  describe(`a rolling upgrade on ${engine}`, () => {
    let service: Service;
    before(async () => {
      service = await startService({ engine });
    });
    after(() => service.stop());

    it('what runs goes on when a newer version adds to the tables; once stopped, it is refused', async () => {
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'v' });
      const { body: key } = await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'k' });
      // A migration is one transaction; whoever looks in between here must not see columns of no step.
      await inDatabase(service, "INSERT INTO kysely_migration (name, timestamp) VALUES ('999-later', 'x')");
      await inDatabase(service, 'ALTER TABLE credentials ADD COLUMN later text');
      await inDatabase(service, 'CREATE TABLE laters (id text)');
      const secret = { vault_id: vault.id, name: 'S', value: 'v' };
      assert.equal((await service.call('POST', '/v1/secrets', secret)).status, 200);
      assert.equal(
        (await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'l' })).status,
        200,
      );
      const read = await service.call('GET', `/api/v1/vaults/${vault.id}`, undefined, key.token);
      assert.equal(read.body.secrets[0].value, 'v');
      assert.equal((await service.call('GET', '/readyz')).status, 200);
      await assert.rejects(service.restart(), /was migrated by a newer version \(999-later\)/);
    });
  });
}
