import assert from 'node:assert/strict';
import type { Argon2Parameters } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { passwordCosts } from '../src/domain/sign-in/passwords.ts';
import type { Request } from '../src/threads/channel.ts';
import { callsTo } from './effort.ts';
import { beside, enginesInTurn, eventually } from './harness.ts';
import { Browser, cookieName, type EmptyService, invite, password, setUp, startEmpty } from './people.ts';
import { inDatabase } from './storage.ts';

const minute = 60_000;
const hour = 60 * minute;
const wrong = 'not the password at all';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`signing in by password on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;

    before(async () => {
      service = await startEmpty(engine);
      owner = await setUp(service);
      await invite(service, owner, 'Bob@Example.org', 'viewer');
    });
    after(() => service.stop());
    // A new window for the network address.
    beforeEach(() => {
      service.clock.pass(2 * minute);
    });
    /** Somebody without failures behind them. */
    const newcomer = (email: string) => invite(service, owner, email, 'viewer');

    it('sets one cookie that scripts, plain connections and other sites never see', async () => {
      const browser = service.browser();
      const answer = await browser.signIn('bob@example.org');
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.body.signed_in.member.email, 'Bob@Example.org');
      assert.equal(browser.setCookies.length, 1);
      const [pair, ...flags] = browser.setCookies[0]!.split('; ');
      assert.match(pair!, /^__Host-strongroom=sr_session_[0-9A-Za-z]{71}$/);
      assert.deepEqual(flags.sort(), ['HttpOnly', 'Max-Age=604800', 'Path=/', 'SameSite=Strict', 'Secure']);
      assert.equal(answer.text.includes(browser.cookie!), false);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
    });

    it('known and unknown people get the same refusal, byte for byte', async () => {
      const known = await service.browser().signIn('bob@example.org', wrong);
      const unknown = await service.browser().signIn('nobody@example.org', wrong);
      assert.equal(known.status, 401);
      assert.equal(known.text, unknown.text);
      const names = (answer: typeof known) => [...answer.headers.keys()].sort();
      assert.deepEqual(names(known), names(unknown));
    });

    it('known and unknown people take the same questions to the store', async () => {
      const asked = await beside(service, async ({ store, domain }) => {
        const questions: string[] = [];
        for (const [table, methods] of Object.entries({
          accounts: store.accounts,
          groups: store.memberGroups,
        }))
          for (const [name, method] of Object.entries(methods as Record<string, unknown>))
            if (typeof method === 'function')
              (methods as Record<string, unknown>)[name] = (...args: unknown[]) => {
                questions.push(`${table}.${name}`);
                return method.apply(methods, args);
              };
        const origin = { address: '203.0.113.9', userAgent: '', requestId: 'x' };
        const refused = async (email: string) => {
          questions.length = 0;
          await assert.rejects(domain.accounts.signIn.byPassword({ email, password: wrong }, origin));
          return [...questions].sort();
        };
        return [await refused('bob@example.org'), await refused('nobody@example.org')];
      });
      assert.ok(asked[0]!.length > 3, String(asked[0]));
      assert.deepEqual(asked[1], asked[0]);
    });

    it('known and unknown people cost the same work', async () => {
      await newcomer('counted@example.org');
      const derivations = async (email: string) => {
        const calls = await callsTo(Worker.prototype, 'postMessage', () =>
          service.browser().signIn(email, wrong),
        );
        const requests = calls.flatMap(([messages]) => messages as readonly Request[]);
        return requests
          .filter(({ name }) => name === 'derive')
          .map(({ input }) => {
            const { memory, passes, parallelism } = input[0] as Argon2Parameters;
            return { memory, passes, parallelism };
          });
      };
      const known = await derivations('counted@example.org');
      assert.equal(known.length, 1);
      assert.deepEqual(await derivations('uncounted@example.org'), known);
    });

    it('every spelling of an address shares one lock-out, and the right password waits too', async () => {
      await newcomer('ann@example.org');
      const spellings = [
        'ann@example.org',
        'ANN@example.org',
        ' ann@example.org',
        'aNN@EXAMPLE.org  ',
        'Ann@Example.org ',
      ];
      for (const spelling of spellings) {
        assert.equal((await service.browser().signIn(spelling, wrong)).status, 401, spelling);
      }
      const locked = await service.browser().signIn('ann@example.org');
      assert.equal(locked.status, 429);
      assert.ok(Number(locked.headers.get('retry-after')) <= 30);
      service.clock.pass(31_000);
      assert.equal((await service.browser().signIn('ann@example.org')).status, 200);
    });

    it('the wait grows with each failure, and success forgets them', async () => {
      await newcomer('grows@example.org');
      service.clock.stand();
      const fail = () => service.browser().signIn('grows@example.org', wrong);
      for (let attempt = 0; attempt < 4; attempt++) assert.equal((await fail()).status, 401);
      const waits: number[] = [];
      for (let attempt = 0; attempt < 4; attempt++) {
        assert.equal((await fail()).status, 401);
        waits.push(Number((await fail()).headers.get('retry-after')));
        service.clock.pass(waits.at(-1)! * 1000);
      }
      assert.deepEqual(waits, [30, 60, 120, 240]);
      assert.equal((await service.browser().signIn('grows@example.org')).status, 200);
      for (let attempt = 0; attempt < 5; attempt++) assert.equal((await fail()).status, 401);
      service.clock.run();
      service.clock.pass(10 * minute);
    });

    it('the lock-out tells known from unknown people no more than the refusal does', async () => {
      await newcomer('some.one@example.org');
      const statuses = async (email: string) => {
        const seen: string[] = [];
        for (let attempt = 0; attempt < 7; attempt++) {
          const { status, text, headers } = await service.browser().signIn(email, wrong);
          seen.push(`${status} ${headers.get('retry-after')} ${text}`);
        }
        return seen;
      };
      service.clock.stand();
      const [known, unknown] = [await statuses('some.one@example.org'), await statuses('no.one@example.org')];
      service.clock.run();
      assert.deepEqual(known, unknown);
      assert.match(known.at(-1)!, /^429 30 /);
    });

    it('attempts made at once are counted one by one, over a restart too', async () => {
      await newcomer('burst@example.org');
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => service.browser().signIn('burst@example.org', wrong)),
      );
      const tried = answers.filter(({ status }) => status === 401);
      assert.equal(tried.length, 5);
      assert.ok(answers.every(({ status }) => status === 401 || status === 429));
      await service.restart();
      assert.equal((await service.browser().signIn('burst@example.org')).status, 429);
    });

    it('changing the password shares the lock-out with signing in', async () => {
      const { browser } = await newcomer('guessed@example.org');
      for (let attempt = 0; attempt < 5; attempt++) {
        const refused = await browser.post('/auth/password/change', { current: wrong, password });
        assert.equal(refused.status, 400);
        assert.equal(refused.body.error.details.field, 'current');
      }
      assert.equal(
        (await browser.post('/auth/password/change', { current: password, password })).status,
        429,
      );
      assert.equal((await service.browser().signIn('guessed@example.org')).status, 429);
    });

    it('one network address that fails and fails is refused before its body is read', async () => {
      service.clock.standInNewMinute();
      for (let attempt = 0; attempt < 60; attempt++) {
        await service.browser().post('/auth/invitation', { token: 'nonsense' });
      }
      const request = httpRequest(`${service.url}/auth/password`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': '100' },
      });
      request.flushHeaders(); // Of its body not a byte is ever sent.
      const [refused] = (await once(request, 'response')) as [IncomingMessage];
      assert.equal(refused.statusCode, 429);
      request.destroy();
      assert.equal((await owner.get('/auth/state')).status, 200);
      service.clock.run();
    });

    it('a changed password ends every other session, and the old one is worthless', async () => {
      const { browser } = await invite(service, owner, 'changes@example.org', 'viewer');
      const other = service.browser();
      await other.signIn('changes@example.org');
      assert.equal((await other.get('/v1/vaults')).status, 200);
      const next = 'a wholly new password';
      const changed = await browser.post('/auth/password/change', { current: password, password: next });
      assert.equal(changed.status, 200, changed.text);
      assert.equal((await other.get('/v1/vaults')).status, 401);
      assert.equal((await browser.get('/v1/vaults')).status, 200);
      assert.equal((await service.browser().signIn('changes@example.org')).status, 401);
      assert.equal((await service.browser().signIn('changes@example.org', next)).status, 200);
    });

    it('the same words in another Unicode form are the same password', async () => {
      const { body: member } = await owner.post('/v1/members', { email: 'zoe@example.org', role: 'viewer' });
      const body = { token: member.token, password: 'Ångström ﬁne password'.normalize('NFD') };
      assert.equal((await service.browser().post('/auth/invitation/accept', body)).status, 200);
      const typed = 'Ångström fine password'.normalize('NFC');
      assert.equal((await service.browser().signIn('zoe@example.org', typed)).status, 200);
    });

    it('sign-ins, refusals and sign-outs are in the audit log, without what was typed', async () => {
      const browser = service.browser();
      await browser.signIn('bob@example.org', wrong);
      await browser.signIn('bob@example.org');
      await browser.post('/auth/sign-out');
      const { body, text } = await owner.get('/v1/audit-logs?limit=3');
      const seen = body.data.map((entry: { action: string; outcome: string; actor: { name: string } }) => [
        entry.action,
        entry.outcome,
        entry.actor.name,
      ]);
      assert.deepEqual(seen, [
        ['session.ended', 'allowed', 'Bob@Example.org'],
        ['session.started', 'allowed', 'Bob@Example.org'],
        ['session.refused', 'denied', ''],
      ]);
      assert.equal(text.includes(wrong) || text.includes(password), false);
    });

    it('the same address in two organizations has two passwords, and each opens its own', async () => {
      const { makeOrganization } = await import('./harness.ts');
      const place = ['--data', service.data];
      const flags = service.databaseUrl === null ? place : [...place, '--database-url', service.databaseUrl];
      const other = await makeOrganization(flags, 'Other', 'enterprise', 0);
      const { callService } = await import('./harness.ts');
      const { body: member } = await callService(
        service.url,
        'POST',
        '/v1/members',
        { email: 'bob@example.org', role: 'owner' },
        other.key,
      );
      const secret = 'another organization';
      const { token } = member;
      assert.equal(
        (await service.browser().post('/auth/invitation/accept', { token, password: secret })).status,
        200,
      );
      const there = await service.browser().signIn('bob@example.org', secret);
      assert.equal(there.body.signed_in.organization.name, 'Other');
      const here = await service.browser().signIn('bob@example.org');
      assert.equal(here.body.signed_in.organization.name, 'Acme');
    });
  });

  describe(`sessions on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;

    before(async () => {
      service = await startEmpty(engine);
      owner = await setUp(service);
    });
    after(() => service.stop());

    it('the cookie opens the general API with the member’s role, uncounted by the plan', async () => {
      const { browser: viewer } = await invite(service, owner, 'viewer@example.org', 'viewer');
      const { body: vault } = await owner.post('/v1/vaults', { name: 'production' });
      const { body: secret } = await owner.post('/v1/secrets', { vault_id: vault.id, name: 'A', value: 'x' });
      const revealed = await owner.post(`/v1/secrets/${secret.id}/reveal`, undefined);
      assert.equal(revealed.body.value, 'x');
      assert.equal(revealed.headers.get('x-ratelimit-limit'), null);
      assert.equal((await viewer.get(`/v1/secrets/${secret.id}`)).status, 200);
      assert.equal((await viewer.post(`/v1/secrets/${secret.id}/reveal`, undefined)).status, 403);
    });

    it('a session survives a restart, and is listed with where it is', async () => {
      await service.restart();
      const { body } = await owner.get('/auth/sessions');
      assert.equal(body.data.length, 1);
      const [session] = body.data;
      assert.deepEqual(Object.keys(session).sort(), [
        'created_at',
        'current',
        'id',
        'ip_address',
        'used_at',
        'user_agent',
      ]);
      assert.equal(session.current, true);
      assert.equal(session.ip_address, '127.0.0.1');
    });

    it('a session that is ended by hand is over at once, and nobody ends another’s', async () => {
      const second = service.browser();
      await second.signIn('owner@example.org');
      const { browser: stranger } = await invite(service, owner, 'stranger@example.org', 'admin');
      const { body } = await second.get('/auth/sessions');
      const id = body.data.find((session: { current: boolean }) => session.current).id;
      assert.equal((await stranger.call('DELETE', `/auth/sessions/${id}`)).status, 404);
      assert.equal((await owner.call('DELETE', `/auth/sessions/${id}`)).status, 200);
      assert.equal((await second.get('/v1/vaults')).status, 401);
      assert.equal((await owner.get('/v1/vaults')).status, 200);
    });

    it('a signed-out session is over, whoever kept the cookie', async () => {
      const browser = service.browser();
      await browser.signIn('owner@example.org');
      const cookie = `${cookieName}=${browser.cookie}`;
      assert.deepEqual((await browser.post('/auth/sign-out')).body, {});
      assert.equal(browser.cookie, undefined);
      const again = await service.browser().call('GET', '/v1/vaults', undefined, { cookie });
      assert.equal(again.status, 401);
      assert.match(again.headers.getSetCookie()[0]!, /Max-Age=0/);
    });

    it('a session ends after 12 idle hours, and after 7 days however much it is used', async () => {
      const idle = service.browser();
      const busy = service.browser();
      await idle.signIn('owner@example.org');
      await busy.signIn('owner@example.org');
      for (let elapsed = 11; elapsed < 7 * 24; elapsed += 11) {
        service.clock.pass(11 * hour);
        assert.equal((await busy.get('/v1/vaults')).status, 200, `after ${elapsed} hours`);
        if (elapsed === 22) assert.equal((await idle.get('/v1/vaults')).status, 401);
      }
      service.clock.pass(3 * hour + 1000);
      assert.equal((await busy.get('/v1/vaults')).status, 401);
      assert.equal((await owner.signIn('owner@example.org')).status, 200); // Time never goes back, so theirs ended too.
    });

    it('no more than 20 sessions live at once: the oldest gives way', async () => {
      const { browser: first } = await invite(service, owner, 'many@example.org', 'viewer');
      for (let count = 0; count < 20; count++) await service.browser().signIn('many@example.org');
      assert.equal((await first.get('/v1/vaults')).status, 401);
      const last = service.browser();
      await last.signIn('many@example.org');
      assert.equal((await last.get('/auth/sessions')).body.data.length, 20);
    });

    it('an Authorization header wins over the cookie, and neither is taken for the other', async () => {
      const { body: key } = await owner.post('/v1/api-keys', { name: 'k', role: 'viewer' });
      const asKey = await owner.call('POST', '/v1/vaults', { name: 'by key' }, {}, key.token);
      assert.equal(asKey.status, 403);
      assert.equal((await owner.call('GET', '/v1/vaults', undefined, {}, 'sr_api_nonsense')).status, 401);
      const bearer = await service.browser().call('GET', '/v1/vaults', undefined, {}, owner.cookie!);
      assert.equal(bearer.status, 401);
      const cookie = `${cookieName}=${key.token}`;
      assert.equal((await service.browser().call('GET', '/v1/vaults', undefined, { cookie })).status, 401);
    });

    it('a cookie that stands twice is no cookie', async () => {
      const cookie = `${cookieName}=${owner.cookie}; ${cookieName}=${owner.cookie}`;
      assert.equal((await service.browser().call('GET', '/v1/vaults', undefined, { cookie })).status, 401);
    });

    it('two Cookie headers are 400, whichever of them holds the session', async () => {
      const good = `cookie: ${cookieName}=${owner.cookie}`;
      for (const headers of [
        [good, 'cookie: theme=dark'],
        ['cookie: theme=dark', good],
        [good, good],
      ]) {
        assert.equal(await rawStatus(service.url, '/v1/vaults', headers), 400, headers.join());
        assert.equal(await rawStatus(service.url, '/auth/sessions', headers), 400);
      }
      assert.equal(await rawStatus(service.url, '/v1/vaults', [good]), 200);
    });

    it('an ended session that is put back into the database is not believed', async () => {
      const browser = service.browser();
      await browser.signIn('owner@example.org');
      const cookie = `${cookieName}=${browser.cookie}`;
      await inDatabase(service, 'CREATE TABLE kept_sessions AS SELECT * FROM sessions');
      await browser.post('/auth/sign-out');
      await inDatabase(
        service,
        'INSERT INTO sessions SELECT * FROM kept_sessions WHERE id NOT IN (SELECT id FROM sessions)',
      );
      await service.restart();
      assert.equal((await service.browser().call('GET', '/v1/vaults', undefined, { cookie })).status, 500);
    });

    it('a role that is edited in the database is not believed', async () => {
      const { browser } = await invite(service, owner, 'edited@example.org', 'viewer');
      await inDatabase(service, "UPDATE members SET role = 'owner' WHERE email = 'edited@example.org'");
      await service.restart();
      assert.equal((await browser.get('/v1/vaults')).status, 500);
    });
  });

  describe(`requests that other pages make the browser send, on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;
    let key: string;

    before(async () => {
      service = await startEmpty(engine);
      owner = await setUp(service);
      key = (await owner.post('/v1/api-keys', { name: 'k', role: 'owner' })).body.token;
    });
    after(() => service.stop());

    const foreign: readonly (readonly [string, Record<string, string>])[] = [
      ['another origin', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
      ['another origin alone', { origin: 'https://evil.example' }],
      ['the same host over another scheme', { origin: 'https://127.0.0.1' }],
      ['an opaque origin', { origin: 'null' }],
      ['a sibling site', { 'sec-fetch-site': 'same-site' }],
      ['another site', { 'sec-fetch-site': 'cross-site' }],
      ['the address bar', { 'sec-fetch-site': 'none' }],
      ['nobody', {}],
    ];
    for (const [who, headers] of foreign) {
      it(`a change that ${who} sent with the cookie is 403`, async () => {
        for (const [method, path] of [
          ['POST', '/v1/vaults'],
          ['PUT', '/v1/organization'],
          ['POST', '/auth/sign-out'],
          ['POST', '/auth/totp/begin'],
        ] as const) {
          const cookie = `${cookieName}=${owner.cookie}`;
          const { status, body } = await send(service.url, method, path, { cookie, ...headers });
          assert.equal(status, 403, `${method} ${path}`);
          assert.equal(body.error.code, 'FORBIDDEN');
        }
        assert.equal((await owner.get('/v1/vaults')).body.data.length, 0);
        assert.equal((await owner.get('/auth/state')).body.signed_in !== null, true);
      });
    }

    it('either header of our own is enough, and reading needs neither', async () => {
      const cookie = `${cookieName}=${owner.cookie}`;
      const byOrigin = await send(service.url, 'PUT', '/v1/organization', { cookie, origin: service.url });
      assert.equal(byOrigin.status, 200);
      const bySite = await send(service.url, 'PUT', '/v1/organization', {
        cookie,
        'sec-fetch-site': 'same-origin',
      });
      assert.equal(bySite.status, 200);
      assert.equal((await send(service.url, 'GET', '/v1/organization', { cookie })).status, 200);
    });

    it('no other page can sign somebody in', async () => {
      const browser = new Browser(service.url);
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
      const body = { email: 'owner@example.org', password };
      assert.equal((await browser.call('POST', '/auth/password', body, headers)).status, 403);
      assert.equal(browser.cookie, undefined);
    });

    it('a key has nothing to do with browsers, wherever it is sent from', async () => {
      const headers = { authorization: `Bearer ${key}`, origin: 'https://evil.example' };
      assert.equal((await send(service.url, 'PUT', '/v1/organization', headers)).status, 200);
    });
  });
}

describe('sessions over several replicas', () => {
  let service: EmptyService;
  let owner: Browser;
  let elsewhere: string;

  before(async () => {
    service = await startEmpty('postgres');
    owner = await setUp(service);
    elsewhere = (await service.replica()).url;
  });
  after(() => service.stop());

  const there = async (browser: Browser) => {
    const cookie = `${cookieName}=${browser.cookie}`;
    return (await send(elsewhere, 'GET', '/v1/vaults', { cookie })).status;
  };

  it('one is good at every replica, and over everywhere', async () => {
    const browser = service.browser();
    await browser.signIn('owner@example.org');
    assert.equal(await there(browser), 200);
    const copy = new Browser(service.url);
    copy.cookies.set(cookieName, browser.cookie!);
    await browser.post('/auth/sign-out');
    await eventually('the replica refuses the ended session', async () => (await there(copy)) === 401);
  });

  it('so is a removal, and a lock-out counts at all of them together', async () => {
    const { browser, id } = await invite(service, owner, 'gone@example.org', 'viewer');
    assert.equal(await there(browser), 200);
    await owner.call('DELETE', `/v1/members/${id}`);
    await eventually('the replica refuses the removed member', async () => (await there(browser)) === 401);
    for (let attempt = 0; attempt < 5; attempt++) {
      const at = new Browser(attempt % 2 === 0 ? service.url : elsewhere);
      assert.equal((await at.signIn('owner@example.org', wrong)).status, 401);
    }
    for (const url of [service.url, elsewhere]) {
      assert.equal((await new Browser(url).signIn('owner@example.org')).status, 429);
    }
  });
});

describe('more sign-ins at once than a process can derive', () => {
  it('are told to come back, instead of waiting in a line without end', async () => {
    // Dear enough that a crowd piles up; what the product takes, three times as much, would only take longer.
    const dear = { ...passwordCosts, memory: passwordCosts.memory / 2, passes: 2 };
    const service = await startEmpty('sqlite', [], {}, dear);
    const answers = await Promise.all(
      Array.from({ length: 75 }, (_, index) => service.browser().signIn(`crowd${index}@example.org`, wrong)),
    );
    const turnedAway = answers.filter(({ status }) => status === 503);
    assert.ok(turnedAway.length > 0, 'nobody was turned away');
    assert.ok(turnedAway.every(({ headers }) => Number(headers.get('retry-after')) > 0));
    assert.ok(answers.every(({ status }) => status === 503 || status === 401));
    await service.stop();
  });
});

describe('what is stored of a sign-in', () => {
  it('neither passwords nor session tokens nor seeds are in the files', async () => {
    const service = await startEmpty('sqlite');
    const owner = await setUp(service);
    await owner.prove();
    const { secret } = (await owner.post('/auth/totp/begin')).body;
    await owner.get('/v1/vaults');
    await service.restart();
    for (const name of ['strongroom.db', 'strongroom.db-wal']) {
      const bytes = await readFile(join(service.data, name)).catch(() => Buffer.alloc(0));
      for (const text of [password, owner.cookie!, secret]) assert.equal(bytes.includes(text), false, name);
    }
    await service.stop();
  });
});

/** The status of a GET whose headers are sent as they stand here. */
async function rawStatus(url: string, path: string, headers: readonly string[]): Promise<number> {
  const { host, hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    [`GET ${path} HTTP/1.1`, `host: ${host}`, ...headers, 'connection: close', '', ''].join('\r\n'),
  );
  const answer = Buffer.concat(await socket.toArray()).toString('latin1');
  return Number(answer.split(' ')[1]);
}

async function send(url: string, method: string, path: string, headers: Record<string, string>) {
  const body = method === 'GET' ? undefined : JSON.stringify(path === '/v1/vaults' ? { name: 'forged' } : {});
  const response = await fetch(url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  return { status: response.status, body: (await response.json().catch(() => null)) as any };
}
