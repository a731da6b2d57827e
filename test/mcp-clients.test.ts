/** Driven by clients that others wrote: what they accept is what the endpoint must be. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as FirstStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as sdk from '@modelcontextprotocol/server';
import { mintToken } from '../src/access/token.ts';
import * as wire from '../src/mcp/protocol-constants.ts';
import { commandFile } from './built-command.ts';
import { startWorld, value, type World } from './mcp-world.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name: string) => join(root, 'node_modules/.bin', name);
const strongroom = commandFile();
const identity = { name: 'test', version: '1' };

const dotted = [
  'secrets.use',
  'keys.sign',
  'keys.verify',
  'keys.decrypt',
  'vault.describe',
  'secrets.search',
  'secrets.list',
  'keys.list',
  'certificates.list',
  'certificates.get',
  'keys.get',
  'secrets.get',
];

/** What both generations' clients have in common. */
interface AnyClient {
  listTools(): Promise<{
    tools: { name: string; title?: string; annotations?: unknown; outputSchema?: unknown }[];
  }>;
  callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>;
  ping?(): Promise<unknown>;
  close(): Promise<void>;
}

interface Result {
  readonly isError?: boolean;
  readonly structuredContent: Record<string, unknown>;
  readonly content: { readonly type: string; readonly text: string }[];
}

describe('clients that others wrote', () => {
  let world: World;
  let home: string;
  const headers = () => ({ Authorization: `Bearer ${world.accessKey}` });
  const endpoint = (query = '') => new URL(`${world.service.url}/mcp${query}`);

  before(async () => {
    world = await startWorld();
    home = await mkdtemp(join(tmpdir(), 'strongroom-home-'));
  });
  after(async () => {
    await world.service.stop();
    await rm(home, { recursive: true });
  });

  /** The whole of what a client does: list, call, be refused. The clients check answers against the schemas. */
  async function drive(client: AnyClient, names = dotted): Promise<void> {
    await exercise(client, names).finally(() => client.close());
  }

  async function exercise(client: AnyClient, names: readonly string[]): Promise<void> {
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(tool => tool.name),
      names,
    );
    assert.ok(Buffer.byteLength(JSON.stringify(tools)) < 9_000, 'the list is short');
    for (const [at, { annotations, outputSchema, title }] of tools.entries()) {
      const isUse = at <= 3;
      const isCall = at === 0;
      const hints = isUse ? { destructiveHint: isCall } : { readOnlyHint: true };
      const world = isCall ? {} : { openWorldHint: false };
      assert.deepEqual(annotations, { ...hints, ...world }, 'what is for use comes first');
      assert.ok(outputSchema);
      assert.ok(title);
    }
    const call = async (tool: string, args = {}) =>
      (await client.callTool({ name: names[dotted.indexOf(tool)]!, arguments: args })) as Result;
    const secret = await call('secrets.get', { name: 'DATABASE_URL', includeValue: true });
    assert.equal(secret.structuredContent.value, value);
    assert.deepEqual(JSON.parse(secret.content[0]!.text), secret.structuredContent);
    for (const tool of ['secrets.list', 'keys.list', 'certificates.list', 'vault.describe'])
      assert.equal((await call(tool)).isError ?? false, false, tool);
    assert.equal((await call('secrets.search', { tag: 'team' })).isError ?? false, false);
    assert.match(String((await call('keys.get', { id: world.keyId })).structuredContent.pem), /PRIVATE KEY/);
    assert.match(
      String((await call('certificates.get', { id: world.certificateId })).structuredContent.pem),
      /CERTIFICATE/,
    );
    const refused = await call('secrets.get', { name: 'NOT_THERE' });
    assert.equal(refused.isError, true);
    assert.deepEqual(refused.structuredContent, { status: 404, message: 'Resource not found' });
    await assert.rejects(client.callTool({ name: 'no.such.tool' }), { code: -32602 });
  }

  for (const [mode, revision] of [
    ['legacy', '2025-11-25'],
    ['auto', '2026-07-28'],
    [{ pin: '2026-07-28' }, '2026-07-28'],
  ] as const) {
    const name = typeof mode === 'string' ? mode : 'pinned';
    const newClient = () => new Client(identity, { versionNegotiation: { mode } });

    it(`the official client of the second generation, ${name}, over HTTP`, async () => {
      const client = newClient();
      const transport = new StreamableHTTPClientTransport(endpoint(), {
        requestInit: { headers: headers() },
      });
      await client.connect(transport);
      assert.equal(client.getNegotiatedProtocolVersion(), revision);
      assert.equal(transport.sessionId === undefined, revision === '2026-07-28');
      if (mode === 'legacy') {
        await client.ping();
        const { sessionId } = transport;
        await drive(client as AnyClient);
        assert.match(sessionId!, /^sr_mcp_/);
      } else {
        await drive(client as AnyClient);
      }
    });

    it(`the official client of the second generation, ${name}, over stdio`, async () => {
      const client = newClient();
      await client.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: [strongroom, 'mcp'],
          env: stdioEnvironment(),
        }),
      );
      assert.equal(client.getNegotiatedProtocolVersion(), revision);
      await drive(client as AnyClient);
    });
  }

  const stdioEnvironment = () => ({
    PATH: process.env.PATH!,
    STRONGROOM_URL: world.service.url,
    STRONGROOM_ACCESS_KEY: world.accessKey,
  });

  it('the official client of the first generation, over HTTP, and it ends its session', async () => {
    const client = new FirstClient(identity);
    const transport = new FirstTransport(endpoint(), { requestInit: { headers: headers() } });
    await client.connect(transport as never);
    await client.ping();
    const first = await client.callTool({ name: 'secrets_list' });
    assert.equal(first.isError ?? false, false);
    await transport.terminateSession();
    await client.close();
    const again = new FirstClient(identity);
    await again.connect(new FirstTransport(endpoint(), { requestInit: { headers: headers() } }) as never);
    await drive(again as unknown as AnyClient);
  });

  it('the official client of the first generation, over stdio with underscores', async () => {
    const client = new FirstClient(identity);
    await client.connect(
      new FirstStdioTransport({
        command: process.execPath,
        args: [strongroom, 'mcp', '--names', 'underscore'],
        env: stdioEnvironment(),
      }),
    );
    await drive(
      client as unknown as AnyClient,
      dotted.map(name => name.replace('.', '_')),
    );
  });

  it('clients that refuse a dotted name, with names=underscore', async () => {
    for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
      const client = new Client(identity, { versionNegotiation: { mode } });
      const requestInit = { headers: headers() };
      await client.connect(new StreamableHTTPClientTransport(endpoint('?names=underscore'), { requestInit }));
      await drive(
        client as AnyClient,
        dotted.map(name => name.replace('.', '_')),
      );
    }
  });

  for (const era of ['legacy', 'modern']) {
    it(`the Inspector’s command line, ${era}`, async () => {
      const inspect = async (...args: string[]) => {
        const all = [
          '--cli',
          endpoint().href,
          '--transport',
          'http',
          '--protocol-era',
          era,
          '--format',
          'json',
        ];
        const header = ['--header', `Authorization: Bearer ${world.accessKey}`];
        const env = { ...process.env, HOME: home };
        const { stdout } = await run(bin('mcp-inspector'), [...all, ...header, ...args], { env });
        return JSON.parse(stdout).result;
      };
      const { tools } = await inspect('--method', 'tools/list', '--strict');
      assert.deepEqual(
        tools.map((tool: { name: string }) => tool.name),
        dotted,
      );
      const args = JSON.stringify({ name: 'DATABASE_URL', includeValue: true });
      const result = await inspect(
        '--method',
        'tools/call',
        '--tool-name',
        'secrets.get',
        '--tool-args-json',
        args,
      );
      assert.equal(result.structuredContent.value, value);
    });
  }

  it('mcp-remote, between a client that knows stdio only and the service', async () => {
    const client = new FirstClient(identity);
    const args = [
      endpoint().href,
      '--allow-http',
      '--transport',
      'http-only',
      '--header',
      `Authorization:\${AUTH}`,
    ];
    await client.connect(
      new FirstStdioTransport({
        command: bin('mcp-remote'),
        args,
        env: {
          PATH: process.env.PATH!,
          HOME: home,
          MCP_REMOTE_CONFIG_DIR: home,
          AUTH: `Bearer ${world.accessKey}`,
        },
        stderr: 'ignore',
      }),
    );
    await drive(client as unknown as AnyClient);
  });
});

describe('the protocol’s words and numbers', () => {
  it('are those of the SDK', () => {
    assert.deepEqual(wire.sessionRevisions, [...sdk.SUPPORTED_PROTOCOL_VERSIONS]);
    assert.deepEqual(
      [wire.versionKey, wire.clientKey, wire.capabilitiesKey, wire.serverKey],
      [
        sdk.PROTOCOL_VERSION_META_KEY,
        sdk.CLIENT_INFO_META_KEY,
        sdk.CLIENT_CAPABILITIES_META_KEY,
        sdk.SERVER_INFO_META_KEY,
      ],
    );
    assert.deepEqual(
      [wire.parseError, wire.invalidRequest, wire.invalidParams, wire.internalError],
      [sdk.PARSE_ERROR, sdk.INVALID_REQUEST, sdk.INVALID_PARAMS, sdk.INTERNAL_ERROR],
    );
  });
});

describe('strongroom mcp', () => {
  const start = (env: Record<string, string>, ...args: string[]) =>
    run(process.execPath, [strongroom, 'mcp', ...args], { env: { PATH: process.env.PATH!, ...env } }).then(
      ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
      error => error as { code: number; stdout: string; stderr: string },
    );

  it('says in one line what is missing, and sends no key in the clear', async () => {
    const url = 'https://vault.example.com';
    const lines = [
      await start({}),
      await start({ STRONGROOM_URL: url }),
      await start({ STRONGROOM_URL: 'http://vault.example.com', STRONGROOM_ACCESS_KEY: 'sr_vault_x' }),
    ].map(({ code, stderr }) => [code, stderr]);
    assert.deepEqual(lines, [
      [2, 'strongroom: STRONGROOM_URL is required: the address of the service\n'],
      [2, 'strongroom: STRONGROOM_ACCESS_KEY is required: a vault access key\n'],
      [2, 'strongroom: STRONGROOM_URL must begin with https://, because an access key is sent there\n'],
    ]);
  });

  it('follows no redirect, neither with the key nor without it', async () => {
    const asked: string[] = [];
    const elsewhere = createServer((request, response) => {
      asked.push(`elsewhere ${request.url} ${request.headers.authorization}`);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    const { port: otherPort } = elsewhere.address() as AddressInfo;
    for (const [status, location] of [
      [307, '/taken'],
      [302, '/taken'],
      [308, `http://127.0.0.1:${otherPort}/taken`],
    ] as const) {
      const redirecting = createServer((request, response) => {
        if (request.url !== '/mcp') asked.push(`${request.url} ${request.headers.authorization}`);
        // The check at the start succeeds: the calls are what is redirected.
        if (request.headers['mcp-method'] === 'tools/call') response.writeHead(status, { location }).end();
        else
          response.setHeader('content-type', 'application/json').end('{"jsonrpc":"2.0","id":1,"result":{}}');
      }).listen(0, '127.0.0.1');
      await once(redirecting, 'listening');
      const { port } = redirecting.address() as AddressInfo;
      const client = new FirstClient(identity);
      await client.connect(
        new FirstStdioTransport({
          command: process.execPath,
          args: [strongroom, 'mcp'],
          env: {
            PATH: process.env.PATH!,
            STRONGROOM_URL: `http://127.0.0.1:${port}`,
            STRONGROOM_ACCESS_KEY: mintToken('vault', randomUUID()),
          },
          stderr: 'ignore',
        }),
      );
      const result = await client.callTool({ name: 'secrets.list', arguments: {} });
      assert.equal(result.isError, true, JSON.stringify(result));
      await client.close();
      redirecting.close();
    }
    elsewhere.close();
    assert.deepEqual(asked, []);
  });
});
