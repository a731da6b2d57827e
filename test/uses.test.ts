import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { egressInto } from '../src/access/egress.ts';
import { brokerWith } from '../src/egress/brokered-call.ts';
import { callService, enginesInTurn } from './harness.ts';
import { bareCall, bareSession, envelope, modernCall, post } from './mcp-world.ts';
import { Browser, password } from './people.ts';
import { startReceiver } from './receiver.ts';
import { secretName, startUpstream, startUsesWorld, type UsesWorld, value } from './uses-world.ts';

const hour = 60 * 60 * 1000;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the use of a secret without seeing it, on ${engine}`, () => {
    let world: UsesWorld;
    let rule: string;
    before(async () => {
      world = await startUsesWorld(engine);
      rule = await world.rule();
    });
    after(() => world.stop());

    it('the service makes the call with the value, and the answer comes back without it', async () => {
      const { upstream } = world;
      const call = {
        method: 'POST',
        url: `${upstream.url}/echo`,
        headers: { Accept: 'text/plain' },
        body: 'hello',
      };
      const { status, body, headers } = await world.use(call);
      assert.equal(status, 200);
      const sent = upstream.requests.at(-1)!;
      assert.equal(sent.headers.authorization, `Bearer ${value}`);
      assert.equal(sent.headers.accept, 'text/plain');
      assert.equal(sent.headers['accept-encoding'], 'identity');
      assert.equal(sent.body, 'hello');
      assert.equal(body.outcome, 'answered');
      assert.equal(body.status, 200);
      assert.equal(body.body, 'it is: [redacted] .');
      assert.equal(body.redacted, 0, 'how much was redacted is not told');
      assert.deepEqual(body.headers, { 'content-type': 'text/plain' });
      assert.equal(body.rule, rule);
      assert.equal(body.receipt, headers.get('strongroom-receipt'));
      assert.equal(body.request_id, headers.get('x-request-id'));
    });

    it('the request log has the call before it leaves, and its outcome after', async () => {
      const { service, upstream } = world;
      let before = '';
      upstream.answer = (_request, _body, response) => {
        service.call('GET', '/v1/request-logs?limit=1').then(({ text }) => {
          before = text;
          response.writeHead(200, { 'content-type': 'text/plain' }).end('fine');
        });
      };
      const { body } = await world.use({ url: `${upstream.url}/own/private-path?q=private` });
      const { body: logs } = await service.call('GET', '/v1/request-logs?limit=2');
      const [done, begun] = logs.data;
      assert.equal(JSON.parse(before).data[0].id, begun.id);
      for (const entry of [begun, done]) {
        assert.equal(entry.request_id, body.request_id);
        assert.equal(entry.access_key_id, world.agentId);
        assert.equal(entry.route, '/api/v1/vaults/{vault_id}/use');
        assert.ok(!entry.requested.includes('private'), 'a path stands in the log as its pattern');
      }
      assert.equal(begun.status, 102);
      assert.match(
        begun.requested,
        /^secret=use GET http:\/\/localhost:\d+\/own\/\*\* call=[\w-]{43} GITHUB_TOKEN$/,
      );
      assert.equal(done.status, 200);
      assert.match(done.requested, /^secret=used .* answered=200 4B redacted=0 GITHUB_TOKEN$/);
      assert.equal(done.receipt, body.receipt);
    });

    it('an access key uses only if it may, and reads no more for it', async () => {
      const { service, vaultId, upstream, agent } = world;
      const make = async (more: object) =>
        (await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'other', ...more })).body
          .token;
      const call = { url: `${upstream.url}/echo` };
      assert.equal((await world.use(call)).status, 200);
      const reading = await world.use(call, await make({}));
      assert.deepEqual(
        [reading.status, reading.body.message],
        [403, 'Forbidden: the access key may not use secrets or keys'],
      );
      assert.equal((await world.use(call, await make({ may_use: true, names: ['OTHER_*'] }))).status, 404);
      assert.equal((await world.use(call, await make({ may_use: true, kinds: ['key'] }))).status, 404);
      assert.equal((await world.use(call, null)).status, 401);
      assert.equal((await world.use(call, service.key)).status, 401);
      const read = await callService(service.url, 'GET', `/api/v1/vaults/${vaultId}`, undefined, agent);
      assert.ok(!read.text.includes(value));
      const named = await callService(
        service.url,
        'GET',
        `/api/v1/vaults/${vaultId}?name=${secretName}`,
        undefined,
        agent,
      );
      assert.equal(named.status, 403);
    });

    it('whoever says where a value goes must be allowed to read it', async () => {
      const { service, secretId, upstream } = world;
      const key = async (role: string, scopes?: string[]) =>
        (await service.call('POST', '/v1/api-keys', { name: role, role, ...(scopes ? { scopes } : {}) })).body
          .token;
      const wanted = {
        secret_id: secretId,
        name: 'theirs',
        hosts: [upstream.url],
        methods: ['GET'],
        paths: ['/**'],
        place: { type: 'bearer' },
      };
      for (const token of [await key('admin'), await key('owner', ['use-rules:write', 'secrets:read'])]) {
        assert.equal((await service.call('POST', '/v1/use-rules', wanted, token)).status, 403);
        assert.equal(
          (await service.call('PUT', `/v1/use-rules/${rule}`, { paths: ['/**'] }, token)).status,
          403,
        );
        const { vaultId: vault_id } = world;
        const agent = { vault_id, name: 'agent', names_only: true, may_use: true };
        assert.equal((await service.call('POST', '/v1/access-keys', agent, token)).status, 403);
      }
    });

    it('a rule is refused that could not be kept', async () => {
      const bad: [string, Record<string, unknown>][] = [
        ['hosts', { hosts: ['127.0.0.1'] }],
        ['hosts', { hosts: ['*.example.com'] }],
        ['hosts', { hosts: ['EXAMPLE.com'] }],
        ['hosts', { hosts: ['example.com:443'] }],
        ['hosts', { hosts: ['example.com/path'] }],
        ['hosts', { hosts: [] }],
        ['hosts', { hosts: null }],
        ['paths', { paths: ['repos'] }],
        ['paths', { paths: ['/a?b'] }],
        ['request_headers', { request_headers: ['authorization'] }],
        ['request_headers', { request_headers: ['range'] }],
        ['response_headers', { response_headers: ['set-cookie'] }],
        ['place', { place: { type: 'cookie' } }],
        ['place', { place: { type: 'json', pointer: 'token' }, methods: ['POST'] }],
        ['methods', { place: { type: 'form', field: 'token' } }],
        ['methods', { methods: ['CONNECT'] }],
        ['store', { response: 'store' }],
        ['operations', { operations: ['sign'] }],
      ];
      for (const [field, more] of bad) {
        await assert.rejects(world.rule(more), new RegExp(`"field":"${field}`), JSON.stringify(more));
      }
    });

    it('a dry run says whether a call would be allowed, and why not', async () => {
      const { service, secretId, upstream } = world;
      const connections = upstream.connections;
      const asked = { secret_id: secretId, url: `${upstream.url}/elsewhere` };
      const { body: verdict } = await service.call('POST', '/v1/use-rules/check', asked);
      assert.equal(verdict.allowed, false);
      assert.deepEqual(verdict.refusals, [
        { rule, name: 'rule 1', field: 'url', reason: 'matches no path of the rule' },
      ]);
      const strange = { secret_id: secretId, url: 'https://example.com/echo' };
      const { body: elsewhere } = await service.call('POST', '/v1/use-rules/check', strange);
      assert.equal(elsewhere.refusals[0]?.reason, 'is not among the hosts of the rule');
      const { body: dry } = await world.use({ url: `${upstream.url}/echo`, dry_run: true });
      assert.deepEqual(dry, { allowed: true, rule, approval: false, refusals: [] });
      assert.equal(upstream.connections, connections);
    });

    it('tools make the same call, in every form of the endpoint', async () => {
      const { service, upstream, agent } = world;
      const session = await bareSession(service.url, agent);
      const args = { secret: secretName, url: `${upstream.url}/echo` };
      for (const answer of [
        await bareCall(service.url, 'secrets.use', args, { session, key: agent }),
        await modernCall(service.url, 'secrets_use', args, { key: agent }),
      ]) {
        const { structuredContent } = answer.body.result;
        assert.equal(structuredContent.body, 'it is: [redacted] .', answer.text);
        assert.equal(structuredContent.receipt, answer.headers.get('strongroom-receipt'));
      }
      const refused = await bareCall(
        service.url,
        'secrets.use',
        { ...args, url: 'https://example.com/' },
        { session, key: agent },
      );
      assert.equal(refused.body.result.isError, true);
      assert.equal(refused.body.result.structuredContent.status, 403);
      const { body: logs } = await service.call('GET', '/v1/request-logs?limit=1');
      assert.equal(logs.data[0].tool, 'secrets.use');
    });

    it('a token that a call brings about goes into a secret, and not to the agent', async () => {
      const { service, vaultId, upstream } = world;
      const { body: target } = await service.call('POST', '/v1/secrets', {
        vault_id: vaultId,
        name: 'SESSION',
        value: 'none yet',
      });
      const minted = 'minted-5up3r-s3cr3t-token';
      upstream.answer = (_request, _body, response) =>
        response
          .writeHead(201, { 'content-type': 'application/json' })
          .end(JSON.stringify({ data: { token: minted } }));
      const own = await world.rule({
        paths: ['/own/mint'],
        response: 'store',
        store: { secret_id: target.id, pointer: '/data/token' },
      });
      const { body, text } = await world.use({ rule: own, method: 'POST', url: `${upstream.url}/own/mint` });
      assert.ok(!text.includes(minted));
      assert.deepEqual(
        [body.status, body.body, body.stored],
        [201, null, { secret_id: target.id, version: 2 }],
      );
      const revealed = await service.call('POST', `/v1/secrets/${target.id}/reveal`);
      assert.equal(revealed.body.value, minted);
      const { body: audit } = await service.call('GET', '/v1/audit-logs?limit=100&action=secret.updated');
      assert.equal(audit.data[0].actor.id, world.agentId);
      upstream.answer = (_request, _body, response) =>
        response.writeHead(200).end(JSON.stringify({ data: { token: 'x'.repeat(65_537) } }));
      const long = await world.use({ rule: own, method: 'POST', url: `${upstream.url}/own/mint` });
      assert.deepEqual(
        [long.body.outcome, long.body.stored],
        ['withheld', null],
        'it is no value of a secret',
      );
      upstream.answer = ({ headers }, _body, response) =>
        response.writeHead(200).end(JSON.stringify({ data: { token: headers.authorization } }));
      const returned = await world.use({ rule: own, method: 'POST', url: `${upstream.url}/own/mint` });
      assert.deepEqual(
        [returned.body.outcome, returned.body.stored],
        ['withheld', null],
        'it is what was sent',
      );
    });

    it('the status alone comes back where the rule says so', async () => {
      const own = await world.rule({ response: 'status-only' });
      const { body } = await world.use({ rule: own, url: `${world.upstream.url}/echo?status=418` });
      assert.deepEqual([body.status, body.headers, body.body, body.redacted], [418, {}, null, 0]);
    });

    it('a password is not shown that is told from other text only together with its user name', async () => {
      const { service, vaultId, upstream } = world;
      const own = { vault_id: vaultId, name: 'PAIR', value: 'a-rather-long-user-name:short1' };
      const { body: secret } = await service.call('POST', '/v1/secrets', own);
      const place = { type: 'basic', username: null };
      const pair = await world.rule({ secret_id: secret.id, place });
      const shown = await world.use({ secret: 'PAIR', rule: pair, url: `${upstream.url}/echo` });
      assert.equal(shown.status, 400, shown.text);
      await service.call('PUT', `/v1/use-rules/${pair}`, { response: 'status-only' });
      const { body } = await world.use({ secret: 'PAIR', rule: pair, url: `${upstream.url}/echo` });
      assert.deepEqual([body.status, body.body], [200, null]);
    });

    it('no other method is named in a body, however it is written', async () => {
      const { upstream } = world;
      const requests = upstream.requests.length;
      const form = 'application/x-www-form-urlencoded';
      const part = (name: string) =>
        `--x\r\nContent-Disposition: form-data; ${name}\r\n\r\nDELETE\r\n--x--\r\n`;
      const bodies: [type: string, body: string][] = [
        [form, '_method=DELETE'],
        [form, 'a=1&%5Fmethod=DELETE'],
        [form, '_%6dethod=DELETE'],
        [form, '.method=DELETE'],
        [form, 'a=1&[method=DELETE'],
        [form, 'a=1&+_method=DELETE'],
        ['application/json', '{"\\u005fmethod":"DELETE"}'],
        ['application/json', '{"_\\u006Dethod":"DELETE"}'],
        ['multipart/form-data; boundary=x', part('name="_method"')],
        ['multipart/form-data; boundary=x', part('name=_method')],
        ['multipart/form-data; boundary=x', part("name*=utf-8''%5Fmethod")],
      ];
      for (const [type, body] of bodies) {
        const call = { method: 'POST', url: `${upstream.url}/echo`, headers: { 'content-type': type }, body };
        assert.equal((await world.use(call)).status, 400, body);
      }
      for (const query of ['_method', '.method', '%5bmethod', '%20_method']) {
        const url = `${upstream.url}/echo?${query}=DELETE`;
        assert.equal((await world.use({ method: 'POST', url })).status, 400, query);
      }
      assert.equal(upstream.requests.length, requests);
      const harmless = { method: 'POST', url: `${upstream.url}/echo`, body: 'the method, and some_method=1' };
      assert.equal((await world.use(harmless)).status, 200);
    });

    it('what a call is held against is bounded', async () => {
      const { service, vaultId, upstream } = world;
      const path = (length: number) => `${upstream.url}/own/${'a'.repeat(length)}`;
      assert.equal((await world.use({ url: path(1000) })).status, 200);
      assert.match((await world.use({ url: path(1100) })).text, /1024/);
      await assert.rejects(world.rule({ paths: ['/*a*a*a*a*a*a*a*a*a*a*a'] }), /"field":"paths/);
      const { body: secret } = await service.call('POST', '/v1/secrets', {
        vault_id: vaultId,
        name: 'RULED',
        value,
      });
      for (let made = 0; made < 50; made++) await world.rule({ secret_id: secret.id });
      await assert.rejects(world.rule({ secret_id: secret.id }), /CONFLICT/);
      await service.call('PUT', `/v1/secrets/${secret.id}`, { value: 'x'.repeat(16_385) });
      const place = { secret: 'RULED', url: `${upstream.url}/echo` };
      assert.match((await world.use(place)).text, /too long/);
    });

    it('a body that is too long is refused in words, and its connection is not cut', async () => {
      const { status, body } = await world.use({ url: 'x'.repeat(300 * 1024) });
      assert.deepEqual([status, body.message], [400, 'the body must be at most 256 KiB']);
    });

    it('a body that is no JSON is refused in words', async () => {
      const { service, vaultId, agent } = world;
      const headers = { authorization: `Bearer ${agent}`, 'content-type': 'application/json' };
      const sent = { method: 'POST', headers, body: '{bad' };
      const answer = await fetch(`${service.url}/api/v1/vaults/${vaultId}/use`, sent);
      assert.deepEqual(
        [answer.status, await answer.json()],
        [400, { message: 'the body must be valid JSON' }],
      );
    });

    it('calls are limited by rule and by access key', async () => {
      world.service.clock.standInNewMinute();
      const own = await world.rule({ rate_limit: 2 });
      const statuses = [];
      for (let call = 0; call < 3; call++)
        statuses.push((await world.use({ rule: own, url: `${world.upstream.url}/echo` })).status);
      assert.deepEqual(statuses, [200, 200, 429]);
      world.service.clock.run();
    });

    it('a deleted rule allows nothing any more, and a purged secret has none', async () => {
      const { service, vaultId, upstream } = world;
      const own = await world.rule();
      assert.equal((await world.use({ rule: own, url: `${upstream.url}/echo` })).status, 200);
      await service.call('DELETE', `/v1/use-rules/${own}`);
      assert.equal((await world.use({ rule: own, url: `${upstream.url}/echo` })).status, 403);
      const { body: secret } = await service.call('POST', '/v1/secrets', {
        vault_id: vaultId,
        name: 'GONE',
        value,
      });
      const { body: gone } = await service.call('POST', '/v1/use-rules', {
        secret_id: secret.id,
        name: 'of it',
        hosts: ['example.com'],
        methods: ['GET'],
        paths: ['/'],
        place: { type: 'bearer' },
      });
      await service.call('DELETE', `/v1/secrets/${secret.id}?purge=true`);
      assert.equal((await service.call('GET', `/v1/use-rules/${gone.id}`)).status, 404);
    });

    describe('with an approval', () => {
      let person: Browser;
      let demanding: string;
      before(async () => {
        const { service, upstream } = world;
        const member = { email: `approver@${engine}.example`, role: 'editor' };
        const { body } = await service.call('POST', '/v1/members', member);
        person = new Browser(() => service.url);
        const accepted = await person.post('/auth/invitation/accept', { token: body.token, password });
        assert.equal(accepted.status, 200, accepted.text);
        demanding = await world.rule({ approval: 'always' });
        upstream.answer = (_request, _body, response) =>
          response.writeHead(200, { 'content-type': 'text/plain' }).end('done');
      });

      const call = (path: string, more = {}) => ({
        rule: demanding,
        method: 'POST',
        url: `${world.upstream.url}/own/${path}`,
        body: 'one',
        ...more,
      });
      const ask = async (path: string, more = {}) => (await world.use(call(path, more))).body.approval;
      const approve = (id: string, scope?: string) =>
        person.post(`/auth/approvals/${id}/approve`, scope ? { scope } : {});
      const minute = 60_000;

      it('nothing leaves before a person approved exactly this call, and then it leaves once', async () => {
        const { upstream } = world;
        const requests = upstream.requests.length;
        const refused = await world.use(call('once'));
        assert.equal(refused.status, 403);
        const { id, url } = refused.body.approval;
        assert.equal(url, `${world.service.url}/approvals/${id}`);
        assert.equal((await ask('once')).id, id, 'the same call waits once');
        const { body: inbox } = await person.get('/v1/approvals');
        const shown = inbox.data.find((one: { id: string }) => one.id === id);
        assert.equal(shown.request.url, call('once').url);
        assert.equal(shown.request.body, 'one');
        assert.equal(shown.request.secret, secretName);
        assert.equal(shown.access_key, 'agent');
        assert.equal(upstream.requests.length, requests);
        assert.equal((await approve(id)).body.state, 'approved');
        assert.equal((await world.use(call('once', { body: 'two' }))).status, 403, 'another body');
        assert.equal((await world.use(call('twice'))).status, 403, 'another path');
        assert.equal(
          (await world.use(call('once', { headers: { accept: 'x' } }))).status,
          403,
          'another header',
        );
        assert.equal(upstream.requests.length, requests);
        assert.equal((await world.use(call('once'))).body.body, 'done');
        assert.equal((await world.use(call('once'))).status, 403, 'it is used up');
        assert.equal(upstream.requests.length, requests + 1);
        const { body: actions } = await world.service.call('GET', `/v1/audit-logs?limit=100`);
        const about = actions.data.filter((entry: { subject?: { id: string } }) => entry.subject?.id === id);
        assert.deepEqual(about.map((entry: { action: string }) => entry.action).reverse(), [
          'approval.requested',
          'approval.approved',
          'approval.used',
        ]);
      });

      it('of fifty calls at once, one gets it', async () => {
        await approve((await ask('race')).id);
        const requests = world.upstream.requests.length;
        const answers = await Promise.all(Array.from({ length: 50 }, () => world.use(call('race'))));
        assert.equal(answers.filter(({ status }) => status === 200).length, 1);
        assert.equal(world.upstream.requests.length, requests + 1);
      });

      it('it is over with a change of the rule or of the secret, and after ten minutes', async () => {
        const { service, secretId } = world;
        await approve((await ask('edited')).id);
        await service.call('PUT', `/v1/use-rules/${demanding}`, { timeout: 20 });
        assert.equal((await world.use(call('edited'))).status, 403);
        await approve((await ask('rotated')).id);
        await service.call('PUT', `/v1/secrets/${secretId}`, { value: `${value}x` });
        assert.equal((await world.use(call('rotated'))).status, 403);
        await service.call('PUT', `/v1/secrets/${secretId}`, { value });
        const late = await ask('late');
        await approve(late.id);
        const never = await ask('never');
        service.clock.pass(10 * 60 * 1000);
        assert.equal((await world.use(call('late'))).status, 403);
        assert.equal((await approve(never.id)).status, 400);
      });

      it('it is given by a person who may, and never by a key; once, and not after a refusal', async () => {
        const { service, agent } = world;
        const { id } = await ask('who');
        const path = `/auth/approvals/${id}`;
        for (const key of [service.key, agent, null]) {
          const { status } = await service.call('POST', `${path}/approve`, {}, key);
          assert.ok(status === 401 || status === 403, `${status}`);
        }
        assert.equal((await person.post(`${path}/refuse`)).body.state, 'refused');
        assert.equal((await approve(id)).status, 400);
        const refused = await world.use(call('who'));
        assert.equal(refused.body.message, 'Forbidden: a person refused this call');
        assert.equal((await person.post(`/auth/approvals/${demanding}/approve`)).status, 404);
      });

      it('all calls under a rule can be approved for an hour', async () => {
        world.service.clock.pass(5 * minute);
        const { id } = await ask('standing');
        assert.equal((await approve(id, 'rule')).body.error.code, 'PROOF_REQUIRED', 'a session alone');
        await person.prove();
        await approve(id, 'rule');
        for (const path of ['standing', 'a', 'b']) assert.equal((await world.use(call(path))).status, 200);
        world.service.clock.pass(hour);
        assert.equal((await world.use(call('standing'))).status, 403);
      });

      it('a tool’s result names the page, in words that a model can pass on', async () => {
        const { service, agent } = world;
        const { rule: id, ...rest } = call('tool');
        const answer = await modernCall(
          service.url,
          'secrets.use',
          { secret: secretName, rule: id, ...rest },
          { key: agent },
        );
        const { isError, structuredContent, content } = answer.body.result;
        assert.equal(isError, true);
        assert.equal(structuredContent.status, 403);
        assert.match(content[1].text, new RegExp(`^Ask the user to open ${structuredContent.approval.url}`));
      });

      it('clients that can send their user to a page are asked to, by the words of their revision', async () => {
        const { service, agent } = world;
        const capabilities = { elicitation: { url: {} } };
        const params = {
          name: 'secrets.use',
          arguments: { secret: secretName, ...call('elicited') },
          _meta: { ...envelope, 'io.modelcontextprotocol/clientCapabilities': capabilities },
        };
        const headers = {
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': 'secrets.use',
        };
        const send = (more: object) =>
          post(
            service.url,
            { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { ...params, ...more } },
            { key: agent, headers },
          );
        const { result } = (await send({})).body;
        assert.equal(result.resultType, 'input_required');
        const { method, params: asked } = result.inputRequests.approval;
        assert.deepEqual([method, asked.mode], ['elicitation/create', 'url']);
        const opened = {
          inputResponses: { approval: { action: 'accept' } },
          requestState: result.requestState,
        };
        assert.equal((await send(opened)).body.result.resultType, 'input_required', 'nobody approved it yet');
        const declined = { inputResponses: { approval: { action: 'decline' } } };
        assert.equal((await send(declined)).body.result.isError, true);
        await approve(result.requestState);
        assert.equal((await send(opened)).body.result.structuredContent.body, 'done');

        const clientInfo = { name: 'test', version: '1' };
        const hello = { protocolVersion: '2025-11-25', capabilities, clientInfo };
        const opening = await post(
          service.url,
          { jsonrpc: '2.0', id: 0, method: 'initialize', params: hello },
          { key: agent },
        );
        const session = opening.headers.get('mcp-session-id')!;
        const { _meta, ...plain } = params;
        const { body } = await post(
          service.url,
          { jsonrpc: '2.0', id: 1, method: 'tools/call', params: plain },
          { key: agent, session },
        );
        assert.equal(body.error.code, -32042);
        assert.match(body.error.data.elicitations[0].url, /\/approvals\/[0-9a-f-]{36}$/);
      });

      it('a deleted vault takes its calls out of the inbox, and leaves the others there', async () => {
        const { service, upstream } = world;
        const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'short-lived' });
        const own = { vault_id: vault.id, name: 'TOKEN', value };
        const { body: secret } = await service.call('POST', '/v1/secrets', own);
        await world.rule({ secret_id: secret.id, approval: 'always' });
        const agent = { vault_id: vault.id, name: 'agent', may_use: true };
        const { body: key } = await service.call('POST', '/v1/access-keys', agent);
        const asked = { secret: 'TOKEN', url: `${upstream.url}/own/short` };
        const use = `/api/v1/vaults/${vault.id}/use`;
        const { approval } = (await callService(service.url, 'POST', use, asked, key.token)).body;
        const { id: other } = await ask('beside');
        const inbox = async (query = '') => {
          const { status, body } = await person.get(`/v1/approvals?limit=100${query}`);
          assert.equal(status, 200);
          return body.data.map(({ id }: { id: string }) => id);
        };
        assert.ok((await inbox()).includes(approval.id));
        for (const purge of ['', '?purge=true']) {
          await service.call('DELETE', `/v1/vaults/${vault.id}${purge}`);
          for (const query of ['', '&state=all']) {
            const found = await inbox(query);
            assert.deepEqual([found.includes(approval.id), found.includes(other)], [false, true]);
          }
          assert.equal((await approve(approval.id)).status, 404);
        }
      });

      it('an access key that created itself another is shown by the name that it was given', async () => {
        const { service, agent } = world;
        const create = '/vault/v1/auth/token/create';
        const child = await callService(service.url, 'POST', create, { display_name: 'trusted' }, agent);
        const asked = await world.use(call('child'), child.body.auth.client_token);
        const { body } = await person.get(`/v1/approvals/${asked.body.approval.id}`);
        assert.deepEqual([body.access_key, body.own_name], ['agent', 'trusted']);
      });

      it('only those that wait for one tell webhooks so', async () => {
        const receiver = await startReceiver();
        const { service } = world;
        await service.call('POST', '/v1/webhooks', { url: receiver.url, events: ['approval.requested'] });
        const { id } = await ask('told');
        const [arrival] = await receiver.received(1, 120_000);
        assert.deepEqual(arrival!.body.data.id, id);
        assert.ok(!arrival!.text.includes('/own/told'));
        await receiver.close();
      });
    });
  });
}

const order = {
  secret: 'one',
  lane: { organization: 'one', key: 'one' },
  isOnce: false,
  method: 'GET',
  headers: { authorization: `Bearer ${value}` },
  body: null,
  values: [value],
  responseHeaders: [],
  maxResponse: 1000,
  binary: false,
  response: 'full' as const,
  pointer: null,
  patience: 5_000,
};

describe('where a brokered call goes', () => {
  it('a name that leads inside, at once or a moment later, is not connected to', async t => {
    const upstream = await startUpstream();
    t.after(upstream.close);
    const port = upstream.host.split(':')[1];
    let asked = 0;
    const flipping = async () => (++asked % 2 === 1 ? ['127.0.0.2'] : ['127.0.0.1']);
    for (const resolve of [async () => ['127.0.0.1'], async () => ['::ffff:127.0.0.1'], flipping]) {
      const broker = brokerWith({ egress: egressInto(['127.0.0.2/32']), resolve });
      for (const scheme of ['http', 'https']) {
        const result = await broker.call({ ...order, url: `${scheme}://rebinding.example:${port}/echo` });
        assert.equal(result.outcome, 'failed');
      }
      await broker.close();
    }
    assert.equal(upstream.connections, 0);
  });
});
