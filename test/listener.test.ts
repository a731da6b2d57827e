/** The listener of the reading plane: whom it lets connect, how much it takes, and who answers which path. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import type { ReadResult } from '../src/domain/reads/vault-request.ts';
import { type Connections, createListener, defaultTimeouts } from '../src/http/listener/server.ts';
import { buildReadingApp } from '../src/http/reading-app.ts';
import type { ReadingSurfaceParts } from '../src/http/surface/surface-parts.ts';
import { selfSign } from '../src/material/certificate.ts';
import { generateKey } from '../src/material/key-material.ts';
import { bareWorld, whole } from './bare-world.ts';

const open: Connections = {
  peerOf: () => '192.0.2.1',
  admits: () => true,
  isProxy: () => false,
  mostPerAddress: 100,
};
const portOf = (server: Server) => (server.address() as AddressInfo).port;

describe('the listener', () => {
  it('has bounds of its own, where nobody sets others', () => {
    const usual = createListener({ tls: null, connections: open }, () => {});
    const { headersTimeout, requestTimeout, timeout, keepAliveTimeout, maxConnections } = usual;
    assert.deepEqual(
      [headersTimeout, requestTimeout, timeout, keepAliveTimeout, maxConnections],
      [10_000, 30_000, 120_000, 72_000, 10_000],
    );
    assert.equal((usual as unknown as { maxHeaderSize: number }).maxHeaderSize, 16_384);
    const other = createListener(
      { tls: null, connections: open, timeouts: { ...defaultTimeouts, headers: 5, silence: 6 } },
      () => {},
    );
    assert.deepEqual([other.headersTimeout, other.timeout], [5, 6]);
  });

  it('speaks TLS where it has a certificate, and asks for one of the client only if told to', async () => {
    const { pem: key } = await generateKey({ key_type: 'EC', curve: 'P-256' });
    const notBefore = new Date(Date.now() - 60_000);
    const cert = await selfSign({
      privatePem: key,
      subject: 'CN=Test',
      sans: [],
      notBefore,
      days: 1,
      isAuthority: true,
    });
    for (const clientCertificates of [undefined, false, true]) {
      const server = createListener(
        {
          tls: { cert, key },
          connections: open,
          ...(clientCertificates === undefined ? {} : { clientCertificates }),
        },
        () => {},
      );
      assert.ok(server instanceof TlsServer);
      assert.equal((server as unknown as { requestCert: boolean }).requestCert, clientCertificates === true);
    }
    assert.ok(!(createListener({ tls: null, connections: open }, () => {}) instanceof TlsServer));
  });

  /** Connects, and says whether the connection stays open. */
  async function opened(server: Server): Promise<Socket | null> {
    const socket = connect(portOf(server), '127.0.0.1');
    const closed = once(socket, 'close').then(
      () => null,
      () => null,
    );
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const answered = once(socket, 'data').then(
      () => socket,
      () => null,
    );
    return Promise.race([answered, closed]);
  }
  async function withListener(
    connections: Partial<Connections>,
    use: (server: Server) => Promise<void>,
  ): Promise<void> {
    const server = createListener(
      { tls: null, connections: { ...open, ...connections } },
      (_request, response) => response.end('x'),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      await use(server);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  it('lets only those connect who may', () =>
    withListener({ admits: address => address !== '192.0.2.1' }, async server =>
      assert.equal(await opened(server), null),
    ));

  it('gives an address its share of connections and no more, and a proxy as many as it likes', async () => {
    await withListener({ mostPerAddress: 2 }, async server => {
      const sockets = [await opened(server), await opened(server)];
      assert.ok(sockets.every(one => one !== null));
      assert.equal(await opened(server), null);
      const gone = once(sockets[0]!, 'close');
      sockets[0]!.destroy();
      await gone;
      let again = await opened(server);
      for (let tries = 0; tries < 100 && again === null; tries++) again = await opened(server);
      assert.notEqual(again, null, 'one was given back');
      assert.equal(await opened(server), null, 'and only one');
    });
    await withListener({ mostPerAddress: 1, isProxy: () => true }, async server => {
      assert.ok((await opened(server)) !== null && (await opened(server)) !== null);
    });
  });
});

describe('the reading plane', () => {
  type World = ReturnType<typeof bareWorld> & { forwarded: string[]; url: string };
  async function withPlane(more: object, use: (world: World) => Promise<void>): Promise<void> {
    const body = Buffer.from('{"request_id":"00000000-0000-0000-0000-000000000000"}');
    const world = bareWorld({ ...whole, body } as ReadResult);
    const forwarded: string[] = [];
    const forward: RequestListener = (request, response) => {
      forwarded.push(request.url!);
      response.writeHead(299).end();
    };
    const unauthorized = async () => {
      throw new Failure('UNAUTHORIZED');
    };
    const domain = {
      ...world.parts.domain,
      authenticate: { remembered: () => null, accessKeyAnywhere: unauthorized },
    };
    const parts = {
      ...world.parts,
      domain,
      now: Date.now,
      version: '1.2.3',
      tls: null,
      connections: open,
      storeReady: async () => true,
      proveData: () => '',
      addresses: { host: '127.0.0.1', publicUrls: [], baseUrls: [] },
      oauth: null,
      ...more,
    } as unknown as ReadingSurfaceParts;
    const app = buildReadingApp(parts, forward);
    try {
      const url = await app.listen({ host: '127.0.0.1', port: 0 });
      await use({ ...world, forwarded, url });
    } finally {
      await app.close();
    }
  }

  it('answers reads, uses, tools and probes itself, and hands on everything else', () =>
    withPlane({}, async ({ url, read, refused, forwarded }) => {
      const rows: [
        method: string,
        path: string,
        status: number,
        by: 'read' | 'refused' | 'forwarded' | null,
      ][] = [
        ['GET', '/api/v1/vaults/self', 200, 'read'],
        ['POST', '/api/v1/vaults/self/use', 400, 'refused'],
        ['GET', '/vault/v1/secret/data/a', 200, 'read'],
        ['GET', '/api/v1/public-key', 200, 'read'],
        ['GET', '/livez', 200, null],
        ['GET', '/livez/', 200, null],
        ['GET', '/livez?a=b/', 200, null],
        ['GET', '/readyz/?a', 200, null],
        ['GET', '/v1/health', 200, null],
        ['DELETE', '/livez', 404, null],
        ['GET', '/livezz', 299, 'forwarded'],
        ['GET', '/?/livez', 299, 'forwarded'],
        ['GET', '/', 299, 'forwarded'],
        ['GET', '/v1/vaults', 299, 'forwarded'],
      ];
      for (const [method, path, status, by] of rows) {
        const before = { read: read.length, refused: refused.length, forwarded: forwarded.length };
        const answer = await fetch(url + path, { method });
        const text = await answer.text();
        const after = { read: read.length, refused: refused.length, forwarded: forwarded.length };
        assert.equal(answer.status, status, `${method} ${path}: ${text}`);
        assert.deepEqual(after, { ...before, ...(by === null ? {} : { [by]: before[by] + 1 }) }, path);
        if (status === 404) assert.equal(JSON.parse(text).error.code, 'NOT_FOUND');
      }
      assert.deepEqual(
        read.map(({ by, route }) => [by, route]),
        [
          ['access-key', '/api/v1/vaults/{vault_id}'],
          ['access-key', '/vault/v1/{mount}/data/{path}'],
          ['public-token', '/api/v1/public-key'],
        ],
      );
      assert.equal(refused[0]![0].route, '/api/v1/vaults/{vault_id}/use');
      assert.ok((await fetch(`${url}/mcp`, { method: 'DELETE' })).status >= 400);
      assert.ok(!forwarded.includes('/mcp'));
    }));

  it('is watched in every request, where somebody does', async () => {
    const seen: (string | undefined)[] = [];
    const around =
      (listen: RequestListener): RequestListener =>
      (request: IncomingMessage, response) => {
        seen.push(request.url);
        listen(request, response as never);
      };
    await withPlane({ around }, async ({ url }) => {
      assert.equal((await fetch(`${url}/livez`)).status, 200);
      assert.equal((await fetch(`${url}/api/v1/vaults/self`)).status, 200);
    });
    assert.deepEqual(seen, ['/livez', '/api/v1/vaults/self']);
  });
});
