/** The plan's limit of requests, and the limit of failed authentications. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { operatorOf } from '../src/cli/operator.ts';
import type { Plan } from '../src/contract/access.ts';
import {
  type Answer,
  beside,
  callService,
  engines,
  eventually,
  type Made,
  type Service,
  startService,
} from './harness.ts';

const limitHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

for (const engine of engines) {
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
      service.clock.fixed = minute * 60_000 + second * 1000;
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
        await eventually(async () => (await ask(made)).headers.get('x-ratelimit-limit') === shown);
      }
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

describe('rate limits over two replicas', () => {
  it('exactly the limit passes in a window, whoever is asked', async () => {
    const service = await startService({ engine: 'postgres', plan: 'free' });
    try {
      service.clock.fixed = (Math.ceil(Date.now() / 60_000) + 5) * 60_000;
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
