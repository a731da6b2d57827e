/** Calls of tools: what is asked of the domain (doubled in memory) in whose name, what is recorded, and how each answer is told. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reader } from '../src/access/caller.ts';
import { Failure, invalid, statusOf } from '../src/contract/errors.ts';
import { approvalRequired } from '../src/domain/uses/approval-requests.ts';
import {
  anyReader,
  call,
  contentOf,
  endpoint,
  facts,
  type Given,
  type Json,
  key,
  modernCall,
  modernHeaders,
  names,
  note,
  revision,
  rpc,
  session,
  unknownSession,
  withKey,
} from './mcp-doubles.ts';

describe('a call of a tool', () => {
  it('reads in the name of its header’s key, or of the one that its arguments bring', async () => {
    const { post, seen } = endpoint();
    await post(call('secrets.list'), withKey);
    await post(call('secrets.get', { name: 'A', vault: { id: 'v', accessKey: 'other' } }));
    await post(call('keys.get', { id: 'k', code: 'c', vault: { vaultId: 'v' } }));
    await post(call('keys.get', { code: 'c' }), withKey);
    const read = { ...facts, by: 'access-key', knownDigests: [] };
    const byToken = { ...facts, tool: 'keys.get', by: 'public-token', token: 'c' };
    assert.deepEqual(seen.reads, [
      { ...read, tool: 'secrets.list', token: key, selection: names },
      {
        ...read,
        tool: 'secrets.get',
        token: 'other',
        vaultId: 'v',
        selection: { of: 'item', kind: 'secret', nameOrId: 'A', fields: 'metadata' },
      },
      { ...byToken, vaultId: 'v', keyId: 'k' },
      { ...byToken, keyId: null },
    ]);
    assert.deepEqual(seen.refused, []);
  });

  it('answers with the result as text and as an object', async () => {
    const { body } = await endpoint().post(call('secrets.list'));
    assert.deepEqual(body.result, {
      content: [{ type: 'text', text: '{"vault":{"id":"v"}}' }],
      structuredContent: { vault: { id: 'v' } },
    });
  });

  it('has secrets and keys used, never read', async () => {
    const { post, seen } = endpoint();
    const use = { name: 'A', url: 'https://api.example/' };
    const used = await post(call('secrets.use', { ...use, secret: 'A', name: undefined }), withKey);
    assert.deepEqual(
      [contentOf(used.body), used.headers['strongroom-receipt']],
      [{ used: true }, 'use'],
      used.text,
    );
    assert.deepEqual(
      [seen.uses[0].tool, seen.uses[0].token, seen.uses[0].call.url],
      ['secrets.use', key, use.url],
    );
    assert.equal(seen.uses[0].selection.code, 'FORBIDDEN');
    const decrypt = { key: 'k', alg: 'RSA-OAEP', ciphertext: 'AA' };
    const decrypted = await post(call('keys.decrypt', decrypt), withKey);
    assert.deepEqual(contentOf(decrypted.body), { signed: true });
    assert.deepEqual(seen.keyUses[0].asked, { operation: 'decrypt', call: decrypt });
    assert.deepEqual([seen.reads, seen.uses.length, seen.keyUses.length], [[], 1, 1]);
  });

  it('what is wrong with its arguments is for the vault to tell, once the key is judged', async () => {
    const { post, seen } = endpoint();
    for (const payload of [call('secrets.get', {}), call('secrets.get'), call('secrets.get', { name: 7 })]) {
      const { body } = await post(payload);
      assert.deepEqual([contentOf(body).status, body.result.isError], [400, true]);
    }
    assert.deepEqual(
      seen.reads.map(({ selection }) => [selection.code, selection.field]),
      [1, 2, 3].map(() => ['INVALID_REQUEST', 'name']),
    );
    const { body } = await post(call('secrets.use', {}));
    assert.equal(contentOf(body).status, 400);
    assert.equal(seen.uses[0].call.code, 'INVALID_REQUEST');
    assert.deepEqual([seen.refused, seen.keyUses, seen.errors], [[], [], []]);
  });

  it('a connection that is wrong is recorded for the vault that it claims', async () => {
    const baseUrl = 'https://evil.example';
    const rows: readonly [args: object, vaultId: string | null][] = [
      [{ vault: { vaultId: 'v', id: 'i', baseUrl } }, 'v'],
      [{ vault: { id: 'i', baseUrl } }, 'i'],
      [{ vault: { baseUrl }, credentials: { vaultId: 'c' } }, 'c'],
      [{ vault: { vaultId: 7 }, credentials: { vaultId: 'c' } }, 'c'],
      [{ vault: 'v' }, null],
      [{ credentials: { baseUrl } }, null],
    ];
    for (const [args, vaultId] of rows) {
      const { post, seen } = endpoint();
      const { body, headers } = await post(call('secrets.list', args), withKey);
      assert.deepEqual([contentOf(body).status, headers['strongroom-receipt']], [400, 'refused']);
      const [[recorded, failure]] = seen.refused as [[Json, Failure]];
      assert.deepEqual(recorded, { ...facts, tool: 'secrets.list', token: key, vaultId });
      assert.equal(failure.code, 'INVALID_REQUEST');
      assert.deepEqual(seen.reads, []);
    }
  });

  it('with a wrong session is recorded, and told as that, whatever else is wrong', async () => {
    for (const [payload, vaultId, tool] of [
      [call('secrets.list'), null, 'secrets.list'],
      [call('secrets.use', {}), null, 'secrets.use'],
      [call('secrets.list', { vault: { id: 'v', baseUrl: 'https://evil.example' } }), 'v', 'secrets.list'],
    ] as const) {
      const { post, seen } = endpoint({ session: unknownSession });
      const { status, body } = await post(payload, withKey);
      assert.deepEqual([status, body.error.code], [404, -32_001]);
      const [[recorded, failure]] = seen.refused as [[Json, Failure]];
      assert.deepEqual([recorded.tool, recorded.vaultId, recorded.token], [tool, vaultId, key]);
      assert.equal(failure, unknownSession);
      assert.deepEqual([seen.reads, seen.uses, seen.errors], [[], [], []]);
    }
    for (const payload of [call('no.tool'), call('secrets.list', 'text'), rpc('tools/list'), rpc('ping')]) {
      const { post, seen } = endpoint({ session: unknownSession });
      const { status } = await post(payload);
      assert.deepEqual([status, seen.refused], [404, []]);
    }
  });

  it('is not made if its session can’t be judged', async () => {
    const { post, seen } = endpoint({ session: new Error('inner') });
    assert.equal((await post(call('secrets.list'))).status, 500);
    assert.deepEqual([seen.refused, seen.reads, seen.errors.length], [[], [], 1]);
  });

  it('of no tool, or with arguments that are no object, is an error of the protocol', async () => {
    const { post, seen } = endpoint();
    const arguments_ = 'Invalid params: arguments must be an object';
    const unknown = 'Unknown tool: see tools/list';
    for (const [payload, message] of [
      [call('no.tool'), unknown],
      [call('no.tool', 'text'), unknown],
      [rpc('tools/call'), unknown],
      [rpc('tools/call', { name: 7 }), unknown],
      [call('secrets.list', 'text'), arguments_],
      [call('secrets.list', [1]), arguments_],
      [call('secrets.list', null), arguments_],
    ] as const) {
      const { status, body } = await post(payload);
      assert.deepEqual([status, body.error], [200, { code: -32_602, message }]);
    }
    assert.deepEqual([seen.reads, seen.refused], [[], []]);
  });

  it('that fails inside is reported with its cause, and told without it', async () => {
    const cause = new Error('disk');
    const rows: readonly [Failure, reported: unknown[]][] = [
      [new Failure('INTERNAL_ERROR', { cause }), [cause]],
      [new Failure('UNAVAILABLE', { cause }), [cause]],
      [new Failure('NOT_FOUND', { cause }), []],
    ];
    const bare = new Failure('UNAVAILABLE');
    for (const [failure, reported] of [...rows, [bare, [bare]] as const]) {
      const refusal = () => ({ status: statusOf[failure.code], failure, receipt: 'refused' });
      const { post, seen } = endpoint({ read: refusal });
      const { body, text } = await post(call('secrets.list'));
      assert.deepEqual(contentOf(body), { status: statusOf[failure.code], message: failure.message });
      assert.deepEqual([seen.errors, body.result.isError], [reported, true]);
      assert.doesNotMatch(text, /disk/);
    }
  });

  it('searches by a part of the name, by a tag, or by both', async () => {
    const secrets = [
      { id: '1', name: 'Alpha', tags: { team: 'a=b' } },
      { id: '2', name: 'beta', tags: { team: 'c' } },
      { id: '3', name: 'gamma' },
    ];
    const answer = JSON.stringify({ structuredContent: { vault: { id: 'v' }, secrets } });
    const read = () => ({ status: 200, body: Buffer.from(answer), receipt: 'read' });
    const rows: readonly [args: object, found: string, fields: string][] = [
      [{ name: 'ALPH' }, '1', 'names'],
      [{ name: 'A' }, '123', 'names'],
      [{ tag: 'team' }, '12', 'metadata'],
      [{ tag: 'team=a=b' }, '1', 'metadata'],
      [{ tag: 'team=a' }, '', 'metadata'],
      [{ tag: 'team=' }, '', 'metadata'],
      [{ tag: 'tea' }, '', 'metadata'],
      [{ tag: 'toString' }, '', 'metadata'],
      [{ tag: 'team', name: 'bet' }, '2', 'metadata'],
      [{ tag: 'team', name: 'gam' }, '', 'metadata'],
    ];
    for (const [args, found, fields] of rows) {
      const { post, seen } = endpoint({ read });
      const { body } = await post(call('secrets.search', args));
      const shown = contentOf(body);
      assert.equal(shown.secrets.map(({ id }: Json) => id).join(''), found, JSON.stringify(args));
      assert.deepEqual(JSON.parse(body.result.content[0].text), shown);
      assert.equal(seen.reads[0].selection.fields, fields);
    }
    const { body } = await endpoint({ read }).post(call('secrets.search', {}));
    assert.deepEqual(contentOf(body), { status: 400, message: 'name or tag is required' });
  });

  it('asks for values only if it says so', async () => {
    const rows: readonly [tool: string, args: object, selection: object][] = [
      ['secrets.list', {}, names],
      ['secrets.list', { namesOnly: true }, names],
      ['secrets.list', { namesOnly: false }, { ...names, fields: 'value' }],
      ['secrets.get', { name: 'A' }, { of: 'item', kind: 'secret', nameOrId: 'A', fields: 'metadata' }],
      [
        'secrets.get',
        { name: 'A', includeValue: true },
        { of: 'item', kind: 'secret', nameOrId: 'A', fields: 'value' },
      ],
      ['keys.get', { id: 'k' }, { of: 'item', kind: 'key', nameOrId: 'k', fields: 'value' }],
      [
        'keys.get',
        { id: 'k', preferPublic: true },
        { of: 'item', kind: 'key', nameOrId: 'k', fields: 'public-half' },
      ],
    ];
    for (const [tool, args, selection] of rows) {
      const { post, seen } = endpoint();
      await post(call(tool, args));
      assert.deepEqual(seen.reads[0].selection, selection);
    }
    const { body } = await endpoint().post(call('keys.get', {}));
    assert.deepEqual(contentOf(body), { status: 400, message: 'id is required' });
  });
});

describe('a key by OAuth', () => {
  const reader = { ...anyReader, byOAuth: true, namesOnly: true, kinds: null, mayUse: false } as Reader;
  const use = call('secrets.use', { secret: 'A', url: 'https://api.example/' });
  const whole = call('secrets.get', { name: 'A', includeValue: true });

  it('is told which scope it lacks, by a status, and the call is recorded', async () => {
    for (const [payload, tool, scope] of [
      [use, 'secrets.use', 'secrets:use'],
      [whole, 'secrets.get', 'secrets:read'],
    ] as const) {
      const { post, seen } = endpoint({ signIn: 'offered', reader });
      const { status, body } = await post(payload, withKey);
      assert.deepEqual([status, body.error.message], [403, 'Forbidden']);
      assert.deepEqual(seen.challenges, [{ error: 'insufficient_scope', scope }]);
      const [[recorded, failure]] = seen.refused as [[Json, Failure]];
      assert.deepEqual([recorded.tool, recorded.token, failure.code], [tool, key, 'FORBIDDEN']);
      assert.deepEqual([seen.reads, seen.uses], [[], []]);
    }
  });

  it('is served what it has the scope for', async () => {
    const { post, seen } = endpoint({
      signIn: 'offered',
      reader: { ...reader, mayUse: true, namesOnly: false },
    });
    for (const payload of [use, whole]) assert.equal((await post(payload, withKey)).status, 200);
    assert.deepEqual([seen.uses.length, seen.reads.length, seen.refused], [1, 1, []]);
  });
});

describe('a call that a person has to approve first', () => {
  const approval = { id: 'a', expires_at: Date.parse('2026-01-01T00:00:00.000Z') };
  const used = () => ({ status: 403, failure: approvalRequired(approval, 'pending'), receipt: 'use' });
  const args = { secret: 'A', url: 'https://api.example/' };
  const url = 'https://vault.example/approvals/a';
  const able = { elicitation: { url: {} } };

  it('is told by its result, in words that a model can pass on', async () => {
    const { post } = endpoint({ used });
    for (const [payload, headers] of [
      [call('secrets.use', args), {}],
      [modernCall('secrets.use', args), modernHeaders('secrets.use')],
    ] as const) {
      const { body, headers: sent } = await post(payload, headers);
      assert.deepEqual(contentOf(body), {
        status: 403,
        message: 'Forbidden: a person has to approve this call first',
        approval: { id: 'a', url, expires_at: '2026-01-01T00:00:00.000Z' },
      });
      assert.equal(body.result.content.length, 2);
      assert.match(
        body.result.content[1].text,
        /^Ask the user to open https:\/\/vault\.example\/approvals\/a /,
      );
      assert.equal(sent['strongroom-receipt'], 'use');
    }
    const other = endpoint({
      used: () => ({ status: 403, failure: new Failure('FORBIDDEN'), receipt: 'use' }),
    });
    const { body } = await other.post(call('secrets.use', args));
    assert.deepEqual(
      [contentOf(body), body.result.content.length],
      [{ status: 403, message: 'Forbidden' }, 1],
    );
  });

  it('is told by an error where the client of a session opens pages', async () => {
    const { post } = endpoint({ used, session: { ...session, elicits: true } });
    const { status, body, headers } = await post(call('secrets.use', args, 'x'));
    assert.deepEqual([status, body.id, body.error.code], [200, 'x', -32_042]);
    assert.equal(body.error.data.elicitations[0].url, url);
    assert.equal(headers['strongroom-receipt'], 'use');
  });

  it('is told by a result that wants more where the client of an envelope opens pages', async () => {
    const { body, headers } = await endpoint({ used }).post(
      modernCall('secrets.use', args, able),
      modernHeaders('secrets.use'),
    );
    assert.deepEqual([body.result.resultType, body.result.requestState], ['input_required', 'a']);
    assert.equal(body.result.inputRequests.approval.params.url, url);
    assert.ok('io.modelcontextprotocol/serverInfo' in body.result._meta);
    assert.equal(headers['strongroom-receipt'], 'use');
  });
});

describe('a batch', () => {
  it('answers each request in order, and names the entries of its calls', async () => {
    const { post } = endpoint();
    const { status, body, headers } = await post([
      call('secrets.list', {}, 'a'),
      note,
      rpc('ping', undefined, 2),
      call('keys.list', {}, 3),
    ]);
    assert.equal(status, 200);
    assert.deepEqual(
      body.map(({ id }: Json) => id),
      ['a', 2, 3],
    );
    assert.deepEqual(body[1].result, {});
    assert.equal(headers['strongroom-receipt'], 'read, read');
    const single = await post([rpc('ping', undefined, 1)]);
    assert.deepEqual([single.body.length, single.headers['strongroom-receipt']], [1, undefined]);
    const quiet = await post([note, note]);
    assert.deepEqual([quiet.status, quiet.text], [202, '']);
  });

  const refusals: readonly [
    what: string,
    messages: unknown[],
    reason: RegExp,
    headers?: object,
    given?: Given,
  ][] = [
    ['of nothing', [], /at least one message/],
    [
      'of 51 messages',
      Array.from({ length: 51 }, (_, id) => rpc('ping', undefined, id)),
      /at most 50 messages/,
    ],
    ['with an id twice', [rpc('ping', undefined, 1), call('keys.list', {}, 1)], /must have different ids/],
    [
      'of another revision',
      [rpc('ping')],
      /only revision 2025-03-26 has batches/,
      {},
      { session: { ...session, revision: '2025-06-18' } },
    ],
    [
      'with another revision in its header',
      [rpc('ping')],
      /only revision 2025-03-26 has batches/,
      { 'mcp-protocol-version': '2025-06-18' },
    ],
  ];
  for (const [what, messages, reason, headers, given] of refusals)
    it(`${what} is refused, and no part of it is done`, async () => {
      const { post, seen } = endpoint(given);
      const { status, body } = await post(messages, headers);
      assert.deepEqual([status, body.error.code], [400, -32_600]);
      assert.match(body.error.message, reason);
      assert.deepEqual([seen.reads, seen.refused], [[], []]);
    });

  it('of 50 messages, or with its revision in the header, is answered', async () => {
    const { post } = endpoint();
    const many = Array.from({ length: 50 }, (_, id) => rpc('ping', undefined, id));
    assert.equal((await post(many)).body.length, 50);
    assert.equal((await post([rpc('ping')], { 'mcp-protocol-version': revision })).status, 200);
  });

  it('answers what is not a session request with an error, and the rest all the same', async () => {
    const { post, seen } = endpoint();
    const { body } = await post([
      rpc('initialize', {}, 1),
      'text',
      { method: 'tools/list' },
      modernCall('secrets.list'),
      { jsonrpc: '2.0', id: 5 },
      rpc('ping', undefined, 6),
    ]);
    assert.deepEqual(
      body.map(({ id, error }: Json) => [id, error?.code]),
      [...[1, 2, 3, 4, 5].map(() => [null, -32_600]), [6, undefined]],
    );
    assert.match(body[0].error.message, /no initialize$/);
    assert.match(body[1].error.message, /must be an object$/);
    assert.deepEqual([seen.opened, seen.reads], [[], []]);
  });

  it('with a wrong session records its calls, and is refused as a whole', async () => {
    const { post, seen } = endpoint({ session: unknownSession });
    const { status, body } = await post([
      call('secrets.list', {}, 1),
      rpc('ping', undefined, 2),
      call('keys.list', {}, 3),
    ]);
    assert.deepEqual([status, body.error.code], [404, -32_001]);
    assert.deepEqual(
      seen.refused.map(([{ tool }]) => tool),
      ['secrets.list', 'keys.list'],
    );
    const away = new Failure('UNAVAILABLE');
    const other = endpoint({ session: away });
    assert.equal((await other.post([rpc('ping', undefined, 1), rpc('ping', undefined, 2)])).status, 503);
    assert.deepEqual(other.seen.errors, [away], 'reported once');
  });

  it('tells each failure in its own place, and reports those inside', async () => {
    const cause = new Error('disk');
    const [inner, away, bad] = [
      new Failure('INTERNAL_ERROR', { cause }),
      new Failure('UNAVAILABLE'),
      invalid('x', 'is bad'),
    ];
    const rows: readonly [thrown: Error, code: number, message: RegExp, reported: unknown[]][] = [
      [inner, -32_603, /^Something went wrong/, [cause]],
      [away, -32_603, /unavailable/, [away]],
      [bad, -32_000, /^x is bad$/, []],
      [new Failure('NOT_FOUND'), -32_000, /not found/, []],
    ];
    for (const [thrown, code, message, reported] of rows) {
      const { post, seen } = endpoint({
        read: () => {
          throw thrown;
        },
      });
      const { status, body } = await post([call('secrets.list', {}, 'a'), rpc('ping', undefined, 'b')]);
      assert.deepEqual([status, body[0].id, body[0].error.code, body[1].id], [200, 'a', code, 'b']);
      assert.match(body[0].error.message, message);
      assert.deepEqual(seen.errors, reported);
    }
    const refusal = () => ({ status: 401, failure: new Failure('UNAUTHORIZED'), receipt: 'r' });
    const { post, seen } = endpoint({ signIn: 'offered', read: refusal });
    const { body } = await post([call('secrets.list', {}, 'a')]);
    assert.deepEqual([body[0].id, body[0].error.code, seen.errors], ['a', -32_000, []]);
    assert.match(body[0].error.message, /sign in/);
  });
});
