/**
 * An open dashboard is told of a call that waits for an approval as soon as it is there: its request is held meanwhile,
 * for whoever may see it and no longer, within bounds, and never in the way of a stop.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { trustedCaller } from '../src/access/caller.ts';
import { ChangeWaits } from '../src/domain/kernel/change-waits.ts';
import { approvalWatchWith } from '../src/domain/uses/waiting-approvals.ts';
import type { ChangeListener } from '../src/store/engine/engine.ts';
import { onEngines } from './at-once.ts';
import { type Answer, callService, eventually } from './harness.ts';
import { makeAccessKey } from './mcp-world.ts';
import { Browser, cookieName, password } from './people.ts';
import { startUsesWorld, type UsesWorld } from './uses-world.ts';

const path = '/auth/approvals/waiting';
/** That can be held for one session. */
const places = 3;

onEngines('calls that wait, for an open dashboard', engine => {
  let world: UsesWorld;
  let rule: string;
  let calls = 0;

  before(async () => {
    world = await startUsesWorld(engine);
    rule = await world.rule({ approval: 'always' });
  });
  after(() => world.stop());

  const member = async (role = 'editor') => {
    const { service } = world;
    const email = `m${Math.random()}@example.org`;
    const { body } = await service.call('POST', '/v1/members', { email, role });
    const browser = new Browser(() => service.url);
    await browser.post('/auth/invitation/accept', { token: body.token, password });
    return { id: body.id as string, browser };
  };
  const ask = async (url = world.service.url): Promise<string> => {
    const { token } = await makeAccessKey(world.service, world.vaultId, { names_only: true, may_use: true });
    const call = { secret: 'GITHUB_TOKEN', rule, url: `${world.upstream.url}/own/${++calls}` };
    const { body } = await callService(url, 'POST', `/api/v1/vaults/${world.vaultId}/use`, call, token);
    return body.approval.id;
  };
  const newest = ({ body }: Answer) => body.data[0]?.id;
  const versionFor = async (browser: Browser): Promise<string> => (await browser.get(path)).body.version;
  const waitAt = (browser: Browser, known: string, signal: AbortSignal | null = null) =>
    fetch(`${browser.url}${path}?known=${known}`, {
      headers: { cookie: `${cookieName}=${browser.cookie}` },
      signal,
    });
  const isFull = async (browser: Browser, known: string) =>
    (await browser.get(`${path}?known=${known}`)).body.held === false;
  /** As many as can be held of a session: once one more is answered without being held, all others are. */
  const hold = async (browser: Browser, signal: AbortSignal | null = null) => {
    const known = await versionFor(browser);
    const sent = Array.from({ length: places + 1 }, () => waitAt(browser, known, signal));
    const past = await Promise.race(sent.map(async (answer, at) => ({ answer: await answer, at })));
    assert.equal(((await past.answer.json()) as Answer['body']).held, false);
    const held = sent.filter((_, at) => at !== past.at);
    return { known, statuses: async () => (await Promise.all(held)).map(({ status }) => status) };
  };

  it('a call is told of well within a second, and that it was decided is, too', async t => {
    const { browser } = await member();
    const known = await versionFor(browser);
    const told = browser.get(`${path}?known=${known}`);
    const asked = performance.now();
    const id = await ask();
    const answer = await told;
    const took = performance.now() - asked;
    t.diagnostic(`told after ${Math.round(took)} ms`);
    assert.equal(newest(answer), id);
    assert.ok(took < 1_000, `${took} ms`);
    assert.equal(answer.body.data[0].request.url, `${world.upstream.url}/own/${calls}`);
    assert.equal(answer.headers.get('x-ratelimit-limit'), null, 'it counts against no plan');
    const after = browser.get(`${path}?known=${answer.body.version}`);
    await browser.post(`/auth/approvals/${id}/refuse`);
    assert.notEqual(newest(await after), id);
  });

  it('whoever knows something else is answered at once', async () => {
    const { browser } = await member();
    const id = await ask();
    assert.equal(newest(await browser.get(`${path}?known=something`)), id);
    assert.equal((await browser.get(`${path}?known=${'x'.repeat(65)}`)).status, 400);
    assert.equal((await world.service.call('GET', path)).status, 401, 'no key is a way in');
  });

  it('a session that ends is told so at once, and so is a member who may not see them any more', async () => {
    const [{ browser: leaving }, { browser: losing, id }] = [await member(), await member()];
    const [ended, lost] = [await hold(leaving), await hold(losing)];
    const began = performance.now();
    await leaving.post('/auth/sign-out');
    assert.deepEqual(await ended.statuses(), [401, 401, 401]);
    await world.service.call('PUT', `/v1/members/${id}`, { role: 'none' });
    assert.deepEqual(await lost.statuses(), [403, 403, 403]);
    assert.ok(performance.now() - began < 5_000, 'long before they would be answered in any case');
  });

  it('whoever gets another role goes on waiting, and sees what that shows', async () => {
    const { browser, id } = await member();
    const { known } = await hold(browser);
    const grants = [{ vault_id: world.vaultId, role: 'editor' }];
    await world.service.call('PUT', `/v1/members/${id}`, { role: 'none', grants });
    assert.ok(await isFull(browser, known), 'they are held all the same');
    await world.service.call('PUT', `/v1/members/${id}`, { grants: [] });
    assert.equal((await browser.get(path)).status, 403);
  });

  it('a session waits with three requests, and again once one of them was given up', async () => {
    const { browser } = await member();
    const leaving = new AbortController();
    const { known, statuses } = await hold(browser, leaving.signal);
    const given = statuses().catch(error => error.name);
    leaving.abort();
    assert.equal(await given, 'AbortError');
    const { browser: other } = await member();
    const told = waitAt(other, known);
    await eventually('the place of the one who left is free', async () => {
      const again = waitAt(browser, await versionFor(browser));
      await ask();
      return ((await (await again).json()) as Answer['body']).held;
    });
    assert.equal((await told).status, 200, 'others wait beside it');
  });

  it('a stop answers whoever waits, and does not wait for them', async () => {
    const { browser } = await member();
    const { statuses } = await hold(browser);
    const began = performance.now();
    const [answers] = await Promise.all([statuses(), world.service.restart()]);
    assert.deepEqual(answers, [200, 200, 200]);
    assert.ok(performance.now() - began < 5_000, 'less than the service gives requests to end');
  });

  if (engine === 'postgres') {
    it('a call that waits at one replica is told of at another, and so is the end of a session', async t => {
      const replica = await world.service.replica();
      const { browser } = await member();
      const there = new Browser(replica.url);
      there.cookies.set(cookieName, browser.cookie!);
      const took: number[] = [];
      for (let times = 0; times < 5; times++) {
        const told = there.get(`${path}?known=${await versionFor(there)}`);
        const asked = performance.now();
        const id = await ask();
        assert.equal(newest(await told), id);
        took.push(Math.round(performance.now() - asked));
      }
      t.diagnostic(`told after ${took} ms`);
      assert.ok(Math.max(...took) < 1_000, `${took}`);
      const { statuses } = await hold(there);
      await browser.post('/auth/sign-out');
      assert.deepEqual(await statuses(), [401, 401, 401]);
    });
  }
});

const changes = (hears: boolean) => {
  const listeners: ChangeListener[] = [];
  return {
    hearsChanges: () => hears,
    onChange: (one: ChangeListener) => void listeners.push(one),
    listeners,
  };
};
const never = new AbortController().signal;

it('while changes are not heard whoever waits looks again each second, and after a gap at once', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const deaf = new ChangeWaits(changes(false) as never).begin(['one']);
  t.mock.timers.tick(1_000);
  await deaf.until(null, never);
  deaf.end();
  const hearing = changes(true);
  const waits = new ChangeWaits(hearing as never);
  const [one, another] = [waits.begin(['one']), waits.begin(['another'])];
  const woken: string[] = [];
  const all = [one, another].map((wait, at) => wait.until(null, never).then(() => woken.push(`${at}`)));
  t.mock.timers.tick(1_000);
  hearing.listeners[0]!(['nobody waits for it', 'one']);
  await all[0];
  assert.deepEqual(woken, ['0']);
  hearing.listeners[0]!('all');
  await all[1];
});

const guard = { admit: async () => ({}) } as never;

it('a call that expires is gone from what is shown, and nobody who waits is held past 25 seconds', async t => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const caller = trustedCaller('service', 'test', 'test', 'organization', 'request');
  let now = 0;
  const waiting = [{ id: 'one', expires_at: new Date(5_000).toISOString() }];
  const list = async () => {
    const data = waiting.filter(({ expires_at }) => Date.parse(expires_at) > now);
    return { data, pagination: { total: data.length, page: 1, limit: 100 } } as never;
  };
  const watch = approvalWatchWith({ store: changes(true) as never, guard, now: () => now }, { list });
  const watcher = { caller, sessionId: 's', renew: async () => caller, gone: never };
  const passes = async (milliseconds: number) => {
    await new Promise(setImmediate);
    now += milliseconds;
    t.mock.timers.tick(milliseconds);
  };
  const first = await watch.next(watcher, undefined);
  const expired = watch.next(watcher, first.version);
  await passes(5_000);
  const second = await expired;
  assert.deepEqual([first.total, second.total], [1, 0]);
  let isAnswered = false;
  const over = watch.next(watcher, second.version).finally(() => {
    isAnswered = true;
  });
  await passes(24_999);
  await new Promise(setImmediate);
  assert.equal(isAnswered, false);
  await passes(1);
  assert.deepEqual((await over).version, second.version);
});

it('no more than 500 requests are held over all: the next one is answered at once, until one has left', async () => {
  const caller = trustedCaller('service', 'test', 'test', 'organization', 'request');
  const list = async () => ({ data: [], pagination: { total: 0, page: 1, limit: 100 } }) as never;
  const watch = approvalWatchWith({ store: changes(true) as never, guard, now: () => 0 }, { list });
  const next = (sessionId: string, known: string | undefined, gone = never) =>
    watch.next({ caller, sessionId, renew: async () => caller, gone }, known);
  const { version } = await next('first', undefined);
  const leaving = new AbortController();
  const left = next('who leaves', version, leaving.signal);
  const others = Array.from({ length: 499 }, (_, at) => next(`session ${at}`, version));
  assert.equal((await next('one more', version)).held, false);
  leaving.abort();
  await left;
  const again = next('one more', version);
  assert.equal((await next('and another', version)).held, false, 'the place is taken again');
  watch.answerAll();
  for (const { held } of await Promise.all([again, ...others])) assert.equal(held, true);
});
