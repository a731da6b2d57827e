/** Anyone can encrypt a file for a public key: what such a file may claim, and what is believed of it. And what the schedule keeps. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Taken } from '../src/backup/backup.ts';
import { bytesIn } from '../src/backup/backup.ts';
import { BackupError } from '../src/backup/backup-error.ts';
import { Counting, linesOf, type Manifest } from '../src/backup/contents.ts';
import { restoreInto } from '../src/backup/load-and-verify.ts';
import { lostChanges } from '../src/backup/lost-changes.ts';
import { restoreTo } from '../src/backup/restore.ts';
import { BackupSchedule, type Keep, statusFile } from '../src/backup/schedule.ts';
import { opened, sealed } from '../src/keyring/age/age.ts';
import { recipientFrom } from '../src/keyring/age/keys.ts';
import { databaseSource, exportLines } from '../src/logs/source.ts';
import { locationOf } from '../src/service/opening/open-data.ts';
import { openLoading, openSnapshot } from '../src/store/store.ts';
import { configOf, emptyPlace, identity, openerOf, pair, restoreFrom, take } from './backups.ts';
import { beside, makeOrganization } from './harness.ts';
import { dataFolder } from './postgres.ts';

describe('a backup that somebody else wrote', () => {
  let folder: string;
  let place: string[];
  let to: string[];
  let file: string;
  let lines: string[];
  let taken: Taken;
  let olderLog: string;

  before(async () => {
    folder = await dataFolder();
    place = ['--data', join(folder, 'data')];
    await makeOrganization(place, 'Test', 'pro', 0);
    olderLog = join(folder, 'older.jsonl');
    const snapshot = await openSnapshot(locationOf(configOf(place), false));
    const exported: string[] = [];
    for await (const line of exportLines(databaseSource(snapshot), {})) exported.push(line);
    await snapshot.close();
    writeFileSync(olderLog, exported.join(''));
    await makeOrganization(place, 'Second', 'pro', 0);
    file = join(folder, 'backup.age');
    taken = await take(place, file);
    lines = [];
    for await (const line of linesOf(opened(bytesIn(file), identity))) lines.push(line);
    to = await emptyPlace('sqlite', place[1]!);
  });
  after(async () => {
    for (const path of [folder, to[1]!]) await rm(path, { recursive: true, force: true });
  });

  /** With whatever was changed, and a manifest and digests that say the same. */
  function consistent(changed: readonly string[]): string[] {
    const totals: Record<string, unknown> = {};
    const rows: Record<string, number> = {};
    let table = '';
    let counting = new Counting();
    const end = () => {
      if (table === '') return;
      const total = counting.total();
      totals[table] = total;
      rows[table] = total.rows;
    };
    for (const line of changed.slice(1, -1)) {
      if (line.startsWith('[')) counting.add([`${line}\n`]);
      else {
        end();
        table = JSON.parse(line).table;
        counting = new Counting();
      }
    }
    end();
    const manifest = { ...JSON.parse(changed[0]!), rows };
    return [JSON.stringify(manifest), ...changed.slice(1, -1), JSON.stringify({ end: totals })];
  }

  async function* plain(forged: readonly string[]) {
    yield Buffer.from(forged.map(line => `${line}\n`).join(''));
  }

  async function restore(forged: readonly string[], into = to) {
    const { bytes } = await sealed([recipientFrom(pair.recipient)!], plain(forged));
    return restoreFrom(bytes, into);
  }

  async function refused(forged: readonly string[], line: RegExp): Promise<void> {
    await assert.rejects(restore(forged), (error: Error) => {
      assert.ok(error instanceof BackupError, String(error.stack));
      assert.match(error.message, line);
      return true;
    });
    assert.deepEqual(readdirSync(to[1]!), ['root.key']);
  }

  const withManifest = (changes: Partial<Manifest>) => [
    JSON.stringify({ ...JSON.parse(lines[0]!), ...changes }),
    ...lines.slice(1),
  ];
  const changing = (pattern: RegExp, replacement: string) => {
    const at = lines.findIndex(line => pattern.test(line));
    assert.ok(at > 0);
    return lines.with(at, lines[at]!.replace(pattern, replacement));
  };

  it('is not believed where a row was edited, whatever its manifest says', async () => {
    await refused(changing(/"pro"/, '"enterprise"'), /rows of organizations don’t match its manifest/);
    await refused(consistent(changing(/"pro"/, '"enterprise"')), /not intact: edited: row of organizations/);
  });

  it('is not believed where a row was removed, or an entry of the log', async () => {
    const credential = lines.findIndex(line => line.includes('"table":"credentials"')) + 1;
    await refused(lines.toSpliced(credential, 1), /rows of credentials don’t match its manifest/);
    const entry = lines.findIndex(line => line.includes('"table":"audit_logs"')) + 1;
    await refused(consistent(lines.toSpliced(entry, 1)), /not intact: (missing|edited)/);
  });

  it('names no tables and columns of its own', async () => {
    await refused(
      changing(/"columns":\["created_at","enterprise_limit"/, '"columns":["enterprise_limit","created_at"'),
      /don’t match the version that it names/,
    );
    await refused(
      changing(/"table":"members"/, '"table":"members; DROP TABLE meta"'),
      /don’t match the version that it names/,
    );
    await refused(changing(/^\[/, '[1,'), /has the wrong number of columns/);
    await refused(changing(/^\[/, '[1.5,'), /can’t be read/);
    await refused(changing(/^\[/, '[{"a":1},'), /can’t be read/);
  });

  it('ends where it says that it ends', async () => {
    await refused([...lines, lines[1]!], /can’t be read/);
    await refused([...lines, lines.at(-1)!], /can’t be read/);
    await refused(lines.slice(0, -1), /can’t be read/);
    await refused([], /can’t be read/);
    await refused(['{"a":1}'], /not a Strongroom backup/);
  });

  it('is of a version that is known here', async () => {
    const { schema } = taken.manifest;
    await refused(
      withManifest({ schema: [...schema, '999-later'], version: '9.0.0' }),
      /written by another version \(9\.0\.0\)/,
    );
    await refused(withManifest({ schema: schema.slice(1) }), /written by another version/);
    await refused(withManifest({ schema: [] }), /written by another version/);
  });

  it('is compared with what the database gives back, row by row', async () => {
    const loading = await openLoading({ engine: 'sqlite', path: join(folder, 'loses.db'), serves: false });
    const losing = {
      ...loading,
      insert: async (shape: never, rows: readonly []) => loading.insert(shape, rows.slice(1)),
    };
    const parts = { source: bytesIn(file), identity, openKeyring: null };
    await assert.rejects(
      restoreInto(losing as typeof loading, parts),
      /the restored rows of \w+ don’t match the backup/,
    );
    await loading.discard();
  });

  it('is compared with what the database gives back, value by value', async () => {
    const loading = await openLoading({ engine: 'sqlite', path: join(folder, 'edits.db'), serves: false });
    const editing = {
      ...loading,
      insert: async (shape: never, rows: readonly (readonly unknown[])[]) =>
        loading.insert(
          shape,
          rows.map(row => row.map(value => (value === 'pro' ? 'enterprise' : value))) as never,
        ),
    };
    await assert.rejects(
      restoreInto(editing as typeof loading, { source: bytesIn(file), identity, openKeyring: null }),
      /the restored rows of organizations don’t match the backup/,
    );
    await loading.discard();
  });

  /** Without a table of its version, as if there had been none yet. */
  const without = (table: string) => {
    const at = lines.findIndex(line => line.startsWith(`{"table":"${table}"`));
    const rows = lines.slice(at + 1).findIndex(line => !line.startsWith('['));
    assert.ok(at > 0);
    return consistent(lines.toSpliced(at, rows + 1));
  };

  it('may leave out a table, which is empty then', async () => {
    const place = await emptyPlace('sqlite', join(folder, 'data'));
    const { proof, tables } = await restore(without('deliveries'), place);
    assert.deepEqual([tables.deliveries, proof!.report.findings], [undefined, []]);
    await rm(place[1]!, { recursive: true, force: true });
    const loading = await openLoading({ engine: 'sqlite', path: join(folder, 'more.db'), serves: false });
    const { tables: own } = loading.snapshot;
    const oneRow = [[1]];
    const rows = (shape: never) =>
      (shape as { name: string }).name === 'deliveries' ? [oneRow] : own.rows(shape);
    const snapshot = { ...loading.snapshot, tables: { ...own, shapes: () => own.shapes(), rows } };
    const { bytes } = await sealed([recipientFrom(pair.recipient)!], plain(without('deliveries')));
    await assert.rejects(
      restoreInto({ ...loading, snapshot } as never, { source: bytes, identity, openKeyring: null }),
      /the restored rows of deliveries don’t match the backup/,
    );
    await loading.discard();
  });

  it('is not believed without its keyring', async () => {
    const at = lines.findIndex(line => line.startsWith('["keyring",'));
    assert.ok(at > 0);
    await refused(consistent(lines.toSpliced(at, 1)), /^the backup contains no keyring$/);
  });

  it('says what is wrong first, and how much more is', async () => {
    const at = lines.findIndex(line => line.startsWith('{"table":"credentials"')) + 1;
    const missing = 'the backup’s contents are not intact: missing: row of credentials [\\w-]+';
    await refused(consistent(lines.toSpliced(at, 1)), new RegExp(`^${missing}$`));
    await refused(consistent(lines.toSpliced(at, 2)), new RegExp(`^${missing}, and 1 more$`));
  });

  it('tells how far its restoring is: all steps that it expects are done in the end', async () => {
    const place = await emptyPlace('sqlite', join(folder, 'data'));
    const told = { expected: 0, done: 0 };
    const watcher = {
      expect: (steps: number) => {
        told.expected += steps;
      },
      advance: (steps: number) => {
        told.done += steps;
      },
    };
    const { bytes } = await sealed([recipientFrom(pair.recipient)!], plain(without('deliveries')));
    const config = configOf(place);
    const parts = { source: bytes, identity, openKeyring: openerOf(config), watcher };
    await restoreTo(locationOf(config, false), parts, async restored => restored);
    const rows = Object.values(taken.manifest.rows).reduce((sum, count) => sum + count, 0);
    assert.ok(told.expected > 2 * rows, `${told.expected} ${rows}`);
    assert.equal(told.done, told.expected);
    await rm(place[1]!, { recursive: true, force: true });
  });

  it('is not even read where there is a database already, or none can be', async () => {
    let isRead = false;
    async function* source() {
      isRead = true;
      yield Buffer.from('no backup');
    }
    const parts = () => ({ source: source(), identity, openKeyring: null });
    const location = locationOf(configOf(place), false);
    await assert.rejects(
      restoreTo(location, parts(), async () => {}),
      /a database already exists/,
    );
    const nowhere = { engine: 'postgres', url: 'postgres://127.0.0.1:1/none' } as never;
    await assert.rejects(
      restoreTo(nowhere, parts(), async () => {}),
      error => !(error instanceof TypeError),
    );
    assert.equal(isRead, false);
  });

  it('that can’t be put in its place is said to be so, by the system’s code', async () => {
    const place = await emptyPlace('sqlite', join(folder, 'data'));
    const config = configOf(place);
    const parts = { source: bytesIn(file), identity, openKeyring: null };
    const look = async (_: unknown, loading: { finish(): Promise<void> }) => {
      const { finish } = loading;
      loading.finish = async () => {
        await finish();
        await rm(place[1]!, { recursive: true });
      };
    };
    await assert.rejects(restoreTo(locationOf(config, false), parts, look), {
      name: 'BackupError',
      message: /strongroom\.db can’t be read or written \(ENOENT\)$/,
    });
  });

  it('is not restored beside the write-ahead log of another database', async () => {
    const place = await emptyPlace('sqlite', join(folder, 'data'));
    writeFileSync(join(place[1]!, 'strongroom.db-wal'), 'of another');
    await assert.rejects(restoreFrom(file, place), /a database already exists/);
    await rm(place[1]!, { recursive: true, force: true });
  });

  it('replaces no database that was created meanwhile', async () => {
    const place = await emptyPlace('sqlite', join(folder, 'data'));
    const location = locationOf(configOf(place), false);
    const parts = { source: bytesIn(file), identity, openKeyring: null };
    const setup = () => makeOrganization([...place, '--new-database'], 'Meanwhile', 'pro', 0);
    await assert.rejects(restoreTo(location, parts, setup), /a database already exists/);
    const names = await beside({ place }, async ({ domain }) => domain.organizations.all());
    assert.deepEqual(
      names.map(({ name }) => name),
      ['Meanwhile'],
    );
    assert.deepEqual(
      readdirSync(place[1]!).filter(name => name.startsWith('.strongroom-')),
      [],
    );
    await rm(place[1]!, { recursive: true, force: true });
  });

  it('has no newer log in one that is older', async () => {
    const { proof, manifest } = await restoreFrom(file, to);
    const { logPublicKey: publicKey } = proof!.keyring;
    await assert.rejects(
      lostChanges({ file: olderLog, publicKey, hasMark: () => true, heads: manifest.heads }),
      /does not continue this backup’s log/,
    );
  });
});

describe('what the schedule keeps', () => {
  const day = 86_400_000;
  const begin = Date.parse('2026-11-01T00:00:00Z');

  async function scheduleWith(keep: Keep) {
    const folder = await dataFolder();
    let time = begin;
    let fails = false;
    const said: string[] = [];
    const schedule = new BackupSchedule({
      folder,
      every: day,
      keep,
      now: () => time,
      report: line => said.push(line),
      markOf: fields => `marked ${fields.join(' ')}`,
      take: async file => {
        if (fails) throw new BackupError('no room');
        writeFileSync(file, '');
        return {
          manifest: { created_at: new Date(time).toISOString() },
          bytes: 0,
          sha256: '',
          proven_at: 'then',
        } as unknown as Taken;
      },
    });
    await schedule.begin();
    return {
      schedule,
      said,
      folder,
      days: () =>
        readdirSync(folder)
          .filter(name => name.endsWith('.age'))
          .map(name => basename(name).slice(17, 19)),
      pass: async (milliseconds: number, failing = false) => {
        time += milliseconds;
        fails = failing;
        await schedule.step();
      },
      remove: () => rm(folder, { recursive: true, force: true }),
    };
  }

  it('is so many, and the newest of them', async () => {
    const { pass, days, remove } = await scheduleWith({ count: 3 });
    for (let at = 0; at < 5; at++) await pass(day);
    assert.deepEqual(days(), ['04', '05', '06']);
    await remove();
  });

  it('is what is young enough, and the newest however old it is', async () => {
    const { pass, days, remove } = await scheduleWith({ age: 2 * day });
    for (let at = 0; at < 4; at++) await pass(day);
    assert.deepEqual(days(), ['03', '04', '05']);
    await pass(30 * day, true);
    assert.deepEqual(days(), ['03', '04', '05'], 'nothing new was proven');
    await pass(day);
    assert.deepEqual(days(), ['06']);
    await remove();
  });

  it('is decided by the record of what was proven, and not by names of files', async () => {
    const { pass, days, said, schedule, folder, remove } = await scheduleWith({ count: 2 });
    for (const name of ['20261101T120000Z', '20991231T000000Z'])
      writeFileSync(join(folder, `strongroom-${name}.age`), 'planted');
    for (let at = 0; at < 4; at++) await pass(day);
    assert.deepEqual(days(), ['01', '04', '05', '31'], 'both planted ones are there, and the newest two');
    assert.equal(schedule.status.last!.created_at, '2026-11-05T00:00:00.000Z');
    assert.deepEqual(
      said.map(line => line.slice(0, 31)),
      ['strongroom-20261101T120000Z.age', 'strongroom-20991231T000000Z.age'],
      'each is reported once',
    );
    await remove();
  });

  it('is no entry of the record that the keyring did not mark, and none whose file is gone or has another size', async () => {
    const { pass, days, schedule, folder, remove } = await scheduleWith({ count: 2 });
    for (let at = 0; at < 2; at++) await pass(day);
    const record = JSON.parse(readFileSync(join(folder, statusFile), 'utf8'));
    const [newest, before] = record.proven;
    const otherwise = {
      file: before.file,
      created_at: '2026-11-30T00:00:00.000Z',
      proven_at: 'now',
      sha256: 'another',
    };
    const change = async (proven: unknown[]) => {
      writeFileSync(join(folder, statusFile), JSON.stringify({ ...record, proven }));
      await schedule.begin();
      return schedule.status.proven.map(({ file }) => file.slice(17, 19));
    };
    for (const [field, other] of Object.entries(otherwise))
      assert.deepEqual(await change([{ ...newest, [field]: other }, before]), ['02'], field);
    assert.deepEqual(await change([before, newest]), ['03', '02'], 'in whatever order');
    writeFileSync(join(folder, newest.file), 'cut');
    assert.deepEqual(await change([newest, before]), ['02']);
    await pass(1_000);
    assert.deepEqual(days(), ['02', '03', '03'], 'so one is due at once, and what is not proven stays');
    await remove();
  });

  it('is not put off by a clock that was ahead', async () => {
    const { pass, days, schedule, remove } = await scheduleWith({ count: 5 });
    await pass(10 * day);
    await pass(-9 * day);
    await schedule.begin();
    await pass(0);
    assert.deepEqual(days(), ['02', '11']);
    await remove();
  });

  it('one that fails is tried again soon, and removes none', async () => {
    const { pass, days, said, schedule, remove } = await scheduleWith({ count: 1 });
    await pass(0);
    await pass(day, true);
    await pass(60_000, false);
    assert.deepEqual([days(), said], [['01'], ['the backup failed: no room']]);
    assert.equal(schedule.status.failed!.reason, 'no room');
    await pass(15 * 60_000, false);
    assert.deepEqual(days(), ['02']);
    assert.equal(schedule.status.failed, null);
    schedule.stop();
    await pass(day);
    assert.deepEqual(days(), ['02']);
    await remove();
  });
});
