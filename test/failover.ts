/**
 * Replicas under load over a PostgreSQL whose standby takes its place: what was acknowledged is there afterwards, the logs
 * verify, and every replica serves again by itself.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readCheckpointFile } from '../src/logs/checkpoint-file.ts';
import { databaseSource } from '../src/logs/source.ts';
import { type LogSource, type VerifyReport, verifyLogs } from '../src/logs/verify.ts';
import { openLogs } from '../src/service/opening/open-data.ts';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { atTheLatest } from './ending.ts';
import { callService, eventually, makeOrganization } from './harness.ts';
import { oneThread } from './one-thread.ts';
import { dataFolder } from './postgres.ts';
import type { Pair } from './standby.ts';

/** However busy the machine is, in milliseconds, for so many. */
const longestLoad = (count: number) => 60_000 + 1_000 * count;

export interface Replicated {
  readonly replicas: readonly Running[];
  readonly reports: string[];
  readonly data: string;
  readonly key: string;
  readonly vaultId: string;
  readonly place: readonly string[];
  /** What the verifier says of the log, or of what was made of it. */
  verify(made?: (log: LogSource) => Promise<LogSource>): Promise<VerifyReport>;
  stop(): Promise<void>;
}

export async function startReplicas(url: string, count: number, threads = false): Promise<Replicated> {
  const data = await dataFolder();
  const place = ['--data', data, '--database-url', url];
  const { key } = await makeOrganization(place, `Failover ${count} ${data}`, 'enterprise', 0);
  const reports: string[] = [];
  const config = readConfig(serveOptions, [...place, '--port', '0'], {});
  const report = (line: string) => reports.push(line);
  const parts = { report, ...(threads ? {} : oneThread) };
  const replicas: Running[] = [];
  for (let left = count; left > 0; left--) replicas.push(await serve(config, parts));
  const vault = await callService(replicas[0]!.url, 'POST', '/v1/vaults', { name: 'v' }, key);
  return {
    replicas,
    reports,
    data,
    key,
    place,
    vaultId: vault.body.id,
    verify: async (made = async log => log) => {
      const kept = (await readCheckpointFile(join(data, 'checkpoint.json')))!;
      const about = await callService(replicas[0]!.url, 'GET', '/v1/about', undefined, key);
      const logs = await openLogs(config);
      try {
        const log = await made(databaseSource(logs));
        return await verifyLogs(log, { publicKey: about.body.log_public_key, kept });
      } finally {
        await logs.close();
      }
    },
    stop: atTheLatest(async () => {
      await Promise.all(replicas.map(replica => replica.stop()));
      await rm(data, { recursive: true, force: true });
    }),
  };
}

export interface Load {
  /** Secrets whose creation, and reads whose answer, was acknowledged. */
  readonly secrets: string[];
  readonly reads: string[];
  /** When anything but 200 was answered last, by replica. */
  readonly refusedAt: number[];
  refused: number;
  /** Resolves once each replica has acknowledged so many more. */
  more(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Each replica is written to and read from by so many at a time. */
export async function startLoad({ replicas, key, vaultId }: Replicated, atOnce = 1): Promise<Load> {
  const { token } = (
    await callService(replicas[0]!.url, 'POST', '/v1/access-keys', { vault_id: vaultId, name: 'k' }, key)
  ).body;
  let running = true;
  const done = replicas.map(() => 0);
  const load: Load = {
    secrets: [],
    reads: [],
    refusedAt: replicas.map(() => 0),
    refused: 0,
    more: async count => {
      const goal = done.map(number => number + count);
      const end = Date.now() + longestLoad(count);
      while (done.some((number, index) => number < goal[index]!)) {
        assert.ok(Date.now() < end, 'a replica acknowledges nothing');
        await sleep(10);
      }
    },
    stop: async () => {
      running = false;
      await Promise.all(lanes);
    },
  };
  const note = (index: number, status: number, list: string[], id: string) => {
    if (status === 200) {
      list.push(id);
      done[index]!++;
      return;
    }
    assert.equal(status, 503);
    load.refused++;
    load.refusedAt[index] = performance.now();
  };
  let names = 0;
  const callers = replicas.flatMap((replica, index) =>
    Array.from({ length: atOnce }, () => ({ ...replica, index })),
  );
  const lanes = callers.flatMap(({ url, index }) => [
    (async () => {
      while (running) {
        const secret = { vault_id: vaultId, name: `S ${names++}`, value: 'x' };
        const { status, body } = await callService(url, 'POST', '/v1/secrets', secret, key);
        note(index, status, load.secrets, body.id);
        if (status !== 200) await sleep(20);
      }
    })(),
    (async () => {
      while (running) {
        const path = `/api/v1/vaults/${vaultId}`;
        const { status, headers } = await callService(url, 'GET', path, undefined, token);
        note(index, status, load.reads, headers.get('x-request-id')!);
        if (status !== 200) await sleep(20);
      }
    })(),
  ]);
  return load;
}

/** What was acknowledged and is not there. */
export async function lostOf({ replicas, key }: Replicated, { secrets, reads }: Load): Promise<string[]> {
  const paths = [...secrets.map(id => `/v1/secrets/${id}`), ...reads.map(id => `/v1/request-logs/${id}`)];
  const lost: string[] = [];
  for (const [index, path] of paths.entries()) {
    const { status } = await callService(replicas[index % replicas.length]!.url, 'GET', path, undefined, key);
    if (status !== 200) lost.push(`${status} ${path}`);
  }
  return lost;
}

/** How long after the promotion was asked for each replica refused last, in milliseconds. */
export async function failOver(pair: Pair, how: 'crash' | 'shutdown', load: Load): Promise<number> {
  await load.more(5);
  await pair.end(how);
  await eventually('writes are refused', async () => load.refused > 0);
  const promoted = performance.now();
  await pair.promote();
  await load.more(5);
  return Math.max(0, ...load.refusedAt.map(at => at - promoted));
}
