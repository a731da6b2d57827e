/** `strongroom mcp` as a program: what it answers when its input ends, and what it says when it can't start. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { mintToken } from '../src/access/token.ts';
import { startService } from './harness.ts';
import { type Ended, strongroom, strongroomMcp } from './mcp-process.ts';
import { envelope, makeAccessKey, startWorld, value, type World } from './mcp-world.ts';
import { shell } from './shell.ts';

const hello = {
  jsonrpc: '2.0',
  id: 'hello',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const request = (id: number, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });
const secret = { name: 'secrets.get', arguments: { name: 'DATABASE_URL', includeValue: true } };
const lines = (messages: readonly unknown[]) => messages.map(message => JSON.stringify(message)).join('\n');

interface Answer {
  readonly id: number | string;
  readonly result?: { readonly structuredContent?: { readonly value?: string }; readonly tools?: unknown[] };
}

const answersIn = ({ stdout }: Ended): Answer[] =>
  stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));

describe('strongroom mcp, at the end of its input', () => {
  let world: World;
  const env = () => ({ STRONGROOM_URL: world.service.url, STRONGROOM_ACCESS_KEY: world.accessKey });

  before(async () => {
    world = await startWorld();
  });
  after(() => world.service.stop());

  it('answers everything that was sent before, the last line without its end too, and exits with 0', async () => {
    const calls = Array.from({ length: 30 }, (_, at) => request(at, 'tools/call', secret));
    const sent = [hello, { jsonrpc: '2.0', method: 'notifications/initialized' }, ...calls];
    const ended = await strongroomMcp(env(), [], lines([...sent, request(99, 'tools/list')]));
    assert.deepEqual([ended.code, ended.stderr], [0, '']);
    const answers = answersIn(ended);
    const ids = calls.map(({ id }) => id);
    assert.deepEqual(new Set(answers.map(({ id }) => id)), new Set(['hello', 99, ...ids]));
    assert.equal(answers.length, 32);
    const values = answers.filter(({ id }) => ids.includes(id as number));
    for (const { result } of values) assert.equal(result?.structuredContent?.value, value);
  });

  it('does so for the revision without a handshake, and for an id that is used twice', async () => {
    const call = request(1, 'tools/call', { ...secret, _meta: envelope });
    const ended = await strongroomMcp(env(), [], lines([call, call]));
    assert.equal(ended.code, 0);
    assert.deepEqual(
      answersIn(ended).map(({ id, result }) => [id, result?.structuredContent?.value]),
      [
        [1, value],
        [1, value],
      ],
    );
  });

  it('does not wait for what gets no answer: a cancelled request, a subscription, a line that is no message', async () => {
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    const legacy = await strongroomMcp(
      env(),
      [],
      `${lines([hello, request(1, 'tools/call', secret), cancel])}\nno message\n{"id":7}\n`,
    );
    assert.equal(legacy.code, 0);
    assert.ok(answersIn(legacy).some(({ id }) => id === 'hello'));
    const listen = request(2, 'subscriptions/listen', { notifications: {}, _meta: envelope });
    const modern = await strongroomMcp(
      env(),
      [],
      lines([request(1, 'server/discover', { _meta: envelope }), listen]),
    );
    assert.equal(modern.code, 0);
    assert.ok(answersIn(modern).some(({ id }) => id === 1));
  });

  it('is used from a shell as the guide says', async () => {
    const guide = await readFile(new URL('../docs/agents.md', import.meta.url), 'utf8');
    const [, example = ''] = /^(printf .*\| strongroom mcp)$/m.exec(guide) ?? [];
    const command = `strongroom() { '${process.execPath}' '${strongroom}' "$@"; }\n${example}`;
    const [answer] = answersIn({ code: 0, stdout: await shell(command, env()), stderr: '' });
    assert.equal(answer?.result?.tools?.length, 12);
  });

  it('ends with no input at all', async () => {
    assert.deepEqual(await strongroomMcp(env(), [], ''), { code: 0, stdout: '', stderr: '' });
  });
});

describe('strongroom mcp, when it can’t start', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.service.stop());

  /** The one line it says, without the name of the program. */
  async function refusalOf(url: string, accessKey: string, more = {}): Promise<string> {
    const env = { STRONGROOM_URL: url, STRONGROOM_ACCESS_KEY: accessKey, ...more };
    const { code, stdout, stderr } = await strongroomMcp(env, [], lines([hello]));
    assert.deepEqual([code, stdout], [1, ''], stderr);
    const [, line] = /^strongroom: (.+)\n$/.exec(stderr) ?? [];
    assert.ok(line !== undefined && !line.includes(accessKey), stderr);
    return line;
  }

  /** A service that answers in its own way. */
  async function behind<T>(answer: RequestListener, use: (url: string) => Promise<T>): Promise<T> {
    const server = createServer(answer).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return await use(`http://127.0.0.1:${port}`).finally(() => server.close());
  }

  it('knows a placeholder from a mistyped access key and from another token', async () => {
    const placeholder = 'STRONGROOM_ACCESS_KEY is a placeholder: set it to a vault access key';
    for (const key of [
      'sr_vault_…',
      'sr_vault_...',
      'YOUR_ACCESS_KEY',
      `\${STRONGROOM_ACCESS_KEY}`,
      '<key>',
    ]) {
      assert.equal(await refusalOf(world.service.url, key), placeholder);
    }
    assert.match(await refusalOf(world.service.url, world.accessKey.slice(0, -1)), /incomplete or mistyped$/);
    assert.match(
      await refusalOf(world.service.url, mintToken('api', randomUUID())),
      /must be a vault access key/,
    );
    assert.equal(
      await refusalOf('https://vault.example.com', world.accessKey),
      'STRONGROOM_URL is a placeholder: set it to the address of your service',
    );
  });

  it('says that an access key is unknown or revoked', async () => {
    const expected = 'STRONGROOM_ACCESS_KEY was refused: the access key is unknown, revoked or expired';
    assert.equal(await refusalOf(world.service.url, mintToken('vault', randomUUID())), expected);
    const { id, token } = await makeAccessKey(world.service, world.vaultId);
    const env = { STRONGROOM_URL: world.service.url, STRONGROOM_ACCESS_KEY: token };
    assert.equal((await strongroomMcp(env, [], lines([hello]))).code, 0);
    await world.service.call('DELETE', `/v1/access-keys/${id}`);
    assert.equal(await refusalOf(world.service.url, token), expected);
  });

  it('says that nothing is there, or something else', async () => {
    const gone = await behind(
      () => {},
      async url => url,
    );
    const host = new URL(gone).host;
    assert.equal(
      await refusalOf(gone, world.accessKey),
      `${host} can’t be reached: the connection was refused`,
    );
    assert.match(await refusalOf('https://no-such-host.invalid', world.accessKey), /can’t be reached: /);
    for (const [status, expected] of [
      [200, /does not answer as a tool endpoint \(status 200\): check STRONGROOM_URL$/],
      [404, /does not answer as a tool endpoint \(status 404\): check STRONGROOM_URL$/],
      [403, /refuses requests under this name: start it with --public-url$/],
      [503, /is not ready: it answers with status 503$/],
      [307, /redirects to another address: set STRONGROOM_URL to that one$/],
    ] as const) {
      const answer: RequestListener = (_request, response) =>
        response.writeHead(status, { location: '/taken' }).end('<html>');
      assert.match(await behind(answer, url => refusalOf(url, world.accessKey)), expected);
    }
  });

  it('says that a certificate is not trusted, and starts with the authority that it asks for', async () => {
    const service = await startService({ flags: ['--tls', 'auto'] });
    try {
      const expected = `the certificate of ${new URL(service.url).host} is not from a trusted authority: set NODE_EXTRA_CA_CERTS to the authority’s certificate`;
      assert.equal(await refusalOf(service.url, world.accessKey), expected);
      const authority = { NODE_EXTRA_CA_CERTS: join(service.data, 'tls', 'authority.pem') };
      assert.match(await refusalOf(service.url, world.accessKey, authority), /unknown, revoked or expired$/);
      const plain = service.url.replace('https:', 'http:');
      assert.match(await refusalOf(plain, world.accessKey), /can’t be reached|tool endpoint/);
    } finally {
      await service.stop();
    }
  });

  it('says that a service does not speak TLS', async () => {
    const https = world.service.url.replace('http:', 'https:');
    assert.match(await refusalOf(https, world.accessKey), /it does not speak TLS on this port$/);
  });
});
