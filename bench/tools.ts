/**
 * Compares the cost of a tool call with the same vault read over HTTP, in one run: a vault of 50 secrets with values is
 * read in turns over the vault endpoint and in each form of the tool endpoint. Prints two ratios: of the time per
 * request, and of the processor time of the service's main thread, which a busy machine disturbs less. A tool call
 * should cost at most twice the read. Uses `wrk` if it is installed.
 */
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startService } from '../test/harness.ts';
import { bareSession, envelope, makeAccessKey } from '../test/mcp-world.ts';

const run = promisify(execFile);
const rounds = Number(process.env.ROUNDS ?? 3);
const seconds = Number(process.env.SECONDS ?? 3);
const connections = 32;

interface Load {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Sample {
  readonly rate: number;
  /** Microseconds of the main thread's processor time per request. */
  readonly used: number;
}

interface Place {
  readonly url: string;
  readonly vaultId: string;
  readonly key: string;
  readonly session: string;
}

/** The service runs in a separate process, so that it does not share a thread with the load. */
async function serveChild(): Promise<void> {
  const service = await startService({});
  const vaultId = (await service.call('POST', '/v1/vaults', { name: 'bench' })).body.id;
  const items = Array.from({ length: 50 }, (_, at) => ({
    vault_id: vaultId,
    name: `SECRET_${at}`,
    value: 'v'.repeat(40),
    tags: { team: 'bench' },
  }));
  await service.call('POST', '/v1/secrets/bulk', { items });
  const { token } = await makeAccessKey(service, vaultId);
  const session = await bareSession(service.url);
  process.send!({ url: service.url, vaultId, key: token, session } satisfies Place);
  process.on('message', () => process.send!(process.threadCpuUsage()));
  process.once('disconnect', () => service.stop().then(() => process.exit(0)));
}

function loadsFor({ vaultId, key, session }: Place): Load[] {
  const authorization = `Bearer ${key}`;
  const params = { name: 'secrets.list', arguments: { namesOnly: false } };
  const base = { method: 'POST', path: '/mcp' };
  const sent = {
    authorization,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const modern = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': params.name,
  };
  return [
    {
      name: 'vault read',
      method: 'GET',
      path: `/api/v1/vaults/${vaultId}`,
      headers: { authorization },
      body: '',
    },
    {
      ...base,
      name: 'tool, bare',
      headers: { ...sent, 'mcp-session-id': session },
      body: JSON.stringify({ method: 'tools/call', params }),
    },
    {
      ...base,
      name: 'tool, session',
      headers: { ...sent, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    },
    {
      ...base,
      name: 'tool, envelope',
      headers: { ...sent, ...modern },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { ...params, _meta: envelope },
      }),
    },
  ];
}

type Measure = (url: string, load: Load) => Promise<number>;

async function withWrk(folder: string): Promise<Measure | null> {
  const installed = await run('wrk', ['--version']).then(
    () => true,
    error => (error as { code?: unknown }).code !== 'ENOENT',
  );
  if (!installed) return null;
  return async (url, { method, path, headers, body }) => {
    const lines = Object.entries(headers).map(
      ([name, value]) => `wrk.headers["${name}"] = ${JSON.stringify(value)}`,
    );
    const script = [`wrk.method = "${method}"`, ...lines, body === '' ? '' : `wrk.body = [[${body}]]`].join(
      '\n',
    );
    const file = join(folder, 'load.lua');
    await writeFile(file, script);
    const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', file, url + path];
    const { stdout } = await run('wrk', args);
    if (/Non-2xx/.test(stdout)) throw new Error(stdout);
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)![1]);
  };
}

const withNode: Measure = async (url, { method, path, headers, body }) => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const end = performance.now() + seconds * 1000;
  let done = 0;
  const one = async () => {
    while (performance.now() < end) {
      const asked = request(url + path, { method, agent, headers }).end(body);
      const [answer] = await once(asked, 'response');
      for await (const _ of answer);
      if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
      done++;
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  agent.destroy();
  return done / seconds;
};

async function main(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['serve'], { stdio: 'inherit' });
  const [place] = (await once(child, 'message')) as [Place];
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-bench-'));
  const measure = (await withWrk(folder)) ?? withNode;
  const loads = loadsFor(place);
  const processorTime = async () => {
    child.send('usage');
    const [{ user, system }] = (await once(child, 'message')) as [NodeJS.CpuUsage];
    return user + system;
  };
  const samples = new Map(loads.map(load => [load.name, [] as Sample[]]));
  for (let round = 0; round <= rounds; round++) {
    for (const load of loads) {
      const before = await processorTime();
      const rate = await measure(place.url, load);
      const used = ((await processorTime()) - before) / (rate * seconds);
      if (round > 0) samples.get(load.name)!.push({ rate, used }); // The first round warms up.
    }
  }
  const median = (name: string, of: keyof Sample) =>
    samples
      .get(name)!
      .map(sample => sample[of])
      .sort((a, b) => a - b)[rounds >> 1]!;
  for (const { name } of loads) {
    const time = median('vault read', 'rate') / median(name, 'rate');
    const used = median(name, 'used') / median('vault read', 'used');
    const rate = Math.round(median(name, 'rate'));
    process.stdout.write(
      `${name.padEnd(16)} ${rate} requests/s: ${time.toFixed(2)} of a vault read's time, ${used.toFixed(2)} of its processor time\n`,
    );
  }
  child.disconnect();
  await rm(folder, { recursive: true });
}

await (process.argv[2] === 'serve' ? serveChild() : main());
