/**
 * Measures the cost of a vault read, as ratios to plain node:http that sends the same bytes in the same run. Writes
 * docs/performance.md. `--short` takes a tenth of the time and the data, and writes only with `--write`.
 */
import { cpus } from 'node:os';
import { startCluster } from '../test/postgres.ts';
import {
  type Filled,
  fill,
  load,
  readRequest,
  startCeiling,
  startServer,
  type Target,
  table,
} from './bench.ts';
import type { LoadPlan, LoadResult } from './load.ts';
import { fillLog } from './log-entries.ts';
import { writePage } from './performance-page.ts';

const short = process.argv.includes('--short');
const seconds = short ? 2 : 5;
const turns = short ? 3 : 9;
/** Until the runtime has compiled the hot code. */
const warmUp = 3;
const connections = 32;
const logEntries = short ? 1_000_000 : 5_000_000;
const manyVaults = short ? 2_000 : 100_000;
const manySecrets = short ? 1_000 : 10_000;

type Row = (string | number)[];
const heads = ['what', 'requests/s', 'of the ceiling', 'median ms', 'p99 ms', 'memory MB'];

const percent = (part: number) => `${Math.round(part * 100)} %`;

async function sampleOf(server: Target, vault: Filled['vaults'][number], query = ''): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.port}/api/v1/vaults/${vault.id}${query}`, {
    headers: { authorization: `Bearer ${vault.token}` },
  });
}

/** The compared servers take turns of a second, because a machine changes its speed within seconds. */
async function takingTurns(plans: readonly LoadPlan[]): Promise<LoadResult[]> {
  for (const plan of plans) await load({ ...plan, seconds: warmUp });
  const results: LoadResult[][] = plans.map(() => []);
  for (let turn = 0; turn < turns; turn++) {
    for (const [index, plan] of plans.entries()) results[index]!.push(await load(plan));
  }
  return results.map(summary);
}

function summary(results: readonly LoadResult[]): LoadResult {
  const median = (pick: 'p50' | 'p99') =>
    results.map(result => result[pick]).sort((x, y) => x - y)[turns >> 1]!;
  const statuses: Record<string, number> = {};
  for (const result of results)
    for (const [status, count] of Object.entries(result.statuses))
      statuses[status] = (statuses[status] ?? 0) + count;
  const perSecond = results.reduce((sum, result) => sum + result.perSecond, 0) / turns;
  return { perSecond, p50: median('p50'), p99: median('p99'), statuses };
}

async function measure(
  name: string,
  server: Target,
  vault: Filled['vaults'][number],
  query = '',
  extra = '',
): Promise<Row> {
  const ceiling = await startCeiling(await sampleOf(server, vault, query));
  const asked = { connections, seconds: 1, requests: [readRequest(vault, query, extra)] };
  const [plain, real] = await takingTurns([ceiling, server].map(({ port }) => ({ ...asked, port })));
  await ceiling.stop();
  const row = [
    name,
    Math.round(real!.perSecond),
    percent(real!.perSecond / plain!.perSecond),
    real!.p50.toFixed(2),
    real!.p99.toFixed(2),
    server.memory(),
  ];
  console.log(row.join('  '), JSON.stringify(real!.statuses));
  return row;
}

async function readCases(title: string, databaseUrl?: string): Promise<string> {
  const filled = await fill({ ...(databaseUrl === undefined ? {} : { databaseUrl }), vaults: [1, 50, 1000] });
  const server = await startServer(filled.place);
  const [one, fifty, thousand] = filled.vaults as [
    Filled['vaults'][number],
    Filled['vaults'][number],
    Filled['vaults'][number],
  ];
  const etag = (await sampleOf(server, fifty)).headers.get('etag')!;
  const rows = [
    await measure('50 secrets', server, fifty),
    await measure('1 secret', server, one),
    await measure('1,000 secrets', server, thousand),
    await measure('one secret by id', server, fifty, `?resource=${fifty.secretIds[0]}`),
    await measure('names of 50 secrets', server, fifty, '?secrets=names'),
    await measure('50 secrets, not modified (304)', server, fifty, '', `If-None-Match: ${etag}\r\n`),
  ];
  const alone = await load({ connections: 1, seconds, port: server.port, requests: [readRequest(fifty)] });
  rows.push([
    '50 secrets, one connection',
    Math.round(alone.perSecond),
    '',
    alone.p50.toFixed(2),
    alone.p99.toFixed(2),
    server.memory(),
  ]);
  const half = await load({
    connections,
    seconds,
    port: server.port,
    requests: [readRequest(fifty)],
    rate: Number(rows[0]![1]) / 2,
  });
  rows.push([
    '50 secrets at half of the highest load',
    Math.round(half.perSecond),
    '',
    half.p50.toFixed(2),
    half.p99.toFixed(2),
    server.memory(),
  ]);
  await server.stop();
  filled.remove();
  return `## ${title}\n\n${table(heads, rows)}\n`;
}

/** Each vault is read once, so that no answer comes from the cache. */
async function coldCase(): Promise<string> {
  const filled = await fill({ vaults: Array.from({ length: short ? 100 : 1000 }, () => 50) });
  const server = await startServer(filled.place);
  const started = performance.now();
  await Promise.all(
    Array.from({ length: 8 }, async (_, lane) => {
      for (let at = lane; at < filled.vaults.length; at += 8)
        await (await sampleOf(server, filled.vaults[at]!)).arrayBuffer();
    }),
  );
  const perSecond = Math.round((filled.vaults.length * 1000) / (performance.now() - started));
  const memory = server.memory();
  await server.stop();
  filled.remove();
  return `## Cold\n\n${table(['what', 'requests/s', 'memory MB'], [[`${filled.vaults.length} vaults of 50 secrets, each read for the first time`, perSecond, memory]])}\n`;
}

interface Load {
  readonly filled: Filled;
  readonly vaults: Filled['vaults'];
}

/** Two services with different data, side by side. */
async function compare(what: string, small: Load, large: Load): Promise<Row> {
  const servers: Target[] = [];
  const plans: LoadPlan[] = [];
  for (const { filled, vaults } of [small, large]) {
    const server = await startServer(filled.place);
    servers.push(server);
    const requests = vaults.map(vault => readRequest(vault));
    plans.push({ connections, seconds: 1, port: server.port, requests });
  }
  const [before, after] = (await takingTurns(plans)).map(({ perSecond }) => perSecond) as [number, number];
  const row = [what, Math.round(before), Math.round(after), percent(after / before), servers[1]!.memory()];
  for (const server of servers) await server.stop();
  console.log(row.join('  '));
  return row;
}

async function growth(): Promise<string> {
  const all = (filled: Filled) => ({ filled, vaults: filled.vaults });
  const [empty, full] = [await fill({ vaults: [50] }), await fill({ vaults: [50] })];
  fillLog(full.place[1]!, logEntries);
  const count = (number: number) => number.toLocaleString('en');
  const rows = [
    await compare(`${count(logEntries)} log entries, against an empty log`, all(empty), all(full)),
  ];
  const few = await fill({ vaults: Array.from({ length: 10 }, () => 5) });
  const many = await fill({ vaults: Array.from({ length: manyVaults }, () => 5) });
  const some = { filled: many, vaults: many.vaults.slice(0, 10) };
  const thousand = await fill({ vaults: Array.from({ length: 1_000 }, () => 5) });
  const spread = {
    filled: many,
    vaults: many.vaults.filter((_, index) => index % Math.ceil(manyVaults / 1000) === 0),
  };
  const vaults = `${count(manyVaults)} vaults`;
  rows.push(
    await compare(`${vaults}, ten of them read, against ten vaults`, all(few), some),
    await compare(`${vaults}, 1,000 of them read, against 1,000 vaults`, all(thousand), spread),
    await compare(`1,000 vaults, all of them read, against ten vaults`, all(few), all(thousand)),
  );
  const [small, large] = [await fill({ vaults: [10] }), await fill({ vaults: [manySecrets] })];
  const secrets = `${count(manySecrets)} secrets in the vault, against 10`;
  rows.push(await compare(secrets, all(small), all(large)));
  for (const filled of [empty, full, few, thousand, many, small, large]) filled.remove();
  return `## Growth\n\n${table(['what', 'requests/s before', 'requests/s after', 'kept', 'memory MB'], rows)}\n`;
}

const parts = [await readCases('Vault reads on SQLite')];
const cluster = await startCluster();
parts.push(await readCases('Vault reads on PostgreSQL', cluster.url));
await cluster.stop();
parts.push(await coldCase(), await growth());
const intro = `# Performance

Measured with \`${short ? 'npm run bench:read -- --short --write' : 'npm run bench:read'}\` on ${cpus().length} cores (${cpus()[0]!.model.trim()}), Node ${process.version}: server on one core,
load on the other, ${connections} connections. The *ceiling* is plain \`node:http\` that gets the same requests and sends the same
bytes; it and each case are measured in alternating turns of one second. Machines differ and are
noisy, so compare the ratios.
The log entry for every read is synced to disk before the answer is sent (\`synchronous=FULL\`; on PostgreSQL \`synchronous_commit=on\`).
`;
const text = `${[intro, ...parts].join('\n')}`;
if (!short || process.argv.includes('--write')) writePage(text);
console.log(text);
