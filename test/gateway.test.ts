/** The gateway, `/via/{rule}/…`: ordinary programs use a secret that they never see. */
import assert from 'node:assert/strict';
import { request as send } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { enginesInTurn } from './harness.ts';
import { startUsesWorld, tracesIn, type UsesWorld, value } from './uses-world.ts';

const limits = { max_request: 8_000_000, max_response: 64_000_000, timeout: 60 };

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the gateway, on ${engine}`, () => {
    let world: UsesWorld;
    before(async () => {
      world = await startUsesWorld(engine);
      await world.rule({ name: 'github' });
      await world.rule({ name: 'long', gateway: limits });
    });
    after(() => world.stop());
    beforeEach(() => {
      world.upstream.answer = (_request, _body, response) => response.end('fine');
    });

    const via = (
      path: string,
      init: RequestInit & { duplex?: 'half' } = {},
      token: string | null = world.agent,
    ) =>
      fetch(`${world.service.url}/via/${path}`, {
        ...init,
        headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...init.headers },
      });
    const last = () => world.upstream.requests.at(-1)!;

    it('a request is passed on with the value in place, and answered without it', async () => {
      const answer = await via('github/echo?a=1', {
        method: 'POST',
        body: 'hello',
        headers: { 'x-mine': 'no' },
      });
      assert.equal(answer.status, 200);
      assert.equal(await answer.text(), 'it is: [redacted] .');
      assert.match(answer.headers.get('strongroom-receipt')!, /^[0-9a-f-]{36}/);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.match(answer.headers.get('content-security-policy')!, /^sandbox; default-src 'none'/);
      const { headers, url, body, method } = last();
      assert.deepEqual([method, url, body], ['POST', '/echo?a=1', 'hello']);
      assert.equal(headers.authorization, `Bearer ${value}`);
      assert.equal(headers['x-mine'], undefined, 'a header that the rule does not name is dropped');
    });

    it('the access key comes as a bearer token, as either half of a pair, in the header of a service, or in the path', async () => {
      const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
      const sent: Record<string, string>[] = [
        { authorization: `token ${world.agent}` },
        basic(`x-access-token:${world.agent}`),
        basic(`${world.agent}:`),
        { 'x-api-key': world.agent },
      ];
      for (const headers of sent) {
        const answer = await via('github/echo', { headers }, null);
        assert.equal(answer.status, 200, JSON.stringify(Object.keys(headers)));
        assert.ok(!JSON.stringify(last().headers).includes(world.agent));
        assert.equal(last().headers.authorization, `Bearer ${value}`);
      }
      const inPath = await via(
        `github/~${world.agent}/echo`,
        { headers: { authorization: 'Bearer sk-none' } },
        null,
      );
      assert.equal(inPath.status, 200);
      assert.equal(last().url, '/echo');
      assert.ok(!JSON.stringify(last()).includes('sk-none'));
    });

    it('without a valid access key it is 401, which asks for one in both ways, and nothing is sent', async () => {
      const before = world.upstream.requests.length;
      for (const token of [null, 'sr_vault_made_up', world.service.key]) {
        const answer = await via('github/echo', {}, token);
        assert.equal(answer.status, 401);
        assert.deepEqual(await answer.json(), { message: 'Unauthorized' });
        assert.match(answer.headers.get('www-authenticate')!, /^Bearer, Basic realm=/);
        assert.ok(answer.headers.get('strongroom-receipt'));
      }
      assert.equal(world.upstream.requests.length, before);
    });

    it('a rule of another name or another vault is not found', async () => {
      const other = await world.service.call('POST', '/v1/vaults', { name: `other ${engine}` });
      const key = { vault_id: other.body.id, name: 'elsewhere', may_use: true };
      const { token } = (await world.service.call('POST', '/v1/access-keys', key)).body;
      for (const answer of [await via('none/echo'), await via('github/echo', {}, token)]) {
        assert.equal(answer.status, 404);
        assert.deepEqual(await answer.json(), { message: 'Resource not found' });
      }
    });

    it('the path is the one that was judged', async () => {
      const before = world.upstream.requests.length;
      const raw = (path: string) =>
        new Promise<number>((resolve, reject) => {
          const { hostname, port } = new URL(world.service.url);
          const headers = { authorization: `Bearer ${world.agent}` };
          send({ hostname, port, path: `/via/github${path}`, headers }, answer => {
            answer.resume();
            resolve(answer.statusCode!);
          })
            .on('error', reject)
            .end();
        });
      const climbing = [
        '/own/../secret',
        '/own/%2e%2e/secret',
        '/own//x',
        '/own/%2fx',
        '/own/a;b',
        '/own/x%5cy',
        '/own/%00',
        '/echo?',
      ];
      for (const path of climbing) assert.equal(await raw(path), 400, path);
      for (const path of ['/other', '/ownership', '']) assert.equal(await raw(path), 403, path);
      assert.equal(await raw('/own/x?_method=DELETE'), 400);
      assert.equal(world.upstream.requests.length, before);
    });

    it('methods of the rule only, and no protocol but HTTP', async () => {
      for (const method of ['DELETE', 'OPTIONS', 'PROPFIND'])
        assert.equal((await via('github/echo', { method })).status, 403, method);
      assert.equal((await via('github/echo', { method: 'HEAD' })).status, 403);
    });

    it('an answer in any form of the value shows no part of it, also in pieces of one byte', async () => {
      for (const as of [
        'raw',
        'base64',
        'json escapes',
        'percent of all',
        'hex',
        'spaced',
        'first half',
        'most of it',
      ]) {
        for (const rule of ['github', 'long']) {
          const answer = await via(`${rule}/echo?chunked&as=${encodeURIComponent(as)}`, {}, await freshKey());
          const text = await answer.text().catch(() => '');
          assert.deepEqual(tracesIn(text), [], `${rule} ${as}: ${text}`);
        }
      }
    });

    it('a request that contains part of the value is refused, and counts', async () => {
      const token = await freshKey();
      const before = world.upstream.requests.length;
      const answer = await via('github/echo', { method: 'POST', body: `x ${value.slice(3, 20)} y` }, token);
      assert.equal(answer.status, 403);
      assert.equal(world.upstream.requests.length, before);
    });

    it('a long body is passed on while it arrives, but no part of the value in it', async () => {
      const token = await freshKey();
      const long = Buffer.alloc(300_000, 'abc ');
      const answer = await via('long/own/upload', { method: 'POST', body: long }, token);
      assert.equal(answer.status, 200);
      assert.equal(last().body.length, long.length);
      assert.equal(last().headers['content-length'], String(long.length));
      const pieces = async function* () {
        for (let at = 0; at < long.length; at += 10_000) yield long.subarray(at, at + 10_000);
      };
      const body = ReadableStream.from(pieces());
      assert.equal(
        (await via('long/own/upload', { method: 'POST', body, duplex: 'half' }, token)).status,
        200,
      );
      assert.equal(last().body.length, long.length);
      assert.equal(last().headers['transfer-encoding'], 'chunked');
      const before = world.upstream.requests.length;
      const bad = Buffer.concat([long, Buffer.from(value.slice(2, 24)), long]);
      const refused = await via('long/own/upload', { method: 'POST', body: bad }, token);
      assert.equal(refused.status, 403);
      assert.equal(world.upstream.requests.length, before);
      const short = await via('github/own/upload', { method: 'POST', body: long }, token);
      assert.equal(short.status, 403, 'without limits for the gateway, the limits of the rule apply');
    });

    it('a body that a person has to approve is judged whole, so it can’t be long', async () => {
      await world.rule({ name: 'asks about all', approval: 'always', gateway: limits });
      const answer = await via('asks%20about%20all/own/x', {
        method: 'POST',
        body: Buffer.alloc(100_000, 'a'),
      });
      assert.equal(answer.status, 400);
      assert.match(
        ((await answer.json()) as { message: string }).message,
        /body must be at most 65536 bytes/,
      );
    });

    it('the limits of a rule for the gateway apply in both directions', async () => {
      await world.rule({
        name: 'bounded',
        gateway: { max_request: 100_000, max_response: 200_000, timeout: 30 },
      });
      const sent = (length: number) =>
        via('bounded/own/x', { method: 'POST', body: Buffer.alloc(length, 'a ') });
      world.upstream.answer = (_request, _body, response) => response.end('fine');
      assert.equal((await sent(100_000)).status, 200);
      assert.equal((await sent(100_001)).status, 403);
      const size = (length: number) => {
        world.upstream.answer = (_request, _body, response) =>
          response.writeHead(200, { 'content-type': 'text/plain' }).end('a\n'.repeat(length / 2));
        return via('bounded/own/x');
      };
      assert.equal((await (await size(200_000)).text()).length, 200_000);
      const isComplete = async (answer: Response) => answer.status === 200 && (await answer.text()) !== '';
      const ended = async (length: number) => isComplete(await size(length)).catch(() => 'cut off');
      assert.notEqual(await ended(200_002), true);
      assert.equal(await ended(600_000), 'cut off', 'what has begun can only end');
    });

    it('a rule is found only by access keys that see its secret', async () => {
      const key = { vault_id: world.vaultId, name: `blind ${engine}`, may_use: true, names: ['OTHER_*'] };
      const { token } = (await world.service.call('POST', '/v1/access-keys', key)).body;
      assert.equal((await via('github/echo', {}, token)).status, 404);
      const reading = { vault_id: world.vaultId, name: `reading ${engine}` };
      const reader = (await world.service.call('POST', '/v1/access-keys', reading)).body.token;
      assert.equal((await via('github/echo', {}, reader)).status, 403, 'reading is not using');
    });

    it('an archive is passed on by a rule for binary answers with limits for the gateway', async () => {
      const packed = gzipSync('an archive');
      world.upstream.answer = (_request, _body, response) =>
        response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(packed);
      await world.rule({ name: 'files', binary: true, gateway: limits });
      await world.rule({ name: 'images', binary: true });
      const answer = await via('files/own/x');
      assert.deepEqual(Buffer.from(await answer.arrayBuffer()), packed);
      assert.equal((await via('images/own/x')).status, 502);
      assert.equal((await via('long/own/x')).status, 502);
    });

    it('a compressed body is decoded, so that it can be searched', async () => {
      const headers = { 'content-encoding': 'gzip' };
      const answer = await via('github/own/x', { method: 'POST', body: gzipSync('plain text'), headers });
      assert.equal(answer.status, 200);
      assert.equal(last().body, 'plain text');
      assert.equal(last().headers['content-encoding'], undefined);
      const hidden = gzipSync(`the ${value.slice(4, 22)}`);
      const refused = await via('github/own/x', { method: 'POST', body: hidden, headers }, await freshKey());
      assert.equal(refused.status, 403);
    });

    it('events are passed on as they come', async () => {
      let next: () => void = () => {};
      world.upstream.answer = (_request, _body, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: one\n\n');
        next = () => response.end('data: two\n\n');
      };
      const answer = await via('long/own/events');
      const reader = answer.body!.getReader();
      const first = await reader.read();
      assert.equal(Buffer.from(first.value!).toString(), 'data: one\n\n');
      next();
      assert.equal(Buffer.from((await reader.read()).value!).toString(), 'data: two\n\n');
      assert.equal((await reader.read()).done, true);
    });

    it('an answer ends where the value turns up in part, and its key is suspended after the third', async () => {
      const token = await freshKey();
      world.upstream.answer = (_request, _body, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        response.write('x'.repeat(200_000));
        response.end(` ${value.slice(0, 20)} and more`);
      };
      for (let time = 0; time < 3; time++) {
        const answer = await via('long/own/long', {}, token);
        assert.equal(answer.status, 200);
        await assert.rejects(answer.text());
      }
      assert.equal((await via('long/own/long', {}, token)).status, 403);
    });

    it('the log has the call before it leaves and its outcome after, and no path', async () => {
      world.upstream.answer = (_request, _body, response) => response.end('fine');
      const answer = await via('github/own/private?q=private');
      await answer.text();
      const { body } = await world.service.call('GET', '/v1/request-logs?limit=2');
      const [done, begun] = body.data;
      assert.deepEqual([begun.status, done.status], [102, 200]);
      for (const entry of [begun, done]) {
        assert.equal(entry.route, '/via/{rule}');
        assert.equal(entry.request_id, answer.headers.get('x-request-id'));
        assert.ok(!entry.requested.includes('private'));
      }
      assert.equal(begun.receipt, answer.headers.get('strongroom-receipt'));
    });

    it('a call that a person has to approve names the approval, and is made once it is given', async () => {
      await world.rule({ name: 'asks', approval: 'always' });
      const answer = await via('asks/own/x');
      assert.equal(answer.status, 403);
      const { approval } = (await answer.json()) as { approval: { url: string } };
      assert.match(approval.url, /\/approvals\/[0-9a-f-]{36}$/);
    });

    it('a call in progress ends when its access key is revoked', async () => {
      const { token, id } = await makeKey();
      world.upstream.answer = (_request, _body, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: one\n\n');
      };
      const answer = await via('long/own/events', {}, token);
      const reader = answer.body!.getReader();
      await reader.read();
      await world.service.call('DELETE', `/v1/access-keys/${id}`);
      await assert.rejects(reader.read());
    });

    it('a call in progress ends when its rule changes', async () => {
      const rule = await world.rule({ name: 'changing', gateway: limits });
      world.upstream.answer = (_request, _body, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: one\n\n');
      };
      const answer = await via('changing/own/events');
      const reader = answer.body!.getReader();
      await reader.read();
      await world.service.call('PUT', `/v1/use-rules/${rule}`, { rate_limit: 5 });
      await assert.rejects(reader.read());
    });

    it('pages can load nothing from it, and no header acts on the pages of this origin', async () => {
      world.upstream.answer = (_request, _body, response) =>
        response
          .writeHead(200, { 'content-type': 'text/html', 'access-control-allow-origin': '*' })
          .end('<script>');
      await world.rule({ name: 'open', response_headers: ['content-type', 'access-control-*'] });
      for (const dest of ['document', 'script', 'iframe', 'serviceworker'])
        assert.equal((await via('open/own/x', { headers: { 'sec-fetch-dest': dest } })).status, 403, dest);
      const answer = await via('open/own/x');
      assert.equal(answer.headers.get('access-control-allow-origin'), null);
    });

    it('an upstream that fails is 502, one that takes too long 504', async () => {
      world.upstream.answer = request => void request.socket.destroy();
      assert.equal((await via('github/own/x', { method: 'POST', body: 'x' })).status, 502);
      await world.rule({ name: 'hasty', timeout: 1 });
      world.upstream.answer = () => {};
      assert.equal((await via('hasty/own/x')).status, 504);
    });

    let keys = 0;
    async function makeKey() {
      const key = { vault_id: world.vaultId, name: `agent ${++keys} ${engine}`, may_use: true };
      return (await world.service.call('POST', '/v1/access-keys', key)).body as { id: string; token: string };
    }
    const freshKey = async () => (await makeKey()).token;
  });
}
