import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Checkpoint, parseCheckpoint } from '../src/logs/checkpoints.ts';
import { databaseSource } from '../src/logs/source.ts';
import { type LogSource, verifyLogs } from '../src/logs/verify.ts';
import { openStrongroom } from '../src/service/opening/open.ts';
import { openLogs } from '../src/service/opening/open-data.ts';
import { placeOptions, serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { type Result, run } from './command.ts';
import {
  beside,
  engines,
  eventually,
  makeOrganization,
  type Service,
  startService,
  timePassing,
} from './harness.ts';
import { dataRoot, freshDatabase } from './postgres.ts';
import { inDatabase } from './storage.ts';

const day = 86_400_000;

interface Prepared {
  readonly service: Service;
  read(): Promise<string>;
}

async function prepare(engine: (typeof engines)[number]): Promise<Prepared> {
  const service = await startService({ engine });
  const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'v' });
  const { body: key } = await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'k' });
  const read = async () => {
    const answer = await service.call('GET', `/api/v1/vaults/${vault.id}`, undefined, key.token);
    return answer.headers.get('strongroom-receipt')!;
  };
  return { service, read };
}

const lastLine = ({ stdout }: Result) => stdout.trimEnd().split('\n').at(-1)!;

for (const engine of engines) {
  describe(`audit verify on ${engine}`, () => {
    let service: Service;
    let read: Prepared['read'];
    const receipts: string[] = [];
    before(async () => {
      ({ service, read } = await prepare(engine));
      for (let count = 0; count < 4; count++) receipts.push(await read());
      await service.restart(); // A stop signs what is left.
    });
    after(() => service.stop());

    const verify = (...flags: string[]) => run(['audit', 'verify', ...service.place, ...flags]);
    const checkpointFile = () => join(service.data, 'checkpoint.json');

    it('ends with 0 where the logs hold against a kept checkpoint, and says so in its last line', async () => {
      const result = await verify('--checkpoint', checkpointFile());
      assert.equal(result.code, 0, result.stdout);
      const { number, created_at } = JSON.parse(
        parseCheckpoint(await readFile(checkpointFile(), 'utf8')).body,
      );
      assert.match(
        lastLine(result),
        new RegExp(`^Verified against the given checkpoint ${number} of ${created_at}`),
      );
    });

    it('ends with 4 where they hold against themselves alone, and says so in its last line', async () => {
      const result = await verify();
      assert.equal(result.code, 4, result.stdout);
      assert.match(result.stdout, /^The logs are intact: 4 request entries/);
      assert.match(lastLine(result), /^Verified only against the checkpoints in the log itself/);
    });

    it('checks each of several receipts', async () => {
      const forged = `${receipts[0]!.slice(0, -1)}${receipts[0]!.endsWith('A') ? 'B' : 'A'}`;
      const flags = [forged, receipts[1]!, `${receipts[2]},${receipts[3]}`].flatMap(one => [
        '--receipt',
        one,
      ]);
      const result = await verify('--json', ...flags);
      assert.equal(result.code, 1);
      assert.deepEqual(JSON.parse(result.stdout).findings, [{ what: 'receipt-not-found', where: forged }]);
    });

    it('ends with 3 where it can’t read what it needs, and with 2 where its command line is wrong', async () => {
      const unread: [string[], RegExp][] = [
        [['--checkpoint', join(service.data, 'none.json')], /none\.json/],
        [['--checkpoint', join(service.data, 'log-public-key.pem')], /JSON|no checkpoint/],
        [['--public-key', join(service.data, 'none.pem')], /none\.pem can’t be read: use --public-key/],
        [['--public-key', checkpointFile()], /./],
        [['--file', service.data], /it is a folder/],
      ];
      for (const [flags, what] of unread) {
        const { code, stderr, stdout } = await verify(...flags);
        assert.equal(code, 3, `${flags} ${stderr}`);
        assert.match(stderr, /^strongroom: the logs could not be verified: [^\n]+\n$/);
        assert.match(stderr, what);
        assert.equal(stdout, '');
      }
      assert.equal((await verify('--no-such-flag')).code, 2);
      assert.equal(
        (await verify('--checkpoint', checkpointFile(), '--checkpoint', checkpointFile())).code,
        2,
      );
    });

    it('sees one moment, however much is written and removed while it reads', async () => {
      const publicKey = await readFile(join(service.data, 'log-public-key.pem'), 'utf8');
      const logs = await openLogs(readConfig(placeOptions, service.place, {}));
      const source = databaseSource(logs);
      let disturbed = false;
      const disturb = async () => {
        if (disturbed) return;
        disturbed = true;
        service.clock.pass(100 * day);
        await read();
        await service.prune(90);
      };
      const disturbedSource: LogSource = {
        checkpoints: source.checkpoints,
        async *links(stream) {
          if (stream === 'request') await disturb();
          yield* source.links(stream);
        },
      };
      const report = await verifyLogs(disturbedSource, { publicKey }).finally(() => logs.close());
      assert.deepEqual([report.findings, report.open, report.entries.request], [[], 0, 4]);
      const later = await openLogs(readConfig(placeOptions, service.place, {}));
      const now = await verifyLogs(databaseSource(later), { publicKey, now: service.clock.now });
      await later.close();
      assert.equal(now.entries.request, 1, 'it did happen meanwhile');
    });

    it('takes no removal for tampering that a kill kept from being signed, and proves it once it is', async () => {
      const publicKey = await readFile(join(service.data, 'log-public-key.pem'), 'utf8');
      await service.restart();
      const signed = JSON.parse(parseCheckpoint(await readFile(checkpointFile(), 'utf8')).body) as Checkpoint;
      service.clock.pass(50_000);
      const config = readConfig(serveOptions, service.place, {});
      const now = () => service.clock.now() + 91 * day;
      const dying = await openStrongroom(config, false, service.clock.now, { elapsed: timePassing() });
      await dying.domain.retention.prune({ aged: now, days: 90 });
      const logs = await openLogs(readConfig(placeOptions, service.place, {}));
      const source = databaseSource(logs);
      const asKilled: LogSource = {
        links: source.links,
        async *checkpoints() {
          for await (const one of source.checkpoints())
            if ((JSON.parse(one.body) as Checkpoint).number <= signed.number) yield one;
        },
      };
      const report = await verifyLogs(asKilled, { publicKey, now: service.clock.now });
      await logs.close();
      assert.deepEqual([report.findings, report.open, report.entries.request], [[], 1, 0]);
      await dying.close();
      await eventually('what was open is closed', async () => {
        const proven = await openLogs(readConfig(placeOptions, service.place, {}));
        const { findings, open } = await verifyLogs(databaseSource(proven), {
          publicKey,
          now: service.clock.now,
        });
        await proven.close();
        assert.deepEqual(findings, []);
        return open === 0;
      });
    });

    it('knows of a newest checkpoint that is young, although nothing is written', async () => {
      const number = async () =>
        JSON.parse(parseCheckpoint(await readFile(checkpointFile(), 'utf8')).body).number;
      await service.restart();
      const before = await number();
      service.clock.pass(31_000);
      await eventually('another checkpoint is kept', async () => (await number()) > before);
    });

    it('finds that checkpoints were removed while the service ran, which tells its operator', async () => {
      const publicKey = await readFile(join(service.data, 'log-public-key.pem'), 'utf8');
      await inDatabase(service, 'DELETE FROM checkpoints');
      await service.call('POST', '/v1/vaults', { name: `after ${engine}` });
      await eventually('the operator is told of the removed checkpoint', async () =>
        service.reports.some(line => line.includes('was removed from the database')),
      );
      await eventually('the verifier finds what was removed', async () => {
        const logs = await openLogs(readConfig(placeOptions, service.place, {}));
        const { findings, checkpoints } = await verifyLogs(databaseSource(logs), {
          publicKey,
          now: service.clock.now,
        });
        await logs.close();
        return checkpoints > 0 && findings.some(({ what }) => what === 'bad-checkpoint');
      });
    });

    it('ends with 1 where something is found', async () => {
      await inDatabase(service, "UPDATE audit_logs SET entry = replace(entry, 'vault', 'valut')");
      const result = await verify('--checkpoint', checkpointFile());
      assert.equal(result.code, 1);
      assert.match(result.stdout, /^The logs are NOT intact/);
      assert.match(result.stdout, /\n {2}edited: audit entry /);
      assert.match(lastLine(result), /^Verified against the given checkpoint/);
    });
  });
}

for (const engine of engines) {
  it(`what a command writes on ${engine} is signed when it ends, although no service runs`, async () => {
    const data = mkdtempSync(join(dataRoot(), 'strongroom-command-'));
    const place = [
      '--data',
      data,
      ...(engine === 'postgres' ? ['--database-url', await freshDatabase()] : []),
    ];
    try {
      await makeOrganization(place, 'Test', 'pro', 0);
      const publicKey = await beside({ place }, async ({ keyring }) => keyring.logPublicKey);
      const logs = await openLogs(readConfig(placeOptions, place, {}));
      const now = () => Date.now() + day;
      const report = await verifyLogs(databaseSource(logs), { publicKey, now });
      await logs.close();
      assert.deepEqual([report.findings, report.unsigned], [[], 0]);
      assert.equal(report.checkpoints, 1, 'and one that only looks signs nothing');
    } finally {
      rmSync(data, { recursive: true, force: true });
    }
  });
}

describe('audit verify of a copy that can’t be written to', () => {
  let service: Service;
  const copies: string[] = [];
  before(async () => {
    const prepared = await prepare('sqlite');
    service = prepared.service;
    for (let count = 0; count < 3; count++) await prepared.read();
    await service.restart();
    await prepared.read();
  });
  after(async () => {
    await service.stop();
    for (const copy of copies) {
      chmodSync(copy, 0o700);
      rmSync(copy, { recursive: true, force: true });
    }
  });

  /** Permissions don't bind root: where SQLite would make a file beside the database, a link to nowhere lies, then. */
  function unwritable(files: readonly string[]): string {
    const copy = mkdtempSync(join(dataRoot(), 'strongroom-copy-'));
    copies.push(copy);
    for (const name of files) cpSync(join(service.data, name), join(copy, name));
    for (const name of readdirSync(copy)) chmodSync(join(copy, name), 0o400);
    if (process.getuid?.() === 0) symlinkSync(join(copy, 'nowhere', 'x'), join(copy, 'strongroom.db-shm'));
    chmodSync(copy, 0o500);
    return copy;
  }

  it('reads what the write-ahead log holds, too, and leaves every byte as it was', async () => {
    const copy = unwritable(['strongroom.db', 'strongroom.db-wal', 'log-public-key.pem', 'checkpoint.json']);
    const bytes = () =>
      Promise.all(['strongroom.db', 'strongroom.db-wal'].map(name => readFile(join(copy, name))));
    const before = await bytes();
    assert.ok(before[1]!.length > 0);
    const result = await run([
      'audit',
      'verify',
      '--data',
      copy,
      '--checkpoint',
      join(copy, 'checkpoint.json'),
    ]);
    assert.equal(result.code, 0, result.stdout + result.stderr);
    assert.match(result.stdout, /^The logs are intact: 4 request entries/);
    assert.deepEqual(await bytes(), before);
  });

  it('reads a database whose write-ahead log was written back', async () => {
    await service.call('GET', '/v1/request-logs');
    await inDatabase(service, 'PRAGMA wal_checkpoint(TRUNCATE)');
    const copy = unwritable(['strongroom.db', 'log-public-key.pem']);
    const result = await run(['audit', 'verify', '--data', copy]);
    assert.equal(result.code, 4, result.stdout + result.stderr);
  });

  it('says that it can’t verify what is no database', async () => {
    const copy = mkdtempSync(join(dataRoot(), 'strongroom-copy-'));
    copies.push(copy);
    cpSync(join(service.data, 'log-public-key.pem'), join(copy, 'log-public-key.pem'));
    assert.equal((await run(['audit', 'verify', '--data', copy])).code, 3);
    await writeFile(join(copy, 'strongroom.db'), 'x'.repeat(8_192));
    assert.equal((await run(['audit', 'verify', '--data', copy])).code, 3);
  });
});
