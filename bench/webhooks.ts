/**
 * Measures the effect of deliveries on vault reads: a backlog of events is delivered to a local receiver at about 1,000
 * per second while a vault is read as fast as possible, with pauses in between. Prints the ratio of reads with
 * deliveries to those without, from turns of one run; absolute figures say little.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { callService, makeOrganization } from '../test/harness.ts';

const turns = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 4);
const wanted = 1_000;
const readers = 32;

if (isMainThread) await bench();
else if (workerData.role === 'receiver') receive();
else read(workerData.url as string, workerData.path as string, workerData.token as string);

async function bench(): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'strongroom-bench-'));
  const place = ['--data', data];
  const { key } = await makeOrganization(place, 'Bench', 'enterprise', 0);
  const { child, url } = await startServer(place);
  const receiver = await startThread('receiver', {});
  try {
    const call = async (method: string, path: string, body?: object) => {
      const answer = await callService(url, method, path, body, key);
      if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.text}`);
      return answer.body;
    };
    const vault = await call('POST', '/v1/vaults', { name: 'read' });
    await fill(call, vault.id, 50);
    const { token } = await call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'reader' });
    const changed = await call('POST', '/v1/vaults', { name: 'changed' });
    const hook = await call('POST', '/v1/webhooks', {
      url: `http://127.0.0.1:${receiver.ready}/`,
      events: ['resource.created'],
      vault_ids: [changed.id],
    });
    await fill(call, changed.id, Math.ceil((turns + 1) * (seconds + 2) * wanted * 1.3));
    const deliver = async () => {
      receiver.worker.postMessage('deliver');
      await call('PUT', `/v1/webhooks/${hook.id}`, { enabled: true });
      await sleep(500);
    };
    const hold = async () => {
      receiver.worker.postMessage('hold');
      await sleep(1_500);
    };
    await deliver();
    const used = cpuOf(child.pid!);
    const [undisturbed] = await during(receiver);
    const perEvent = (cpuOf(child.pid!) - used) / (undisturbed! * seconds);
    await hold();
    process.stdout.write(
      `without readers an event takes ${Math.round(perEvent * 1e6)} µs of the serving thread, ${Math.round(perEvent * wanted * 100)} % of it at ${wanted} a second\n`,
    );
    const reading = await startThread('reader', { url, path: `/api/v1/vaults/${vault.id}`, token });
    await sleep(2_000);
    const rates: { alone: number; along: number; delivered: number }[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const [alone] = (await during(reading)) as [number];
      await deliver();
      const [along, delivered] = (await during(reading, receiver)) as [number, number];
      await hold();
      rates.push({ alone, along, delivered });
      print(`turn ${turn + 1}`, rates.at(-1)!);
    }
    const sum = (pick: 'alone' | 'along' | 'delivered') =>
      rates.reduce((total, rate) => total + rate[pick], 0);
    const mean = {
      alone: sum('alone') / turns,
      along: sum('along') / turns,
      delivered: sum('delivered') / turns,
    };
    print('all turns', mean);
    process.exitCode = mean.along / mean.alone >= 0.8 && mean.delivered >= wanted * 0.95 ? 0 : 1;
  } finally {
    child.kill('SIGKILL');
    await rm(data, { recursive: true, force: true });
  }
  process.exit();
}

function print(
  name: string,
  { alone, along, delivered }: { alone: number; along: number; delivered: number },
) {
  const ratio = (along / alone).toFixed(2);
  process.stdout.write(
    `${name}: reads keep ${ratio} of their rate (${Math.round(along)} of ${Math.round(alone)}/s) while ${Math.round(delivered)} events/s are delivered\n`,
  );
}

async function fill(
  call: (method: string, path: string, body: object) => Promise<unknown>,
  vaultId: string,
  count: number,
) {
  const item = (n: number) => ({ vault_id: vaultId, name: `SECRET_${n}`, value: 'x'.repeat(60) });
  for (let done = 0; done < count; done += 100) {
    const items = Array.from({ length: Math.min(100, count - done) }, (_, n) => item(done + n));
    await call('POST', '/v1/secrets/bulk', { items });
  }
}

interface Thread {
  readonly worker: Worker;
  /** Its output when it was ready. */
  readonly ready: unknown;
  count(): Promise<number>;
}

async function startThread(role: string, more: object): Promise<Thread> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { role, ...more } });
  const [ready] = await once(worker, 'message');
  const count = async () => {
    worker.postMessage('count');
    return (await once(worker, 'message'))[0] as number;
  };
  return { worker, ready, count };
}

/** The counts per second, over the length of a turn. */
async function during(...threads: readonly Thread[]): Promise<number[]> {
  const before = await Promise.all(threads.map(thread => thread.count()));
  const start = performance.now();
  await sleep(seconds * 1_000);
  const after = await Promise.all(threads.map(thread => thread.count()));
  const passed = (performance.now() - start) / 1_000;
  return after.map((count, index) => (count - before[index]!) / passed);
}

/** Seconds of processor time that the main thread of a process has used (Linux only). */
function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function startServer(place: readonly string[]): Promise<{ child: ChildProcess; url: string }> {
  const main = new URL('../src/main.ts', import.meta.url).pathname;
  const flags = ['--port', '0', '--allow-private-webhooks', '127.0.0.0/8'];
  const child = spawn(process.execPath, [main, 'serve', ...place, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  return { child, url: /http:\/\/\S+/.exec(line.toString())![0] };
}

/** Asks senders to wait while it is paused; otherwise answers up to a thousand times per second. */
function receive(): void {
  let holding = true;
  let taken = 0;
  let answered = performance.now();
  const waiting: ServerResponse[] = [];
  setInterval(() => {
    const allowed = Math.floor((performance.now() - answered) * (wanted / 1_000));
    answered += allowed / (wanted / 1_000);
    for (const response of waiting.splice(0, allowed)) response.writeHead(204).end();
  }, 5);
  const server = createServer((request, response) => {
    request.resume();
    if (holding) {
      response.writeHead(429, { 'retry-after': '3600' }).end();
      return;
    }
    taken++;
    waiting.push(response);
  });
  server.listen(0, '127.0.0.1', () => parentPort!.postMessage((server.address() as AddressInfo).port));
  parentPort!.on('message', (order: string) => {
    if (order === 'count') parentPort!.postMessage(taken);
    else holding = order === 'hold';
  });
}

/** Raw sockets, so that the reader uses little processor time compared with the server. */
function read(url: string, path: string, token: string): void {
  const { hostname, port } = new URL(url);
  const request = `GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\nAccept: application/json\r\n\r\n`;
  let answers = 0;
  for (let reader = 0; reader < readers; reader++) {
    const socket = connect(Number(port), hostname, () => socket.write(request));
    let missing = 0;
    socket.on('data', (chunk: Buffer) => {
      missing = missing === 0 ? wholeLength(chunk) - chunk.length : missing - chunk.length;
      if (missing > 0) return;
      missing = 0;
      answers++;
      socket.write(request);
    });
  }
  parentPort!.on('message', () => parentPort!.postMessage(answers));
  parentPort!.postMessage('ready');
}

/** The first chunk of an answer contains its head. */
function wholeLength(chunk: Buffer): number {
  const end = chunk.indexOf('\r\n\r\n');
  const head = chunk.toString('latin1', 0, end);
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(head);
  return end + 4 + Number(/content-length: (\d+)/i.exec(head)![1]);
}
