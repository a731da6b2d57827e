/**
 * A PostgreSQL with a standby, and two replicas that know both: they take the one that takes writes. When the standby takes
 * over, nothing acknowledged is lost, and they find it by themselves. `npm run campaign:failover` is the long form.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Checkpoint, SignedCheckpoint } from '../src/logs/checkpoints.ts';
import type { Continued } from '../src/logs/logged-link.ts';
import type { LogSource } from '../src/logs/verify.ts';
import { openStore, peekKeyring, type Store } from '../src/store/store.ts';
import { failOver, lostOf, type Replicated, startLoad, startReplicas } from './failover.ts';
import { callService, eventually } from './harness.ts';
import { freshDatabase } from './postgres.ts';
import { ask, type Pair, startPair } from './standby.ts';

/** The log as if the newest of these checkpoints had never arrived, nor what it signed. */
async function withoutNewest(log: LogSource, among: (checkpoint: Checkpoint) => boolean): Promise<LogSource> {
  const checkpoints: SignedCheckpoint[] = [];
  for await (const checkpoint of log.checkpoints()) checkpoints.push(checkpoint);
  const bodies = checkpoints.map(({ body }) => JSON.parse(body) as Checkpoint);
  const signed = (writer: string, which: readonly Checkpoint[]) =>
    which.flatMap(({ heads }) => heads.filter(head => head.writer === writer).map(({ seq }) => seq));
  const isLastOf = ({ heads }: Checkpoint, index: number) =>
    heads.every(({ writer }) => signed(writer, bodies.slice(index + 1)).length === 0);
  const at = bodies.findLastIndex((body, index) => among(body) && isLastOf(body, index));
  const gone = bodies[at]!.heads.map(head => ({
    ...head,
    after: Math.max(0, ...signed(head.writer, bodies.slice(0, at))),
  }));
  return {
    async *checkpoints() {
      yield* checkpoints.toSpliced(at, 1);
    },
    async *links(stream) {
      for await (const link of log.links(stream))
        if (!gone.some(({ writer, after }) => writer === link.writer && link.seq > after)) yield link;
    },
  };
}

describe('over a PostgreSQL with a standby', { timeout: 170_000 }, () => {
  let pair: Pair;
  let replicated: Replicated;

  before(async () => {
    pair = await startPair();
    // The standby comes first: it is passed over.
    const [first, second] = pair.ports;
    replicated = await startReplicas(
      pair.url.replace(`:${first},127.0.0.1:${second}`, `:${second},127.0.0.1:${first}`),
      2,
    );
  });
  after(async () => {
    await replicated?.stop();
    await pair?.stop();
  });

  const one = (port: number, query = '', host = '127.0.0.1') =>
    peekKeyring({ engine: 'postgres', url: `postgres://postgres:postgres@${host}:${port}/postgres${query}` });
  const because = (why: RegExp) => (error: Error) => why.test(String((error.cause as Error)?.message));

  it('a standby alone is refused, and so is a server that nobody is at', async () => {
    await assert.rejects(one(pair.ports[1]), because(/is a standby/));
    await assert.rejects(one(1), because(/ECONNREFUSED/));
  });

  it('asynchronous replication is told to the operator and in About, and so is that it is synchronous by now', async () => {
    const replication = async () => {
      const { url } = replicated.replicas[0]!;
      return (await callService(url, 'GET', '/v1/about', undefined, replicated.key)).body.replication;
    };
    await eventually('the operator is told of asynchronous replication', async () =>
      replicated.reports.some(line =>
        /^PostgreSQL replicates asynchronously: a failover can lose/.test(line),
      ),
    );
    assert.equal(await replication(), 'asynchronous');
    await pair.setSynchronous(true);
    assert.equal(await replication(), 'synchronous');
  });

  it('a commit that nobody replicated is not acknowledged, although the server calls it one', async test => {
    const [port] = pair.ports;
    const url = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;
    const store = await openStore({ engine: 'postgres', url });
    test.after(() => store.close());
    await ask(port, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    await ask(port, 'SELECT pg_reload_conf()');
    const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
    // Until the server has read its settings, a commit waits for the standby that is there.
    await eventually('a write without its standby is refused', async () => {
      const written = store.tryWrite().then(
        () => 'acknowledged',
        () => 'refused',
      );
      for (let isOpen = true; isOpen; ) {
        await ask(port, cancel);
        isOpen = (await Promise.race([written, sleep(20, 'open')])) === 'open';
      }
      return (await written) === 'refused';
    });
    await pair.setSynchronous(true);
    await eventually('a write is taken again', () =>
      store.tryWrite().then(
        () => true,
        () => false,
      ),
    );
  });

  it('encryption is asked for and verified as sslmode says', async () => {
    const verified = (mode: string) => `?sslmode=${mode}&sslrootcert=${pair.authority}`;
    const [first] = pair.ports;
    for (const [query, host] of [
      ['', '127.0.0.1'],
      ['?sslmode=disable', '127.0.0.1'],
      ['?sslmode=require', '127.0.0.1'],
      [verified('verify-ca'), '127.0.0.1'],
      [verified('verify-full'), 'localhost'],
    ] as const)
      assert.ok(await one(first, query, host), query);
    await assert.rejects(one(first, verified('verify-full')), because(/altname|does not match/i));
    await assert.rejects(one(first, '?sslmode=verify-full', 'localhost'), because(/certificate/i));
  });

  it('the standby takes over under load: nothing acknowledged is lost, and both replicas go on by themselves', async () => {
    const load = await startLoad(replicated);
    const late = await failOver(pair, 'crash', load);
    await load.stop();
    assert.deepEqual(await lostOf(replicated, load), []);
    assert.ok(late < 15_000, 'no replica went on by itself');
    await eventually('every entry is signed', async () => (await replicated.verify()).unsigned === 0);
    const { findings, kept } = await replicated.verify();
    assert.deepEqual(findings, []);
    assert.notEqual(kept, null);
  });

  it('the log says once on which timeline it goes on, and the verifier says it too', async () => {
    const { key, replicas, verify } = replicated;
    await eventually(
      'the log goes on on another timeline',
      async () => (await verify()).continued.length > 0,
    );
    const [{ at, ...numbers }] = (await verify()).continued as [Continued];
    assert.deepEqual(numbers, { from: 1, to: 2 });
    assert.ok(Date.parse(at) > 0);
    const path = '/v1/audit-logs?action=log.timeline_continued';
    const told = await callService(replicas[1]!.url, 'GET', path, undefined, key);
    assert.equal(told.body.pagination.total, 1);
  });

  it('what the standby had not received is told from what somebody cut off', async () => {
    await eventually('every entry is signed', async () => (await replicated.verify()).unsigned === 0);
    const at = (await replicated.verify()).continued[0]!.at;
    const kinds = async (made: (log: LogSource) => Promise<LogSource>) =>
      new Set((await replicated.verify(made)).findings.map(({ what }) => what));
    const before = ({ created_at }: Checkpoint) => created_at < at;
    assert.deepEqual(await kinds(log => withoutNewest(log, before)), new Set(['lost-in-failover']));
    assert.deepEqual(await kinds(log => withoutNewest(log, () => true)), new Set(['cut-off']));
  });

  it('the server that was the first is a standby when it is back, and nobody goes to it', async () => {
    await pair.demote();
    await assert.rejects(one(pair.ports[0]), because(/is a standby/));
    for (const { url } of replicated.replicas) {
      const made = await callService(url, 'POST', '/v1/vaults', { name: `after ${url}` }, replicated.key);
      assert.equal(made.status, 200, made.text);
    }
  });
});

describe('hosts that take connections and never answer', { timeout: 100_000 }, () => {
  /** Passes on what comes, as long as it is not told to be silent. */
  async function startHost(port: number, isSilent: boolean) {
    const sockets = new Set<Socket>();
    const server = createServer(near => {
      sockets.add(near.on('error', () => {}));
      if (host.isSilent) return;
      const far = connect(port, '127.0.0.1');
      sockets.add(far.on('error', () => {}));
      near.pipe(far).pipe(near);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = {
      isSilent,
      port: (server.address() as AddressInfo).port,
      cutAll: () => {
        for (const socket of sockets) socket.destroy();
        sockets.clear();
      },
      close: () => {
        host.cutAll();
        server.close();
      },
    };
    return host;
  }

  it('hold up nobody: of several, the one that answers is found beside them, also when it is another by then', async test => {
    // Each host is given longer than this test has.
    const url = (await freshDatabase()).replace(/connect_timeout=\d+/, 'connect_timeout=600');
    const { port } = new URL(url);
    const hosts: Awaited<ReturnType<typeof startHost>>[] = [];
    for (const isSilent of [true, true, false, true]) hosts.push(await startHost(Number(port), isSilent));
    const several = url.replace(/@[^/]*/, `@${hosts.map(host => `127.0.0.1:${host.port}`).join(',')}`);
    const store = await openStore({ engine: 'postgres', url: several });
    test.after(async () => {
      await store.close();
      for (const host of hosts) host.close();
    });
    await store.tryWrite();
    const [first, second, third] = hosts;
    third!.isSilent = true;
    first!.isSilent = false;
    third!.cutAll();
    await eventually('a write is taken by the host that is left', () =>
      store.tryWrite().then(
        () => true,
        () => false,
      ),
    );
    const silent = `127.0.0.1:${second!.port},127.0.0.1:1,127.0.0.1:${third!.port}`;
    const nobody = `postgres://postgres:postgres@${silent}/postgres?connect_timeout=1`;
    await assert.rejects(peekKeyring({ engine: 'postgres', url: nobody }), ({ cause }: Error) =>
      /^no server accepts writes \(.*; 127\.0\.0\.1:1 connect ECONNREFUSED.*; .*\)$/.test(
        String((cause as Error).message),
      ),
    );
  });
});

describe('a PostgreSQL that takes no writes for a while', () => {
  let url: string;
  let client: pg.Client;
  let store: Store;
  before(async () => {
    url = await freshDatabase();
    store = await openStore({ engine: 'postgres', url });
    client = new pg.Client(url);
    await client.connect();
  });
  after(async () => {
    await store.close();
    await client.end();
  });

  const run = (connections: Store, ...statements: string[]) =>
    connections.commit([{ statements: statements.map(sql => ({ sql, parameters: [] })) }]);
  const codeIn = (error: Error) => String((error.cause as { code?: string } | undefined)?.code);
  const codeOf = (running: Promise<unknown>) => running.then(() => '', codeIn);
  const write = 'UPDATE meta SET value = value';
  const raise = (code: string) => `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}'; END $$`;

  for (const [code, isLeft, ...statements] of [
    ['25006', true, 'SET TRANSACTION READ ONLY', write],
    ['57P01', true, raise('57P01')],
    ['08006', true, raise('08006')],
    ['53100', false, raise('53100')],
  ] as const) {
    it(`${code}: its other connections are ${isLeft ? 'cut' : 'kept'}, also where somebody waits on them`, async test => {
      const connections = await openStore({ engine: 'postgres', url });
      test.after(() => connections.close());
      // The server finds out late who is gone, and a lock that was waited for has waiters for a while.
      const lock = Number.parseInt(code, 36);
      await client.query('SELECT pg_advisory_lock($1)', [lock]);
      const waits = codeOf(run(connections, `SELECT pg_advisory_xact_lock(${lock})`));
      const waiting = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = ${lock} AND NOT granted`;
      await eventually(
        'the statement waits for its lock',
        async () => (await client.query(waiting)).rowCount === 1,
      );
      assert.equal(await codeOf(run(connections, ...statements)), code);
      if (!isLeft) await client.query('SELECT pg_advisory_unlock($1)', [lock]);
      // Left alone, it would wait for fifteen seconds, until the server gives it up (57014).
      assert.equal(await waits, isLeft ? 'undefined' : '');
      await eventually('a write is taken again', async () => (await codeOf(run(connections, write))) === '');
    });
  }

  it('is connected to anew by whoever is refused, and takes them when it does', async () => {
    const name = new URL(url).pathname.slice(1);
    await client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = '${name}' AND pid <> pg_backend_pid()`);
    await eventually(
      'the database takes no writes',
      async () => (await codeOf(run(store, write))) === '25006',
    );
    // Nobody but us ends the connections that are there, and that take no writes whatever the database is set to.
    await client.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await eventually('the database takes writes again', async () => (await codeOf(run(store, write))) === '');
  });
});
