/**
 * Every step of issuing, renewing and revoking is interrupted before and after it reached the database. Whatever is
 * left, no user is without a lease, and every lease ends. The steps are counted, not listed: a new one joins by itself.
 */
import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { checkNames, examine } from '../src/service/doctor/doctor.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { enginesInTurn, eventually } from './harness.ts';
import { issuerBody, type LeaseWorld, startLeases } from './leases-world.ts';

type When = 'before' | 'after';

/** Between the service and the database; cuts the connection at a statement, before the server gets it or after. */
async function startCutter(target: string) {
  const { hostname, port } = new URL(target);
  let statements = 0;
  let cut: { at: number; when: When } | null = null;
  const server = createServer(client => {
    const upstream = connect(Number(port), hostname);
    let isCut = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    client.on('data', bytes => {
      // The client sends a statement, with its values if there are any, in one piece.
      const isStatement = bytes[0] === 0x51 || bytes[0] === 0x50;
      if (isStatement) statements += 1;
      const isHere = isStatement && cut !== null && statements === cut.at;
      if (isHere && cut!.when === 'before') return end();
      isCut ||= isHere;
      upstream.write(bytes);
    });
    upstream.on('data', bytes => (isCut ? end() : client.write(bytes)));
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
  });
  server.listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    /** Cuts once, at the statement with this number from now on. */
    cutAt(at: number, when: When) {
      statements = 0;
      cut = { at, when };
    },
    /** Lets everything pass, and returns how many statements came since. */
    pass() {
      cut = null;
      const count = statements;
      statements = 0;
      return count;
    },
    close: () => new Promise(resolve => server.close(resolve)),
  };
}

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`leases whose steps are interrupted, on ${engine}`, () => {
    let world: LeaseWorld;
    let cutter: Awaited<ReturnType<typeof startCutter>>;
    before(async () => {
      world = await startLeases(engine);
      cutter = await startCutter(world.target.url);
      const through = { url: cutter.url, group: world.target.group };
      await world.made('/v1/issuers', issuerBody(world.vaultId, 'cut', through));
    });
    after(async () => {
      await world.close();
      await cutter.close();
    });

    async function examined(): Promise<string> {
      const config = readConfig(serveOptions, [...world.service.place], {});
      const others = checkNames.filter(name => name !== 'leases');
      for await (const { outcome, message } of examine(config, others, world.service.clock.now))
        return `${outcome} ${message}`;
      throw new Error('there is no such check');
    }
    const ask = () => world.ask('POST', 'leases', { name: 'cut', ttl: 3_600 });
    const living = async () =>
      (await world.service.call('GET', '/v1/leases?state=living&limit=100')).body.data as {
        id: string;
        username: string;
      }[];
    /** At any time, whatever was interrupted. */
    async function noUserWithoutLease(what: string): Promise<void> {
      const known = new Set((await living()).map(({ username }) => username));
      for (const user of await world.target.users()) assert.ok(known.has(user), what);
    }
    /** Lets the service try again, until nothing is left. */
    async function allGone(what: string): Promise<void> {
      await eventually(what, async () => {
        world.service.clock.pass(61_000);
        return (await living()).length === 0;
      });
      assert.deepEqual(await world.target.users(), [], what);
    }
    async function stepsOf(work: () => Promise<unknown>): Promise<number> {
      cutter.pass();
      await work();
      return cutter.pass();
    }
    const places = (steps: number): [number, When][] =>
      Array.from({ length: steps }, (_, at) => at + 1).flatMap(at => [
        [at, 'before'] as [number, When],
        [at, 'after'] as [number, When],
      ]);

    it('issuing: what is not acknowledged is removed', async () => {
      const steps = await stepsOf(ask);
      assert.ok(steps >= 5, `${steps} statements`);
      for (const [at, when] of places(steps)) {
        cutter.cutAt(at, when);
        const answer = await ask();
        assert.equal(answer.status, 503, `${when} ${at}: ${answer.text}`);
        cutter.pass();
        await noUserWithoutLease(`issuing, ${when} statement ${at}`);
      }
      for (const { id } of await living()) await world.service.call('POST', `/v1/leases/${id}/revoke`);
      await allGone('what was not acknowledged is gone');
    });

    it('renewing: it lives as long as was acknowledged, and ends', async () => {
      const { lease, data } = (await ask()).body;
      const renew = () => world.ask('POST', `leases/${lease.id}/renew`, { ttl: 7_200 });
      const steps = await stepsOf(renew);
      assert.ok(steps >= 2, `${steps} statements`);
      for (const [at, when] of places(steps)) {
        world.service.clock.pass(1_000);
        cutter.cutAt(at, when);
        assert.equal((await renew()).status, 503);
        cutter.pass();
        assert.ok(await world.opens(data.url));
      }
      const { body } = await renew();
      const [user] = await world.target.sql('SELECT rolvaliduntil FROM pg_roles WHERE rolname = $1', [
        data.username,
      ]);
      const until = (user!.rolvaliduntil as Date).getTime();
      assert.equal(until - Date.parse(body.lease.expires_at), 60_000);
      await world.ask('DELETE', `leases/${lease.id}`);
      await allGone('the renewed one is gone');
    });

    it('revoking: it is tried until it is gone', async () => {
      const issued = (await ask()).body.lease.id;
      const steps = await stepsOf(async () => {
        await world.ask('DELETE', `leases/${issued}`);
        await world.ended(issued);
      });
      assert.ok(steps >= 8, `${steps} statements`);
      for (const [at, when] of places(steps)) {
        const { lease } = (await ask()).body;
        cutter.cutAt(at, when);
        await world.ask('DELETE', `leases/${lease.id}`);
        await eventually(`${when} ${at}`, async () => {
          world.service.clock.pass(6_000);
          return (await world.state(lease.id)) === 'gone';
        });
        await noUserWithoutLease(`revoking, ${when} statement ${at}`);
        cutter.pass();
      }
      await allGone('all are gone');
    });

    it('the database away for an hour: all end when it is back', async () => {
      const given = [];
      for (let at = 0; at < 10; at++) given.push((await world.issue(60)).lease.id);
      await world.target.sql(`ALTER ROLE ${world.target.admin} NOLOGIN`);
      for (let passed = 0; passed < 3_600; passed += 60) {
        world.service.clock.pass(60_000);
        await world.service.call('GET', '/v1/leases');
      }
      await eventually('it is told', async () => {
        const { body } = await world.service.call('GET', `/v1/issuers/${world.issuerId}`);
        return body.failing_since !== null;
      });
      assert.equal(
        await examined(),
        'warning 10 credentials could not be revoked, 1 issuer can’t be reached: strongroom leases list and issuers check say which, and why',
      );
      await world.target.sql(`ALTER ROLE ${world.target.admin} LOGIN`);
      world.service.clock.pass(31_000);
      for (const id of given) await world.ended(id);
      assert.deepEqual(await world.target.users(), []);
      const { body } = await world.service.call('GET', `/v1/issuers/${world.issuerId}`);
      assert.equal(body.failing_since, null);
      assert.equal(await examined(), 'ok no short-lived credentials are active');
    });
  });
}
