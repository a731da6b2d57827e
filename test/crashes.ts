/** Kills the service without warning in the middle of writes, again and again, and counts what it had acknowledged. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { setup, start, stop } from './command.ts';
import { callService } from './harness.ts';

export interface Toll {
  readonly bursts: number;
  readonly acknowledged: number;
  readonly missing: number;
}

const writersAtOnce = 16;

export async function crashRepeatedly(
  bursts: number,
  onBurst: (burst: number) => void = () => {},
): Promise<Toll> {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-crash-'));
  const place = ['--data', folder];
  try {
    const key = await setup(place);
    const vaultId = await makeVault(place, key);
    const acknowledged = new Map<string, string>();
    for (let burst = 0; burst < bursts; burst++) {
      await writeUntilKilled(place, key, vaultId, burst, acknowledged);
      checkFile(join(folder, 'strongroom.db'));
      onBurst(burst);
    }
    const missing = await countMissing(place, key, acknowledged);
    return { bursts, acknowledged: acknowledged.size, missing };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeVault(place: readonly string[], key: string): Promise<string> {
  const service = start(['serve', ...place, '--port', '0']);
  const { body } = await callService(await service.url, 'POST', '/v1/vaults', { name: 'crash' }, key);
  await stop(service);
  return body.id;
}

async function writeUntilKilled(
  place: readonly string[],
  key: string,
  vaultId: string,
  burst: number,
  acknowledged: Map<string, string>,
): Promise<void> {
  const service = start(['serve', ...place, '--port', '0']);
  const url = await service.url;
  let alive = true;
  let count = 0;
  const write = async () => {
    while (alive) {
      const name = `S_${burst}_${count++}`;
      const answer = await callService(
        url,
        'POST',
        '/v1/secrets',
        { vault_id: vaultId, name, value: name },
        key,
      ).catch(() => null);
      if (answer?.status === 200) acknowledged.set(answer.body.id, name);
    }
  };
  const writers = Array.from({ length: writersAtOnce }, write);
  // Somewhere in the middle of a burst, however fast the machine is.
  const [before, wanted] = [acknowledged.size, 20 + Math.random() * 30];
  const giveUp = Date.now() + 20_000;
  while (acknowledged.size - before < wanted && Date.now() < giveUp) await sleep(1);
  await sleep(Math.random() * 10);
  service.child.kill('SIGKILL');
  alive = false;
  await Promise.all([...writers, service.ended]);
}

/** On the file as the crash left it, before anybody recovers it. */
function checkFile(path: string): void {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    assert.deepEqual({ ...database.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' });
    assert.deepEqual(database.prepare('PRAGMA foreign_key_check').all(), []);
  } finally {
    database.close();
  }
}

async function countMissing(
  place: readonly string[],
  key: string,
  acknowledged: ReadonlyMap<string, string>,
): Promise<number> {
  const service = start(['serve', ...place, '--port', '0']);
  const url = await service.url;
  let missing = 0;
  for (const [id, name] of acknowledged) {
    const { status, body } = await callService(url, 'POST', `/v1/secrets/${id}/reveal`, undefined, key);
    if (status !== 200 || body.value !== name) missing++;
  }
  await stop(service);
  return missing;
}
