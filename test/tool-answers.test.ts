/**
 * What is listed is what is answered: every tool, in every kind of outcome, by the official clients of both generations
 * over HTTP and stdio. The clients check what they get by themselves; the validators of both are asked once more, because
 * some clients don't check refusals.
 */
import assert from 'node:assert/strict';
import { createPublicKey, publicEncrypt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { AjvJsonSchemaValidator as SecondAjv } from '@modelcontextprotocol/client/validators/ajv';
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/client/validators/cf-worker';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as FirstStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { AjvJsonSchemaValidator as FirstAjv } from '@modelcontextprotocol/sdk/validation/ajv-provider.js';
import { tools } from '../src/mcp/tools.ts';
import { commandFile } from './built-command.ts';
import { makeKey, post } from './mcp-world.ts';
import { startUsesWorld, type UsesWorld } from './uses-world.ts';

const identity = { name: 'test', version: '1' };
const message = Buffer.from('what is signed').toString('base64url');
const nowhere = '00000000-0000-7000-8000-000000000000';
const day = 24 * 60 * 60 * 1000;

interface Listed {
  readonly name: string;
  readonly inputSchema: { readonly properties?: Record<string, unknown> };
  readonly outputSchema?: Record<string, unknown>;
}
interface Result {
  readonly isError?: boolean;
  readonly structuredContent: Record<string, unknown>;
}
/** What both generations' clients have in common. */
interface AnyClient {
  listTools(): Promise<{ tools: Listed[] }>;
  callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}
type Arguments = Record<string, unknown>;

/** By validators that differ: two versions of one library, and another. */
const validators = [new FirstAjv(), new SecondAjv(), new CfWorkerJsonSchemaValidator()];

function faultsOf({ name, outputSchema }: Listed, content: unknown): string[] {
  return validators.flatMap(each => {
    const { valid, errorMessage } = each.getValidator(outputSchema as never)(content);
    return valid ? [] : [`${name} ${JSON.stringify(content)} ${errorMessage}`];
  });
}

/** The outcome of a call, as its test names it. */
function outcomeOf({ isError = false, structuredContent: content }: Result): string {
  if (isError) return content.approval === undefined ? String(content.status) : 'approval';
  if (content.outcome !== undefined) return String(content.outcome);
  return content.allowed === undefined ? 'answer' : `allowed: ${content.allowed}`;
}

describe('every answer of every tool', () => {
  let world: UsesWorld;
  /** By what it may do. */
  let keys: Record<'full' | 'bare' | 'limited', string>;
  let calls: Record<string, Arguments[]>;

  before(async () => {
    world = await startUsesWorld('sqlite');
    const { service, vaultId, upstream } = world;
    const create = async (path: string, body: object) => {
      const { status, body: made, text } = await service.call('POST', path, body);
      assert.equal(status, 200, text);
      return made;
    };
    const accessKey = async (more: object) =>
      (await create('/v1/access-keys', { vault_id: vaultId, name: 'agent', ...more })).token;
    const expiring = { expiration_date: new Date(service.clock.now() + day).toISOString() };
    const expiredId = await makeKey(service, vaultId, 'expired', expiring);
    const signingId = await makeKey(service, vaultId, 'signing');
    const generate = { key_type: 'RSA', key_size: 2048 };
    const rsa = await create('/v1/keys', { vault_id: vaultId, name: 'rsa', generate });
    const rule = { name: 'agents', approval: 'never' };
    const signing = { operations: ['sign', 'verify'], algorithms: ['ES256'] };
    await create('/v1/use-rules', { key_id: signingId, ...rule, ...signing });
    await create('/v1/use-rules', { key_id: expiredId, ...rule, ...signing });
    const decrypting = { operations: ['decrypt'], algorithms: ['RSA-OAEP-256'] };
    await create('/v1/use-rules', { key_id: rsa.id, ...rule, ...decrypting });
    const asking = await makeKey(service, vaultId, 'asking');
    await create('/v1/use-rules', { key_id: asking, ...rule, ...signing, approval: 'always' });
    const askingRsa = await create('/v1/keys', { vault_id: vaultId, name: 'asking rsa', generate });
    await create('/v1/use-rules', { key_id: askingRsa.id, ...rule, ...decrypting, approval: 'always' });
    const self_signed = { subject: 'CN=example.org', days: 30 };
    const certificate = { vault_id: vaultId, key_id: signingId, self_signed };
    const tls = await create('/v1/certificates', { ...certificate, name: 'tls' });
    const short = { ...certificate, name: 'short', self_signed: { ...self_signed, days: 1 } };
    const expiredTls = await create('/v1/certificates', short);
    await world.rule({ name: 'free', methods: ['GET'] });
    await world.rule({ name: 'asked', methods: ['POST'], approval: 'always' });
    await world.rule({ name: 'nobody there', methods: ['GET'], hosts: ['http://localhost:2'] });
    upstream.answer = ({ url }, _body, response) =>
      response.writeHead(url === '/own/part' ? 206 : 200, { 'content-type': 'text/plain' }).end('fine');
    service.clock.pass(2 * day);
    keys = {
      full: await accessKey({ may_use: true }),
      bare: await accessKey({ names_only: true }),
      limited: await accessKey({ may_use: true, rate_limit: 1 }),
    };

    const secret = 'GITHUB_TOKEN';
    const sign = { key: 'signing', alg: 'ES256' };
    const signed = await service.call(
      'POST',
      '/api/v1/vaults/self/keys/sign',
      { ...sign, message },
      keys.full,
    );
    const checked = { ...sign, message, signature: signed.body.signature };
    const ciphertext = publicEncrypt(
      { key: createPublicKey(rsa.public_pem), oaepHash: 'sha256' },
      Buffer.from('hello'),
    ).toString('base64url');
    const decrypt = { key: 'rsa', alg: 'RSA-OAEP-256', ciphertext };
    calls = {
      'secrets.use': [
        { secret, url: `${upstream.url}/own/fine` },
        { secret, url: `${upstream.url}/own/part` },
        { secret, url: 'http://localhost:2/own/fine' },
        { secret, url: `${upstream.url}/own/fine`, method: 'POST' },
        { secret, url: `${upstream.url}/own/fine`, dry_run: true },
        { secret, url: `${upstream.url}/own/fine`, method: 'POST', dry_run: true },
        { secret, url: 'https://example.com/', dry_run: true },
        { secret, url: 'https://example.com/' },
        { secret: 'NOT_THERE', url: `${upstream.url}/own/fine` },
      ],
      'keys.sign': [
        { ...sign, message },
        { ...sign, message, key: 'asking' },
        { ...sign, message, key: 'expired' },
        { ...sign, message, key: 'NOT_THERE' },
      ],
      'keys.verify': [
        checked,
        { ...checked, signature: 'AAAA' },
        { ...checked, key: 'asking' },
        { ...checked, key: 'expired' },
        { ...checked, key: 'NOT_THERE' },
      ],
      'keys.decrypt': [
        decrypt,
        { ...decrypt, key: 'asking rsa' },
        { ...decrypt, ciphertext: 'AAAA' },
        { ...decrypt, key: 'NOT_THERE' },
      ],
      'vault.describe': [{}],
      'secrets.search': [{ name: 'TOKEN' }, { tag: 'team' }, { name: 'NOT_THERE' }, {}],
      'secrets.list': [{}, { namesOnly: false }],
      'keys.list': [{}],
      'certificates.list': [{}],
      'certificates.get': [{ id: tls.id }, { id: expiredTls.id }, { id: nowhere }],
      'keys.get': [
        { id: signingId },
        { id: signingId, preferPublic: true },
        { id: expiredId },
        { id: nowhere },
        { code: 'sr_pub_none' },
      ],
      'secrets.get': [{ name: secret }, { name: secret, includeValue: true }, { name: 'NOT_THERE' }],
    };
  });
  after(() => world.stop());

  const url = () => new URL(`${world.service.url}/mcp`);
  const requestInit = (key: string | null) => ({
    requestInit: { headers: key === null ? undefined : { Authorization: `Bearer ${key}` } } as RequestInit,
  });
  const program = (key: string | null) => ({
    command: process.execPath,
    args: [commandFile(), 'mcp'],
    env: {
      PATH: process.env.PATH!,
      STRONGROOM_URL: world.service.url,
      STRONGROOM_ACCESS_KEY: key!,
    },
  });
  const first = () => new FirstClient(identity);
  const second = (mode: 'legacy' | 'auto') => new Client(identity, { versionNegotiation: { mode } });
  const connections: Record<string, (key: string | null) => Promise<AnyClient>> = {
    'the first generation over HTTP': async key => {
      const client = first();
      await client.connect(new FirstTransport(url(), requestInit(key)) as never);
      return client as unknown as AnyClient;
    },
    'the first generation over stdio': async key => {
      const client = first();
      await client.connect(new FirstStdioTransport(program(key)));
      return client as unknown as AnyClient;
    },
    ...Object.fromEntries(
      (['legacy', 'auto'] as const).flatMap(mode => [
        [
          `the second generation, ${mode}, over HTTP`,
          async (key: string | null) => {
            const client = second(mode);
            await client.connect(new StreamableHTTPClientTransport(url(), requestInit(key)));
            return client as AnyClient;
          },
        ],
        [
          `the second generation, ${mode}, over stdio`,
          async (key: string | null) => {
            const client = second(mode);
            await client.connect(new StdioClientTransport(program(key)));
            return client as AnyClient;
          },
        ],
      ]),
    ),
  };

  /** Every call with every tool, or the first of each, and what came of each tool's. */
  async function outcomesWith(
    client: AnyClient,
    more: Arguments = {},
    most = Number.POSITIVE_INFINITY,
  ): Promise<Record<string, string[]>> {
    const { tools: listed } = await client.listTools();
    const outcomes: Record<string, string[]> = {};
    for (const tool of listed) {
      const seen = new Set<string>();
      for (const given of [...calls[tool.name]!, { marker: 1 }].slice(0, most)) {
        const sent = { ...given, ...more };
        const result = (await client.callTool({ name: tool.name, arguments: sent })) as Result;
        assert.deepEqual(faultsOf(tool, result.structuredContent), []);
        seen.add(outcomeOf(result));
      }
      outcomes[tool.name] = [...seen].sort();
    }
    return outcomes;
  }

  const all = (outcomes: readonly string[]) =>
    Object.fromEntries(tools.map(({ name }) => [name, [...outcomes]]));

  it('has calls for every tool that there is', () => {
    assert.deepEqual(
      Object.keys(calls),
      tools.map(({ name }) => name),
    );
  });

  for (const [name, connect] of Object.entries(connections)) {
    const isHttp = name.endsWith('HTTP');

    it(`validates against what is listed, for ${name}`, async t => {
      world.service.clock.standInNewMinute();
      const connected = async (key: string | null) => {
        const client = await connect(key);
        t.after(() => client.close());
        return client;
      };
      assert.deepEqual(await outcomesWith(await connected(keys.full)), {
        'secrets.use': [
          '400',
          '403',
          '404',
          'allowed: false',
          'allowed: true',
          'answered',
          'approval',
          'failed',
          'withheld',
        ],
        'keys.sign': ['400', '404', '410', 'answer', 'approval'],
        'keys.verify': ['400', '404', '410', 'answer', 'approval'],
        'keys.decrypt': ['400', '404', 'answer', 'approval'],
        'vault.describe': ['400', 'answer'],
        'secrets.search': ['400', 'answer'],
        'secrets.list': ['400', 'answer'],
        'keys.list': ['400', 'answer'],
        'certificates.list': ['400', 'answer'],
        'certificates.get': ['400', '404', '410', 'answer'],
        'keys.get': ['400', '401', '404', '410', 'answer'],
        'secrets.get': ['400', '404', 'answer'],
      });
      const bare = await outcomesWith(await connected(keys.bare));
      for (const tool of ['secrets.use', 'keys.sign', 'keys.verify', 'keys.decrypt', 'keys.get'])
        assert.ok(bare[tool]!.includes('403'), tool);
      await world.service.call('GET', '/api/v1/vaults/self', undefined, keys.limited);
      assert.deepEqual(await outcomesWith(await connected(keys.limited), {}, 1), all(['429']));
      if (!isHttp) return;
      const open = await connected(null);
      assert.deepEqual(await outcomesWith(open, {}, 1), all(['401']));
      const withVault = await outcomesWith(open, { vault: { accessKey: keys.full } });
      assert.ok(withVault['secrets.use']!.includes('approval'));
    });
  }

  it('is valid over stdio also where the service is gone', async t => {
    const clients = await Promise.all(
      Object.entries(connections)
        .filter(([name]) => name.endsWith('stdio'))
        .map(([, connect]) => connect(keys.full)),
    );
    t.after(() => Promise.all(clients.map(client => client.close())));
    for (const client of clients) await client.listTools();
    await world.service.stop();
    for (const client of clients) assert.deepEqual(await outcomesWith(client), all(['503']));
  });
});

describe('the list of tools', () => {
  let world: UsesWorld;
  before(async () => {
    world = await startUsesWorld('sqlite');
  });
  after(() => world.stop());

  async function listed(key: string | null, session?: string): Promise<{ text: string; tools: Listed[] }> {
    const { body, text } = await post(world.service.url, { method: 'tools/list' }, { session, key });
    return { text, tools: body.result.tools };
  }
  const session = async (key: string | null) => {
    const answer = await post(world.service.url, { method: 'initialize' }, { key });
    return answer.headers.get('mcp-session-id')!;
  };

  it('has how to name a vault for callers without a credential, and leaves it out for the others', async () => {
    const connections = ['vault', 'credentials'];
    const open = await session(null);
    const keyed = await session(world.agent);
    for (const [key, id, isListed] of [
      [null, open, true],
      [world.agent, open, false],
      [world.agent, keyed, false],
      [null, keyed, false],
    ] as const) {
      const { text, tools: list } = await listed(key, id);
      assert.ok(Buffer.byteLength(text) < 9_000, `${Buffer.byteLength(text)} bytes`);
      for (const { name, inputSchema } of list) {
        const shown = connections.filter(each => each in (inputSchema.properties ?? {}));
        assert.deepEqual(shown, isListed ? connections : [], name);
      }
    }
  });

  it('has the arguments of the specification, and hints whose default is untrue', async () => {
    const { tools: list } = await listed(null, await session(null));
    const named = (name: string) => list.find(tool => tool.name === name)!;
    const types = (name: string) =>
      Object.fromEntries(
        Object.entries(named(name).inputSchema.properties as Record<string, { type: string }>).map(
          ([argument, { type }]) => [argument, type],
        ),
      );
    const connection = { vault: 'object', credentials: 'object' };
    assert.deepEqual(types('secrets.list'), { namesOnly: 'boolean', ...connection });
    assert.deepEqual(types('secrets.get'), { name: 'string', includeValue: 'boolean', ...connection });
    assert.deepEqual(types('keys.get'), {
      id: 'string',
      preferPublic: 'boolean',
      code: 'string',
      ...connection,
    });
    // The defaults of the protocol: not read-only, destructive, not idempotent, open world.
    for (const tool of list as (Listed & { annotations: Record<string, boolean> })[]) {
      const { readOnlyHint = false, destructiveHint = true, openWorldHint = true } = tool.annotations;
      const isUse = ['secrets.use', 'keys.sign', 'keys.verify', 'keys.decrypt'].includes(tool.name);
      assert.equal(readOnlyHint, !isUse, tool.name);
      assert.equal(openWorldHint, tool.name === 'secrets.use', tool.name);
      assert.equal(destructiveHint && !readOnlyHint, tool.name === 'secrets.use', tool.name);
    }
  });
});
