/** LIST, which the parser refuses: what is held, what is handed on as a GET, and what is none of it. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ListMethod } from '../src/http/dialect/list-verb.ts';
import type { ConnectionError } from '../src/http/listener/server.ts';

/** A client's connection: what is written to it can be read from it. */
class Client extends PassThrough {
  remoteAddress = '192.0.2.1';
  localAddress = '10.0.0.5';
  localPort = 8200;
  isOver = false;
  destroySoon() {
    this.isOver = true;
    this.end();
  }
}

function world(more: object = {}) {
  const otherwise: ConnectionError[] = [];
  const served: IncomingMessage[] = [];
  const list = new ListMethod(error => otherwise.push(error));
  list.serveBy((request: IncomingMessage, response: ServerResponse) => {
    served.push(request);
    response.end('listed');
  });
  const client = Object.assign(new Client(), more);
  const socket = client as unknown as Socket;
  const arrives = async (text: string, code = 'HPE_INVALID_METHOD') => {
    list.answer({ code, rawPacket: Buffer.from(text, 'latin1') }, socket);
    await turn();
    await turn();
  };
  const fails = (code: string) => list.answer({ code }, socket);
  return { otherwise, served, client, arrives, fails };
}
const said = (errors: ConnectionError[]) => errors.map(({ rawPacket }) => rawPacket?.toString('latin1'));
const whole = (target = '/vault/v1/secret/metadata', more = '') =>
  `LIST ${target} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;

describe('a LIST', () => {
  const targets: [target: string, url: string][] = [
    ['/vault/v1/secret/metadata', '/vault/v1/secret/metadata?list=true'],
    ['/vault/v1/secret/metadata/a?b=c', '/vault/v1/secret/metadata/a?list=true&b=c'],
    ['/vault/v1/secret/metadata?a?b', '/vault/v1/secret/metadata?list=true&a?b'],
    ['/vault/v1/x?list=false', '/vault/v1/x?list=true&list=false'],
    ['/vault/v1/', '/vault/v1/?list=true'],
  ];
  for (const [target, url] of targets)
    it(`of ${target} is a GET of ${url}, whose connection closes`, async () => {
      const { served, arrives, otherwise, client } = world();
      await arrives(whole(target, 'X-A: b\r\n'));
      assert.equal(otherwise.length, 0);
      const [request] = served;
      assert.deepEqual([request!.method, request!.url], ['GET', url]);
      assert.deepEqual(request!.rawHeaders, ['Connection', 'close', 'Host', 'a', 'X-A', 'b']);
      const { remoteAddress, localAddress, localPort, encrypted } = request!.socket as unknown as Record<
        string,
        unknown
      >;
      assert.deepEqual(
        [remoteAddress, localAddress, localPort, encrypted],
        ['192.0.2.1', '10.0.0.5', 8200, false],
      );
      assert.match(String(client.read()), /^HTTP\/1\.1 200 OK\r\n[\s\S]*listed/);
      assert.equal(client.isOver, true);
    });

  it('over TLS is known to be', async () => {
    const { served, arrives } = world({ encrypted: true });
    await arrives(whole());
    assert.equal((served[0]!.socket as unknown as { encrypted: boolean }).encrypted, true);
  });

  for (const size of [6, 15, 30])
    it(`is held until its head is whole, in pieces of ${size}`, async () => {
      const { served, arrives, otherwise } = world();
      const text = whole();
      for (let at = 0; at < text.length; at += size) {
        assert.equal(served.length, 0);
        await arrives(text.slice(at, at + size));
      }
      assert.deepEqual([served.length, otherwise.length], [1, 0]);
    });

  it('is served once: what follows it on its connection is not read', async () => {
    const { served, arrives, otherwise } = world();
    await arrives(`${whole()}${whole()}`);
    await arrives(whole());
    assert.deepEqual([served.length, otherwise.length], [1, 0]);
  });

  const others: [why: string, text: string, code?: string][] = [
    ['another method', 'BREW /vault/v1/x HTTP/1.1\r\n\r\n'],
    ['another path', 'LIST /v1/secrets HTTP/1.1\r\n\r\n'],
    ['another beginning', 'LIX'],
    ['another fault', whole(), 'HPE_INVALID_URL'],
    ['nothing', ''],
    ['an older version', 'LIST /vault/v1/x HTTP/1.0\r\n\r\n'],
    ['a space in its path', 'LIST /vault/v1/x y HTTP/1.1\r\n\r\n'],
    ['something before it', ` ${whole()}`],
  ];
  for (const [why, text, code] of others)
    it(`is none with ${why}`, async () => {
      const { served, arrives, otherwise } = world();
      await arrives(text, code);
      assert.deepEqual([served.length, said(otherwise)], [0, [text]]);
    });

  it('is none where its rest turns out to be another', async () => {
    const { served, arrives, otherwise } = world();
    await arrives('LIST /v');
    assert.equal(otherwise.length, 0);
    await arrives('1/x');
    assert.deepEqual([served.length, said(otherwise)], [0, ['LIST /v1/x']]);
  });

  it('is none behind a request that is not answered yet', async () => {
    for (const [answer, isServed] of [
      [{ writableEnded: false }, false],
      [{ writableEnded: true }, true],
      [null, true],
    ] as const) {
      const { served, arrives, otherwise } = world({ _httpMessage: answer });
      await arrives(whole());
      assert.deepEqual([served.length, otherwise.length], isServed ? [1, 0] : [0, 1]);
    }
  });

  it('has a head of 16 KiB at most', async () => {
    const sized = (length: number) => {
      const [start, end] = ['LIST /vault/v1/x HTTP/1.1\r\nA: ', '\r\n\r\n'];
      return start + 'a'.repeat(length - start.length - end.length) + end;
    };
    const tooLong = world();
    await tooLong.arrives(sized(16 * 1024 + 1));
    assert.deepEqual([tooLong.served.length, tooLong.otherwise.length], [0, 1]);
    const held = world();
    await held.arrives(sized(16 * 1024).slice(0, -1));
    assert.deepEqual([held.served.length, held.otherwise.length], [0, 0]);
    await held.arrives('aa');
    assert.equal(held.otherwise.length, 1);
    const longest = world();
    await longest.arrives(sized(16 * 1024));
    // What the rewritten head is too long for is refused by its own parser.
    assert.equal(longest.served.length + longest.otherwise.length, 1);
    assert.ok(longest.otherwise.every(({ code }) => code === 'HPE_HEADER_OVERFLOW'));
  });

  it('that is late is told so, with what came of it', async () => {
    const { arrives, fails, otherwise, served } = world();
    await arrives('LIST /vault/v1/secret');
    fails('ERR_HTTP_REQUEST_TIMEOUT');
    assert.deepEqual(otherwise, [
      { code: 'ERR_HTTP_REQUEST_TIMEOUT', rawPacket: Buffer.from('LIST /vault/v1/secret') },
    ]);
    await arrives(whole());
    assert.equal(served.length, 1, 'nothing is held any more');
  });

  it('that is being answered still hears of its connection', async () => {
    const { arrives, fails, otherwise } = world();
    await arrives(whole());
    fails('ECONNRESET');
    assert.deepEqual(
      otherwise.map(({ code }) => code),
      ['ECONNRESET'],
    );
  });

  it('of a client that is gone ends', async () => {
    const { arrives, served, client } = world();
    await arrives(whole());
    client.destroy();
    await turn();
    await turn();
    assert.equal(served[0]!.socket.destroyed, true);
  });

  it('is none where nothing of it came', async () => {
    const { fails, otherwise } = world();
    fails('ERR_HTTP_REQUEST_TIMEOUT');
    assert.deepEqual(otherwise, [{ code: 'ERR_HTTP_REQUEST_TIMEOUT' }]);
  });
});
