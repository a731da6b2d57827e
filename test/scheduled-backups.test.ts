/** Backups that the service takes by itself: when they are due, what is kept of them, and what is shown. */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type BackupStatus, statusFile } from '../src/backup/schedule.ts';
import { serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig, UsageError } from '../src/service/settings/config.ts';
import { emptyPlace, pair, restoreFrom } from './backups.ts';
import { engines, eventually, type Service, startService } from './harness.ts';
import { oneThread } from './one-thread.ts';
import { dataFolder } from './postgres.ts';
import { inDatabase } from './storage.ts';

const hour = 3_600_000;

for (const engine of engines) {
  describe(`scheduled backups on ${engine}`, () => {
    let service: Service;
    let folder: string;
    const backups = () => readdirSync(folder).filter(name => /^strongroom-\d{8}T\d{6}Z\.age$/.test(name));
    const status = (): BackupStatus => JSON.parse(readFileSync(join(folder, statusFile), 'utf8'));
    const shown = async () => (await service.call('GET', '/v1/about')).body.backups;
    const has = (count: number) =>
      eventually(
        `there are ${count} proven backups`,
        async () => backups().length === count && (await shown()).proven_at !== null,
      );

    before(async () => {
      folder = join(await dataFolder(), 'backups');
      mkdirSync(folder);
      // One process was killed long ago, another is at work.
      for (const [name, days] of [
        ['.strongroom-old', 2],
        ['.strongroom-new', 0],
      ] as const) {
        writeFileSync(join(folder, name), '');
        const then = Date.now() / 1000 - days * 86_400;
        utimesSync(join(folder, name), then, then);
      }
      const flags = [
        '--backup-to',
        folder,
        '--backup-every',
        '6h',
        '--keep',
        '2',
        '--backup-recipient',
        pair.recipient,
      ];
      service = await startService({ engine, flags, threads: engine === 'sqlite' });
    });
    after(async () => {
      await service.stop();
      await rm(join(folder, '..'), { recursive: true, force: true });
    });

    it('begin with the service, and are shown with their proof', async () => {
      await has(1);
      const { every_seconds, last_at, proven_at, bytes, failed_at } = await shown();
      assert.equal(every_seconds, 6 * 3_600);
      assert.ok(Date.parse(last_at) <= Date.parse(proven_at));
      assert.ok(bytes > 1_000);
      assert.equal(failed_at, null);
      assert.equal(status().last!.file, backups()[0]);
      assert.equal(existsSync(join(folder, '.strongroom-old')), false);
      assert.equal(existsSync(join(folder, '.strongroom-new')), true);
    });

    it('can be restored', async () => {
      const to = await emptyPlace('sqlite', service.data);
      const { manifest } = await restoreFrom(join(folder, backups()[0]!), to);
      assert.equal(manifest.engine, engine);
      await rm(to[1]!, { recursive: true, force: true });
    });

    it('are taken again once it is time, not after a restart; the oldest go', async () => {
      const [first] = backups();
      await service.restart();
      assert.deepEqual(backups(), [first]);
      assert.equal((await shown()).last_at, status().last!.created_at);
      service.clock.pass(6 * hour + 1_000);
      await has(2);
      service.clock.pass(6 * hour + 1_000);
      await eventually(
        'the oldest backup is removed',
        async () => !existsSync(join(folder, first!)) && backups().length === 2,
      );
      assert.equal(status().last!.file, backups()[1]);
    });

    it('of damaged rows are kept apart and reported, and take the place of none that was proven', async () => {
      const proven = backups();
      const { last } = status();
      await inDatabase(service, `UPDATE resources SET name = 'edited', name_search = 'edited'`);
      await inDatabase(service, `UPDATE organizations SET plan = 'free'`);
      service.clock.pass(6 * hour + 1_000);
      await eventually('the unproven backup is kept apart', async () =>
        readdirSync(folder).some(name => name.endsWith('.age.unproven')),
      );
      await eventually('the failed backup is shown', async () => (await shown()).failed_at !== null);
      assert.deepEqual(backups(), proven);
      assert.deepEqual(status().last, last);
      assert.match(status().failed!.reason, /not intact: edited: row of organizations/);
      assert.ok(service.reports.some(line => /^the backup failed: .*not intact/.test(line)));
    });
  });
}

describe('scheduled backups', () => {
  it('are refused at the start where they could not be encrypted', async () => {
    const data = await dataFolder();
    const refused = (...flags: string[]) =>
      assert.rejects(
        serve(readConfig(serveOptions, ['--data', data, '--port', '0', '--backup-to', data, ...flags], {}), {
          report: () => {},
        }),
        UsageError,
      );
    await refused();
    writeFileSync(join(data, 'short'), 'too short\n');
    await refused('--backup-passphrase-file', join(data, 'short'));
    await refused('--backup-passphrase-file', join(data, 'missing'));
    await rm(data, { recursive: true, force: true });
  });

  it('are refused at the start where they could not be written, and nothing stays open', async () => {
    const data = await dataFolder();
    const [passphrase, file] = [join(data, 'passphrase'), join(data, 'no folder')];
    writeFileSync(passphrase, 'a passphrase that is long enough\n');
    writeFileSync(file, '');
    const flags = ['--backup-passphrase-file', passphrase, '--backup-to', file];
    await assert.rejects(
      serve(readConfig(serveOptions, ['--data', data, '--port', '0', ...flags], {}), {
        report: () => {},
        ...oneThread,
      }),
      (error: Error) => error instanceof UsageError && /^--backup-to can’t be used: E/.test(error.message),
    );
    const isOpen = (descriptor: string) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(data);
      } catch {
        return false;
      }
    };
    assert.equal(readdirSync('/proc/self/fd').filter(isOpen).length, 0);
    await rm(data, { recursive: true, force: true });
  });
});
