/** A backup that is not what was written, or that there is no room for: one line says so, and nothing is half restored. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { BackupError } from '../src/backup/backup-error.ts';
import { readContents } from '../src/backup/contents.ts';
import { operatorOf } from '../src/cli/service/operator.ts';
import { chunkSize, opened } from '../src/keyring/age/age.ts';
import { AgeError } from '../src/keyring/age/header.ts';
import { identityFrom, newKeyPair } from '../src/keyring/age/keys.ts';
import { askingDomain } from './asking.ts';
import { emptyPlace, identity, pair, restoreFrom, take } from './backups.ts';
import { run, start } from './command.ts';
import { beside, type EngineName, engines, eventually, makeOrganization } from './harness.ts';
import { dataFolder, freshDatabase } from './postgres.ts';

async function* pieces(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
}

const nowhere = { begin: async () => {}, table: async () => {}, rows: async () => {} };
const read = (bytes: Uint8Array) => readContents(opened(pieces(bytes), identity), nowhere);

/** Enough for a few chunks. */
async function fill(place: readonly string[]): Promise<void> {
  const { organizationId } = await makeOrganization(place, 'Test', 'enterprise', 0);
  await beside({ place }, async ({ domain, newId }) => {
    const operator = operatorOf(organizationId, newId);
    const { vaults, secrets } = askingDomain(domain);
    const vault = await vaults.create(operator, { name: 'v' });
    for (let at = 0; at < 4; at++) {
      const value = randomBytes(30_000).toString('base64');
      await secrets.create(operator, { vault_id: vault.id, name: `S${at}`, value });
    }
  });
}

/** That nothing of ours is there. */
async function isEmptyPlace(place: readonly string[]): Promise<void> {
  assert.deepEqual(
    readdirSync(place[1]!).filter(name => name !== 'root.key' && !name.startsWith('serve.lock')),
    [],
  );
  if (place[3] === undefined) return;
  const client = new pg.Client(place[3]);
  await client.connect();
  const { rows } = await client.query(
    `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  await client.end();
  assert.deepEqual(rows, []);
}

describe('a damaged backup', () => {
  let place: string[];
  let folder: string;
  let file: string;
  let bytes: Buffer;
  let keyFile: string;
  const targets = new Map<EngineName, string[]>();

  before(async () => {
    folder = await dataFolder();
    place = ['--data', await dataFolder()];
    await fill(place);
    file = join(folder, 'backup.age');
    await take(place, file);
    bytes = readFileSync(file);
    keyFile = join(folder, 'key');
    writeFileSync(keyFile, `${pair.identity}\n`);
    for (const engine of engines) targets.set(engine, await emptyPlace(engine, place[1]!));
  });
  after(async () => {
    for (const path of [folder, place[1]!, ...[...targets.values()].map(one => one[1]!)])
      await rm(path, { recursive: true, force: true });
  });

  const headerEnd = () => bytes.indexOf('\n---') + 50;
  const borders = () => {
    const start = bytes.indexOf('\n', bytes.indexOf('\n---') + 1) + 1 + 16;
    const count = Math.ceil((bytes.length - start) / (chunkSize + 16));
    return Array.from({ length: count }, (_, at) => start + at * (chunkSize + 16));
  };

  it('is found wherever a bit was flipped: in its header, its manifest, its middle and its end', async () => {
    assert.ok(borders().length >= 4, 'there are a few chunks');
    await read(bytes);
    const sampled = Array.from({ length: 60 }, (_, at) => Math.floor((at * (bytes.length - 1)) / 59));
    const edges = [
      ...borders().flatMap(at => [at - 1, at, at + 40]),
      headerEnd(),
      bytes.length - 1,
      bytes.length - 17,
    ];
    for (const at of new Set([...sampled, ...edges, ...Array.from({ length: 20 }, (_, one) => one * 9)])) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1 << (at % 8);
      await assert.rejects(read(changed), AgeError, `bit flipped at ${at}`);
    }
  });

  it('is found wherever it was cut off, and where something was added', async () => {
    for (const at of [0, 1, headerEnd(), ...borders(), ...borders().map(one => one + 100), bytes.length - 1])
      await assert.rejects(read(bytes.subarray(0, at)), AgeError, `cut off at ${at}`);
    await assert.rejects(read(Buffer.concat([bytes, Buffer.from('\n')])), AgeError);
    await assert.rejects(read(Buffer.concat([bytes, bytes])), AgeError);
  });

  for (const engine of engines) {
    it(`leaves nothing behind on ${engine}, and can be restored there once it is whole`, async () => {
      const to = targets.get(engine)!;
      const middle = Buffer.from(bytes);
      middle[borders()[2]! + 5]! ^= 4;
      const stranger = identityFrom(newKeyPair().identity)!;
      for (const [source, as, line] of [
        [middle, identity, /^the backup can’t be used: it was changed or damaged/],
        [bytes.subarray(0, borders()[3]!), identity, /its end is missing/],
        [bytes.subarray(0, bytes.length - 1), identity, /its end is missing/],
        [bytes, stranger, /was not encrypted for the given key/],
      ] as const) {
        await assert.rejects(restoreFrom(pieces(source), to, as), (error: Error) => {
          assert.ok(error instanceof BackupError);
          assert.match(error.message, line);
          return true;
        });
        await isEmptyPlace(to);
      }
    });

    it(`is not restored on ${engine} with another root key`, async () => {
      const other = ['--data', await dataFolder()];
      await makeOrganization(other, 'Other', 'pro', 0);
      const to = await emptyPlace(engine, other[1]!);
      await assert.rejects(restoreFrom(file, to), /root key .* is not the one that protects this data/);
      await isEmptyPlace(to);
      for (const path of [other[1]!, to[1]!]) await rm(path, { recursive: true, force: true });
    });

    it(`whose restore on ${engine} is killed in the middle leaves nothing that looks done`, async () => {
      const to = targets.get(engine)!;
      const { child, ended } = start(['restore', '-', ...to, '--backup-key-file', keyFile], { fed: true });
      child.stdin!.on('error', () => {});
      child.stdin!.write(bytes.subarray(0, borders()[3]! + 10)); // The rest never comes.
      await eventually('the restore is at work', () => isAtWork(to));
      child.kill('SIGKILL');
      await ended;
      assert.equal(existsSync(join(to[1]!, 'strongroom.db')), false);
      for (const name of readdirSync(to[1]!))
        if (name.startsWith('.strongroom-')) await rm(join(to[1]!, name), { recursive: true });
      await isEmptyPlace(to);
      await restoreFrom(file, to);
    });
  }

  it('that is killed in the middle has no name that anyone takes for a backup', async () => {
    const from = ['--data', await dataFolder(), '--database-url', await freshDatabase()];
    await makeOrganization(from, 'Test', 'pro', 0);
    const client = new pg.Client(from[3]);
    await client.connect();
    await client.query('BEGIN; LOCK TABLE audit_logs IN ACCESS EXCLUSIVE MODE'); // It waits for this.
    const target = join(folder, 'killed.age');
    const { child, ended } = start(['backup', target, ...from, '--backup-recipient', pair.recipient]);
    await eventually('the backup has begun its file', async () =>
      readdirSync(folder).some(name => name.startsWith('.strongroom-killed.age')),
    );
    child.kill('SIGKILL');
    await ended;
    await client.end();
    assert.equal(existsSync(target), false);
    await rm(from[1]!, { recursive: true, force: true });
  });

  it('for which there is no room: one line, and nothing is left of it', async () => {
    const small = join(folder, 'small');
    mkdirSync(small);
    const rootKey = ['--root-key-file', join(place[1]!, 'root.key')];
    const made = join(small, 'backup.age');
    for (const kilobytes of [100, 300]) {
      const flags = ['backup', made, ...place, '--backup-recipient', pair.recipient];
      const { code, stdout, stderr } = await run(flags, { under: withRoom(small, kilobytes) });
      assert.deepEqual([code, stderr, stdout], [1, `strongroom: no space left for ${made}\n`, '']);
    }
    const flags = ['restore', file, '--data', small, ...rootKey, '--backup-key-file', keyFile];
    const { code, stdout, stderr } = await run(flags, { under: withRoom(small, 600) });
    assert.deepEqual(
      [code, stderr, stdout],
      [1, 'strongroom: no space left for the restored database\n', 'serve.lock\n'],
    );
  });
});

async function isAtWork(place: readonly string[]): Promise<boolean> {
  if (place[3] === undefined) return readdirSync(place[1]!).some(name => name.startsWith('.strongroom-'));
  const client = new pg.Client(place[3]);
  await client.connect();
  const { rows } = await client.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'strongroom' AND state LIKE 'idle in transaction%'`);
  await client.end();
  return rows.length > 0;
}

const canMount = spawnSync('unshare', ['-Urm', 'true']).status === 0;

/** On a disk of that size, of which is told what is left on it; where none can be made, no file may grow beyond it. */
function withRoom(folder: string, kilobytes: number): string[] {
  const after = `"$@"; code=$?; ls -A '${folder}'; exit $code`;
  if (!canMount) return ['sh', '-c', `ulimit -f ${kilobytes * 2}; ${after}`, 'sh'];
  return [
    'unshare',
    '-Urm',
    'sh',
    '-c',
    `mount -t tmpfs -o size=${kilobytes}k none '${folder}' && { ${after}; }`,
    'sh',
  ];
}
