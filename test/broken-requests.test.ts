/** How the bare server answers what never became a request: by itself. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { ReadResult } from '../src/domain/reads/vault-request.ts';
import { clientErrorAnswers, lateAnswers } from '../src/http/client-errors.ts';
import type { ConnectionError } from '../src/http/listener/server.ts';
import { bareWorld as world } from './bare-world.ts';

const url = '/api/v1/vaults/self';

class Connection extends EventEmitter {
  writable = true;
  isDestroyed = false;
  text = '';
  end(text: string, done: () => void) {
    this.text += text;
    done();
  }
  destroy() {
    this.isDestroyed = true;
  }
}

describe('what never became a request', () => {
  const parserError = (text: string, more: Partial<ConnectionError> = {}): ConnectionError => ({
    code: 'HPE_INVALID_METHOD',
    rawPacket: Buffer.from(text, 'latin1'),
    ...more,
  });
  async function answered(error: ConnectionError, result?: ReadResult | Error) {
    const { parts, refused } = world(result);
    const socket = new Connection();
    clientErrorAnswers(parts)(error, socket as unknown as Socket);
    await turn();
    const [head = '', body = ''] = socket.text.split('\r\n\r\n');
    return {
      socket,
      refused: refused.map(([facts]) => facts),
      head,
      body: body === '' ? null : JSON.parse(body),
    };
  }

  const broken = 'the request must be valid HTTP';
  const faults: [code: string | undefined, status: string, reason: string][] = [
    [undefined, '400 Bad Request', broken],
    ['HPE_INVALID_METHOD', '400 Bad Request', broken],
    ['HPE_HEADER_OVERFLOW', '400 Bad Request', 'the headers must be at most 16 KiB'],
    ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout', ''],
  ];
  for (const [code, status, reason] of faults)
    it(`for ${code} is answered ${status}`, async () => {
      const { head, body, socket, refused } = await answered({ code });
      assert.ok(head.startsWith(`HTTP/1.1 ${status}\r\n`), head);
      assert.match(head, /\r\nConnection: close$/);
      assert.match(head, /\r\nX-Frame-Options: DENY\r\n/);
      assert.equal(body.error.details.reason, reason);
      assert.deepEqual([socket.isDestroyed, refused], [true, []]);
    });

  it('is not answered where nobody listens any more', async () => {
    assert.deepEqual([(await answered({ code: 'ECONNRESET' })).socket.text], ['']);
    const { parts, refused } = world();
    const socket = Object.assign(new Connection(), { writable: false });
    clientErrorAnswers(parts)(parserError(`BREW ${url}`), socket as unknown as Socket);
    assert.deepEqual([socket.text, socket.isDestroyed, refused.length], ['', true, 0]);
  });

  it('is not answered where the connection went while it was recorded', async () => {
    const socket = new Connection();
    clientErrorAnswers(world().parts)(parserError(`BREW ${url}`), socket as unknown as Socket);
    socket.writable = false;
    await turn();
    assert.deepEqual([socket.text, socket.isDestroyed], ['', true]);
  });

  const before = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const vault = '/api/v1/vaults/{vault_id}';
  const lines: [
    text: string,
    parsed: number | undefined,
    recorded: [method: string, route: string, vaultId: string | null] | null,
  ][] = [
    [`BREW ${url} HTTP/1.1\r\n`, undefined, ['BREW', vault, null]],
    ['BREW /api/v1/vaults/x?y HTTP/1.1\r\n', undefined, ['BREW', vault, 'x']],
    [`\r\nBREW ${url} `, undefined, ['BREW', vault, null]],
    [`BREW ${url}`, undefined, ['BREW', vault, null]],
    [`${'B'.repeat(32)} ${url}`, undefined, ['B'.repeat(32), vault, null]],
    [`${'B'.repeat(33)} ${url}`, undefined, null],
    ['BREW /vault/v1/secret/data/a HTTP/1.1', undefined, ['BREW', '/vault/v1/{mount}/data/{path}', null]],
    ['BREW /v1/secrets HTTP/1.1', undefined, null],
    ['', undefined, null],
    [`${before}BREW ${url} HTTP/1.1`, before.length, ['BREW', vault, null]],
    [`${before}BREW ${url} HTTP/1.1`, before.length + 4, ['BREW', vault, null]],
    [`BREW /v1 HTTP/1.1\r\n\r\nGET ${url} HTTP/1.1\r\n\r\n`, 3, null],
    [`BREW ${url}\r\n\r\nGET /v1 HTTP/1.1`, 0, ['BREW', vault, null]],
    [`BREW ${url}\r\n\r\nGET /v1 HTTP/1.1`, undefined, ['BREW', vault, null]],
  ];
  for (const [text, bytesParsed, recorded] of lines)
    it(`is ${recorded === null ? 'not recorded' : `recorded as ${recorded}`}: ${JSON.stringify(text.slice(0, 60))} at ${bytesParsed}`, async () => {
      const { refused, head } = await answered(parserError(text, { bytesParsed }));
      assert.deepEqual(
        refused.map(({ method, route, vaultId }) => [method, route, vaultId]),
        recorded === null ? [] : [recorded],
      );
      assert.match(head, /^HTTP\/1\.1 400 /);
    });

  it('is answered in the words of its endpoint, once it is recorded', async () => {
    assert.deepEqual((await answered(parserError(`BREW ${url}`))).body, { message: broken });
    const dialect = await answered(parserError('BREW /vault/v1/secret/data/a'));
    assert.deepEqual(dialect.body, { errors: [broken] });
    assert.match(dialect.head, /\r\nContent-Type: application\/json\r\n/);
    const unwritten = await answered(parserError(`BREW ${url}`), new Error('disk'));
    assert.match(unwritten.head, /^HTTP\/1\.1 503 Service Unavailable\r\n[\s\S]*\r\nRetry-After: 1\r\n/);
  });

  it('is told that its body came too late', async () => {
    const { parts, refused } = world();
    const socket = new Connection();
    lateAnswers(parts)({ socket, method: 'POST', url } as unknown as IncomingMessage);
    await turn();
    assert.match(socket.text, /^HTTP\/1\.1 408 /);
    assert.equal(refused[0]![0].method, 'POST');
  });
});
