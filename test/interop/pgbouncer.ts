/**
 * Two replicas behind a real pgbouncer by transactions, whatever its version: a revoked key is refused by both within a second,
 * every time; and while pgbouncer stands still, neither takes what it keeps in memory for good.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../src/store/store.ts';
import { startReplicas } from '../failover.ts';
import { eventually } from '../harness.ts';
import { freePort, startCluster } from '../postgres.ts';
import { latenessOf } from '../replica-revocations.ts';

const longestStale = 1_000;
const longestDeaf = 2_000;

/** Says what was measured, or throws. */
export async function throughPgbouncer(command: string, revocations: number): Promise<string> {
  const cluster = await startCluster();
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-pgbouncer-'));
  const { child, url } = await startPgbouncer(command, folder, new URL(cluster.url).port);
  try {
    await eventually('pgbouncer can be reached', () => reaches(url));
    const replicated = await startReplicas(url, 2, true);
    const urls = replicated.replicas.map(replica => replica.url);
    const { median, longest } = await latenessOf({ ...replicated, urls }, revocations);
    const deaf = await deafAfter(url, child);
    await replicated.stop();
    assert.ok(longest <= longestStale, `a revoked key was served ${longest} ms later`);
    assert.ok(deaf <= longestDeaf, `what is in memory was believed for ${deaf} ms`);
    const version = String(execFileSync(command, ['--version'])).split('\n')[0];
    return `${version}: ${revocations} of ${revocations} revoked keys refused by both replicas, after ${Math.round(median)} ms (median), ${Math.round(longest)} ms (longest); cut off, memory is not believed after ${Math.round(deaf)} ms`;
  } finally {
    child.kill('SIGCONT');
    child.kill('SIGINT');
    await once(child, 'exit');
    await cluster.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function startPgbouncer(command: string, folder: string, port: string) {
  const listening = await freePort();
  await chmod(folder, 0o755);
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${port} user=postgres password=postgres`,
    '[pgbouncer]',
    'pool_mode = transaction',
    'listen_addr = 127.0.0.1',
    `listen_port = ${listening}`,
    'unix_socket_dir =',
    'auth_type = any',
    'default_pool_size = 20',
    'max_client_conn = 200',
  ];
  await writeFile(file, lines.join('\n'), { mode: 0o644 });
  // It does not run as root, and neither does the database server.
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres']));
  const user = process.getuid?.() === 0 ? { uid: id('-u'), gid: id('-g') } : {};
  const child = spawn(command, ['-q', file], { ...user, stdio: 'ignore' });
  return { child, url: `postgres://postgres@127.0.0.1:${listening}/postgres` };
}

async function reaches(url: string): Promise<boolean> {
  try {
    await (await openStore({ engine: 'postgres', url })).close();
    return true;
  } catch {
    return false;
  }
}

/** How many milliseconds after pgbouncer stood still a store that had heard everything says that it does not. */
async function deafAfter(url: string, child: ChildProcess): Promise<number> {
  const store = await openStore({ engine: 'postgres', url });
  await eventually('the store hears changes', async () => store.hearsChanges());
  child.kill('SIGSTOP');
  const since = performance.now();
  while (store.hearsChanges()) await sleep(5);
  const deaf = performance.now() - since;
  child.kill('SIGCONT');
  await eventually('the store hears changes again', async () => store.hearsChanges());
  await store.close();
  return deaf;
}
