/**
 * Many changes, a receiver that fails every third request, and a server that is killed again and again: each
 * event must arrive, and what arrives twice must carry the same id. `npm run campaign:webhooks` runs the long
 * form; the tests run a short one. The changes are counted when they were acknowledged, as a client would.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { callService, makeOrganization } from '../harness.ts';
import { dataRoot, startCluster } from '../postgres.ts';
import { type Arrival, startReceiver } from '../receiver.ts';

export interface Campaign {
  readonly changes: number;
  readonly kills: number;
  /** Null for the embedded engine. */
  readonly databaseUrl: string | null;
  readonly say?: (line: string) => void;
}

export interface Toll {
  /** Changes that were acknowledged. */
  readonly acknowledged: number;
  /** Acknowledged changes whose event the receiver never accepted. */
  readonly lost: number;
  readonly arrivals: number;
  /** Arrivals beyond the first of their id. */
  readonly repeated: number;
  /** Events that arrived under two ids, which must not be. */
  readonly doubled: number;
}

const sideBySide = 16;
/** The waits between tries are let pass in steps, up to where a delivery would be dead. */
const step = 5 * 60_000;
const mostAhead = 24 * 3_600_000;

export async function runCampaign({ changes, kills, databaseUrl, say = () => {} }: Campaign): Promise<Toll> {
  const data = await mkdtemp(join(dataRoot(), 'strongroom-campaign-'));
  const place = ['--data', data, ...(databaseUrl === null ? [] : ['--database-url', databaseUrl])];
  const receiver = await startReceiver();
  let requests = 0;
  const accepted: Arrival[] = [];
  receiver.answer = (arrival, response) => {
    const fails = ++requests % 3 === 0;
    if (!fails) accepted.push(arrival);
    response.writeHead(fails ? 500 : 204).end();
  };
  const { key } = await makeOrganization(place, 'Campaign', 'enterprise', 0);
  const server = new KillableServer(place);
  try {
    await server.start();
    const { body: vault } = await callService(server.url, 'POST', '/v1/vaults', { name: 'campaign' }, key);
    const hook = { url: receiver.url, events: ['resource.created'] };
    await callService(server.url, 'POST', '/v1/webhooks', hook, key);
    const acknowledged = await change(server, key, vault.id, changes, kills, say);
    const arrived = () => idsByName(accepted);
    const missing = () => {
      const names = arrived();
      return acknowledged.filter(name => !names.has(name)).length;
    };
    for (let ahead = 0; missing() > 0 && ahead < mostAhead; ahead += step + ahead / 2) {
      server.moveClock(Math.round(ahead));
      await settled(() => requests);
      say(`${missing()} missing, ${Math.round(ahead / 60_000)} minutes later`);
    }
    const names = idsByName(receiver.arrivals);
    const taken = arrived();
    const ids = new Set(receiver.arrivals.map(arrival => arrival.id));
    return {
      acknowledged: acknowledged.length,
      lost: acknowledged.filter(name => !taken.has(name)).length,
      arrivals: receiver.arrivals.length,
      repeated: receiver.arrivals.length - ids.size,
      doubled: [...names.values()].filter(all => all.size > 1).length,
    };
  } finally {
    await server.kill();
    await receiver.close();
    await rm(data, { recursive: true, force: true });
  }
}

/** Until nothing more came for a while, which is longer than the service rests. */
async function settled(count: () => number): Promise<void> {
  for (let before = -1; before !== count(); ) {
    before = count();
    await sleep(2_500);
  }
}

function idsByName(arrivals: readonly Arrival[]): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const { body, id } of arrivals) {
    const ids = names.get(body.data.name) ?? new Set<string>();
    names.set(body.data.name, ids.add(id));
  }
  return names;
}

/** Makes the changes while the server is killed at even distances; gives the names that were acknowledged. */
async function change(
  server: KillableServer,
  key: string,
  vaultId: string,
  changes: number,
  kills: number,
  say: (line: string) => void,
): Promise<string[]> {
  const acknowledged: string[] = [];
  let next = 0;
  let killed = 0;
  const work = async () => {
    while (next < changes) {
      const name = `CHANGE_${next++}`;
      const body = { vault_id: vaultId, name, value: 'x' };
      const done = await callService(server.url, 'POST', '/v1/secrets', body, key).catch(() => null);
      if (done?.status === 200) acknowledged.push(name);
      if (done === null) await server.up;
      if (killed < kills && next >= ((killed + 1) * changes) / (kills + 1)) {
        killed++;
        say(`kill ${killed} after ${next} changes`);
        await server.restart();
      }
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, work));
  return acknowledged;
}

class KillableServer {
  url = '';
  up: Promise<void> = Promise.resolve();
  readonly #place: readonly string[];
  #child: ChildProcess | null = null;
  #ahead = 0;

  constructor(place: readonly string[]) {
    this.#place = place;
  }

  start(): Promise<void> {
    this.up = this.#start();
    return this.up;
  }

  async restart(): Promise<void> {
    const again = async () => {
      await this.kill();
      await this.#start();
    };
    this.up = again();
    await this.up;
  }

  moveClock(ahead: number): void {
    this.#ahead = ahead;
    this.#child?.send(ahead);
  }

  async kill(): Promise<void> {
    if (this.#child === null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
    this.#child = null;
  }

  async #start(): Promise<void> {
    const flags = ['--port', '0', '--allow-private-webhooks', '127.0.0.0/8'];
    const file = new URL('./server.ts', import.meta.url).pathname;
    const child = fork(file, [String(this.#ahead), ...this.#place, ...flags]);
    this.#child = child;
    [this.url] = (await once(child, 'message')) as [string];
  }
}

async function main(): Promise<void> {
  const changes = Number(process.argv[2] ?? 10_000);
  const kills = Number(process.argv[3] ?? 5);
  const cluster = process.argv[4] === 'postgres' ? await startCluster() : null;
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const toll = await runCampaign({ changes, kills, databaseUrl: cluster?.url ?? null, say });
  say(JSON.stringify(toll));
  await cluster?.stop();
  process.exit(toll.lost === 0 && toll.doubled === 0 ? 0 : 1);
}

if (import.meta.main) void main();
