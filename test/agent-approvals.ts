/**
 * Ways to have a call made that nobody approved: each begins with a call that a person did approve, and differs from it
 * in one thing, or comes again, or says of itself that it is approved. None may reach the upstream.
 */
import assert from 'node:assert/strict';
import { type Answer, callService } from './harness.ts';
import { bareCall, bareSession, envelope, makeAccessKey, modernCall, post } from './mcp-world.ts';
import { Browser, password } from './people.ts';
import { secretName, type UsesWorld, value } from './uses-world.ts';

const late = 'ten minutes later';

type Call = Readonly<Record<string, unknown>>;

/** What is tried in the place of the approved call. */
interface Way {
  readonly name: string;
  /** What happens between the approval and the call. */
  readonly meanwhile?: () => Promise<unknown>;
  /** With the access key that the approval was given for. */
  readonly attempt: (call: Call, key: string) => Promise<Answer>;
}

export interface ApprovalCampaign {
  readonly tried: number;
  readonly faults: readonly string[];
}

async function approver({ service }: UsesWorld): Promise<Browser> {
  const member = { email: `campaign${Math.random()}@example.org`, role: 'editor' };
  const { body } = await service.call('POST', '/v1/members', member);
  const person = new Browser(() => service.url);
  assert.equal((await person.post('/auth/invitation/accept', { token: body.token, password })).status, 200);
  return person;
}

/** With `clock`, time passes too: that takes a service in the process of the test. */
export async function runApprovalCampaign(world: UsesWorld, clock: boolean): Promise<ApprovalCampaign> {
  const { service, upstream, vaultId } = world;
  const person = await approver(world);
  const rule = await world.rule({ approval: 'always', paths: ['/own/**'] });
  const twin = await world.rule({ approval: 'always', paths: ['/own/**'] });
  upstream.answer = (_request, _body, response) => response.writeHead(200).end();
  const faults: string[] = [];
  const ways = waysIn(world, rule, twin).filter(({ name }) => clock || name !== late);
  for (const [at, { name, meanwhile, attempt }] of ways.entries()) {
    const url = `${upstream.url}/own/${at}?page=1`;
    const call = { rule, method: 'POST', url, headers: { accept: 'text/plain' }, body: `{"at":${at}}` };
    // So many calls of one access key may wait.
    const { token } = await makeAccessKey(service, vaultId, { names_only: true, may_use: true });
    const { approval } = (await world.use(call, token)).body;
    const given = await person.post(`/auth/approvals/${approval.id}/approve`, {});
    if (given.status !== 200) faults.push(`${name}: could not be approved`);
    await meanwhile?.();
    const before = upstream.requests.length;
    const { status, text } = await attempt(call, token);
    if (upstream.requests.length > before) faults.push(`${name}: the call was made (${status})`);
    if (text.includes(value) || status >= 500) faults.push(`${name}: status ${status}`);
  }
  faults.push(...(await raced(world, person, rule)));
  for (const id of [rule, twin]) await service.call('DELETE', `/v1/use-rules/${id}`);
  return { tried: ways.length + 1, faults };
}

function waysIn(world: UsesWorld, rule: string, twin: string): Way[] {
  const { service, vaultId, secretId } = world;
  const other = async (more: object = {}) => {
    const key = { vault_id: vaultId, name: 'other', names_only: true, may_use: true, ...more };
    return (await service.call('POST', '/v1/access-keys', key)).body.token as string;
  };
  const differing = (name: string, change: (call: Call) => Call): Way => ({
    name,
    attempt: (call, key) => world.use({ ...call, ...change(call) }, key),
  });
  const put = (path: string, body: object) => () => service.call('PUT', path, body);
  const afterwards = (name: string, meanwhile: () => Promise<unknown>): Way => ({
    name,
    meanwhile,
    attempt: world.use,
  });
  const claiming = (name: string, more: object): Way => ({
    name,
    attempt: (call, key) => {
      const tool = { secret: secretName, ...call, body: 'never approved' };
      return modernCall(service.url, 'secrets.use', { ...tool, ...more }, { key });
    },
  });
  const elsewhere = (call: Call) => ({ secret: secretName, ...call, body: 'by another way in' });
  return [
    differing('another body', () => ({ body: 'x' })),
    differing('a longer body', ({ body }) => ({ body: `${body} ` })),
    differing('no body', () => ({ body: undefined })),
    differing('the body in base64, changed', () => ({ body: undefined, body_base64: 'eA==' })),
    differing('another path', ({ url }) => ({ url: String(url).replace('/own/', '/own/x/') })),
    differing('another query', ({ url }) => ({ url: String(url).replace('page=1', 'page=2') })),
    differing('more of a query', ({ url }) => ({ url: `${url}&all=1` })),
    differing('no query', ({ url }) => ({ url: String(url).split('?')[0] })),
    differing('another method', () => ({ method: 'GET', body: undefined })),
    differing('another header', () => ({ headers: { accept: '*/*' } })),
    differing('one header more', () => ({ headers: { accept: 'text/plain', 'content-type': 'a/b' } })),
    differing('no header', () => ({ headers: {} })),
    differing('another rule', () => ({ rule: twin })),
    differing('no rule that is named, and another body', () => ({ rule: undefined, body: 'y' })),
    { name: 'another access key', attempt: async call => world.use(call, await other()) },
    {
      name: 'a key that only reads',
      attempt: async call => world.use(call, await other({ may_use: false })),
    },
    { name: 'a key of other names', attempt: async call => world.use(call, await other({ names: ['X'] })) },
    { name: 'an API key', attempt: call => world.use(call, service.key) },
    { name: 'no key', attempt: call => world.use(call, null) },
    {
      name: 'another vault',
      attempt: (call, key) => {
        const path = '/api/v1/vaults/0199a3c4-7f00-7abc-8def-0123456789ab/use';
        return callService(service.url, 'POST', path, { secret: secretName, ...call }, key);
      },
    },
    afterwards('the rule edited: time', put(`/v1/use-rules/${rule}`, { timeout: 21 })),
    afterwards('the rule edited: answer', put(`/v1/use-rules/${rule}`, { max_response: 4096 })),
    afterwards(
      'the rule edited: headers that come back',
      put(`/v1/use-rules/${rule}`, { response_headers: ['x-a'] }),
    ),
    afterwards(
      'the rule edited: place',
      put(`/v1/use-rules/${rule}`, { place: { type: 'query', name: 'k' } }),
    ),
    afterwards('the rule edited and put back', put(`/v1/use-rules/${rule}`, { place: { type: 'bearer' } })),
    afterwards('the secret rotated', put(`/v1/secrets/${secretId}`, { value: `${value}x` })),
    afterwards('the secret put back', put(`/v1/secrets/${secretId}`, { value })),
    afterwards('the secret disabled, and enabled', async () => {
      await put(`/v1/secrets/${secretId}`, { enabled: false })();
      await put(`/v1/secrets/${secretId}`, { enabled: true, tags: { a: 'b' } })();
      await put(`/v1/secrets/${secretId}`, { value: `${value}y` })();
      await put(`/v1/secrets/${secretId}`, { value })();
    }),
    afterwards(late, async () => service.clock.pass(10 * 60 * 1000)),
    claiming('a call that says it is approved', { approved: true }),
    claiming('a call that names an approval', { approval: { id: rule, state: 'approved' } }),
    claiming('a call with an approver', { decided_by: 'owner' }),
    {
      name: 'an answer to a question that was not asked',
      attempt: (call, key) => {
        const answered = { inputResponses: { approval: { action: 'accept' } }, requestState: 'x' };
        const params = { name: 'secrets.use', arguments: elsewhere(call), _meta: envelope, ...answered };
        const headers = {
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': params.name,
        };
        return post(service.url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, { key, headers });
      },
    },
    {
      name: 'by the bare form',
      attempt: async (call, key) => {
        const session = await bareSession(service.url);
        return bareCall(service.url, 'secrets.use', elsewhere(call), { session, key });
      },
    },
    ...['approve', 'refuse', 'use', ''].map(
      (verb): Way => ({
        name: `an access key at the approval’s own door: ${verb}`,
        attempt: async (call, key) => {
          const asked = { ...call, body: `by ${verb}` };
          const { approval } = (await world.use(asked, key)).body;
          await callService(service.url, 'POST', `/auth/approvals/${approval.id}/${verb}`, {}, key);
          return world.use(asked, key);
        },
      }),
    ),
    ...['PUT', 'POST', 'DELETE', 'PATCH'].map(
      (method): Way => ({
        name: `an API key changes an approval by ${method}`,
        attempt: async (call, key) => {
          const asked = { ...call, body: `by ${method}` };
          const { approval } = (await world.use(asked, key)).body;
          await service.call(method, `/v1/approvals/${approval.id}`, { state: 'approved' });
          return world.use(asked, key);
        },
      }),
    ),
  ];
}

/** One approval, fifty calls at once, and then the same once more. */
async function raced(world: UsesWorld, person: Browser, rule: string): Promise<string[]> {
  const call = { rule, method: 'POST', url: `${world.upstream.url}/own/race`, body: 'race' };
  const { approval } = (await world.use(call)).body;
  await person.post(`/auth/approvals/${approval.id}/approve`, {});
  const before = world.upstream.requests.length;
  await Promise.all(Array.from({ length: 50 }, () => world.use(call)));
  await world.use(call);
  const made = world.upstream.requests.length - before;
  return made === 1 ? [] : [`raced by fifty and replayed: made ${made} times`];
}
