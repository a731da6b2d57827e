/** The client before a service that is not what it seems: what it says is bounded, and the key goes nowhere else. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { admin, type Fetch, open, type StrongroomError, text, vault } from '../src/client/client.ts';
import { codeIs, ManualClock } from './client-world.ts';

const place = { url: 'https://vault.example', key: 'sr_vault_x' };
const body = JSON.stringify({ id: 'v', name: 'app', secrets: [{ id: 's', name: 'A', value: 'x' }] });
const answer = (status: number, said = '', headers: Record<string, string> = {}) =>
  new Response(status === 304 ? null : said, {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });
const always =
  (status: number, said?: string, headers?: Record<string, string>): Fetch =>
  async () =>
    answer(status, said, headers);

describe('the client before a hostile service', () => {
  it('follows no redirect with a body either', async t => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const api = admin({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'sr_api_x' });
    await assert.rejects(api.createVault({ body: { name: 'x' } }), /redirect/);
    assert.deepEqual(seen, ['POST /v1/vaults']);
  });

  it('takes 304 only where it sent an ETag, and nothing but 200 otherwise', async () => {
    for (const status of [201, 206, 304])
      await assert.rejects(vault({ ...place, fetch: always(status, body) }).read(), `${status}`);
    assert.equal((await vault({ ...place, fetch: always(200, body) }).read()).name, 'app');
  });

  it('repeats at most 300 characters of what a service says, without control characters, and no page', async () => {
    const long = `${'\u001b[31m'.repeat(10)}${'x'.repeat(1_000)}`;
    const said = (text: string) =>
      vault({ ...place, fetch: always(400, text) })
        .read()
        .then(
          () => assert.fail(),
          (error: StrongroomError) => error.message,
        );
    const shown = await said(JSON.stringify({ message: long }));
    assert.equal(shown.length, 300);
    assert.doesNotMatch(shown, /\p{C}/u);
    assert.equal(await said('<html>hunter2</html>'), 'The vault answered with status 400.');
    assert.equal(await said(JSON.stringify({ message: ['hunter2'] })), 'The vault answered with status 400.');
  });

  it('waits an hour at most, whatever Retry-After says', async () => {
    const seconds = async (header: string) => {
      const clock = new ManualClock();
      const refused = vault({ ...place, clock, fetch: always(429, '{}', { 'retry-after': header }) }).read();
      return refused.then(() => null).catch((error: StrongroomError) => error.retryAfterSeconds);
    };
    assert.equal(await seconds('3600'), 3600);
    assert.equal(await seconds('3601'), 3600);
    assert.equal(await seconds('99999999999'), 3600);
    assert.equal(await seconds('Wed, 21 Oct 2199 07:28:00 GMT'), 3600);
    assert.equal(await seconds('Wed, 21 Oct 2015 07:28:00 GMT'), 0);
    assert.equal(await seconds('soon'), null);
  });

  for (const status of [401, 403])
    it(`a store takes ${status} as a refusal: the grace begins, and the cache is emptied`, async () => {
      const clock = new ManualClock();
      let cleared = 0;
      let fetch = always(200, body, { etag: '"1"' });
      const clear = async () => {
        cleared += 1;
      };
      const cache = { load: async () => null, save: async () => {}, clear };
      const options = { graceSeconds: 60, pollSeconds: 10, random: () => 0.5 };
      const store = await open({
        ...place,
        ...options,
        clock,
        cache,
        secrets: { A: text },
        fetch: (...args) => fetch(...args),
      });
      assert.equal(cleared, 0);
      fetch = always(status, '{}');
      await clock.pass(10);
      assert.equal(cleared, 1);
      await clock.pass(60);
      assert.equal(store.A.reveal(), 'x');
      await clock.pass(1);
      assert.throws(() => store.A.reveal(), codeIs('UNAUTHORIZED'));
      await store.close();
    });

  it('a value is confirmed as of when it was asked for, not of when a slow answer came', async () => {
    const clock = new ManualClock();
    const slow: Fetch = async () => {
      await clock.pass(5);
      return answer(200, body);
    };
    const begun = clock.now();
    const store = await open({ ...place, clock, secrets: { A: text }, fetch: slow, random: () => 0.5 });
    assert.equal(store.status().confirmedAt?.getTime(), begun);
    await store.close();
  });
});
