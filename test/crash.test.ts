import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setup, start, stop } from './command.ts';
import { crashRepeatedly } from './crashes.ts';
import { callService } from './harness.ts';

const hasStrace = spawnSync('strace', ['-V']).status === 0;

describe('acknowledged means durable', () => {
  it('killed in the middle of writes, 15 times: nothing acknowledged is missing, the file is sound', async () => {
    const { acknowledged, missing } = await crashRepeatedly(15);
    assert.equal(missing, 0);
    assert.ok(acknowledged > 100, `${acknowledged} writes were acknowledged`);
  });

  it('each write that waits for the one before has a sync to disk of its own', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-fsync-'));
    const place = ['--data', folder];
    const key = await setup(place);
    const trace = join(folder, 'trace');
    const under = ['strace', '-f', '-qq', '-e', 'trace=fsync,fdatasync', '-o', trace];
    const service = start(['serve', ...place, '--port', '0'], { under: hasStrace ? under : [] });
    const url = await service.url;
    const { child } = service;
    const syncs = () => (hasStrace ? syncsIn(trace) : bytesWritten(child.pid!));
    const vault = await callService(url, 'POST', '/v1/vaults', { name: 'v' }, key);
    const before = syncs();
    const writes = 20;
    for (let index = 0; index < writes; index++) {
      const body = { vault_id: vault.body.id, name: `S${index}`, value: 'x' };
      assert.equal((await callService(url, 'POST', '/v1/secrets', body, key)).status, 200);
    }
    const after = syncs();
    if (hasStrace) assert.ok(after - before >= writes, `${after - before} syncs for ${writes} writes`);
    // Without a tracer: what reached the disk is at least the pages of each write, once a write.
    else assert.ok(after - before >= writes * 4096, `${after - before} bytes reached the disk`);
    await (hasStrace ? stopTraced(service) : stop(service));
    await rm(folder, { recursive: true, force: true });
  });
});

function syncsIn(trace: string): number {
  return readFileSync(trace, 'utf8')
    .split('\n')
    .filter(line => /f(data)?sync\(/.test(line)).length;
}

function bytesWritten(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1]);
}

/** The signal is for the service, which is the tracer's child. */
async function stopTraced(service: ReturnType<typeof start>): Promise<void> {
  const [pid] = readFileSync(`/proc/${service.child.pid}/task/${service.child.pid}/children`, 'utf8')
    .trim()
    .split(' ');
  process.kill(Number(pid), 'SIGTERM');
  assert.equal((await service.ended).code, 0);
}
