/** Which form a message to the tool endpoint has, what it lacks, and how a client is asked: the decisions by themselves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reader } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import type { VaultRequest } from '../src/domain/reads/vault-request.ts';
import { elicitationError, elicitsByUrl, inputRequired } from '../src/mcp/elicitation.ts';
import { classify, isId, isPlainCall, isRecord, type McpMessage, RpcError } from '../src/mcp/messages.ts';
import { bringsKey, missingFor, noKey, SignInRequired } from '../src/mcp/sign-in.ts';

const version = 'io.modelcontextprotocol/protocolVersion';
const client = 'io.modelcontextprotocol/clientInfo';
const capabilities = 'io.modelcontextprotocol/clientCapabilities';
const modern = '2026-07-28';
const rpc = { jsonrpc: '2.0' };

function formOf(body: unknown, header?: string): string {
  try {
    const { form, message } = classify(body, header === undefined ? {} : { 'mcp-protocol-version': header });
    assert.equal(message, body);
    return form;
  } catch (error) {
    assert.ok(error instanceof RpcError);
    assert.deepEqual([error.status, error.code], [400, -32_600]);
    return error.message.replace('Invalid Request: ', '');
  }
}

describe('a message', () => {
  const object = 'the body must be an object';
  const text = 'method must be a string';
  const rows: [body: unknown, form: string][] = [
    [null, object],
    [undefined, object],
    [[], object],
    ['text', object],
    [{}, text],
    [{ method: 1 }, text],
    [{ method: 'tools/list' }, 'bare'],
    [{ method: 'tools/list', params: {} }, 'bare'],
    [{ method: 'tools/list', params: [] }, 'params must be an object'],
    [{ method: 'tools/list', params: null }, 'params must be an object'],
    [{ method: 'notifications/initialized' }, 'silent'],
    [{ method: 'tools/list', id: 1 }, 'jsonrpc must be "2.0"'],
    [{ method: 'tools/list', id: 1, jsonrpc: '1.0' }, 'jsonrpc must be "2.0"'],
    [{ method: 'tools/list', jsonrpc: 2 }, 'jsonrpc must be "2.0"'],
    [{ ...rpc, method: 'tools/list', id: 1 }, 'session'],
    [{ ...rpc, method: 'tools/list', id: 'a' }, 'session'],
    [{ ...rpc, method: 'tools/list', id: null }, 'id must be a string or a whole number'],
    [{ ...rpc, method: 'tools/list', id: 1.5 }, 'id must be a string or a whole number'],
    [{ ...rpc, method: 'tools/list' }, 'silent'],
    [{ ...rpc, id: 1, result: {} }, 'silent'],
    [{ ...rpc, id: 1, error: {} }, 'silent'],
    [{ ...rpc, id: 1 }, text],
    [{ ...rpc }, text],
    [{ ...rpc, id: 1, method: 'x', params: { _meta: { [version]: 'any' } } }, 'stateless'],
    [{ ...rpc, params: { _meta: { [version]: modern } } }, 'stateless'],
    [{ ...rpc, id: 1, method: 'x', params: { _meta: {} } }, 'session'],
    [{ ...rpc, id: 1, method: 'x', params: { _meta: [version] } }, 'session'],
    [{ method: 'x', params: { _meta: { [version]: modern } } }, 'bare'],
  ];
  for (const [body, form] of rows)
    it(`${JSON.stringify(body)} is ${form}`, () => assert.equal(formOf(body), form));

  const headers: [header: string | undefined, form: string][] = [
    [undefined, 'session'],
    ['2025-11-25', 'session'],
    ['2026-07-27', 'session'],
    [modern, 'stateless'],
    ['2026-07-29', 'stateless'],
    ['9999-99-99', 'stateless'],
    ['9999', 'session'],
    ['draft', 'session'],
    [`x${modern}`, 'session'],
    [`${modern} `, 'session'],
  ];
  for (const [header, form] of headers)
    it(`with the version ${JSON.stringify(header)} in its header is ${form}`, () =>
      assert.equal(formOf({ ...rpc, id: 1, method: 'tools/list' }, header), form));
  it('with two versions in its header is of the session', () => {
    const twice = { 'mcp-protocol-version': [modern, modern] } as never;
    assert.equal(classify({ ...rpc, id: 1, method: 'x' }, twice).form, 'session');
  });

  it('has a text or a whole number as its id', () => {
    const ids = ['', 'a', 0, -1, 2 ** 53 - 1, 2 ** 53, 0.5, Number.NaN, null, undefined, {}, true];
    assert.deepEqual(ids.filter(isId), ['', 'a', 0, -1, 2 ** 53 - 1]);
  });
  it('has objects that are neither null nor lists', () => {
    assert.deepEqual([{}, Object.create(null)].map(isRecord), [true, true]);
    assert.deepEqual([null, [], 'a', 1, undefined, () => {}].map(isRecord), Array(6).fill(false));
  });
});

describe('a call in an envelope', () => {
  const meta = { [version]: modern, [client]: { name: 'a', version: '1' }, [capabilities]: {} };
  const call = { id: 1, method: 'tools/call', params: { name: 'vault.get', _meta: meta } };
  const headers = { 'mcp-protocol-version': modern, 'mcp-method': 'tools/call', 'mcp-name': 'vault.get' };
  const withMeta = (more: object) => ({ ...call, params: { ...call.params, _meta: { ...meta, ...more } } });

  it('is beyond doubt where header and body say the same', () => {
    assert.equal(isPlainCall(call, headers), true);
    assert.equal(isPlainCall(withMeta({ [capabilities]: { elicitation: { url: {} } } }), headers), true);
  });

  const doubts: [why: string, message: McpMessage, headers: Record<string, string>][] = [
    ['another method', { ...call, method: 'tools/list' }, headers],
    ['no id', { ...call, id: null }, headers],
    ['no parameters', { ...call, params: undefined }, headers],
    ['no envelope', { ...call, params: { name: 'vault.get' } }, headers],
    ['a list as its envelope', { ...call, params: { ...call.params, _meta: [] } }, headers],
    ['another name', { ...call, params: { ...call.params, name: 'vault.list' } }, headers],
    ['another revision', withMeta({ [version]: '2026-07-29' }), headers],
    ['no client', withMeta({ [client]: null }), headers],
    ['a client without a name', withMeta({ [client]: { version: '1' } }), headers],
    ['a client without a version', withMeta({ [client]: { name: 'a' } }), headers],
    ['no capabilities', withMeta({ [capabilities]: undefined }), headers],
    ['a capability that is none', withMeta({ [capabilities]: { a: {}, b: true } }), headers],
    ['another revision in the header', call, { ...headers, 'mcp-protocol-version': '2025-11-25' }],
    ['another method in the header', call, { ...headers, 'mcp-method': 'tools/list' }],
    ['another name in the header', call, { ...headers, 'mcp-name': 'vault.list' }],
    ['no header', call, {}],
  ];
  for (const [why, message, headers] of doubts)
    it(`is in doubt with ${why}`, () => assert.equal(isPlainCall(message, headers), false));
});

describe('what a key by OAuth lacks', () => {
  const names = { kinds: null, namesOnly: true, mayUse: false, byOAuth: true } as Reader;
  const full = {
    kinds: ['secret', 'key'],
    namesOnly: false,
    mayUse: false,
    byOAuth: true,
  } as unknown as Reader;
  const item = (kind: string, fields: string) => ({ of: 'item', kind, nameOrId: 'x', fields });
  const kindOf = (kind: string, fields: string) => ({ of: 'kind', kind, fields });
  const requestOf = (selection: unknown, by = 'access-key') =>
    ({ by, token: 'key', selection }) as VaultRequest;
  const rows: [selection: object, names: string | null, full: string | null][] = [
    [item('secret', 'metadata'), null, null],
    [item('secret', 'value'), 'secrets:read', null],
    [item('secret', 'names'), 'secrets:read', null],
    [item('key', 'metadata'), 'keys:read', null],
    [item('certificate', 'metadata'), 'certificates:read', 'certificates:read'],
    [kindOf('secret', 'names'), null, null],
    [kindOf('secret', 'metadata'), 'secrets:read', null],
    [kindOf('secret', 'value'), 'secrets:read', null],
    [kindOf('key', 'names'), null, null],
    [kindOf('key', 'metadata'), null, null],
    [kindOf('key', 'value'), 'keys:read', null],
    [kindOf('certificate', 'names'), null, 'certificates:read'],
    [{ of: 'vault' }, null, null],
    [{ of: 'access-key' }, null, null],
    [new Failure('NOT_FOUND'), null, null],
  ];
  for (const [selection, forNames, forFull] of rows)
    it(`for ${selection instanceof Error ? 'nothing' : JSON.stringify(selection)} is ${forNames}, and ${forFull} where it reads secrets and keys`, () => {
      const request = requestOf(selection);
      assert.equal(missingFor(request, 'key', names, false), forNames);
      assert.equal(missingFor(request, 'key', full, false), forFull);
      assert.equal(missingFor(request, 'other', names, false), null, 'the key came another way');
      assert.equal(missingFor(request, null, names, false), null, 'no key came in the header');
      assert.equal(missingFor(request, 'key', null, false), null, 'nobody reads');
      assert.equal(missingFor(requestOf(selection, 'public-token'), 'key', names, false), null);
    });

  it('for a use is the right to use', () => {
    const request = requestOf(item('secret', 'value'));
    assert.equal(missingFor(request, 'key', names, true), 'secrets:use');
    assert.equal(missingFor(request, 'key', { ...names, mayUse: true }, true), null);
    assert.equal(missingFor(request, 'key', { ...names, byOAuth: false }, true), null);
  });

  it('is told by a status that clients understand', () => {
    const none = noKey();
    assert.deepEqual(
      [none.status, none.code, none.challenge],
      [401, -32_000, { error: null, scope: 'secrets:names' }],
    );
    assert.match(none.message, /^Unauthorized: sign in/);
    const scope = new SignInRequired(403, { error: 'insufficient_scope', scope: 'keys:read' });
    assert.deepEqual([scope.status, scope.message, scope.challenge.scope], [403, 'Forbidden', 'keys:read']);
  });

  const calls: [message: object, brings: boolean][] = [
    [{ method: 'tools/call', params: { arguments: { vault: {} } } }, true],
    [{ method: 'tools/call', params: { arguments: { credentials: null } } }, true],
    [{ method: 'tools/call', params: { arguments: { code: '' } } }, true],
    [{ method: 'tools/call', params: { arguments: { name: 'x', vault: undefined } } }, false],
    [{ method: 'tools/call', params: { arguments: ['vault'] } }, false],
    [{ method: 'tools/call', params: { vault: {} } }, false],
    [{ method: 'tools/call', params: null }, false],
    [{ method: 'tools/call' }, false],
    [{ method: 'tools/list', params: { arguments: { vault: {} } } }, false],
    [{}, false],
  ];
  for (const [message, brings] of calls)
    it(`is ${brings ? 'not ' : ''}asked of ${JSON.stringify(message)}`, () =>
      assert.equal(bringsKey(message), brings));
});

describe('a client', () => {
  const able = { elicitation: { url: {} } };
  const notice = { id: 'request', url: 'https://vault.example.com/approve' } as Parameters<
    typeof elicitationError
  >[0];
  const asked = {
    mode: 'url',
    elicitationId: 'request',
    url: notice.url,
    message: 'Approve a call with a secret in Strongroom',
  };

  const rows: [capabilities: unknown, isAble: boolean][] = [
    [able, true],
    [{ elicitation: { url: { more: 1 }, form: {} } }, true],
    [{ elicitation: { url: true } }, false],
    [{ elicitation: { form: {} } }, false],
    [{ elicitation: {} }, false],
    [{ elicitation: null }, false],
    [{}, false],
    [[], false],
    [undefined, false],
  ];
  for (const [said, isAble] of rows)
    it(`that says ${JSON.stringify(said)} ${isAble ? 'can' : 'can’t'} be asked to open a page`, () => {
      assert.equal(elicitsByUrl(said), isAble);
      assert.equal(inputRequired({ params: { _meta: { [capabilities]: said } } }, notice) !== null, isAble);
    });

  const responses: [inputResponses: unknown, isAsked: boolean][] = [
    [undefined, true],
    [[], true],
    [{}, true],
    [{ approval: null }, true],
    [{ approval: { action: 'accept' } }, true],
    [{ approval: { action: 'decline' } }, false],
    [{ approval: {} }, false],
    [{ other: { action: 'decline' } }, true],
  ];
  for (const [inputResponses, isAsked] of responses)
    it(`whose user answered ${JSON.stringify(inputResponses)} is ${isAsked ? '' : 'not '}asked`, () => {
      const params = { _meta: { [capabilities]: able }, inputResponses };
      const expected = {
        resultType: 'input_required',
        inputRequests: { approval: { method: 'elicitation/create', params: asked } },
        requestState: 'request',
      };
      assert.deepEqual(inputRequired({ params }, notice), isAsked ? expected : null);
    });

  it('without an envelope is not asked', () => {
    assert.equal(inputRequired({}, notice), null);
    assert.equal(inputRequired({ params: { _meta: null } }, notice), null);
  });
  it('of an older revision is asked by an error', () => {
    assert.deepEqual(elicitationError(notice), {
      code: -32_042,
      message: 'This request requires more information.',
      data: { elicitations: [asked] },
    });
  });
});
