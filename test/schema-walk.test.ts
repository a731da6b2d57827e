/**
 * The database is untrusted in its schema as well as in its rows. For every table and every kind of object that could
 * lie about it: the database is refused, the verifier says so, and nothing that must be logged is answered without its entry.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { databaseSource } from '../src/logs/source.ts';
import { verifyLogs } from '../src/logs/verify.ts';
import { openLogs } from '../src/service/opening/open-data.ts';
import { placeOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { schemaFault } from '../src/store/integrity/schema-check.ts';
import { expectedAfter, tablesIn } from '../src/store/integrity/schema-difference.ts';
import { faultInFile } from '../src/store/integrity/sqlite-schema.ts';
import { steps } from '../src/store/migrations/migrations.ts';
import { openStore } from '../src/store/store.ts';
import { run } from './command.ts';
import { describedSchemas } from './described-schemas.ts';
import { type Answer, type EngineName, engines, eventually, type Service, startService } from './harness.ts';
import { databaseWithTables, dataFolder, freshDatabase } from './postgres.ts';
import { type Lie, liesAbout, liesOfAll, type Shape, swallowings } from './schema-lies.ts';
import { inDatabase } from './storage.ts';
import { intrude } from './stored-world.ts';

const done = Object.keys(steps);
/** But for those that an embedded database makes for a search by itself, and lets nobody alter. */
const tablesOn = (engine: EngineName) =>
  tablesIn(expectedAfter(engine, done)).filter(
    name => engine === 'postgres' || !/^resource_name(s|_parts)/.test(name),
  );

it('what databases are compared with is what the migrations make (npm run described-schemas)', async () => {
  const file = new URL('../src/store/integrity/described-schemas.json', import.meta.url);
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), await describedSchemas(await freshDatabase()));
});

/** Tells a lie, asks, and takes it back. */
interface Liar {
  shapes(): Promise<Shape[]>;
  faultWith(lie: Lie): Promise<string | null>;
  close(): Promise<void>;
}

async function liarOnPostgres(): Promise<Liar> {
  // Without JIT, as the service's own connections are: compiling took longer than the question itself.
  const pool = new pg.Pool({ connectionString: await databaseWithTables(), max: 1, options: '-c jit=off' });
  const db = new Kysely<never>({ dialect: new PostgresDialect({ pool }) });
  const names = async (sql: string, table: string) =>
    (await pool.query(sql, [table])).rows.map(({ name }) => name as string);
  return {
    shapes: () =>
      Promise.all(
        tablesOn('postgres').map(async table => ({
          table,
          columns: await names(
            "SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
            table,
          ),
          indexes: await names(
            'SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = $1::regclass AND indexrelid NOT IN (SELECT conindid FROM pg_constraint)',
            table,
          ),
          constraints: await names(
            "SELECT conname AS name FROM pg_constraint WHERE conrelid = $1::regclass AND contype <> 'n'",
            table,
          ),
        })),
      ),
    faultWith: async ([, ...statements]) => {
      await pool.query('BEGIN');
      try {
        for (const statement of statements) await pool.query(statement);
        return await schemaFault(db, 'postgres').catch(error => String(error));
      } finally {
        await pool.query('ROLLBACK');
      }
    },
    close: () => db.destroy(),
  };
}

async function liarOnSqlite(): Promise<Liar> {
  const path = join(await dataFolder(), 'strongroom.db');
  await (await openStore({ engine: 'sqlite', path, serves: false })).close();
  const file = new DatabaseSync(path, { timeout: 5_000 });
  file.enableDefensive?.(false);
  const names = (sql: string, table: string) =>
    file
      .prepare(sql)
      .all(table)
      .map(({ name }) => String(name));
  return {
    shapes: async () =>
      tablesOn('sqlite').map(table => ({
        table,
        columns: names('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0', table),
        indexes: names(
          "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?",
          table,
        ),
        constraints: [],
      })),
    faultWith: async ([, ...statements]) => {
      file.exec('PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON; BEGIN');
      try {
        for (const statement of statements) file.exec(statement);
        return faultInFile(file, done);
      } finally {
        file.exec('ROLLBACK; PRAGMA writable_schema = RESET; PRAGMA legacy_alter_table = OFF');
      }
    },
    close: async () => file.close(),
  };
}

for (const engine of engines) {
  describe(`every object of a schema that could lie, on ${engine}`, () => {
    let liar: Liar;
    before(async () => {
      liar = await (engine === 'sqlite' ? liarOnSqlite() : liarOnPostgres());
    });
    after(() => liar.close());

    it('is found, whichever table it is about', async () => {
      const shapes = await liar.shapes();
      assert.ok(shapes.length > 30);
      assert.equal(await liar.faultWith(['nothing']), null);
      let told = 0;
      for (const [turn, shape] of shapes.entries())
        for (const lie of liesAbout[engine](shape, turn)) {
          const fault = await liar.faultWith(lie);
          assert.notEqual(fault, null, `${lie[0]} of ${shape.table}`);
          told++;
        }
      assert.ok(told > 500, `${told} lies`);
    });

    it('is found where it is about no single table', async () => {
      for (const lie of liesOfAll[engine]) assert.notEqual(await liar.faultWith(lie), null, lie[0]);
    });
  });
}

for (const engine of engines) {
  describe(`a service over a schema that is altered while it runs, on ${engine}`, () => {
    /** An embedded database is compared before the entry of each read is stored. */
    const onlyOnServers = { skip: engine === 'sqlite' };
    let service: Service;
    let vault: string;
    let secret: string;
    let token: string;

    before(async () => {
      service = await startService({ engine });
      vault = (await make('vaults', { name: 'v' })).id;
      secret = (await make('secrets', { vault_id: vault, name: 'S', value: 'canary' })).id;
      token = (await make('access-keys', { vault_id: vault, name: 'k' })).token;
    });
    after(() => service.stop());

    /** The last look at the schema may have met a lie that is over: 503 asks its caller to come back. */
    async function recovered(call: () => Promise<Answer>): Promise<Answer> {
      let answer = await call();
      await eventually('the call is no longer answered with 503', async () => {
        if (answer.status === 503) answer = await call();
        return answer.status !== 503;
      });
      assert.equal(answer.status, 200, answer.text);
      return answer;
    }
    const make = async (kind: string, body: object) =>
      (await recovered(() => service.call('POST', `/v1/${kind}`, body))).body;
    const alter = async (statements: readonly string[]) => {
      for (const statement of statements) await inDatabase(service, statement);
    };
    const read = () => service.call('GET', `/api/v1/vaults/${vault}`, undefined, token);
    const reveal = () => service.call('POST', `/v1/secrets/${secret}/reveal`, {});
    const verified = async () => {
      const { code, stdout, stderr } = await run(['audit', 'verify', ...service.place]);
      assert.equal(code, 1, stdout + stderr);
      return stdout;
    };

    for (const { table, kind, begin, end } of swallowings(engine))
      it(`answers nothing that ${table} does not keep, where it ${kind}`, async () => {
        await recovered(read);
        await alter(begin);
        const answers = [await (table === 'audit_logs' ? reveal() : read())];
        // A change takes another way to the database than a read does.
        const body = { vault_id: vault, name: `N${Math.random()}`, value: 'x' };
        if (table === 'audit_logs') answers.push(await service.call('POST', '/v1/secrets', body));
        for (const { status, text } of answers) {
          assert.equal(status, 503, text);
          assert.ok(!text.includes('canary'));
        }
        await alter(end);
        await recovered(read);
        await recovered(reveal);
      });

    it(
      'gives a revoked access key nothing, where an altered audit log hides that it was revoked',
      onlyOnServers,
      async () => {
        const intruder = await intrude(service);
        const key = await make('access-keys', { vault_id: vault, name: 'revoked' });
        const row = () => intruder.sql('SELECT * FROM credentials WHERE id = ?', [key.id]);
        const living = await row();
        await recovered(() => service.call('DELETE', `/v1/access-keys/${key.id}`));
        const revoked = await row();
        await intruder.replace('credentials', revoked, living);
        await alter([
          'ALTER TABLE audit_logs RENAME TO hidden',
          `CREATE VIEW audit_logs AS SELECT * FROM hidden
        WHERE subject_id IS DISTINCT FROM '${key.id}' OR subject_revision < 2`,
        ]);
        const answer = await service.call('GET', `/api/v1/vaults/${vault}`, undefined, key.token);
        assert.notEqual(answer.status, 200, answer.text);
        await verified();
        await alter(['DROP VIEW audit_logs', 'ALTER TABLE hidden RENAME TO audit_logs']);
        await intruder.replace('credentials', living, revoked);
        await intruder.close();
        await recovered(read);
      },
    );

    it('is not taken for intact by the verifier because of a step that nobody knows', async () => {
      const [step, lie] = ["'999-made-up'", 'CREATE INDEX lying ON credentials (name)'];
      await alter([`INSERT INTO kysely_migration (name, timestamp) VALUES (${step}, 'now')`, lie]);
      const found = await verified().finally(() =>
        alter([`DELETE FROM kysely_migration WHERE name = ${step}`, 'DROP INDEX lying']),
      );
      assert.match(found, /altered-schema: a newer version changed it \(999-made-up\)/);
    });

    it('stops within moments also where a lock keeps it from looking', onlyOnServers, async () => {
      const intruder = await intrude(service);
      // One table that nothing asks for is locked, so that another can be altered unseen.
      await intruder.sql('BEGIN');
      await intruder.sql('LOCK TABLE device_logins IN ACCESS EXCLUSIVE MODE');
      await alter(['CREATE INDEX lying ON credentials (name)']);
      const lied = Date.now();
      await eventually('reads are refused', async () => (await read()).status === 503);
      assert.ok(Date.now() - lied < 60_000);
      await alter(['DROP INDEX lying']);
      await intruder.sql('ROLLBACK');
      await intruder.close();
      await eventually('reads are served again', async () => (await read()).status === 200);
    });

    it('is not ready, starts nowhere else, and the verifier and the doctor fail, until it is put right', async () => {
      const { begin, end } = swallowings(engine)[0]!;
      await alter(begin);
      await eventually(
        'the service is not ready',
        async () => (await service.call('GET', '/readyz')).status === 503,
      );
      assert.match(await verified(), /altered-schema: unexpected trigger .*swallow/);
      const doctor = await run(['doctor', ...service.place]);
      assert.equal(doctor.code, 2);
      assert.match(
        doctor.stdout,
        /failed +schema +the schema is not what the migrations created: unexpected trigger/,
      );
      const command = await run(['keyring', 'status', ...service.place]);
      assert.match(
        command.stderr,
        /the schema of this database does not match this version: unexpected trigger/,
      );
      await alter(end);
      await eventually(
        'the service is ready again',
        async () => (await service.call('GET', '/readyz')).status === 200,
      );
      await recovered(read);
    });

    it('is said to be altered, whichever table can’t be read for it', async () => {
      const publicKey = readFileSync(join(service.data, 'log-public-key.pem'), 'utf8');
      const found = async () => {
        const logs = await openLogs(readConfig(placeOptions, service.place, {}));
        const report = await verifyLogs(databaseSource(logs), { publicKey }).finally(() => logs.close());
        return report.findings.map(({ what }) => what);
      };
      assert.deepEqual(await found(), []);
      for (const table of tablesOn(engine).filter(name => name !== 'kysely_migration')) {
        await alter([`ALTER TABLE ${table} RENAME TO hidden`]);
        assert.ok((await found()).includes('altered-schema'), table);
        await alter([`ALTER TABLE hidden RENAME TO ${table}`]);
      }
    });
  });
}

describe('an index of an embedded database that leaves an entry out', () => {
  it('is found by the verifier and by the doctor, although its text is what it was', async () => {
    const service = await startService({ engine: 'sqlite' });
    for (const name of ['a', 'b', 'c']) await service.call('POST', '/v1/vaults', { name });
    const index = 'audit_logs_of_organization';
    await service.restartAfter(() => {
      const file = new DatabaseSync(join(service.data, 'strongroom.db'), { timeout: 5_000 });
      file.enableDefensive?.(false);
      const { sql } = file.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(index)!;
      file.exec(`DROP INDEX ${index}; CREATE INDEX ${index} ON audit_logs (organization_id, id) WHERE position <> 3;
        PRAGMA writable_schema = ON`);
      file.prepare('UPDATE sqlite_schema SET sql = ? WHERE name = ?').run(sql!, index);
      file.close();
    });
    const { code, stdout } = await run(['audit', 'verify', ...service.place]);
    assert.equal(code, 1, stdout);
    assert.match(stdout, /altered-schema: audit_logs: .* index audit_logs_of_organization/);
    const doctor = await run(['doctor', ...service.place]);
    assert.match(doctor.stdout, /failed +schema .* index audit_logs_of_organization/);
    const proof = await service.call('GET', '/v1/audit-logs/verification');
    await service.stop();
    assert.equal(proof.body.ok, false, proof.text);
  });
});
