/** Shared parts of the benchmarks: processes on separate cores, a service with data, and a table of results. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { operatorOf } from '../src/cli/service/operator.ts';
import { fanOut } from '../src/events/fan-out.ts';
import { openStrongroom, type Strongroom } from '../src/service/opening/open.ts';
import { placeOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { askingDomain } from '../test/asking.ts';
import type { LoadPlan, LoadResult } from './load.ts';

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
process.setMaxListeners(0);
const canPin = existsSync('/usr/bin/taskset') && cpus().length > 1;

/** The server has the first core and the load the second, or all share all cores. */
function start(
  core: 0 | 1 | 'any',
  args: readonly string[],
  stderr: 'inherit' | 'ignore' = 'inherit',
): ChildProcess {
  const [command, ...rest] =
    canPin && core !== 'any'
      ? ['taskset', '-c', String(core), process.execPath, ...args]
      : [process.execPath, ...args];
  const child = spawn(command!, rest, { stdio: ['ignore', 'pipe', stderr] });
  process.once('exit', () => child.kill('SIGKILL')); // Leaves nothing running, whatever goes wrong here.
  return child;
}

/** Written to a file, because it is too long for a command line. */
function inFile(value: unknown): string {
  const file = join(mkdtempSync(join(tmpdir(), 'strongroom-bench-')), 'input.json');
  writeFileSync(file, JSON.stringify(value));
  return file;
}

/** Leaves the stream open, because a server may print more. */
async function firstLine({ stdout }: ChildProcess): Promise<string> {
  let text = '';
  while (!text.includes('\n')) {
    const [chunk] = await Promise.race([once(stdout!, 'data'), once(stdout!, 'end')]);
    if (chunk === undefined) throw new Error('the process ended without output');
    text += String(chunk);
  }
  stdout!.resume();
  return text.slice(0, text.indexOf('\n'));
}

export async function load(plan: LoadPlan): Promise<LoadResult> {
  const child = start(1, [here('load.ts'), inFile(plan)]);
  const result = JSON.parse(await firstLine(child)) as LoadResult;
  if (child.exitCode === null) await once(child, 'exit');
  return result;
}

export interface Target {
  readonly port: number;
  /** Resident memory, in MB. */
  memory(): number;
  /** The peak, since the start or the last reset. */
  peakMemory(): number;
  forgetPeak(): void;
  readonly hasEnded: boolean;
  /** The processor time of all its threads so far, in milliseconds. */
  processorTime(): number;
  /** The part of the thread that answers vault reads. */
  readingTime(): number;
  stop(): Promise<void>;
}

function target(child: ChildProcess, port: number): Target {
  const megabytes = (line: 'VmRSS' | 'VmHWM') => {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return Math.round(Number(new RegExp(`${line}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024);
  };
  const worked = (file: string) => {
    const fields = readFileSync(file, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10; // In hundredths of a second.
  };
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    port,
    memory: () => megabytes('VmRSS'),
    peakMemory: () => megabytes('VmHWM'),
    forgetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    processorTime: () => worked(`/proc/${child.pid}/stat`),
    readingTime: () => worked(`/proc/${child.pid}/task/${child.pid}/stat`),
    get hasEnded() {
      return hasEnded();
    },
    stop: async () => {
      child.kill('SIGTERM');
      if (!hasEnded()) await once(child, 'exit');
    },
  };
}

export async function startCeiling(sample: Response): Promise<Target> {
  const skipped = new Set(['date', 'connection', 'keep-alive']);
  const headers = [...sample.headers].filter(([name]) => !skipped.has(name)).flat();
  const child = start(0, [here('ceiling.ts'), inFile({ headers, body: await sample.text() })]);
  return target(child, Number(await firstLine(child)));
}

/** A process of the benchmark, on the load's core, that prints its port as the first line. */
export function startBeside(file: string, ...args: readonly string[]): Promise<Target> {
  return startOn(1, file, args);
}

/** The same on the service's core, for comparison with the service. */
export function startInstead(file: string, ...args: readonly string[]): Promise<Target> {
  return startOn(0, file, args);
}

async function startOn(core: 0 | 1, file: string, args: readonly string[]): Promise<Target> {
  const child = start(core, [here(file), ...args]);
  return target(child, Number(await firstLine(child)));
}

/** Starts the service of this checkout or another. On shared cores it is overloaded, and would report every refusal. */
export async function startServer(
  place: readonly string[],
  command = here('../bin/strongroom.js'),
  core: 0 | 'any' = 0,
): Promise<Target> {
  const child = start(
    core,
    [command, 'serve', ...place, '--port', '0'],
    core === 'any' ? 'ignore' : 'inherit',
  );
  return target(child, Number(/:(\d+)$/.exec((await firstLine(child)).trim())![1]));
}

export interface Filled {
  readonly place: readonly string[];
  readonly vaults: readonly {
    readonly id: string;
    readonly token: string;
    readonly secretIds: readonly string[];
  }[];
  remove(): void;
}

export interface FillPlan {
  readonly databaseUrl?: string;
  /** The number of secrets in each vault. */
  readonly vaults: readonly number[];
}

/** Fills a database through the domain, as the API would. */
export async function fill({ databaseUrl, vaults }: FillPlan): Promise<Filled> {
  const data = mkdtempSync(join(tmpdir(), 'strongroom-bench-'));
  const place = ['--data', data, ...(databaseUrl === undefined ? [] : ['--database-url', databaseUrl])];
  const strongroom = await openStrongroom(readConfig(placeOptions, place, {}), false);
  const organization = await strongroom.domain.organizations.create(
    id => operatorOf(id, strongroom.newId),
    'Bench',
    { plan: 'enterprise', enterpriseLimit: 0 },
  );
  const made: Filled['vaults'][number][] = [];
  for (let at = 0; at < vaults.length; at += 100) {
    const some = vaults.slice(at, at + 100);
    const filling = some.map((secrets, index) => fillVault(strongroom, organization.id, at + index, secrets));
    const [vaultsMade] = await Promise.all([Promise.all(filling), handOnEvents(strongroom)]);
    made.push(...vaultsMade);
  }
  await handOnEvents(strongroom);
  await strongroom.close();
  execFileSync('sync'); // Pending writes must not disturb the measurement.
  return { place, vaults: made, remove: () => rmSync(data, { recursive: true, force: true }) };
}

/** In a real service, these events would have been delivered long ago. */
async function handOnEvents({ store, domain, now, newId }: Strongroom): Promise<void> {
  const targets = domain.webhookTargets(error => {
    throw error;
  });
  const mails = { about: async () => [] };
  while ((await fanOut({ store, targets, mails, now, newId })).more);
}

async function fillVault(
  { domain, newId }: Strongroom,
  organizationId: string,
  number: number,
  secrets: number,
) {
  const caller = operatorOf(organizationId, newId);
  const { vaults, secrets: stored, accessKeys } = askingDomain(domain);
  const { id } = await vaults.create(caller, { name: `vault ${number}` });
  const secretIds: string[] = [];
  for (let at = 0; at < secrets; at += 200) {
    const batch = Array.from({ length: Math.min(200, secrets - at) }, (_, index) =>
      stored.create(caller, { vault_id: id, name: `SECRET_${at + index}`, value: 'x'.repeat(40) }),
    );
    for (const secret of await Promise.all(batch)) secretIds.push(secret.id);
  }
  const { token } = await accessKeys.create(caller, { vault_id: id, name: 'bench' });
  return { id, token: token!, secretIds };
}

export function readRequest(vault: { id: string; token: string }, query = '', extra = ''): string {
  return `GET /api/v1/vaults/${vault.id}${query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${vault.token}\r\nAccept: application/json\r\n${extra}\r\n`;
}

export function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [row(heads), row(heads.map(() => '---')), ...rows.map(row)].join('\n');
}

export function row(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`;
}
