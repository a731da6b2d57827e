/**
 * Measures the cost of a call with a secret, compared with the same call made directly, through a bare program in
 * between, and through one that only records calls as durably as the service, in turns of one run: sixteen at a time,
 * to an upstream that answers after twenty milliseconds and to one that answers immediately. Then measures the rate of
 * vault reads during such calls, to an upstream of twenty milliseconds and to one as slow as a public API; and while
 * the recording program makes them instead, at the priority that the service gives calls. The whole service has one
 * core. Latencies on a busy machine say little; processor time says more. Fails if a call takes two milliseconds longer
 * than the direct one, or if reads keep less than nine tenths of their rate during calls to a public API.
 *
 *   node bench/uses.ts [--short] [--database-url URL]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { callService, makeOrganization } from '../test/harness.ts';
import { load, readRequest, startBeside, startInstead, startServer, type Target, table } from './bench.ts';
import type { LoadResult } from './load.ts';

const { values } = parseArgs({
  options: { short: { type: 'boolean', default: false }, 'database-url': { type: 'string' } },
});
const turns = values.short ? 3 : 9;
const seconds = values.short ? 2 : 4;
const inParallel = 16;
const mostAdded = 2;
const smallest = 0.9;

interface Sample extends LoadResult {
  /** Microseconds of processor time per call: of the service, and of the thread that serves vaults. */
  readonly used: number;
  readonly reading: number;
}

const data = mkdtempSync(join(tmpdir(), 'strongroom-bench-'));
const place = [
  '--data',
  data,
  ...(values['database-url'] === undefined ? [] : ['--database-url', values['database-url']]),
];
const { key } = await makeOrganization(place, 'Bench', 'enterprise', 0);
const server = await startServer([...place, '--allow-private-webhooks', '127.0.0.0/8']);
const url = `http://127.0.0.1:${server.port}`;

async function call(path: string, body: object) {
  const answer = await callService(url, 'POST', path, body, key);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`);
  return answer.body;
}

const vault = await call('/v1/vaults', { name: 'bench' });
const items = Array.from({ length: 50 }, (_, at) => ({
  vault_id: vault.id,
  name: `SECRET_${at}`,
  value: `ghp_${'x7Q'.repeat(12)}${at}`,
}));
const [{ secret: first }] = (await call('/v1/secrets/bulk', { items })).results;
const { token } = await call('/v1/access-keys', { vault_id: vault.id, name: 'agent', may_use: true });

async function ruleFor(upstream: Target): Promise<void> {
  await call('/v1/use-rules', {
    secret_id: first.id,
    name: `port ${upstream.port}`,
    hosts: [`http://localhost:${upstream.port}`],
    methods: ['GET'],
    paths: ['/issues/**'],
    place: { type: 'bearer' },
    approval: 'never',
    rate_limit: null,
  });
}

function directRequest(upstream: Target): string {
  return `GET /issues/7 HTTP/1.1\r\nHost: 127.0.0.1:${upstream.port}\r\nAuthorization: Bearer ${items[0]!.value}\r\n\r\n`;
}

function brokeredRequest(upstream: Target): string {
  const body = JSON.stringify({ secret: 'SECRET_0', url: `http://localhost:${upstream.port}/issues/7` });
  return `POST /api/v1/vaults/${vault.id}/use HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

async function measure(port: number, request: string, by = server): Promise<Sample> {
  const [used, reading] = [by.processorTime(), by.readingTime()];
  const result = await load({ port, connections: inParallel, seconds, requests: [request] });
  const { 200: answered = 0, ...others } = result.statuses;
  if (Object.keys(others).length > 0)
    throw new Error(`not all were answered: ${JSON.stringify(result.statuses)}`);
  const each = (before: number, after: number) => (1000 * (after - before)) / answered;
  return {
    ...result,
    used: each(used, by.processorTime()),
    reading: each(reading, by.readingTime()),
  };
}

function median(samples: readonly Sample[], of: 'perSecond' | 'p50' | 'p99' | 'used' | 'reading'): number {
  return middle(samples.map(sample => sample[of]));
}

function middle(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[figures.length >> 1]!;
}

type Way = 'direct' | 'forwarded' | 'recorded' | 'brokered';

/** The minimum for any program that records calls before they are sent and before their answers are. */
function startRecorder(upstream: Target): Promise<Target> {
  return startInstead('forwarder.ts', String(upstream.port), join(data, 'recorded.log'));
}

/** All variants take turns, because a machine changes its speed within seconds. */
async function compare(upstream: Target): Promise<Record<Way, Sample[]>> {
  const forwarder = await startInstead('forwarder.ts', String(upstream.port));
  const recorder = await startRecorder(upstream);
  const ways: Record<Way, () => Promise<Sample>> = {
    direct: () => measure(upstream.port, directRequest(upstream), upstream),
    forwarded: () => measure(forwarder.port, directRequest(upstream), forwarder),
    recorded: () => measure(recorder.port, directRequest(upstream), recorder),
    brokered: () => measure(server.port, brokeredRequest(upstream)),
  };
  const samples: Record<Way, Sample[]> = { direct: [], forwarded: [], recorded: [], brokered: [] };
  for (const warm of [ways.brokered, ways.brokered, ways.forwarded, ways.recorded]) await warm();
  for (let turn = 0; turn < turns; turn++)
    for (const way of Object.keys(ways) as Way[]) samples[way].push(await ways[way]());
  await Promise.all([forwarder.stop(), recorder.stop()]);
  return samples;
}

const rows: (string | number)[][] = [];
const added: Partial<Record<Way, number>> = {};
const slow = await startBeside('upstream.ts', '20');
const quick = await startBeside('upstream.ts', '0');
const publicApi = await startBeside('upstream.ts', '100');
for (const upstream of [slow, quick, publicApi]) await ruleFor(upstream);
// A service runs for days, so only optimized code is measured.
for (let turn = 0; turn < 5; turn++) await measure(server.port, brokeredRequest(quick));
for (const [what, upstream] of [
  ['20 ms', slow],
  ['at once', quick],
] as const) {
  const samples = await compare(upstream);
  for (const [way, list] of Object.entries(samples) as [Way, Sample[]][]) {
    const [rate, p50, p99] = (['perSecond', 'p50', 'p99'] as const).map(of => median(list, of));
    const used = way === 'direct' ? '' : Math.round(median(list, 'used'));
    const reading = way === 'brokered' ? Math.round(median(list, 'reading')) : '';
    rows.push([`${what}, ${way}`, Math.round(rate!), p50!.toFixed(2), p99!.toFixed(2), used, reading]);
    if (upstream === slow) added[way] = p50! - median(samples.direct, 'p50');
  }
}

interface Beside {
  readonly kept: number;
  readonly alone: number;
  readonly calls: number;
  /** The share of a core that the calls took from the thread that serves vaults. */
  readonly share: number;
}

/** The rate of reads during calls, relative to the rates just before and after. */
async function readsBeside(callers: () => Promise<Sample>): Promise<Beside> {
  const read = readRequest({ id: vault.id, token });
  const [alone, uses]: Sample[][] = [[], []];
  const kept: number[] = [];
  await measure(server.port, read);
  alone!.push(await measure(server.port, read));
  for (let turn = 0; turn < 3 * turns; turn++) {
    const [reads, calls] = await Promise.all([measure(server.port, read), callers()]);
    const before = alone!.at(-1)!.perSecond;
    uses!.push(calls);
    alone!.push(await measure(server.port, read));
    kept.push((2 * reads.perSecond) / (before + alone!.at(-1)!.perSecond));
  }
  const byThemselves = await callers();
  const calls = median(uses!, 'perSecond');
  return {
    kept: middle(kept),
    alone: median(alone!, 'perSecond'),
    calls,
    share: (calls * byThemselves.reading) / 1e6,
  };
}

const brokered = (upstream: Target) => () => measure(server.port, brokeredRequest(upstream));
const recorder = await startRecorder(slow);
const beside = {
  '20 ms': await readsBeside(brokered(slow)),
  '20 ms, made by a program that only records': await readsBeside(() =>
    measure(recorder.port, directRequest(slow)),
  ),
  'public API, 100 ms': await readsBeside(brokered(publicApi)),
};
await Promise.all([slow, quick, publicApi, recorder, server].map(target => target.stop()));
rmSync(data, { recursive: true, force: true });

console.log(
  table(
    ['upstream, way', 'calls/s', 'p50 ms', 'p99 ms', 'µs of the service', 'µs of its reading thread'],
    rows,
  ),
);
const longer = (way: Way) => `${added[way]!.toFixed(2)} ms longer than a direct one`;
console.log(
  `a brokered call takes ${longer('brokered')}, ${inParallel} at a time; a forwarded one ${longer('forwarded')}; one that is only recorded and forwarded ${longer('recorded')}`,
);
for (const [what, { kept, alone, calls, share }] of Object.entries(beside)) {
  const percent = (part: number) => `${Math.round(100 * part)} %`;
  console.log(
    `${what}: reads keep ${percent(kept)} of ${Math.round(alone)}/s while ${Math.round(calls)} calls/s are made, which take ${percent(share)} of the thread that serves vaults`,
  );
}
if (added.brokered! > mostAdded || beside['public API, 100 ms'].kept < smallest) process.exitCode = 1;
