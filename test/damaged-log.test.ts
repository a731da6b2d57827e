/** An audit entry that decides about a row, and is edited or hidden: nothing is un-revoked by it, and the start says what is damaged. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { openStrongroom } from '../src/service/opening/open.ts';
import { serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { run } from './command.ts';
import { beside, callService, engines, eventually, type Service, startService } from './harness.ts';
import { oneThread } from './one-thread.ts';
import { type Intruder, intrude, type Row } from './stored-world.ts';

interface Revoked {
  readonly id: string;
  readonly token: string;
  readonly vault: string;
  /** Its row before and after, and the entry about it. */
  readonly rows: readonly [living: Row, revoked: Row];
  readonly entry: Row;
}

/** An access key that was used and then revoked. */
async function revokedKey(
  service: Service,
  intruder: Intruder,
  beforehand: () => Promise<void> = async () => {},
): Promise<Revoked> {
  const { id: vault } = (await service.call('POST', '/v1/vaults', { name: `v${Math.random()}` })).body;
  const { body } = await service.call('POST', '/v1/access-keys', { vault_id: vault, name: 'k' });
  const { id, token } = body;
  const row = async () => (await intruder.sql('SELECT * FROM credentials WHERE id = ?', [id]))[0]!;
  assert.equal((await service.call('GET', `/api/v1/vaults/${vault}`, undefined, token)).status, 200);
  const living = await row();
  await beforehand();
  assert.equal((await service.call('DELETE', `/v1/access-keys/${id}`)).status, 200);
  const revoked = await row();
  const [entry] = await intruder.sql(
    'SELECT * FROM audit_logs WHERE subject_id = ? AND subject_revision = ?',
    [id, revoked.revision],
  );
  return { id, token, vault, rows: [living, revoked], entry: entry! };
}

for (const engine of engines)
  describe(`the entry about a revocation, edited, on ${engine}`, () => {
    let service: Service;
    let intruder: Intruder;
    before(async () => {
      service = await startService({ engine });
      intruder = await intrude(service);
    });
    after(async () => {
      await intruder.close();
      await service.stop();
    });

    it('un-revokes nothing, stops every start with a line that names it, and can be put back', async () => {
      const { token, vault, rows, entry } = await revokedKey(service, intruder);
      const edited = { ...entry, entry: String(entry.entry).replace(/"revision":\d+/, '"revision":1') };
      assert.notEqual(edited.entry, entry.entry);
      await intruder.replace('credentials', [rows[1]], [rows[0]]);
      await intruder.replace('audit_logs', [entry], [edited]);
      const read = () => service.call('GET', `/api/v1/vaults/${vault}`, undefined, token);
      assert.notEqual((await read()).status, 200);
      const named = new RegExp(
        `the audit entry ${entry.seq} of writer ${entry.writer} was edited.* run strongroom audit verify, then restore a backup`,
      );
      // What a start need not read again was kept with a stamp; without it, all is read.
      const forgotten = async () =>
        void (await intruder.sql("DELETE FROM meta WHERE key = 'audited_revisions'"));
      await assert.rejects(service.restartAfter(forgotten), named);
      const started = await run(['serve', ...service.place, '--port', '0']);
      assert.notEqual(started.code, 0);
      assert.match(started.stderr, named);
      const verified = await run(['audit', 'verify', ...service.place]);
      assert.equal(verified.code, 1, verified.stderr);
      assert.match(verified.stdout, new RegExp(`edited: audit entry ${entry.id}`));
      await intruder.replace('audit_logs', [edited], [entry]);
      await service.restart();
      assert.notEqual((await read()).status, 200, 'the row that was put back is not believed');
      await intruder.replace('credentials', [rows[0]], [rows[1]]);
      assert.equal((await read()).status, 401);
    });
  });

describe('a process that is kept from hearing of changes', () => {
  it('reads the log before it believes a row', async () => {
    const service = await startService({ engine: 'postgres' });
    const intruder = await intrude(service);
    await beside(service, async ({ store, domain }) => {
      await domain.revisions.follow();
      await eventually('the store hears changes', async () => store.hearsChanges());
      const listening = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query ILIKE 'LISTEN%'`;
      const { id, rows } = await revokedKey(service, intruder, async () => {
        await intruder.sql(listening);
        await eventually('the store no longer hears changes', async () => !store.hearsChanges());
      });
      await intruder.replace('credentials', [rows[1]], [rows[0]]);
      const row = (await store.credentials.byId(id))!;
      assert.equal(row.revision, rows[0].revision);
      assert.notEqual(row.audited_revision, row.revision);
      await intruder.replace('credentials', [rows[0]], [rows[1]]);
    });
    await intruder.close();
    await service.stop();
  });
});

describe('a row policy that hides the entry about a revocation from the role of the service', () => {
  let service: Service;
  let intruder: Intruder;
  let admin: pg.Client;
  const role = `role_${Math.random().toString(36).slice(2)}`;

  before(async () => {
    service = await startService({ engine: 'postgres' });
    intruder = await intrude(service);
    admin = new pg.Client(service.databaseUrl!);
    await admin.connect();
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'pw'`);
    await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`);
  });
  after(async () => {
    await intruder.close();
    await service.stop();
    await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await admin.end();
  });

  it('un-revokes nothing: neither for those that serve, nor for one that reads the log for the first time', async () => {
    const { token, vault, rows, entry } = await revokedKey(service, intruder);
    const url = service.databaseUrl!.replace('postgres:postgres@', `${role}:pw@`);
    const config = readConfig(
      serveOptions,
      ['--data', service.data, '--database-url', url, '--port', '0'],
      {},
    );
    const start = () => serve(config, { report: () => {}, ...oneThread });
    const running = await start();
    // Opened before the policy, so no look at the schema keeps it from reading; it has believed nothing yet.
    const fresh = await openStrongroom(config, false);
    await intruder.replace('credentials', [rows[1]], [rows[0]]);
    await admin.query('ALTER TABLE audit_logs ENABLE ROW LEVEL SECURITY');
    await admin.query(`CREATE POLICY hiding ON audit_logs USING (id <> '${entry.id}') WITH CHECK (true)`);
    const seen = new pg.Client(url);
    await seen.connect();
    const { rows: visible } = await seen.query('SELECT id FROM audit_logs');
    await seen.end();
    assert.ok(visible.length > 0 && !visible.some(({ id }) => id === entry.id), 'the policy hides it');

    const read = () => callService(running.url, 'GET', `/api/v1/vaults/${vault}`, undefined, token);
    assert.notEqual((await read()).status, 200);
    await assert.rejects(fresh.domain.revisions.follow(), ({ cause }: Error) =>
      /stored data is not as it was written/.test((cause as Error).message),
    );
    await eventually(
      'the service is not ready',
      async () => (await callService(running.url, 'GET', '/readyz')).status === 503,
    );
    assert.notEqual((await read()).status, 200);
    await assert.rejects(start(), /the schema of this database does not match this version: .*audit_logs/);

    await admin.query('DROP POLICY hiding ON audit_logs; ALTER TABLE audit_logs DISABLE ROW LEVEL SECURITY');
    await intruder.replace('credentials', [rows[0]], [rows[1]]);
    await eventually(
      'the service is ready again',
      async () => (await callService(running.url, 'GET', '/readyz')).status === 200,
    );
    assert.notEqual((await read()).status, 200);
    await fresh.close();
    await running.stop();
  });
});
