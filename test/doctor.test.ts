/** `strongroom doctor`: what is wrong with an installation is found, beside a service and without one, and nothing is changed. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { command } from '../src/cli/service/doctor.ts';
import { issueServerCertificate, selfSign } from '../src/material/certificate.ts';
import { generateKey } from '../src/material/key-material.ts';
import { type CheckResult, lasting, sized, worstOf } from '../src/service/doctor/check.ts';
import { checkNames, examine } from '../src/service/doctor/doctor.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { steps } from '../src/store/migrations/migrations.ts';
import { run } from './command.ts';
import { engines, type Service, startService } from './harness.ts';
import { copyOf, releases } from './kept-databases.ts';
import { inDatabase } from './storage.ts';

const day = 86_400_000;

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

for (const engine of engines) {
  describe(`strongroom doctor on ${engine}`, () => {
    /** What the command does is tried on both; the command itself is the same. */
    const onlyOnSqlite = { skip: engine !== 'sqlite' };
    let service: Service;
    let port: string;
    before(async () => {
      service = await startService({ engine });
      // Roles that other tests make meanwhile may not connect.
      const database = service.databaseUrl && new URL(service.databaseUrl).pathname.slice(1);
      if (database !== null) await inDatabase(service, `REVOKE CONNECT ON DATABASE ${database} FROM PUBLIC`);
      port = new URL(service.url).port;
      await service.call('POST', '/v1/vaults', { name: 'v' });
      chmodSync(service.data, 0o700);
      await service.restart();
      port = new URL(service.url).port;
    });
    after(() => service.stop());

    async function found(
      flags: readonly string[] = [],
      now?: () => number,
    ): Promise<Map<string, CheckResult>> {
      const config = readConfig(serveOptions, [...service.place, '--port', port, ...flags], {});
      const results = await all(examine(config, [], now));
      assert.deepEqual(
        results.map(({ check }) => check),
        checkNames,
      );
      return new Map(results.map(result => [result.check, result]));
    }
    /** What is not well. */
    const wrong = (results: Map<string, CheckResult>) =>
      [...results.values()]
        .filter(({ outcome }) => outcome !== 'ok')
        .map(({ check, outcome }) => `${check} ${outcome}`);
    const toldOf = async (check: string, flags: readonly string[] = [], now?: () => number) => {
      const { outcome, message } = (await found(flags, now)).get(check)!;
      return `${outcome} ${message}`;
    };

    it('finds nothing wrong beside a service that is well, but that nobody takes backups', async () => {
      const results = await found();
      assert.deepEqual(wrong(results), ['backup warning'], JSON.stringify([...results.values()]));
      assert.match(results.get('service')!.message, /^version \S+ is ready at 127\.0\.0\.1 port \d+$/);
      assert.match(results.get('logs')!.message, /audit entries are intact$/);
    });

    it(
      'ends with 0, 1 or 2 for monitoring, with a line for each check or one JSON object',
      onlyOnSqlite,
      async () => {
        const place = [...service.place, '--port', port];
        const well = await run(['doctor', ...place, '--skip', 'backup', '--json']);
        assert.equal(well.code, 0, well.stdout + well.stderr);
        const { status, checks } = JSON.parse(well.stdout);
        assert.deepEqual([status, checks.length], ['ok', checkNames.length - 1]);
        const warned = await run(['doctor', ...place, '--skip=logs,hearing']);
        assert.equal(warned.code, 1, warned.stdout);
        const lines = warned.stdout.trimEnd().split('\n');
        assert.equal(lines.length, checkNames.length - 2);
        for (const line of lines) assert.match(line, /^(ok|warning|failed) +[a-z-]+ +\S/);
        assert.match(
          warned.stdout,
          /^warning +backup +the service takes no backups: start it with --backup-to/m,
        );
        assert.throws(
          () => command.options.skip!.parse('horoscope'),
          /must be one or more of: versions, service,/,
        );
      },
    );

    it('a root key that does not open the data fails, and the rest is still examined', async () => {
      const other = join(service.data, 'other.key');
      const bytes = Buffer.alloc(32, 7).toString('base64');
      writeFileSync(other, `strongroom-root-key-v1:${bytes}\n`, { mode: 0o400 });
      const results = await found(['--root-key-file', other]);
      assert.deepEqual(wrong(results), ['service warning', 'root-key failed', 'backup warning']);
      assert.match(results.get('root-key')!.message, /is not the one that protects this data$/);
      rmSync(other);
    });

    it('a service of other data is not taken for this one', async () => {
      const other = await startService({ engine });
      try {
        const flags = [...service.place, '--port', new URL(other.url).port];
        const results = await all(examine(readConfig(serveOptions, flags, {}), ['backup']));
        const { outcome, message } = results.find(({ check }) => check === 'service')!;
        assert.equal(outcome, 'warning');
        assert.match(message, /^the service at 127\.0\.0\.1 port \d+ serves data other than/);
      } finally {
        await other.stop();
      }
    });

    it('files that others can write or read, and a clock that is behind', async () => {
      chmodSync(service.data, 0o770);
      assert.match(await toldOf('permissions'), /^failed others can write to .*: chmod go-w /);
      chmodSync(service.data, 0o750);
      assert.match(await toldOf('permissions'), /^warning others can read /);
      chmodSync(service.data, 0o700);
      assert.match(
        await toldOf('clock', [], () => Date.now() - 3_600_000),
        /^warning the clock is .* behind the log/,
      );
      assert.match(await toldOf('clock', [], () => Date.now() - 2 * day), /^failed .*: set the clock$/);
    });

    it('a certificate that ends soon, has ended or is not the key’s, and one that the service has not read', async () => {
      const [cert, key] = [join(service.data, 'cert.pem'), join(service.data, 'key.pem')];
      const flags = ['--tls-cert', cert, '--tls-key', key];
      const authority = await generateKey({ key_type: 'EC', curve: 'P-256' });
      const notBefore = new Date(Date.now() - day);
      const made = { privatePem: authority.pem, subject: 'CN=a', sans: [], notBefore, isAuthority: true };
      const authorityPem = await selfSign({ ...made, days: 400 });
      const issue = async (days: number) => {
        const { pem, publicPem } = await generateKey({ key_type: 'EC', curve: 'P-256' });
        const signed = { authorityPem, authorityPrivatePem: authority.pem, publicPem, notBefore };
        writeFileSync(cert, await issueServerCertificate({ ...signed, names: ['localhost'], days }));
        writeFileSync(key, pem, { mode: 0o600 });
      };
      await issue(100);
      assert.match(await toldOf('tls', flags), /^ok the certificate is valid for 99 days$/);
      assert.match(await toldOf('tls', flags, () => Date.now() + 90 * day), /^warning .*expires in 9 days/);
      assert.match(
        await toldOf('tls', flags, () => Date.now() + 100 * day),
        /^failed the certificate expired/,
      );
      writeFileSync(key, authority.pem);
      assert.match(await toldOf('tls', flags), /^failed .* do not match/);
    });

    it('backups that are too old or fail', async () => {
      const folder = join(service.data, 'backups');
      const flags = ['--backup-to', folder, '--backup-every', '6h'];
      assert.match(await toldOf('backup', flags), /^failed there is no verified backup of the service in/);
      mkdirSync(folder);
      const at = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
      const say = (hours: number, failed: object | null) => {
        const last = { file: 'x', created_at: at(hours), proven_at: at(hours), bytes: 1, sha256: '' };
        writeFileSync(join(folder, 'strongroom-backups.json'), JSON.stringify({ last, failed }));
      };
      say(5, null);
      assert.match(await toldOf('backup', flags), /^ok the newest verified backup is 5 hours old$/);
      say(5, { at: at(1), reason: 'ENOSPC' });
      assert.match(await toldOf('backup', flags), /^warning .*failed: ENOSPC$/);
      say(30, null);
      assert.match(await toldOf('backup', flags), /^failed .*30 hours old/);
    });

    it('an entry that somebody changed fails the logs', async () => {
      const alter = (from: string, to: string) =>
        inDatabase(service, `UPDATE audit_logs SET entry = replace(entry, '${from}', '${to}')`);
      await alter('vault.created', 'vault.updated');
      assert.match(await toldOf('logs'), /^failed not intact: edited: audit entry /);
      await alter('vault.updated', 'vault.created');
      assert.match(await toldOf('logs'), /^ok /);
    });

    it('a database of an earlier version is told of and not migrated, one of a newer fails', async () => {
      await inDatabase(service, "INSERT INTO kysely_migration (name, timestamp) VALUES ('999-later', 'x')");
      assert.match(
        await toldOf('schema'),
        /^failed this database was migrated by a newer version \(999-later\)/,
      );
      await inDatabase(service, "DELETE FROM kysely_migration WHERE name = '999-later'");
      const last = Object.keys(steps).at(-1)!;
      await inDatabase(service, `UPDATE kysely_migration SET name = '000-' || name WHERE name = '${last}'`);
      assert.match(await toldOf('schema'), /^failed this database was migrated by a newer version/);
      await inDatabase(service, `UPDATE kysely_migration SET name = '${last}' WHERE name = '000-${last}'`);
      assert.match(await toldOf('schema'), /^ok /);
      const earlier = await copyOf(releases[0]!, engine);
      const config = readConfig(serveOptions, [...earlier.place, '--port', '1'], {});
      const results = new Map((await all(examine(config, ['backup']))).map(one => [one.check, one]));
      assert.match(results.get('schema')!.message, new RegExp(`the next start migrates it \\(.*${last}\\)`));
      assert.equal(results.get('schema')!.outcome, 'warning');
      assert.match(results.get('hearing')!.message, /^not checked: /);
      await rm(earlier.data, { recursive: true, force: true });
    });

    it('without a service it says so, and examines the rest', async () => {
      const nobody = ['--port', '1'];
      const config = readConfig(serveOptions, [...service.place, ...nobody], {});
      const results = await all(examine(config, ['backup']));
      assert.deepEqual(
        results.filter(({ outcome }) => outcome !== 'ok').map(({ check, message }) => `${check}: ${message}`),
        ['service: nothing listens at 127.0.0.1 port 1: start strongroom serve'],
      );
    });
  });
}

describe('strongroom doctor', () => {
  it('over an empty folder tells what is missing, and makes nothing', async () => {
    const config = readConfig(serveOptions, ['--data', '/nonexistent/data', '--port', '1'], {});
    const results = await all(examine(config, []));
    assert.equal(worstOf(results), 2);
    const { message } = results.find(({ check }) => check === 'schema')!;
    assert.equal(message, '--data contains no database');
  });

  it('says times and sizes as people do', () => {
    assert.deepEqual(
      [lasting(0), lasting(90_000), lasting(7_200_000), lasting(3 * day)],
      ['0 seconds', '90 seconds', '2 hours', '3 days'],
    );
    assert.deepEqual([sized(10), sized(2048), sized(3 * 1024 ** 3)], ['10 bytes', '2.0 KiB', '3.0 GiB']);
  });
});
