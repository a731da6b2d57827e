/** `strongroom backup` and `strongroom restore` as an operator uses them: passphrases, pipes, and databases of earlier releases. */
import assert from 'node:assert/strict';
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { steps } from '../src/store/migrations/migrations.ts';
import { emptyPlace, restoreFrom, take } from './backups.ts';
import { type CommandOptions, run } from './command.ts';
import { beside, type EngineName, enginesInTurn, makeOrganization } from './harness.ts';
import { dataFolder, freshDatabase } from './postgres.ts';

const passphrase = 'correct horse battery staple';
const fixtures = fileURLToPath(new URL('fixtures', import.meta.url));

describe('strongroom backup', () => {
  let folder: string;
  let place: string[];
  const inFolder = (name: string) => join(folder, name);
  const done = async (args: readonly string[], options?: CommandOptions) => {
    const { code, stdout, stderr } = await run(args, options);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const refused = async (args: readonly string[], line: RegExp, options?: CommandOptions) => {
    const { code, stderr } = await run(args, options);
    assert.ok(code === 1 || code === 2);
    assert.match(stderr, line);
    assert.equal(stderr.trimEnd().split('\n').length, 1);
  };

  before(async () => {
    folder = await dataFolder();
    place = ['--data', join(folder, 'data')];
    await makeOrganization(place, 'Test', 'pro', 0);
    writeFileSync(inFolder('passphrase'), `${passphrase}\n`);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('takes a passphrase from the environment or a file, never from an argument', async () => {
    const env = { STRONGROOM_BACKUP_PASSPHRASE: passphrase };
    await done(['backup', inFolder('words.age'), ...place], { env });
    const byFile = ['--backup-passphrase-file', inFolder('passphrase')];
    const verified = JSON.parse(
      await done(['backup', 'verify', inFolder('words.age'), ...place, ...byFile, '--json']),
    );
    assert.equal(verified.verified, 'all');
    await refused(
      ['backup', 'verify', inFolder('words.age'), ...place],
      /was not encrypted for the given key/,
      {
        env: { STRONGROOM_BACKUP_PASSPHRASE: 'another passphrase' },
      },
    );
    await refused(
      ['backup', inFolder('x.age'), ...place, '--backup-passphrase', passphrase],
      /unknown flag '--backup-passphrase': see --help/,
    );
    await refused(['backup', inFolder('x.age'), ...place], /a backup must be encrypted/);
    await refused(['backup', inFolder('words.age'), ...place], /words\.age already exists/, { env });
  });

  it('creates a key pair, whose private key nobody else can read, and is piped on once it is verified', async () => {
    const recipient = (await done(['backup', 'new-key', inFolder('key')])).trim();
    assert.equal(statSync(inFolder('key')).mode & 0o777, 0o400);
    await refused(['backup', 'new-key', inFolder('key')], /EEXIST/);
    const under = ['sh', '-c', `"$@" > '${inFolder('piped.age')}'`, 'sh'];
    await done(['backup', '-', ...place, '--backup-recipient', recipient], { under });
    const opening = ['--backup-key-file', inFolder('key')];
    const without = ['--data', join(folder, 'elsewhere')];
    const told = await done([
      'backup',
      'verify',
      inFolder('piped.age'),
      ...without,
      ...opening,
      '--file-only',
    ]);
    assert.match(told, /complete and unchanged; logs and stamps were not verified/);
    await refused(
      ['backup', 'verify', inFolder('piped.age'), ...without, ...opening],
      /root key file .* can't be opened/,
    );
    const restored = await done(['restore', inFolder('piped.age'), ...without, ...opening, '--no-verify']);
    assert.match(
      restored,
      /Restored the backup of .*: 1 organization, \d+ rows\nLogs and stamps were not verified\n/,
    );
    assert.deepEqual(
      readdirSync(join(folder, 'elsewhere')).filter(name => name.startsWith('strongroom')),
      ['strongroom.db'],
    );
  });

  it('from before a change of the root key needs the root key of its time, as both commands say', async () => {
    const [to, newKey] = [inFolder('rotated'), inFolder('new.key')];
    const words = ['--backup-passphrase-file', inFolder('passphrase')];
    await makeOrganization(['--data', to], 'Rotated', 'pro', 0);
    cpSync(join(to, 'root.key'), inFolder('old.key'));
    await done(['backup', inFolder('before.age'), '--data', to, ...words]);
    const told = await done(['root-key', 'rotate', '--data', to, '--new-root-key-file', newKey]);
    assert.match(told, /^Earlier backups still require the old root key: keep it/m);
    const restore = ['restore', inFolder('before.age'), '--data', inFolder('empty'), ...words];
    await refused(
      [...restore, '--root-key-file', newKey],
      /is not the one that protects this data\. A backup from before a change of the root key requires the root key of that time$/m,
    );
    await done([...restore, '--root-key-file', inFolder('old.key')]);
  });

  it('says in one line what is missing', async () => {
    const opening = ['--backup-passphrase-file', inFolder('passphrase')];
    const to = ['--data', join(folder, 'nothing')];
    await refused(['backup', inFolder('y.age'), ...to, ...opening], /--data contains no database/);
    await refused(
      ['restore', inFolder('missing.age'), ...to, ...opening],
      /missing\.age can’t be read or written \(ENOENT\)/,
    );
    await refused(['restore', inFolder('passphrase'), ...to, ...opening], /it is not a backup/);
    await refused(['restore', ...opening], /the name of a file is required/);
    const away = ['--database-url', 'postgres://u@127.0.0.1:1/d'];
    await refused(
      ['backup', inFolder('z.age'), ...to, ...away, ...opening],
      /: the database can’t be read or written \(ECONNREFUSED\)/,
    );
    await refused(
      ['restore', inFolder('words.age'), ...to, ...away, ...opening],
      /the database to restore into can’t be/,
    );
    await refused(
      ['restore', inFolder('words.age'), ...to],
      /a key or passphrase for the backup is required/,
    );
    assert.equal(existsSync(join(folder, 'nothing', 'strongroom.db')), false);
  });
});

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`a backup of an earlier release’s database on ${engine}`, () => {
    for (const release of readdirSync(fixtures)) {
      it(`${release}: is taken as it is, and brought forward where it is restored`, async () => {
        const { place, data } = await copyOf(release, engine);
        const file = join(data, 'backup.age');
        const { manifest } = await take(place, file);
        assert.ok(manifest.schema.length < Object.keys(steps).length, 'it is older');
        const to = await emptyPlace(engine === 'sqlite' ? 'postgres' : 'sqlite', data);
        const { proof } = await restoreFrom(file, to);
        assert.equal(proof!.report.ok, true);
        const names = await beside({ place: to }, async ({ store }) =>
          (await store.organizations.all()).map(({ name }) => name),
        );
        assert.ok(names.length > 0);
        for (const path of [data, to[1]!]) await rm(path, { recursive: true, force: true });
      });
    }
  });
}

async function copyOf(release: string, engine: EngineName) {
  const data = await dataFolder();
  const from = join(fixtures, release, engine);
  for (const file of ['root.key', 'strongroom.db'])
    if (existsSync(join(from, file))) cpSync(join(from, file), join(data, file));
  chmodSync(join(data, 'root.key'), 0o400);
  const place = ['--data', data];
  if (engine === 'sqlite') return { place, data };
  const url = await freshDatabase();
  const client = new pg.Client(url);
  await client.connect();
  await client.query(readFileSync(join(from, 'dump.sql'), 'utf8'));
  await client.end();
  return { place: [...place, '--database-url', url], data };
}
