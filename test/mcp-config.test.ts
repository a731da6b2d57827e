/** `strongroom mcp config`: what is printed for each client is read as that client reads it, and then used. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { tools as known } from '../src/mcp/tools.ts';
import { strongroom, strongroomMcp } from './mcp-process.ts';
import { startWorld, type World } from './mcp-world.ts';

interface Remote {
  readonly url: string;
  readonly authorization: string;
}

interface Program {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
}

type Server = Record<string, unknown>;
const { parse } = JSON;
const url = 'https://vault.example.com';

/** The two kinds of line that are printed, with basic strings: those have the escapes of JSON. */
function parseToml(text: string): Record<string, Server> {
  const tables: Record<string, Server> = {};
  let table: Server = {};
  for (const line of text.trimEnd().split('\n')) {
    const [, header] = /^\[([\w.]+)\]$/.exec(line) ?? [];
    const [, name, string] = /^(\w+) = ("(?:[^"\\\p{Cc}]|\\["\\bfnrt])*")$/u.exec(line) ?? [];
    assert.ok(header !== undefined || name !== undefined, line);
    if (header !== undefined) table = tables[header] = {};
    else table[name!] = parse(string!);
  }
  return tables;
}

/** From the text to where the client calls and what it sends, by the client's own rules for variables. */
const remotes: Readonly<Record<string, (text: string, key: string) => Remote>> = {
  'claude-code': (text, key) => remoteOf(parse(text).mcpServers.strongroom, `\${STRONGROOM_ACCESS_KEY}`, key),
  codex: (text, key) => {
    const { url, bearer_token_env_var } = parseToml(text)['mcp_servers.strongroom']!;
    assert.equal(bearer_token_env_var, 'STRONGROOM_ACCESS_KEY');
    return { url: url as string, authorization: `Bearer ${key}` };
  },
  copilot: (text, key) => {
    const server = parse(text).mcpServers.strongroom;
    assert.deepEqual([server.type, server.tools], ['http', ['*']]);
    return remoteOf(server, `\${STRONGROOM_ACCESS_KEY}`, key);
  },
  cursor: (text, key) => remoteOf(parse(text).mcpServers.strongroom, `\${env:STRONGROOM_ACCESS_KEY}`, key),
  gemini: (text, key) => {
    const { httpUrl, headers } = parse(text).mcpServers.strongroom;
    return remoteOf({ url: httpUrl, headers }, `\${STRONGROOM_ACCESS_KEY}`, key);
  },
  opencode: (text, key) => {
    const server = parse(text).mcp.strongroom;
    assert.equal(server.type, 'remote');
    return remoteOf(server, '{env:STRONGROOM_ACCESS_KEY}', key);
  },
  vscode: (text, key) => {
    const { inputs, servers } = parse(text);
    return remoteOf(servers.strongroom, `\${input:${inputs[0].id}}`, key);
  },
};

const programs: Readonly<Record<string, (text: string) => Program>> = {
  'claude-desktop': text => parse(text).mcpServers.strongroom,
  zed: text => parse(text).context_servers.strongroom,
};

function remoteOf({ url, headers }: Server, variable: string, key: string): Remote {
  const { Authorization } = headers as { Authorization: string };
  assert.ok(Authorization.includes(variable), Authorization);
  return { url: url as string, authorization: Authorization.replace(variable, key) };
}

describe('strongroom mcp config', () => {
  let world: World;
  let installed: string;

  before(async () => {
    world = await startWorld();
    installed = await mkdtemp(join(tmpdir(), 'strongroom-bin-'));
    // A global installation puts the command on the path, and makes it executable.
    const script = `#!/bin/sh\nexec '${process.execPath}' '${strongroom}' "$@"\n`;
    await writeFile(join(installed, 'strongroom'), script, { mode: 0o755 });
  });
  after(async () => {
    await world.service.stop();
    await rm(installed, { recursive: true });
  });

  const printed = async (...args: string[]) => (await strongroomMcp({}, ['config', ...args])).stdout;

  async function toolsOver(transport: Transport): Promise<string[]> {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    const { tools } = await client.listTools();
    assert.equal((await client.callTool({ name: 'vault_describe' })).isError ?? false, false);
    await client.close();
    return tools.map(({ name }) => name);
  }

  function assertUnderscored(names: readonly string[]): void {
    assert.equal(names.length, known.length);
    for (const name of names) assert.match(name, /^[a-z]+_[a-z]+$/);
  }

  for (const [client, read] of Object.entries(remotes)) {
    it(`${client} calls the service with what it is told`, async () => {
      const { url, authorization } = read(await printed(client, '--url', world.service.url), world.accessKey);
      const requestInit = { headers: { Authorization: authorization } };
      assertUnderscored(await toolsOver(new StreamableHTTPClientTransport(new URL(url), { requestInit })));
    });
  }

  for (const [client, read] of Object.entries(programs)) {
    it(`${client} starts the program that it is told, once the access key is in`, async () => {
      const { command, args, env } = read(await printed('--client', client, '--url', world.service.url));
      const PATH = `${installed}:${process.env.PATH}`;
      const STRONGROOM_ACCESS_KEY = world.accessKey;
      const transport = new StdioClientTransport({
        command,
        args,
        env: { ...env, PATH, STRONGROOM_ACCESS_KEY },
      });
      assertUnderscored(await toolsOver(transport));
      const [, ...flags] = args;
      const { code, stderr } = await strongroomMcp(env, flags);
      assert.equal(code, 1);
      assert.match(stderr, /^strongroom: STRONGROOM_ACCESS_KEY is a placeholder: .*\n$/);
    });
  }

  it('is what the guide shows, and contains no access key', async () => {
    const guide = await readFile(new URL('../docs/agents.md', import.meta.url), 'utf8');
    for (const client of [...Object.keys(remotes), ...Object.keys(programs), 'inspector']) {
      const env = { STRONGROOM_ACCESS_KEY: world.accessKey };
      const { code, stdout } = await strongroomMcp(env, ['config', client, '--url', url]);
      assert.equal(code, 0);
      assert.ok(stdout.includes(url) && !stdout.includes(world.accessKey));
      assert.ok(guide.includes(stdout), `docs/agents.md shows the same for ${client}`);
    }
  });

  it('names the clients if none or an unknown one is given, and takes only one', async () => {
    for (const args of [[], ['other'], ['--client', 'other']]) {
      const { code, stderr } = await strongroomMcp({}, ['config', ...args]);
      assert.equal(code, 2);
      for (const client of [...Object.keys(remotes), ...Object.keys(programs)])
        assert.ok(stderr.includes(client));
    }
    assert.equal((await strongroomMcp({}, ['config', 'zed', '--client', 'cursor'])).code, 2);
    assert.equal((await strongroomMcp({}, ['config', 'zed', 'cursor'])).code, 2);
  });
});
