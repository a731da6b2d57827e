/** The plan's limit of requests, and the limit of failed authentications. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { mintToken } from '../src/access/token.ts';
import { operatorOf } from '../src/cli/service/operator.ts';
import type { Plan } from '../src/contract/access.ts';
import { MinuteCounter } from '../src/domain/kernel/minute-counter.ts';
import {
  type Answer,
  beside,
  callService,
  enginesInTurn,
  eventually,
  type Made,
  type Service,
  startService,
} from './harness.ts';
import { bareSession, modernCall, post } from './mcp-world.ts';

const limitHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`rate limits on ${engine}`, () => {
    let service: Service;

    before(async () => {
      service = await startService({ engine });
    });
    after(() => service.stop());

    /** A minute in which nothing else was asked. */
    let minute = Math.ceil(Date.now() / 60_000) + 5;
    function enterMinute(second = 0): number {
      minute += 1;
      service.clock.standAt(minute * 60_000 + second * 1000);
      return minute * 60;
    }

    const limits = ({ headers }: Answer) => limitHeaders.map(name => headers.get(name));
    const ask = ({ key }: Made, url = service.url, headers = {}) =>
      callService(url, 'GET', '/v1/vaults', undefined, key, headers);
    const setPlan = (organizationId: string, plan: Plan, enterpriseLimit = 0) =>
      beside(service, ({ domain, newId }) =>
        domain.organizations.setPlan(operatorOf(organizationId, newId), { plan, enterpriseLimit }),
      );

    function tally(answers: readonly Answer[]): Record<number, number> {
      const counts: Record<number, number> = {};
      for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
      return counts;
    }

    for (const [plan, limit] of [
      ['free', 100],
      ['pro', 1000],
    ] as const) {
      it(`the plan ${plan} allows ${limit} requests a minute, and says where one stands`, async () => {
        const made = await service.organization(`plan ${plan}`, plan);
        const start = enterMinute(30);
        assert.deepEqual(limits(await ask(made)), [`${limit}`, `${limit - 1}`, `${start + 60}`]);
        assert.deepEqual(limits(await ask(made)), [`${limit}`, `${limit - 2}`, `${start + 60}`]);
        enterMinute();
        assert.equal((await ask(made)).headers.get('x-ratelimit-remaining'), `${limit - 1}`);
      });
    }

    it('exactly the limit passes in a window, however many ask at once', async () => {
      const made = await service.organization('exact', 'free');
      const start = enterMinute(15);
      const answers = await Promise.all(Array.from({ length: 130 }, () => ask(made)));
      assert.deepEqual(tally(answers), { 200: 100, 429: 30 });
      const refused = answers.find(({ status }) => status === 429)!;
      assert.deepEqual(refused.body, {
        error: { code: 'RATE_LIMITED', message: 'Too many requests', details: { field: '', reason: '' } },
      });
      assert.deepEqual(limits(refused), ['100', '0', `${start + 60}`]);
      assert.equal(refused.headers.get('retry-after'), '45');
      const remaining = answers
        .filter(({ status }) => status === 200)
        .map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
      assert.deepEqual(
        remaining.sort((a, b) => a - b),
        Array.from({ length: 100 }, (_, at) => at),
      );
      enterMinute();
      assert.equal((await ask(made)).status, 200);
    });

    it('forwarding headers change nothing', async () => {
      const made = await service.organization('spoof', 'enterprise', 2);
      enterMinute();
      const answers: Answer[] = [];
      for (let at = 0; at < 4; at++) {
        const address = `198.51.100.${at}`;
        const headers = { 'x-forwarded-for': address, forwarded: `for=${address}`, 'x-real-ip': address };
        answers.push(await ask(made, service.url, headers));
      }
      assert.deepEqual(tally(answers), { 200: 2, 429: 2 });
    });

    it('one organization’s requests are not counted against another’s, and refused keys against nobody’s', async () => {
      const [one, two] = [
        await service.organization('one', 'enterprise', 1),
        await service.organization('two', 'enterprise', 1),
      ];
      enterMinute();
      for (let at = 0; at < 3; at++) await service.call('GET', '/v1/vaults', undefined, 'sr_api_x');
      assert.equal((await ask(one)).status, 200);
      assert.equal((await ask(one)).status, 429);
      assert.equal((await ask(two)).status, 200);
    });

    it('an enterprise without a figure is not limited, and is told of no limit', async () => {
      enterMinute();
      assert.deepEqual(limits(await service.call('GET', '/v1/vaults')), [null, null, null]);
    });

    it('health and documentation are not counted', async () => {
      const { headers } = await service.call('GET', '/v1/health', undefined, null);
      assert.equal(headers.get('x-ratelimit-limit'), null);
    });

    it('a plan that is changed beside the service takes effect within a second', async () => {
      const made = await service.organization('moving', 'free');
      enterMinute();
      assert.equal((await ask(made)).headers.get('x-ratelimit-limit'), '100');
      for (const [plan, limit, shown] of [
        ['pro', 0, '1000'],
        ['enterprise', 7, '7'],
        ['enterprise', 0, null],
      ] as const) {
        await setPlan(made.organizationId, plan, limit);
        await eventually(
          'the limit of the new plan holds',
          async () => (await ask(made)).headers.get('x-ratelimit-limit') === shown,
        );
      }
    });

    it('a good token of any kind is served from an address over its limit, also one that nobody used before', async () => {
      enterMinute();
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'good tokens' });
      const generate = { key_type: 'EC', curve: 'P-256' };
      const { body: key } = await service.call('POST', '/v1/keys', {
        vault_id: vault.id,
        name: 'k',
        generate,
      });
      const make = async (path: string, body: object) =>
        (await service.call('POST', `/v1/${path}`, body)).body.token as string;
      const accessKey = () => make('access-keys', { vault_id: vault.id, name: 'a' });
      const [inPath, inHeader, inArguments] = [await accessKey(), await accessKey(), await accessKey()];
      const apiKey = await make('api-keys', { name: 'b', role: 'viewer' });
      const code = await make('public-tokens', { key_id: key.id });
      const session = await bareSession(service.url);
      await service.restart(); // Nothing is in memory of any of them.
      const guess = () =>
        service.call('GET', `/api/v1/vaults/${vault.id}`, undefined, mintToken('vault', vault.id));
      const guesses = await Promise.all(Array.from({ length: 100 }, guess));
      assert.deepEqual(tally(guesses), { 401: 60, 429: 40 });
      const [more, read, listed, initialized, called, argued, coded, continued] = await Promise.all([
        guess(),
        service.call('GET', `/api/v1/vaults/${vault.id}`, undefined, inPath),
        service.call('GET', '/v1/vaults', undefined, apiKey),
        post(service.url, { method: 'initialize' }),
        modernCall(service.url, 'secrets.list', {}, { key: inHeader }),
        modernCall(service.url, 'secrets.list', { vault: { vaultId: vault.id, accessKey: inArguments } }),
        modernCall(service.url, 'keys.get', { code }),
        post(service.url, { method: 'tools/list' }, { session }),
      ]);
      assert.equal(more!.status, 429);
      for (const answer of [read, listed, initialized, continued])
        assert.equal(answer!.status, 200, answer!.text);
      for (const answer of [called, argued, coded])
        assert.equal(answer!.body.result.isError, undefined, answer!.text);
      const unknown = await post(
        service.url,
        { method: 'tools/list' },
        { session: mintToken('mcp', vault.id) },
      );
      assert.equal(unknown.status, 429, 'a session that is guessed is a guess');
    });

    it('failed authentications are limited per address, whatever is claimed about the address', async () => {
      enterMinute(20);
      const vault = await service.call('POST', '/v1/vaults', { name: 'attempts' });
      const fail = (at: number) =>
        service.call('GET', '/v1/vaults', undefined, 'sr_api_wrong', {
          'x-forwarded-for': `203.0.113.${at}`,
        });
      const answers: Answer[] = [];
      for (let at = 0; at < 70; at++) answers.push(await fail(at));
      assert.deepEqual(tally(answers), { 401: 60, 429: 10 });
      assert.equal(answers.at(-1)!.body.error.code, 'RATE_LIMITED');
      assert.equal(answers.at(-1)!.headers.get('retry-after'), '40');
      const elsewhere = await service.call(
        'GET',
        `/api/v1/vaults/${vault.body.id}`,
        undefined,
        'sr_vault_wrong',
      );
      assert.equal(elsewhere.status, 429, 'every surface shares the limiter');
      assert.equal((await service.call('GET', '/v1/vaults')).status, 200, 'a key in use keeps working');
      enterMinute();
      assert.equal((await fail(0)).status, 401);
    });
  });
}

describe('an address over its limit', () => {
  it('is looked up for one token at a time, in the order in which they came, and others at once', async () => {
    const attempts = new MinuteCounter(() => 0, 1);
    const [blocked, free] = ['192.0.2.1', '192.0.2.2'];
    attempts.add(blocked);
    const order: string[] = [];
    let underway = 0;
    let most = 0;
    const look = (name: string) => async () => {
      most = Math.max(most, ++underway);
      await new Promise(resolve => setImmediate(resolve));
      underway -= 1;
      order.push(name);
      return name;
    };
    const names = Array.from({ length: 20 }, (_, at) => `token ${at}`);
    const found = await Promise.all(names.map(name => attempts.lookUp(blocked, look(name))));
    assert.deepEqual(found, names, 'none is refused');
    assert.deepEqual([order, most], [names, 1]);
    await Promise.all(names.map(name => attempts.lookUp(free, look(name))));
    assert.equal(most, names.length);
  });
});

describe('rate limits over two replicas', () => {
  it('exactly the limit passes in a window, whoever is asked', async () => {
    const service = await startService({ engine: 'postgres', plan: 'free' });
    try {
      service.clock.standInNewMinute();
      const replica = await service.replica();
      const answers = await Promise.all(
        Array.from({ length: 130 }, (_, at) =>
          callService(at % 2 ? service.url : replica.url, 'GET', '/v1/vaults', undefined, service.key),
        ),
      );
      assert.equal(answers.filter(({ status }) => status === 200).length, 100);
      assert.equal(answers.filter(({ status }) => status === 429).length, 30);
    } finally {
      await service.stop();
    }
  });
});
