/** No command hands a terminal what others wrote there to steer it: not a folder's name, not a file's, not an answer's. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { commands } from '../src/cli/commands.ts';
import { commandFile } from './built-command.ts';
import { atTheLatest } from './ending.ts';
import { collect } from './tool.ts';

/** An escape sequence in both of its forms, a bell, a carriage return, and letters in another order. */
const steering = '\u001b[2J\u009b31m\u0007\r\u202egpj\u2069';
const steers = /[^\P{C}\n\t]|[\u2028\u2029]/u;
const id = '0199a3c4-7f00-7abc-8def-0123456789ab';

/** Fits what most commands expect, and whatever people read of it steers. */
function answer(at: number): [status: number, body: object] {
  const name = `name${steering}`;
  if (at % 2 === 1) {
    const error = { code: 'INVALID_REQUEST', message: name, details: { field: name, reason: name } };
    return [400, { error, message: name }];
  }
  const one = {
    ...{ id, name, email: `a${steering}@example.org`, role: name, state: name, value: 'a value', version: 1 },
    ...{ member: { email: name }, organization: { id, name }, method: name, approval: name, hosts: [name] },
    ...{ created_at: name, updated_at: name, expiration_date: null, last_used_at: null, expires_at: name },
    ...{
      vault_ids: [id],
      subjects: [name],
      grants: [],
      member_ids: [],
      names: [name],
      kinds: null,
      paths: [name],
    },
    ...{ content_type: 'text/plain', tags: {}, actor: { kind: name, id, name }, details: {}, subject: null },
    ...{
      methods: ['GET'],
      place: { type: 'header', name },
      outcome: 'denied',
      reason: name,
      created_by: name,
    },
  };
  const lists = { data: [one], secrets: [one], keys: [], certificates: [], results: [one], presets: [one] };
  const device = { user_code: name, verification_uri: name, verification_uri_complete: name, interval: 1 };
  return [200, { ...one, ...lists, ...device, pagination: { total: 1, page: 1, limit: 100 }, token: 'x' }];
}

describe('what others wrote', () => {
  let home: string;
  let folder: string;
  let service: Server;
  let asked = 0;

  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'strongroom-terminal-'));
    folder = join(home, `project${steering}`);
    mkdirSync(folder);
    service = createServer((_, response) => {
      const [status, body] = answer(asked++);
      const text = JSON.stringify(body);
      const headers = {
        'content-type': 'application/json',
        'strongroom-warning': 'look\u009b31m',
        etag: '"x"',
      };
      response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
    });
    await new Promise<void>(resolve => service.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    service.closeAllConnections();
    await new Promise(resolve => service.close(resolve));
    rmSync(home, { recursive: true });
  });

  function start(args: readonly string[], env: Record<string, string>): ChildProcess {
    const child = spawn(commandFile(), args, {
      cwd: folder,
      env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: home, ...env },
    });
    child.on(
      'close',
      atTheLatest(() => child.kill('SIGKILL')),
    );
    child.stdin!.on('error', () => {}).end('a value');
    child.stdout!.on('data', chunk => /listening on/.test(chunk) && child.kill('SIGTERM'));
    return child;
  }

  /** With a word that steers for each argument, as completion puts names of files there. */
  async function lineOf(name: string): Promise<string[]> {
    const { usage, options } = (await commands[name]!()).command;
    const rest = usage.slice(name.length).replace(/\[[^\]]*\]|\.\.\./g, '');
    const words = rest.split(/\s+/).filter(word => /^[A-Z]/.test(word));
    const place = 'data' in options ? ['--data', join(folder, 'none')] : [];
    if (name === 'run') return ['run', '--', `./none${steering}`];
    return [...name.split(' '), ...words.map(() => `name${steering}`), ...place];
  }

  async function walk(env: Record<string, string>): Promise<string[]> {
    const left = Object.keys(commands).filter(name => name !== 'mcp');
    const said: string[] = [];
    const next = async () => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        const { stdout, stderr } = await collect(start(await lineOf(name), env));
        said.push(stderr);
        for (const text of [stdout, stderr])
          assert.doesNotMatch(text, steers, `${name}: ${JSON.stringify(text)}`);
      }
    };
    await Promise.all([next(), next(), next()]);
    return said;
  }

  it('in the names of folders and files', async () => {
    writeFileSync(join(folder, '.strongroom.json'), JSON.stringify({ [`a${steering}`]: 1 }));
    const said = await walk({ STRONGROOM_API_KEY: `sr_api_${'0'.repeat(43)}` });
    assert.ok(said.filter(line => line.includes('\\u{1b}')).length > 20, 'it is shown by its number');
  });

  it('in what a service answers', async () => {
    rmSync(join(folder, '.strongroom.json'), { force: true });
    const { port } = service.address() as AddressInfo;
    const key = `sr_api_${'0'.repeat(43)}`;
    asked = 0;
    await walk({ STRONGROOM_API_KEY: key, STRONGROOM_URL: `http://127.0.0.1:${port}`, STRONGROOM_VAULT: id });
    assert.ok(asked > 40, String(asked));
  });
});
