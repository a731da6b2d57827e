/** Shares: what one caller or organization asks for does not decide when another has their turn. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { Kysely, sql } from 'kysely';
import { FairLine, onBehalfOf } from '../src/base/fair-line.ts';
import { issuersWith } from '../src/domain/identities/issuers.ts';
import { TimedTurns } from '../src/domain/kernel/fair-turns.ts';
import { RequestForwarder } from '../src/service/planes/request-forwarder.ts';
import { readerDialect } from '../src/store/sqlite/reader.ts';

const of = (organization: string, key: string) => ({ organization, key });

function drained<T>(line: FairLine<T>): T[] {
  const all: T[] = [];
  for (let next = line.shift(); next !== undefined; next = line.shift()) all.push(next);
  return all;
}

/** Keeps the thread busy. */
function burn(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}

describe('a fair line', () => {
  it('serves organizations in turn, and in each its callers, however many of one wait', () => {
    const line = new FairLine<string>();
    for (let at = 1; at <= 100; at++) line.push(of('large', 'busy'), `busy ${at}`);
    line.push(of('large', 'quiet'), 'quiet');
    line.push(of('small', 'one'), 'small 1');
    line.push(of('small', 'one'), 'small 2');
    assert.equal(line.length, 103);
    const order = drained(line);
    assert.deepEqual(order.slice(0, 6), ['busy 1', 'small 1', 'quiet', 'small 2', 'busy 2', 'busy 3']);
    assert.deepEqual(order.slice(-1), ['busy 100']);
    assert.equal(line.length, 0);
  });

  it('lets what has begun go on before the same caller’s next', () => {
    const line = new FairLine<string>();
    line.push(of('a', 'one'), 'next');
    line.push(of('a', 'one'), 'begun', true);
    line.push(of('b', 'two'), 'other');
    assert.deepEqual(drained(line), ['begun', 'other', 'next']);
  });
});

describe('fair turns', () => {
  it('leave a busy thread to everything else after each, and go on at once where there is nothing else', async () => {
    const turns = new TimedTurns();
    let ticks = 0;
    let isOver = false;
    const others = (async () => {
      for (; !isOver; ticks++) await immediate();
    })();
    await turns.do(of('a', 'one'), async work => {
      for (let at = 0; at < 100; at++) {
        burn(1);
        await work.pause();
      }
    });
    isOver = true;
    await others;
    assert.ok(ticks >= 30, `${ticks} turns of the event loop`);
  });

  it('are given to another organization before the rest of the work of one that is busy', async () => {
    const turns = new TimedTurns();
    const order: string[] = [];
    const long = (name: string) => async (work: { pause(): Promise<void> | undefined }) => {
      for (let at = 0; at < 20; at++) {
        burn(1);
        await work.pause();
      }
      order.push(name);
    };
    const busy = Array.from({ length: 12 }, (_, at) => turns.do(of('busy', `key ${at % 3}`), long('busy')));
    const quiet = turns.do(of('quiet', 'one'), async () => {
      burn(1);
      order.push('quiet');
    });
    await Promise.all([...busy, quiet]);
    assert.equal(order[0], 'quiet');
    assert.equal(order.length, 13);
  });

  it('have four pieces of work of one caller under way, and not five; a failed one makes room', async () => {
    const turns = new TimedTurns();
    let underWay = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++underWay);
      for (let at = 0; at < 100; at++) await immediate();
      underWay--;
      throw new Error('as planned');
    };
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => turns.do(of('a', 'one'), work)));
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set(['rejected']));
    assert.equal(most, 4);
  });
});

describe('the lists of the embedded engine', () => {
  async function reading(t: TestContext) {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-fair-'));
    const path = join(folder, 'empty.db');
    new DatabaseSync(path, { timeout: 5_000 }).close();
    const db = new Kysely({ dialect: readerDialect(path) });
    t.after(async () => {
      await db.destroy();
      rmSync(folder, { recursive: true });
    });
    const slow = sql`WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 20000) SELECT count(*) FROM c`;
    return (organization: string) => onBehalfOf(of(organization, 'key'), () => slow.execute(db));
  }

  it('are answered to another organization before the rest of one that is busy', async t => {
    const ask = await reading(t);
    const order: string[] = [];
    const asked = [...Array(50).fill('busy'), 'quiet'].map(async name => {
      await ask(name);
      order.push(name);
    });
    await Promise.all(asked);
    assert.ok(order.indexOf('quiet') < 5, String(order.indexOf('quiet')));
  });

  it('wait up to 100 of one organization and 200 in all; one more is told to come back', async t => {
    const ask = await reading(t);
    const outcomes = async (names: readonly string[]) =>
      (await Promise.allSettled(names.map(ask))).map(({ status }) => status === 'fulfilled');
    // Two are with the thread already.
    const [ofOne, ofAll] = [Array(102).fill('busy'), Array.from({ length: 202 }, (_, at) => `of ${at}`)];
    assert.deepEqual(await outcomes([...ofOne, 'busy', 'quiet']), [...ofOne.map(() => true), false, true]);
    assert.deepEqual(await outcomes([...ofAll, 'one more']), [...ofAll.map(() => true), false]);
  });
});

describe('requests that are handed to the management plane', () => {
  function world() {
    let refused = 0;
    const post = () => {};
    const parts = { post, isUp: () => true, refuse: () => void refused++, onLate: () => {} };
    const forwarding = new RequestForwarder(parts);
    const send = (authorization: string) => {
      const request = new IncomingMessage(new Socket());
      Object.assign(request, { method: 'GET', url: '/v1/vaults', complete: true });
      request.headers.authorization = authorization;
      const response = new ServerResponse(request);
      forwarding.forward(request, response);
      return response;
    };
    return { send, refused: () => refused };
  }

  it('are 500 of one caller at once, and not one more; each that is answered makes room', () => {
    const { send, refused } = world();
    const sent = Array.from({ length: 500 }, () => send('Bearer one'));
    assert.equal(refused(), 0);
    send('Bearer one');
    assert.equal(refused(), 1);
    send('Bearer another');
    assert.equal(refused(), 1, 'others have their own');
    sent[0]!.emit('close');
    send('Bearer one');
    assert.equal(refused(), 1);
  });

  it('are 2,000 at once, and not one more; each that is answered makes room', () => {
    const { send, refused } = world();
    const sent = Array.from({ length: 2_000 }, (_, at) => send(`Bearer ${at}`));
    assert.equal(refused(), 0);
    send('Bearer more');
    assert.equal(refused(), 1);
    sent[0]!.emit('close');
    send('Bearer more');
    assert.equal(refused(), 1);
  });
});

describe('the kept keys of issuers', () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256' }] };

  function world() {
    const fetched: string[] = [];
    const fetchDocument = async (url: string) => {
      const issuer = url.replace(/\/(?:\.well-known\/openid-configuration|keys)$/, '');
      if (!url.endsWith('/keys')) fetched.push(issuer);
      return url.endsWith('/keys') ? keys : { issuer, jwks_uri: `${issuer}/keys` };
    };
    return { fetched, issuers: issuersWith({ fetchDocument, now: () => 1_000_000 }) };
  }

  it('are not pushed out by another organization that names more issuers than are kept', async () => {
    const { fetched, issuers } = world();
    await issuers.keysOf('quiet', 'https://quiet.example');
    for (let at = 0; at < 1_001; at++) await issuers.keysOf('busy', `https://busy-${at}.example`);
    await issuers.keysOf('quiet', 'https://quiet.example');
    assert.equal(fetched.filter(one => one === 'https://quiet.example').length, 1);
  });

  it('are 100 for each organization, and the one past it takes the place of its oldest', async () => {
    const { fetched, issuers } = world();
    const ask = (at: number) => issuers.keysOf('one', `https://issuer-${at}.example`);
    for (let at = 0; at < 100; at++) await ask(at);
    await ask(0);
    assert.equal(fetched.length, 100, 'a hundred are kept');
    await ask(100);
    await ask(0);
    assert.equal(fetched.length, 101, 'the newest and the one that was used last are kept');
    await ask(1);
    assert.equal(fetched.length, 102, 'the oldest is not');
  });

  it('are 1,000 over all organizations: the one past it comes from the one that has most', async () => {
    const { fetched, issuers } = world();
    const named = (organization: number, at: number) =>
      issuers.keysOf(`${organization}`, `https://of-${organization}-${at}.example`);
    for (let organization = 0; organization < 11; organization++)
      for (let at = 0; at < (organization === 0 ? 1 : 100); at++) await named(organization, at);
    assert.equal(fetched.length, 1_001);
    await named(0, 0);
    assert.equal(fetched.length, 1_001, 'the small one’s stays');
    await named(1, 0);
    assert.equal(fetched.length, 1_002, 'the oldest of a large one is gone');
  });
});
