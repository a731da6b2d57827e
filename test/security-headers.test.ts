/** What every answer tells a browser, whichever part of the service writes it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { request as plainRequest } from 'node:http';
import { Agent, request as encryptedRequest } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { type Service, startService } from './harness.ts';

const strict = 'max-age=31536000';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service answers.
  readonly body: any;
}

interface Sent {
  readonly token?: string;
  readonly host?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

class Client {
  readonly #url: string;
  readonly #agent: Agent | undefined;

  constructor({ url, data }: Service) {
    this.#url = url;
    this.#agent = url.startsWith('https:')
      ? new Agent({ ca: readFileSync(join(data, 'tls', 'authority.pem')), keepAlive: true })
      : undefined;
  }

  send(method: string, path: string, { token, host, body, headers = {} }: Sent = {}): Promise<Answer> {
    const all = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(host === undefined ? {} : { host }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    };
    const [request, agent] = this.#agent ? [encryptedRequest, this.#agent] : [plainRequest, undefined];
    return new Promise((resolve, reject) => {
      const sent = request(this.#url + path, { method, headers: all, agent }, async response => {
        const text = (await response.toArray()).join('');
        const isJson = response.headers['content-type']?.startsWith('application/json') ?? false;
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: isJson && text !== '' ? JSON.parse(text) : text,
        });
      });
      sent.on('error', reject).end(body && JSON.stringify(body));
    });
  }

  close(): void {
    this.#agent?.destroy();
  }
}

type Door = readonly [method: string, path: string, status: number, sent?: Sent];

/** Each way in that is answered ahead of the router, served and refused. */
async function doorsOf(client: Client, key: string): Promise<readonly Door[]> {
  const make = async (path: string, body: object) => {
    const { status, body: made } = await client.send('POST', path, { token: key, body });
    assert.equal(status, 200, JSON.stringify(made));
    return made;
  };
  const vault = await make('/v1/vaults', { name: 'prod' });
  await make('/v1/secrets', { vault_id: vault.id, name: 'NAME', value: 'x' });
  const signer = await make('/v1/keys', {
    vault_id: vault.id,
    name: 'SIGNER',
    generate: { key_type: 'EC', curve: 'P-256' },
  });
  const { token } = await make('/v1/access-keys', { vault_id: vault.id, name: 'reader', may_use: true });
  const { token: shown } = await make('/v1/public-tokens', { key_id: signer.id, name: 'shown' });
  const read = `/api/v1/vaults/${vault.id}`;
  const { headers } = await client.send('GET', read, { token });
  const check = { secret: 'NAME', url: 'https://example.com/', dry_run: true };
  return [
    ['GET', read, 200, { token }],
    ['GET', read, 304, { token, headers: { 'if-none-match': headers.etag! } }],
    ['GET', read, 401],
    ['PUT', read, 404, { token }],
    ['POST', `${read}/use`, 200, { token, body: check }],
    ['POST', `${read}/use`, 400, { token, body: {} }],
    ['POST', `${read}/use`, 401],
    ['GET', '/api/v1/public-key', 200, { token: shown }],
    ['GET', '/api/v1/public-key', 401],
    ['GET', `/vault/v1/${vault.id}/data/NAME`, 200, { token }],
    ['GET', `/vault/v1/${vault.id}/data/NAME`, 403],
    ['GET', '/vault/v1/sys/health', 200],
    ['GET', '/nowhere', 404],
    ['GET', '/', 200],
  ];
}

/** Without a credential, and with an id of nothing. */
function routesOf({ routes }: Service): readonly Door[] {
  return [...routes].map(route => {
    const [method, path] = route.split(' ') as [string, string];
    return [method, path.replaceAll(/:\w+|\*/g, 'x'), 0];
  });
}

for (const [what, flags] of [
  ['with TLS of its own', ['--tls', 'auto']],
  ['behind a proxy', ['--behind-proxy', '127.0.0.0/8']],
] as const) {
  describe(`every answer of a service ${what}`, () => {
    let service: Service;
    let client: Client;
    let doors: readonly Door[];
    before(async () => {
      service = await startService({ flags });
      client = new Client(service);
      doors = [...(await doorsOf(client, service.key)), ...routesOf(service)];
      assert.ok(doors.length > 150);
    });
    after(async () => {
      client.close();
      await service.stop();
    });

    it('says what a browser may do with it, and to stay with TLS where TLS is ours', async () => {
      const expected = flags[0] === '--tls' ? strict : undefined;
      for (const [method, path, status, sent] of doors) {
        service.clock.pass(2_000); // So many failures in one minute would be refused for their number.
        const answer = await client.send(method, path, sent);
        const at = `${method} ${path}: ${answer.status}`;
        if (status !== 0) assert.equal(answer.status, status, at);
        assert.equal(answer.headers['x-content-type-options'], 'nosniff', at);
        assert.equal(answer.headers['x-frame-options'], 'DENY', at);
        assert.equal(answer.headers['referrer-policy'], 'no-referrer', at);
        assert.match(String(answer.headers['content-security-policy']), /frame-ancestors 'none'/, at);
        assert.equal(answer.headers['strict-transport-security'], expected, at);
      }
    });

    it('demands nothing of a name that other programs on the machine have too', async () => {
      for (const [method, path, , sent] of doors) {
        service.clock.pass(2_000);
        const { headers } = await client.send(method, path, { ...sent, host: 'localhost:8420' });
        assert.equal(headers['strict-transport-security'], undefined, `${method} ${path}`);
      }
    });
  });
}

describe('what a service with TLS of its own answers while its management plane is gone', () => {
  it('tells a browser the same, and to come back', async t => {
    const started: Worker[] = [];
    const note = (worker: Worker) => void started.push(worker);
    process.on('worker', note);
    const service = await startService({ flags: ['--tls', 'auto'], threads: true });
    process.off('worker', note);
    const client = new Client(service);
    t.after(async () => {
      client.close();
      await service.stop();
    });
    const management = started.find(({ threadId }) => threadId !== -1)!;
    assert.equal((await client.send('GET', '/v1/vaults', { token: service.key })).status, 200);
    await management.terminate();
    for (const path of ['/v1/vaults', '/auth/session', '/vault/v1/prod/data/NAME']) {
      const token = service.key;
      const { status, headers } = await client.send('GET', path, { token });
      assert.equal(status, 503, path);
      assert.equal(headers['strict-transport-security'], strict, path);
      assert.equal(headers['x-content-type-options'], 'nosniff', path);
      assert.ok(Number(headers['retry-after']) > 0, path);
    }
  });
});
