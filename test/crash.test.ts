import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openStore } from '../src/store/store.ts';
import { setup, start } from './command.ts';
import { crashRepeatedly } from './crashes.ts';
import { callService } from './harness.ts';

const hasStrace = spawnSync('strace', ['-V']).status === 0;

describe('acknowledged means durable', () => {
  it('killed in the middle of writes, 6 times: nothing acknowledged is missing, the file is sound', async () => {
    const { acknowledged, missing } = await crashRepeatedly(6);
    assert.equal(missing, 0);
    assert.ok(acknowledged > 100, `${acknowledged} writes were acknowledged`);
  });

  it('the connection that writes syncs every commit, by its own word', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-fsync-'));
    const store = await openStore({ engine: 'sqlite', path: join(folder, 'strongroom.db'), serves: true });
    const ask = async (pragma: string) => {
      const statements = [{ sql: `PRAGMA ${pragma}`, parameters: [], returning: true }];
      const [[rows]] = (await store.commit([{ statements }])) as [[[Record<string, unknown>]]];
      return Object.values(rows[0])[0];
    };
    const full = 2;
    assert.equal(await ask('synchronous'), full);
    assert.equal(await ask('journal_mode'), 'wal');
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  // Only a tracer sees a sync. Where there is none, the test above is all that can be said.
  if (hasStrace)
    it(
      'each write that waits for the one before has a sync of its own, and what is kept aside is synced',
      countSyncs,
    );
});

async function countSyncs(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-fsync-'));
  const place = ['--data', folder];
  const key = await setup(place);
  const trace = join(folder, 'trace');
  const under = ['strace', '-f', '-qq', '-y', '-e', 'trace=fsync,fdatasync', '-o', trace];
  const service = start(['serve', ...place, '--port', '0'], { under });
  const url = await service.url;
  const vault = await callService(url, 'POST', '/v1/vaults', { name: 'v' }, key);
  const log = `${join(folder, 'strongroom.db-wal')}>`;
  const before = syncsIn(trace, log);
  const writes = 20;
  for (let index = 0; index < writes; index++) {
    const body = { vault_id: vault.body.id, name: `S${index}`, value: 'x' };
    assert.equal((await callService(url, 'POST', '/v1/secrets', body, key)).status, 200);
  }
  const syncs = syncsIn(trace, log) - before;
  assert.ok(syncs >= writes, `${syncs} syncs for ${writes} writes`);
  await stopTraced(service);
  for (const kept of ['.checkpoint.json.', '.log-public-key.pem.', `${folder}>`])
    assert.ok(syncsIn(trace, kept) > 0, kept);
  await rm(folder, { recursive: true, force: true });
}

function syncsIn(trace: string, path: string): number {
  return readFileSync(trace, 'utf8')
    .split('\n')
    .filter(line => /f(data)?sync\(/.test(line) && line.includes(path)).length;
}

/** The signal is for the service, which is the tracer's child. */
async function stopTraced(service: ReturnType<typeof start>): Promise<void> {
  const [pid] = readFileSync(`/proc/${service.child.pid}/task/${service.child.pid}/children`, 'utf8')
    .trim()
    .split(' ');
  process.kill(Number(pid), 'SIGTERM');
  assert.equal((await service.ended).code, 0);
}
