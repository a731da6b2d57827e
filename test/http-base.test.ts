import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { issueServerCertificate, selfSign } from '../src/material/certificate.ts';
import { generateKey } from '../src/material/key-material.ts';
import { openTls } from '../src/service/listener/tls.ts';
import { serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { type Answer, eventually, makeOrganization, type Service, startService } from './harness.ts';
import { holdInFlight, isTurnedAway } from './sockets.ts';

const idShape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

interface Raw {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Sends bytes as they are, and reads until the other side closes or has answered once. */
function raw(url: string, text: string | Buffer, { patience = 20_000 } = {}): Promise<Raw> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no answer in time: ${answer}`));
    }, patience);
    const done = () => {
      clearTimeout(timer);
      socket.destroy();
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      resolve({ status: Number(head.split(' ')[1]), head: head.toLowerCase(), body });
    };
    socket.on('error', done);
    socket.on('close', done);
    socket.on('data', chunk => {
      answer += chunk;
      const [head = '', body] = answer.split('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
      if (body !== undefined && Buffer.byteLength(body) >= length) done();
    });
    socket.write(text);
  });
}

function isError(answer: Answer, status: number, code: string, field?: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.deepEqual(Object.keys(answer.body), ['error']);
  assert.deepEqual(Object.keys(answer.body.error), ['code', 'message', 'details']);
  assert.deepEqual(Object.keys(answer.body.error.details), ['field', 'reason']);
  assert.equal(answer.body.error.code, code);
  if (field !== undefined) assert.equal(answer.body.error.details.field, field);
}

describe('the HTTP base', () => {
  let service: Service;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  it('health needs no key; livez and readyz are there for orchestrators', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    const health = await service.call('GET', '/v1/health', undefined, null);
    assert.equal(health.status, 200);
    assert.deepEqual(health.body, { status: 'ok', version });
    for (const path of ['/livez', '/readyz']) {
      assert.deepEqual((await service.call('GET', path, undefined, null)).body, { status: 'ok' });
    }
  });

  it('every answer has a request id of its own and the headers that keep browsers careful', async () => {
    const calls: [string, string, unknown?][] = [
      ['GET', '/v1/health'],
      ['GET', '/v1/vaults'],
      ['GET', '/nowhere'],
      ['POST', '/v1/vaults', '{'],
      ['GET', '/v1/vaults/%zz'],
      ['GET', '/api/v1/vaults/x'],
    ];
    const ids = new Set<string>();
    for (const [method, path, body] of calls) {
      const { headers } = await service.call(method, path, body);
      const id = headers.get('x-request-id')!;
      assert.match(id, idShape, path);
      ids.add(id);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('x-frame-options'), 'DENY');
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.match(headers.get('content-security-policy')!, /default-src 'none'/);
      assert.match(headers.get('cache-control')!, /no-store/);
      assert.equal(headers.get('server'), null);
      assert.equal(headers.get('x-powered-by'), null);
    }
    assert.equal(ids.size, calls.length);
    const chosen = await service.call('GET', '/v1/health', undefined, null, { 'x-request-id': 'chosen' });
    assert.notEqual(chosen.headers.get('x-request-id'), 'chosen');
  });

  it('errors have one shape, and never repeat what was sent', async () => {
    const canary = 'CANARY-5e1f';
    const answers = [
      await service.call('GET', `/v1/${canary}`),
      await service.call('GET', `/v1/vaults/${canary}`),
      await service.call('GET', `/v1/vaults/%zz${canary}`),
      await service.call('GET', `/v1/vaults/${canary.repeat(40)}`),
      await service.call('POST', '/v1/vaults', `{"name": "${canary}`),
      await service.call('POST', '/v1/vaults', { name: { x: canary } }),
      await service.call('POST', '/v1/secrets', { vault_id: canary, name: 'x', value: canary }),
      await service.call('GET', `/v1/vaults?page=${canary}`),
      await service.call('GET', '/v1/vaults', undefined, canary),
      await service.call('PATCH', '/v1/vaults', { name: canary }),
    ];
    for (const answer of answers) {
      assert.ok(!answer.text.includes(canary), answer.text);
      isError(answer, answer.status, answer.body.error.code);
    }
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 400, 404, 400, 400, 400, 400, 401, 404],
    );
    assert.ok(service.reports.every(line => !line.includes(canary)));
  });

  it('unknown paths and wrong methods are NOT_FOUND; nothing answers HEAD, OPTIONS or TRACE by accident', async () => {
    isError(await service.call('GET', '/v1/nothing'), 404, 'NOT_FOUND');
    isError(await service.call('DELETE', '/v1/vaults'), 404, 'NOT_FOUND');
    isError(await service.call('OPTIONS', '/v1/vaults'), 404, 'NOT_FOUND');
    assert.equal((await raw(service.url, 'TRACE / HTTP/1.1\r\nHost: x\r\n\r\n')).status, 404);
  });

  it('two Host or Authorization headers, and an absolute target, are 400', async () => {
    const auth = `Authorization: Bearer ${service.key}\r\n`;
    const bad = [
      'GET /v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
      `GET /v1/vaults HTTP/1.1\r\nHost: a\r\n${auth}${auth}\r\n`,
      `GET /v1/vaults HTTP/1.1\r\nHost: a\r\n${auth}authorization: Bearer x\r\n\r\n`,
      `GET /api/v1/vaults/x HTTP/1.1\r\nHost: a\r\n${auth}${auth}\r\n`,
      'GET http://a/v1/health HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET * HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET /v1/health HTTP/1.1\r\n\r\n',
      'POST /v1/vaults HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'POST /v1/vaults HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx',
    ];
    for (const text of bad) assert.equal((await raw(service.url, text)).status, 400, text);
    assert.equal((await raw(service.url, 'GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n')).status, 200);
  });

  it('a request without a version, another charset and an unknown expectation are refused on every surface', async () => {
    const surfaces = [
      '/livez',
      '/v1/health',
      '/v1/vaults',
      '/auth/session',
      '/api/v1/vaults/x',
      '/vault/v1/x',
      '/mcp',
    ];
    for (const path of surfaces) {
      assert.equal((await raw(service.url, `GET ${path}\r\n\r\n`)).status, 400, `${path} without a version`);
      const head = `HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n`;
      for (const expectation of ['200-ok', '100-continue, more', '']) {
        const { status, body } = await raw(service.url, `GET ${path} ${head}Expect: ${expectation}\r\n\r\n`);
        assert.equal(status, 417, `${path} ${expectation} ${body}`);
      }
      const type = 'Content-Type: application/json; charset=utf-16\r\nContent-Length: 2\r\n\r\n{}';
      const { status, body } = await raw(service.url, `POST ${path} ${head}${type}`);
      assert.deepEqual([status, body.includes('charset')], [400, true], `${path} ${body}`);
    }
  });

  it('a header that says who asks, or for what, is sent once: twice is 400 on every surface, alike or not', async () => {
    const doubled = {
      authorization: `Bearer ${service.key}`,
      'x-vault-token': service.key,
      cookie: '__Host-strongroom=x',
      'content-type': 'application/json',
      'content-length': '2',
      'mcp-session-id': 'x',
      origin: service.url,
    };
    for (const [name, value] of Object.entries(doubled)) {
      for (const target of [
        'GET /v1/vaults',
        'GET /auth/sessions',
        'GET /api/v1/vaults/x',
        'GET /vault/v1/x',
        'POST /mcp',
      ]) {
        for (const second of [value, `${value}, other`]) {
          const lines = [
            `${target} HTTP/1.1`,
            'Host: a',
            `${name}: ${value}`,
            `${name.toUpperCase()}: ${second}`,
          ];
          const { status, body } = await raw(service.url, `${lines.join('\r\n')}\r\n\r\n`);
          assert.equal(status, 400, lines.join(', '));
          // Two lengths are no HTTP at all; of the others it is said which.
          assert.ok(name === 'content-length' || body.includes(name), body);
        }
      }
    }
  });

  it('dot segments, empty segments and encoded separators are refused; a trailing slash is the same path', async () => {
    const paths = [
      '/v1/../v1/health',
      '/v1/./health',
      '/v1//health',
      '//v1/health',
      '/v1/%2e%2e/health',
      '/v1/%2E./health',
      '/v1/vaults%2fx',
      '/v1\\health',
      '/v1/health%00',
      '/api/v1/vaults/../vaults/x',
      '/api//v1/vaults/x',
    ];
    for (const path of paths) {
      const { status } = await raw(service.url, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.equal(status, 400, path);
    }
    assert.equal((await service.call('GET', '/v1/health/')).status, 200);
    assert.equal((await service.call('GET', '/v1/vaults/', undefined, null)).status, 401);
    assert.equal((await service.call('GET', '/v1/vaults/')).status, 200);
    assert.equal((await service.call('GET', '/v1/HEALTH')).status, 404);
  });

  it('a huge body without a credential is refused before it is read, and the connection ends', async () => {
    for (const path of ['/v1/vaults', '/nowhere']) {
      const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 900000000\r\n\r\n`;
      const answer = await raw(service.url, head);
      assert.equal(answer.status, path === '/nowhere' ? 404 : 401);
      assert.match(answer.head, /connection: close/);
    }
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(
      'POST /v1/vaults HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const chunk = Buffer.alloc(65_536, 0x61);
    let sent = 0;
    while (!socket.destroyed && sent < 200_000_000) {
      const room = socket.write(Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')]));
      sent += chunk.length;
      if (!room)
        await Promise.race([
          new Promise(resolve => socket.once('drain', resolve)),
          new Promise(resolve => socket.once('close', resolve)),
        ]);
    }
    assert.ok(sent < 50_000_000, `${sent} bytes were taken`);
    socket.destroy();
  });

  it('a body over the limit is INVALID_REQUEST, with a key too', async () => {
    const answer = await service.call('POST', '/v1/vaults', `{"name":"${'x'.repeat(1_100_000)}"}`);
    isError(answer, 400, 'INVALID_REQUEST');
  });

  it('headers over the limit and broken HTTP are 400 in our own shape', async () => {
    const long = await raw(
      service.url,
      `GET /v1/health HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    );
    assert.equal(long.status, 400);
    assert.equal(JSON.parse(long.body).error.code, 'INVALID_REQUEST');
    for (const text of [
      'nonsense\r\n\r\n',
      'GET /v1/health HTTP/9.9\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01',
      'GET / HTTP/1.1\r\nA\0B: c\r\n\r\n',
    ]) {
      const answer = await raw(service.url, text);
      assert.equal(answer.status, 400, text);
      assert.deepEqual(Object.keys(JSON.parse(answer.body).error), ['code', 'message', 'details']);
    }
  });

  it('JSON bombs, deep nesting, doubled members, __proto__ and bytes that are no UTF-8 are refused', async () => {
    const send = (body: string | Uint8Array) =>
      fetch(`${service.url}/v1/vaults`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
        body: body as string,
      });
    const bodies: (string | Uint8Array)[] = [
      '['.repeat(100_000),
      `${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`,
      `{"name":"x","tags":${'['.repeat(40)}${']'.repeat(40)}}`,
      '{"name":"x","name":"y"}',
      '{"name":"x","n\\u0061me":"y"}',
      '{"name":"x","tags":{"a":"1","a":"2"}}',
      '{"name":"x","__proto__":{"role":"owner"}}',
      '{"name":"x","\\u005f_proto__":{}}',
      '{"name":"x","tags":{"__proto__":"x"}}',
      '{"name":"x","constructor":{"prototype":{}}}',
      '{"name":"x"',
      '{"name":"x"}}',
      '',
      'null',
      '[]',
      '"x"',
      '{"name":NaN}',
      Buffer.from([0x7b, 0x22, 0x6e, 0x61, 0x6d, 0x65, 0x22, 0x3a, 0x22, 0xff, 0xfe, 0x22, 0x7d]),
      `{"name":"x","description":"${'\\u0000'}"}`,
      '{"name":"\\ud800"}',
    ];
    for (const body of bodies) {
      const answer = await send(body);
      assert.equal(answer.status, 400, String(body).slice(0, 60));
      assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'INVALID_REQUEST');
    }
    assert.equal(({} as { role?: string }).role, undefined);
    assert.equal((await send('{"name":"fine"}')).status, 200);
  });

  it('another content type is INVALID_REQUEST and names the header', async () => {
    for (const type of [
      'text/plain',
      'application/xml',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'x',
    ]) {
      const answer = await service.call('POST', '/v1/vaults', '{"name":"x"}', service.key, {
        'content-type': type,
      });
      isError(answer, 400, 'INVALID_REQUEST', 'content-type');
    }
    for (const charset of ['utf-8', 'UTF-8', '"utf-8"', 'us-ascii']) {
      const typed = { 'content-type': `application/json; charset=${charset}` };
      const body = JSON.stringify({ name: `typed ${charset}` });
      assert.equal((await service.call('POST', '/v1/vaults', body, service.key, typed)).status, 200, charset);
    }
    for (const charset of ['utf-16', 'utf-16le', 'iso-8859-1', 'utf-7']) {
      const typed = { 'content-type': `application/json;charset=${charset}` };
      const answer = await service.call('POST', '/v1/vaults', '{"name":"x"}', service.key, typed);
      isError(answer, 400, 'INVALID_REQUEST', 'content-type');
    }
  });

  it('forwarded headers decide nothing without --behind-proxy', async () => {
    const forged = {
      'x-forwarded-for': '203.0.113.9',
      'x-real-ip': '203.0.113.9',
      forwarded: 'for=203.0.113.9',
    };
    const { body } = await service.call('POST', '/v1/vaults', { name: 'forged' }, service.key, forged);
    const log = await service.call('GET', `/v1/audit-logs?subject_id=${body.id}`);
    assert.equal(log.body.data[0].ip_address, '127.0.0.1');
  });
});

describe('behind a proxy', () => {
  const addressSeen = async (flags: string[], headers: Record<string, string>) => {
    const service = await startService({ flags });
    try {
      const { body } = await service.call('POST', '/v1/vaults', { name: 'v' }, service.key, headers);
      const log = await service.call('GET', `/v1/audit-logs?subject_id=${body.id}`);
      return log.body.data[0].ip_address;
    } finally {
      await service.stop();
    }
  };

  it('the named proxy is believed, for the last hop that is not a proxy; from elsewhere nothing is', async () => {
    const from = (hops: string) => ({ 'x-forwarded-for': hops });
    assert.equal(await addressSeen(['--behind-proxy', '127.0.0.0/8'], from('203.0.113.9')), '203.0.113.9');
    assert.equal(
      await addressSeen(['--behind-proxy', '127.0.0.0/8'], from('6.6.6.6, 203.0.113.9, 127.0.0.2')),
      '203.0.113.9',
    );
    assert.equal(await addressSeen(['--behind-proxy', '127.0.0.0/8'], from('<script>')), '127.0.0.1');
    assert.equal(await addressSeen(['--behind-proxy', '10.0.0.0/8'], from('203.0.113.9')), '127.0.0.1');
  });
});

describe('slow senders', () => {
  it('are cut off while they dribble headers, while they dribble a body, and when they say nothing', async () => {
    const data = mkdtempSync(join(tmpdir(), 'strongroom-slow-'));
    const { key } = await makeOrganization(['--data', data], 'Slow', 'enterprise', 0);
    const timeouts = { headers: 300, request: 600, stranger: 400, silence: 900, checkEvery: 50 };
    const config = readConfig(serveOptions, ['--data', data, '--port', '0'], {});
    const running = await serve(config, { report: () => {}, timeouts });
    const heads = raw(running.url, 'GET /v1/health HTTP/1.1\r\nHost:');
    const silent = raw(running.url, '');
    const body = raw(
      running.url,
      `POST /v1/vaults HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{`,
    );
    assert.equal((await heads).status, 408, 'clients may try again by themselves');
    assert.match((await heads).body, /took too long to arrive/);
    assert.notEqual((await body).status, 200);
    await silent;
    await running.stop();
    await rm(data, { recursive: true, force: true });
  });
});

describe('TLS', () => {
  const trusting = (url: string, ca: string, path: string) =>
    new Promise<number>((resolve, reject) => {
      const request = httpsRequest(url + path, { ca, agent: false }, answer => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode!));
      });
      request.on('error', reject);
      request.end();
    });
  const servedName = (url: string, ca: string) =>
    new Promise<string>((resolve, reject) => {
      const { hostname, port } = new URL(url);
      const socket = connectTls(
        { host: hostname, port: Number(port), ca, checkServerIdentity: () => undefined },
        () => {
          resolve(String(socket.getPeerCertificate().serialNumber));
          socket.end();
        },
      );
      socket.on('error', reject);
    });

  it('--tls auto: a client that trusts the local authority connects, another does not, and it lasts', async () => {
    const service = await startService({ flags: ['--tls', 'auto'] });
    assert.match(service.url, /^https:/);
    const authority = () => readFileSync(join(service.data, 'tls', 'authority.pem'), 'utf8');
    const ca = authority();
    assert.equal(await trusting(service.url, ca, '/v1/health'), 200);
    assert.equal(await trusting(service.url.replace('127.0.0.1', 'localhost'), ca, '/v1/health'), 200);
    await assert.rejects(fetch(`${service.url}/v1/health`));
    await assert.rejects(trusting(service.url.replace('https', 'http'), ca, '/v1/health'));
    const oldest = connectTls({
      port: Number(new URL(service.url).port),
      ca,
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
    });
    await new Promise<void>((resolve, reject) => {
      oldest.on('error', () => resolve());
      oldest.on('secureConnect', () => reject(new Error('TLS 1.1 was accepted')));
    });
    const served = await servedName(service.url, ca);
    await service.restart();
    assert.equal(authority(), ca);
    assert.equal(await servedName(service.url, ca), served, 'the certificate lasts');
    // One that nears its end, as if a year had passed: the authority issues another.
    const at = (name: string) => join(service.data, 'tls', name);
    const aged = await issueServerCertificate({
      authorityPem: ca,
      authorityPrivatePem: readFileSync(at('authority-key.pem'), 'utf8'),
      publicPem: (await generateKey({ key_type: 'EC', curve: 'P-256' })).publicPem,
      names: ['localhost', '127.0.0.1', '::1'],
      notBefore: new Date(Date.now() - 60_000),
      days: 20,
    });
    writeFileSync(at('server.pem'), aged);
    await service.restart();
    assert.notEqual(await servedName(service.url, ca), served);
    assert.equal(await trusting(service.url, ca, '/v1/health'), 200);
    assert.equal(statSync(at('authority-key.pem')).mode & 0o777, 0o400);
    await service.stop();
  });

  it('--tls-cert and --tls-key are read again when they change, and only when they fit each other', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-tls-'));
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const notBefore = new Date(Date.now() - 60_000);
    const authorityKey = await generateKey({ key_type: 'EC', curve: 'P-256' });
    const authorityPem = await selfSign({
      privatePem: authorityKey.pem,
      subject: 'CN=Test',
      sans: [],
      notBefore,
      days: 2,
      isAuthority: true,
    });
    const issue = async () => {
      const key = await generateKey({ key_type: 'EC', curve: 'P-256' });
      const cert = await issueServerCertificate({
        authorityPem,
        authorityPrivatePem: authorityKey.pem,
        publicPem: key.publicPem,
        names: ['127.0.0.1'],
        notBefore,
        days: 1,
      });
      return { cert, key: key.pem };
    };
    const [first, second] = [await issue(), await issue()];
    writeFileSync(certFile, first.cert);
    writeFileSync(keyFile, first.key);
    const service = await startService({ flags: ['--tls-cert', certFile, '--tls-key', keyFile] });
    assert.equal(await trusting(service.url, authorityPem, '/v1/health'), 200);
    const before = await servedName(service.url, authorityPem);
    // Both files are seen to change together or apart; that a pair which does not fit is not served, the next test holds.
    writeFileSync(certFile, second.cert);
    writeFileSync(keyFile, second.key);
    await eventually(
      'the new certificate is served',
      async () => (await servedName(service.url, authorityPem)) !== before,
    );
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('a certificate is read again when that is asked for, and one that does not fit is refused and not served', async () => {
    const made = async () => {
      const data = mkdtempSync(join(tmpdir(), 'strongroom-tls-'));
      const tls = await openTls(readConfig(serveOptions, ['--data', data, '--tls', 'auto'], {}));
      return { at: (name: string) => join(data, 'tls', name), pair: tls!.current, data };
    };
    const [first, second] = [await made(), await made()];
    const flags = ['--tls-cert', first.at('server.pem'), '--tls-key', first.at('server-key.pem')];
    const tls = (await openTls(readConfig(serveOptions, flags, {})))!;
    const served: unknown[] = [tls.current];
    tls.onChange(pair => served.push(pair));
    await tls.reload();
    renameSync(second.at('server.pem'), first.at('server.pem'));
    await assert.rejects(tls.reload());
    renameSync(second.at('server-key.pem'), first.at('server-key.pem'));
    await tls.reload();
    tls.close();
    assert.deepEqual(served.slice(0, 2), [first.pair, first.pair]);
    assert.deepEqual(served[2], second.pair);
    for (const { data } of [first, second]) await rm(data, { recursive: true, force: true });
  });

  it('listening beyond loopback needs TLS, or a proxy that has it', async () => {
    const data = mkdtempSync(join(tmpdir(), 'strongroom-listen-'));
    const open = (...flags: string[]) =>
      serve(readConfig(serveOptions, ['--data', data, '--port', '0', ...flags], {}), { report: () => {} });
    for (const host of ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.org', '128.0.0.1', 'example.org']) {
      await assert.rejects(open('--host', host), /--host is not a loopback address/);
    }
    for (const flags of [
      ['--tls', 'auto'],
      ['--behind-proxy', '10.0.0.0/8'],
    ]) {
      const running = await open('--host', '0.0.0.0', ...flags);
      await running.stop();
    }
    for (const host of ['127.0.0.1', '127.8.9.10', 'localhost']) await (await open('--host', host)).stop();
    await rm(data, { recursive: true, force: true });
  });
});

describe('draining', () => {
  it('answers in flight finish and end their connection, and no new connection is taken', async () => {
    const service = await startService();
    const body = '{"name":"slow"}';
    const { held, answer } = await holdInFlight(
      service.url,
      `POST /v1/vaults HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    const stopped = service.stop();
    await eventually('new connections are turned away', () => isTurnedAway(service.url));
    held.socket.write(`${body}GET /v1/vaults HTTP/1.1\r\nHost: a\r\n\r\n`);
    await stopped;
    assert.match(answer(), /^HTTP\/1\.1 200 /);
    assert.match(answer(), /connection: close/i);
  });
});
