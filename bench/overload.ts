/**
 * Measures how vault reads hold up under pressure: a constant reading load, at half of the maximum rate, runs during
 * each kind of pressure in turn, with `/livez` requested every 20 ms on a separate connection. Service and load share
 * all cores. Prints the share of the reads that is kept, compared with the calm just before, and marks results beyond
 * the limits.
 *
 *   npm run bench:overload -- [--short] [--only KIND] [--of COMMIT] [--write]
 *
 * The silent connections require `ulimit -n 10000` or more. `--write` puts the table into docs/performance.md.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readRequest, startServer, type Target, table } from './bench.ts';
import { checkOut, commandIn, here } from './checkout.ts';
import { type Data, fillData } from './overload/data.ts';
import { type Pressed, prepare } from './overload/pressing.ts';
import { type Pressure, pressures } from './overload/pressures.ts';
import { clock, type Delays, goodBetween, type Progress, type Watch, watch } from './overload/steady-load.ts';
import { overloadTitle, writeSection } from './performance-page.ts';

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    only: { type: 'string' },
    of: { type: 'string' },
  },
});
const size = options.short ? { vaults: 200, logEntries: 500_000 } : { vaults: 1_000, logEntries: 10_000_000 };
const span = options.short ? { atLeast: 1_000, atMost: 6_000 } : { atLeast: 1_000, atMost: 15_000 };
/** For pressure that ends by itself. */
const longest = options.short ? 12_000 : 120_000;
const calmFor = options.short ? 3_000 : 5_000;
const warmUp = 4_000;
const connections = 32;
const endsByItself = new Set(['keys', 'long-export', 'bulk-burst', 'first-reads']);
const limits = { livez: 100, memory: 500, recovery: 5 };
const watchRecoveryFor = 15_000;

interface Measured {
  readonly kept: number;
  readonly livez: { readonly p99: number; readonly max: number };
  /** In MB; null if the service did not survive. */
  readonly memory: number | null;
  /** In seconds; null if it was not observed. */
  readonly recovery: number | null;
  readonly pressed: Pressed;
}

/** The maximum rate without pressure, once the runtime has compiled the hot code. */
async function reachedAlone(port: number, data: Data): Promise<number> {
  const readers = watch({ port, connections, request: readRequest(data.read), rate: null, patience: null });
  const began = clock();
  await sleep(warmUp);
  await readers.stop();
  return goodBetween(readers.progress, began + warmUp / 2, clock());
}

async function measure(kind: string, server: Target, data: Data): Promise<Measured> {
  const { port } = server;
  const press = await prepare({ kind, port, data });
  const alone = await reachedAlone(port, data);
  const rate = Math.round(alone / 2);
  const readers = watch({ port, connections, request: readRequest(data.read), rate, patience: 250 });
  const request = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const livez = watch({ port, connections: 1, request, rate: 50, patience: null });
  await sleep(1_000);
  const calmFrom = clock();
  await sleep(calmFor);
  server.forgetPeak();
  let from = 0;
  const until = { ...span, atMost: endsByItself.has(kind) ? longest : span.atMost };
  const pressed = await press(rate, until, () => {
    from = clock();
  });
  const to = clock();
  const calm = goodBetween(readers.progress, calmFrom, from);
  const recovery = await recovered(readers, to, calm, server);
  const memory = server.hasEnded ? null : server.peakMemory();
  const [, probes] = await Promise.all([readers.stop(), livez.stop()]);
  const under = goodBetween(readers.progress, from, to);
  const own = (pressed.good * 1000) / (to - from);
  const kept = pressures[kind]!.countsAllReads ? (under + own) / alone : under / calm;
  return { kept, livez: delaysBetween(probes, from, to), memory, recovery, pressed };
}

/** The seconds until reads are as fast as before for half a second. */
async function recovered(
  { progress }: Watch,
  end: number,
  calm: number,
  server: Target,
): Promise<number | null> {
  const isBack = ({ at }: Progress) =>
    at >= end && goodBetween(progress, at, at + 600) >= 0.95 * calm && progress.at(-1)!.at > at + 500;
  while (clock() < end + watchRecoveryFor && !server.hasEnded) {
    await sleep(100);
    const back = progress.find(isBack);
    if (back !== undefined) return Math.max(0, back.at - end) / 1000;
  }
  return null;
}

function delaysBetween({ due, taken }: Delays, from: number, to: number): { p99: number; max: number } {
  const within = taken.filter((_, at) => due[at]! >= from && due[at]! <= to).sort((a, b) => a - b);
  return { p99: within[Math.floor(within.length * 0.99)] ?? 0, max: within.at(-1) ?? 0 };
}

const heads = [
  'pressure',
  'reads kept',
  '`/livez` p99 ms',
  'max ms',
  'memory MB',
  'back after s',
  'answered',
  'refused',
  'cut off',
];

const marked = (text: string, holds: boolean) => (holds ? text : `**${text}** ✗`);

function row({ title, keeps }: Pressure, { kept, livez, memory, recovery, pressed }: Measured): string[] {
  const { answered, refused, cut, note } = pressed;
  return [
    note === '' ? title : `${title} (${note})`,
    marked(`${Math.round(kept * 100)} %`, kept >= keeps),
    marked(String(Math.round(livez.p99)), livez.p99 <= limits.livez),
    String(Math.round(livez.max)),
    memory === null ? marked('ended', false) : marked(String(memory), memory <= limits.memory),
    recovery === null
      ? marked(`more than ${watchRecoveryFor / 1000}`, false)
      : marked(recovery.toFixed(1), recovery <= limits.recovery),
    ...[answered, refused, cut].map(String),
  ];
}

const kinds = options.only?.split(',') ?? Object.keys(pressures);
const unknown = kinds.find(kind => !(kind in pressures));
if (unknown !== undefined) throw new Error(`--only takes ${Object.keys(pressures).join(', ')}`);
const folder = mkdtempSync(join(tmpdir(), 'strongroom-overload-'));
const other = options.of === undefined ? null : checkOut(options.of, folder);
const rows: string[][] = [];
try {
  const command = commandIn(other?.path ?? here);
  const data = await fillData(command, folder, size);
  for (const kind of kinds) {
    const server = await startServer(data.place, command, 'any');
    rows.push(row(pressures[kind]!, await measure(kind, server, data).finally(server.stop)));
    console.log(rows.at(-1)!.join('  '));
  }
} finally {
  other?.remove();
  rmSync(folder, { recursive: true, force: true });
}
const flags = [options.short ? ['--short'] : [], options.of === undefined ? [] : ['--of', options.of]].flat();
const count = (number: number) => number.toLocaleString('en');
const text = `Measured with \`npm run bench:overload${flags.length === 0 ? '' : ` -- ${flags.join(' ')}`}\` on ${cpus().length} cores that service and load share, Node
${process.version}: ${connections} connections read a vault of 50 secrets at half of the unloaded maximum rate, under one kind
of pressure at a time, on a service with ${count(size.vaults)} more vaults and ${count(size.logEntries)} entries in its log. *Kept* is the share of answers
within a second of when they were due, compared with the calm period just before; if the pressure is reads, all of them count,
compared with the unloaded maximum. \`/livez\` is requested every 20 ms. Clients refused with 503 and \`Retry-After\` retry
after 0.1 s. The limits: 80 % kept (90 % with idle or slow connections), 99 % of \`/livez\` within ${limits.livez} ms,
${limits.memory} MB, and reads back at 95 % within ${limits.recovery} s. ✗ marks figures beyond them.

${table(heads, rows)}
`;
if (options.write) writeSection(overloadTitle, text);
console.log(`\n${text}`);
