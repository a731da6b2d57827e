/** The answer to a request that can't be handled now: the error format of its surface, and the end of the connection. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { unavailableWith } from '../src/http/unavailable.ts';

function answerTo(url: string, members: Partial<IncomingMessage> = {}) {
  const answer = { status: 0, headers: {} as Record<string, unknown>, body: '' };
  const response = {
    writeHead: (status: number, headers: Record<string, unknown>) => {
      Object.assign(answer, { status, headers });
      return response;
    },
    end: (body: string) => Object.assign(answer, { body }),
    req: { method: 'POST', url, headers: {}, ...members },
  } as unknown as ServerResponse;
  unavailableWith({ encrypted: true, newId: () => 'id' })(response.req, response);
  return { ...answer, body: JSON.parse(answer.body) };
}

describe('a request that can’t be handled now', () => {
  it('is answered in the error format of its surface', () => {
    const api = answerTo('/v1/vaults');
    assert.deepEqual([api.status, api.body.error.code], [503, 'UNAVAILABLE']);
    const dialect = answerTo('/vault/v1/kv/data/a');
    assert.deepEqual([dialect.status, dialect.body.errors], [503, ['The service is unavailable']]);
    for (const { headers } of [api, dialect])
      assert.deepEqual([headers['X-Request-Id'], headers['Cache-Control']], ['id', 'no-store']);
  });

  it('ends the connection only if its body was not read', () => {
    const sent = { headers: { 'content-length': '5' } };
    const connectionOf = (members: Partial<IncomingMessage>) =>
      answerTo('/v1/vaults', members).headers.Connection;
    assert.equal(connectionOf({ ...sent, complete: false }), 'close');
    assert.equal(connectionOf({ ...sent, complete: true }), undefined);
    assert.equal(connectionOf({ complete: false }), undefined);
  });
});
