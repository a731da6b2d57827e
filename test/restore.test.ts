/** A database that was put back, and the evidence that tells. */
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { writeDurably } from '../src/base/durable-file.ts';
import { putAside, writeCheckpointFile } from '../src/logs/checkpoint-file.ts';
import { type Checkpoint, parseCheckpoint } from '../src/logs/checkpoints.ts';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig, StartRefused } from '../src/service/settings/config.ts';
import { run } from './command.ts';
import { beside, callService, engines, eventually, makeOrganization } from './harness.ts';
import { dataRoot, freshDatabase } from './postgres.ts';

const folders: string[] = [];
const folder = () => {
  folders.push(mkdtempSync(join(dataRoot(), 'strongroom-restore-')));
  return folders.at(-1)!;
};
after(() => Promise.all(folders.map(path => rm(path, { recursive: true, force: true }))));

const start = (flags: readonly string[]): Promise<Running> =>
  serve(readConfig(serveOptions, ['--port', '0', ...flags], {}), { report: () => {} });

/** Refused with one line, which is handed back. */
async function refused(flags: readonly string[]): Promise<string> {
  const error = await start(flags).then(
    async running => {
      await running.stop();
      return null;
    },
    (thrown: Error) => thrown,
  );
  assert.ok(error instanceof StartRefused, `${error?.stack ?? 'it started'}`);
  assert.ok(!error.message.includes('\n'));
  return error.message;
}

/** As much of a life as moves the log on. */
async function live(flags: readonly string[], key: string, name: string): Promise<void> {
  const running = await start(flags);
  const { status } = await callService(running.url, 'POST', '/v1/vaults', { name }, key);
  await running.stop();
  assert.equal(status, 200);
}

const numberIn = (file: string) =>
  (JSON.parse(parseCheckpoint(readFileSync(file, 'utf8')).body) as Checkpoint).number;

/** A new database with all that is in another, which nobody uses meanwhile. */
async function copyOf(url: string): Promise<string> {
  const copy = await freshDatabase();
  const admin = new pg.Client(url.replace(/\/[^/]+$/, '/postgres'));
  await admin.connect();
  const name = (of: string) => new URL(of).pathname.slice(1);
  await admin.query(`DROP DATABASE ${name(copy)}`);
  await admin.query(`CREATE DATABASE ${name(copy)} TEMPLATE ${name(url)}`);
  await admin.end();
  return copy;
}

for (const engine of engines) {
  describe(`an older database on ${engine}`, () => {
    const data = folder();
    const kept = join(data, 'checkpoint.json');
    let older: string;
    let key: string;
    let place: string[];

    /** The database as it is now, under another name. */
    const backup = async () => {
      if (engine === 'postgres') return copyOf(place.at(-1)!);
      const copy = join(folder(), 'copy.db');
      await copyFile(join(data, 'strongroom.db'), copy);
      return copy;
    };
    const restore = async (copy: string) => {
      if (engine === 'postgres') place = ['--data', data, '--database-url', await copyOf(copy)];
      else await copyFile(copy, join(data, 'strongroom.db'));
    };

    before(async () => {
      place = ['--data', data];
      if (engine === 'postgres') place.push('--database-url', await freshDatabase());
      key = (await makeOrganization(place, 'Test', 'enterprise', 0)).key;
      await live(place, key, 'one');
      older = await backup();
      await live(place, key, 'two');
    });

    it('is refused at the start, and the evidence stays as it is', async () => {
      const newer = engine === 'postgres' ? place : null;
      const current = newer === null ? await backup() : null;
      const evidence = await readFile(kept);
      await restore(older);
      const message = await refused(place);
      assert.match(message, /checkpoint \d+ was kept/);
      assert.match(message, new RegExp(`start once with --accept-restore ${numberIn(kept)},`));
      assert.match(
        await refused([...place, '--accept-restore', '1']),
        /--accept-restore/,
        'not for another one',
      );
      assert.deepEqual(await readFile(kept), evidence);
      if (newer !== null) place = newer;
      else await restore(current!);
      await live(place, key, 'three');
    });

    it('is refused by commands that would change it, and they change nothing', async () => {
      const [newerPlace, current] = [place, await backup()];
      await restore(older);
      for (const args of [
        ['root-key', 'rotate', '--new-root-key-file', join(data, 'new.key')],
        ['keyring', 'rotate'],
        ['setup', '--organization', 'Another'],
      ]) {
        const { code, stderr } = await run([...args, ...place]);
        assert.match(stderr, /does not match the checkpoint in/, args.join(' '));
        assert.equal(code, 1);
      }
      assert.equal(existsSync(join(data, 'new.key')), false);
      place = newerPlace;
      await restore(current);
      await live(place, key, 'four');
    });

    it('is refused by a checkpoint that is kept elsewhere, too', async () => {
      const elsewhere = join(folder(), 'kept.json');
      await live([...place, '--checkpoint-file', elsewhere], key, 'elsewhere');
      const current = await backup();
      const [olderPlace, newerPlace] = [older, place];
      await restore(olderPlace);
      await rename(kept, `${kept}.away`);
      assert.match(
        await refused([...place, '--checkpoint-file', elsewhere]),
        /does not match the checkpoint in .*kept\.json/,
      );
      await rename(`${kept}.away`, kept);
      place = newerPlace;
      if (engine === 'sqlite') await restore(current);
    });

    it('is refused although newer checkpoints were copied into it', async () => {
      const copied = await beside({ place }, async ({ store }) => store.logs.checkpoints(0, 1_000));
      const [newerPlace, current] = [place, await backup()];
      await restore(older);
      await beside({ place }, async ({ store }) => {
        const there = new Set((await store.logs.checkpoints(0, 1_000)).map(({ number }) => number));
        const missing = copied.filter(({ number }) => !there.has(number));
        await store.commit([{ statements: missing.map(row => store.logs.addCheckpoint(row)) }]);
      });
      assert.match(await refused(place), /log does not match what checkpoint \d+ signed/);
      place = newerPlace;
      await restore(current);
    });

    it('is accepted on purpose, once: it is written down, and the evidence is put aside', async () => {
      const evidence = await readFile(kept);
      const number = numberIn(kept);
      await restore(older);
      const running = await start([...place, '--accept-restore', `${number}`]);
      const { body } = await callService(
        running.url,
        'GET',
        '/v1/audit-logs?action=log.restore_accepted',
        undefined,
        key,
      );
      await running.stop();
      assert.equal(body.pagination.total, 1);
      assert.equal(body.data[0].actor.kind, 'operator');
      assert.equal(body.data[0].details.checkpoint, number);
      assert.deepEqual(await readFile(join(data, `checkpoint-${number}.json`)), evidence);
      assert.ok(numberIn(kept) <= number, 'what is kept from now on is of the restored database');
      for (let life = 0; numberIn(kept) <= number; life++) await live(place, key, `after ${life}`);
      const aside = ['--checkpoint-file', join(data, `checkpoint-${number}.json`)];
      assert.match(await refused([...place, ...aside]), /its checkpoint \d+ is not the one that was kept/);
    });

    it('is refused where there is none at all, but a checkpoint was kept', async () => {
      const bare = folder();
      cpSync(kept, join(bare, 'checkpoint.json'));
      const flags = ['--data', bare];
      if (engine === 'postgres') flags.push('--database-url', await freshDatabase());
      assert.match(await refused(flags), /it ends at checkpoint 0, but/);
      assert.deepEqual(
        readdirSync(bare).filter(name => /\.db$|\.key$/.test(name)),
        [],
        'nothing was made',
      );
    });
  });
}

describe('what is kept', () => {
  const data = folder();
  const place = ['--data', data];
  const kept = join(data, 'checkpoint.json');
  let key: string;
  before(async () => {
    key = (await makeOrganization(place, 'Test', 'enterprise', 0)).key;
    await live(place, key, 'one');
  });

  it('tells of a write-ahead log that was cut in half', async () => {
    const running = await start(place);
    const copy = folder();
    try {
      const make = (name: string) => callService(running.url, 'POST', '/v1/vaults', { name }, key);
      for (let made = 0; made < 30; made++) await make(`w${made}`);
      const at = numberIn(kept);
      await make('last');
      await eventually('a later checkpoint is kept', async () => numberIn(kept) > at);
      for (const name of ['strongroom.db', 'strongroom.db-wal', 'root.key', 'checkpoint.json'])
        cpSync(join(data, name), join(copy, name));
    } finally {
      await running.stop();
    }
    const log = join(copy, 'strongroom.db-wal');
    await truncate(log, Math.floor(readFileSync(log).length / 2));
    assert.match(await refused(['--data', copy]), /it ends at checkpoint/);
  });

  it('must be a checkpoint, and ours', async () => {
    const evidence = await readFile(kept, 'utf8');
    for (const damaged of ['', '{', '{"checkpoint":"x","signature":""}']) {
      writeFileSync(kept, damaged);
      assert.match(await refused(place), /can’t be read as a checkpoint: it is damaged/);
      assert.equal(readFileSync(kept, 'utf8'), damaged);
    }
    writeFileSync(kept, evidence.replace('\\"full\\":', '\\"full\\": '));
    assert.match(await refused(place), /was not signed with this database’s keyring/);
    writeFileSync(kept, evidence);
  });

  it('is never replaced by an older one of ours', async () => {
    const older = await readFile(kept, 'utf8');
    await live(place, key, 'newer');
    const newer = await readFile(kept, 'utf8');
    const publicKey = await readFile(join(data, 'log-public-key.pem'), 'utf8');
    await writeCheckpointFile(kept, publicKey, parseCheckpoint(older));
    assert.equal(await readFile(kept, 'utf8'), newer);
    writeFileSync(kept, older);
    await writeCheckpointFile(kept, publicKey, parseCheckpoint(newer));
    assert.equal(await readFile(kept, 'utf8'), newer);
  });

  it('is put aside under its number, and never over another', async () => {
    const place = folder();
    for (const text of ['first', 'second']) {
      writeFileSync(join(place, 'kept.json'), text);
      await putAside(join(place, 'kept.json'), 7);
    }
    assert.equal(readFileSync(join(place, 'kept-7.json'), 'utf8'), 'first');
    assert.equal(readFileSync(join(place, 'kept-7-2.json'), 'utf8'), 'second');
  });

  it('is written aside and put in place: never through a link, and whole or not at all', async () => {
    const place = folder();
    const [file, victim] = [join(place, 'file'), join(place, 'victim')];
    writeFileSync(victim, 'untouched');
    symlinkSync(victim, file);
    await writeDurably(file, 'first');
    assert.deepEqual([readFileSync(file, 'utf8'), readFileSync(victim, 'utf8')], ['first', 'untouched']);
    rmSync(file);
    await mkdir(file);
    await assert.rejects(writeDurably(file, 'second'));
    assert.deepEqual(readdirSync(place).sort(), ['file', 'victim'], 'nothing is left aside');
    assert.ok(existsSync(victim));
  });
});
