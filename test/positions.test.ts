/**
 * Positions of events and audit entries: the product counts them itself, and their order is the order in which rows
 * become visible, however many replicas write.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { behind, logStart } from '../src/logs/tail.ts';
import { locationOf, openLogs } from '../src/service/opening/open-data.ts';
import type { Running } from '../src/service/serve.ts';
import { placeOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { openSnapshot, openStore } from '../src/store/store.ts';
import { stampFrom } from './bytes.ts';
import {
  beside,
  callService,
  type EngineName,
  engines,
  eventually,
  type Service,
  startService,
} from './harness.ts';
import { copyOf, releases } from './kept-databases.ts';
import { type Intruder, intrude } from './stored-world.ts';

const tables = ['events', 'audit_logs'] as const;

/** What of a database counts by itself. */
const counting: Record<EngineName, string> = {
  sqlite: `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%autoincrement%'
    UNION ALL SELECT name FROM sqlite_sequence`,
  postgres: `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace
    UNION ALL SELECT adrelid::regclass::text FROM pg_attrdef WHERE pg_get_expr(adbin, adrelid) LIKE '%nextval%'
    UNION ALL SELECT attrelid::regclass::text FROM pg_attribute WHERE attidentity <> ''`,
};
const counters: Record<EngineName, string> = {
  sqlite: 'id integer PRIMARY KEY AUTOINCREMENT',
  postgres: 'id bigserial, other bigint GENERATED ALWAYS AS IDENTITY',
};

for (const engine of engines) {
  describe(`positions on ${engine}`, () => {
    let service: Service;
    let database: Intruder;
    before(async () => {
      service = await startService({ engine });
      database = await intrude(service);
    });
    after(async () => {
      await database.close();
      await service.stop();
    });

    const create = async (name: string) => (await service.call('POST', '/v1/vaults', { name })).status;
    const positionsOf = async (table: string): Promise<number[]> =>
      (await database.sql(`SELECT position FROM ${table} ORDER BY position`)).map(row =>
        Number(row.position),
      );
    const lastOf = async (table: string): Promise<number> =>
      Number(
        (await database.sql('SELECT position FROM last_positions WHERE name = ?', [table]))[0]?.position,
      );

    it('no column draws on a sequence of the database', async () => {
      await database.sql(`CREATE TABLE theirs (${counters[engine]})`);
      if (engine === 'sqlite') await database.sql('INSERT INTO theirs DEFAULT VALUES');
      const found = await database.sql(counting[engine]);
      assert.ok(found.length > 1, 'one that does would be found');
      await database.sql('DROP TABLE theirs');
      assert.deepEqual(await database.sql(counting[engine]), []);
    });

    it('go up by one, also for many rows of one request', async () => {
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'many' });
      const secrets = Array.from({ length: 20 }, (_, at) => ({
        vault_id: vault.id,
        name: `S${at}`,
        value: 'v',
      }));
      assert.equal((await service.call('POST', '/v1/secrets/bulk', { items: secrets })).status, 200);
      for (const table of tables) {
        const positions = await positionsOf(table);
        assert.ok(positions.length > 20, `${table} ${positions.length}`);
        assert.deepEqual(
          positions,
          Array.from(positions, (_, at) => at + 1),
        );
        assert.equal(await lastOf(table), positions.length);
      }
    });

    it('are never given without being counted: where the last one is not known, nothing is stored', async () => {
      for (const table of tables) {
        const [kept] = await database.sql('SELECT position FROM last_positions WHERE name = ?', [table]);
        await database.sql('DELETE FROM last_positions WHERE name = ?', [table]);
        assert.equal(await create(`lost ${table}`), 503);
        await database.sql('INSERT INTO last_positions (name, position) VALUES (?, ?)', [
          table,
          kept!.position,
        ]);
        assert.equal(await create(`found ${table}`), 200);
      }
    });

    it('are never given twice, also where the events are gone: a new webhook is told of what comes', async () => {
      await database.sql('DELETE FROM events');
      const before = await lastOf('events');
      const webhook = { url: 'https://127.0.0.1:2/', events: ['resource.created'] };
      const made = await service.call('POST', '/v1/webhooks', webhook);
      assert.equal(made.status, 200, made.text);
      const [queue] = await database.sql('SELECT begins_after FROM webhook_queues WHERE webhook_id = ?', [
        made.body.id,
      ]);
      assert.ok(Number(queue!.begins_after) >= before);
      await create('told');
      const [event] = await database.sql("SELECT position FROM events WHERE type = 'resource.created'");
      assert.ok(Number(event!.position) > Number(queue!.begins_after));
    });

    it('are behind a reader whose database was set back: the log stream misses nothing all the same', async () => {
      const logs = await openLogs(readConfig(placeOptions, service.place, {}));
      let { audit, request, chains } = logStart;
      for await (const { position } of behind(logs, logStart, ['audit']))
        ({ audit, request, chains } = position);
      await logs.close();
      await service.restart(); // What begins after a failover, or after a restored backup, is a new chain.
      await create('after the failover');
      const ahead = { audit: audit + 50, request, chains };
      const later = await openLogs(readConfig(placeOptions, service.place, {}));
      const lines: string[] = [];
      for await (const batch of behind(later, ahead, ['audit'])) lines.push(...batch.lines);
      await later.close();
      assert.equal(lines.filter(line => line.includes('after the failover')).length, 1);
    });
  });

  for (const release of releases) {
    it(`${release} on ${engine}: positions that were given stay, and are counted on from`, async () => {
      const { data, place } = await copyOf(release, engine);
      const location = locationOf(readConfig(placeOptions, place, {}), false);
      const before = await openSnapshot(location);
      const positionsIn = async (logs: typeof before.logs) =>
        (await logs.auditStretch(0, 10_000)).map(({ position, id }) => `${position} ${id}`);
      const given = await positionsIn(before.logs);
      await before.close();
      const store = await openStore(location);
      assert.deepEqual(await positionsIn(store.logs), given);
      await store.close();
      const database = await intrude({ data, databaseUrl: place[3] ?? null });
      const last = await database.sql(`SELECT (SELECT max(position) FROM audit_logs) AS audit,
        (SELECT position FROM last_positions WHERE name = 'audit_logs') AS counted,
        (SELECT max(position) FROM events) AS event,
        (SELECT position FROM last_positions WHERE name = 'events') AS events`);
      const { audit, counted, event, events } = last[0] as Record<string, number>;
      assert.equal(Number(counted), Number(audit));
      assert.ok(Number(events) >= Number(event) && Number(event) > 0);
      assert.deepEqual(await database.sql(counting[engine]), []);
      await database.close();
      await rm(data, { recursive: true, force: true });
    });
  }
}

describe('positions while two replicas write', () => {
  let service: Service;
  let other: Running;
  let database: pg.Client;
  /** In another organization, so that nothing but the position is shared. */
  let viewer: string;

  before(async () => {
    service = await startService({ engine: 'postgres' });
    other = await service.replica();
    const { key } = await service.organization('Other');
    const made = { name: 'viewer', role: 'viewer' };
    viewer = (await callService(other.url, 'POST', '/v1/api-keys', made, key)).body.token;
    database = new pg.Client(service.databaseUrl!);
    await database.connect();
  });
  after(async () => {
    await database.end();
    await service.stop();
  });

  const waiting = async (count: number) => {
    const { rows } = await database.query(`SELECT count(*)::int AS waiting FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()`);
    return rows[0].waiting >= count;
  };
  const read = async (table: string, after: number): Promise<number[]> => {
    const { rows } = await database.query(
      `SELECT position::int AS position FROM ${table} WHERE position > $1 ORDER BY position`,
      [after],
    );
    return rows.map(({ position }) => position);
  };
  /** Refused, and recorded: an audit entry that goes with no change. */
  const denied = () => callService(other.url, 'POST', '/v1/vaults', { name: 'x' }, viewer);
  const event = () =>
    beside(service, async ({ store, newId }) => {
      const about = { organization_id: newId(), vault_id: null, resource_id: newId() };
      const what = { type: 'resource.expired', payload: '{}', created_at: 1, fanned: 1 as const };
      const row = { ...about, ...what, id: newId() };
      await store.commit([
        { statements: [store.outbox.add({ ...row, stamp: stampFrom(Buffer.alloc(32)) })] },
      ]);
    });

  /** Has the next row wait once it has its position: another transaction inserts one there, and does not commit. */
  async function holdNext(table: (typeof tables)[number], position: number): Promise<pg.Client> {
    const copied = {
      audit_logs: 'position, id, writer, seq, entry, hash, mark',
      events:
        'position, id, organization_id, vault_id, resource_id, type, payload, fanned, created_at, stamp',
    }[table];
    const others = copied.split(', ').slice(2).join(', ').replace('seq,', 'seq + 1000000,');
    const holder = new pg.Client(service.databaseUrl!);
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query(
      `INSERT INTO ${table} (${copied}) SELECT ${position}, gen_random_uuid(), ${others} FROM ${table} LIMIT 1`,
    );
    return holder;
  }

  for (const [table, writeBeside] of [
    ['audit_logs', denied],
    ['events', event],
  ] as const) {
    it(`${table}: whoever reads on behind a position misses nothing`, async () => {
      const seen = await read(table, 0);
      const holder = await holdNext(table, seen.at(-1)! + 1);
      const held = service.call('POST', '/v1/vaults', { name: `held by ${table}` });
      await eventually('the held write waits', () => waiting(1));
      let isDone = false;
      const beside = writeBeside().then(() => {
        isDone = true;
      });
      // It has its position already, or waits for it.
      await eventually('the write beside it is done or waits', async () => isDone || (await waiting(2)));
      seen.push(...(await read(table, seen.at(-1)!)));
      await holder.query('ROLLBACK');
      await holder.end();
      assert.equal((await held).status, 200);
      await beside;
      seen.push(...(await read(table, seen.at(-1)!)));
      assert.deepEqual(seen, await read(table, 0));
    });
  }

  it('nobody holds positions who still waits for something else', async () => {
    const { rows } = await database.query('SELECT id FROM organizations ORDER BY id DESC LIMIT 1');
    const holder = new pg.Client(service.databaseUrl!);
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM log_counts WHERE organization_id = $1 FOR UPDATE', [rows[0].id]);
    const waits = denied();
    await eventually('the refusal waits for its position', () => waiting(1));
    assert.equal((await service.call('POST', '/v1/vaults', { name: 'beside it' })).status, 200);
    await holder.query('ROLLBACK');
    await holder.end();
    assert.equal((await waits).status, 403);
  });

  it('a replica of an earlier version, which names no position, counts with the others', async () => {
    const insert = `INSERT INTO events (id, organization_id, resource_id, type, payload, fanned, created_at, stamp)
      SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'earlier', '{}', 1, ${Date.now()}, ''
      FROM generate_series(1, 3)`;
    const last = (await read('events', 0)).at(-1)!;
    await database.query(insert);
    assert.equal((await service.call('POST', '/v1/vaults', { name: 'newer' })).status, 200);
    await database.query(insert);
    assert.deepEqual(
      await read('events', last),
      [1, 2, 3, 4, 5, 6, 7].map(more => last + more),
    );
  });
});
