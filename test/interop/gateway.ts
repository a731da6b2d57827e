/**
 * Unchanged programs that use a secret through the gateway, with `strongroom run --via`: git against git's own HTTP
 * server, which demands the password, and npm against a registry on loopback (a double that serves one package).
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startService } from '../harness.ts';

const execute = promisify(execFile);
const command = fileURLToPath(new URL('../../bin/strongroom.js', import.meta.url));
const value = `pat_${randomBytes(24).toString('base64url')}`;
const gateway = { max_request: 100_000_000, max_response: 100_000_000, timeout: 60 };
const backend = '/usr/lib/git-core/git-http-backend';

interface World {
  readonly folder: string;
  readonly url: string;
  /** Runs a program with `strongroom run --via`. */
  run(via: string, ...program: string[]): Promise<string>;
  rule(host: string, more: object): Promise<void>;
  stop(): Promise<void>;
}

async function startWorld(): Promise<World> {
  const service = await startService({ threads: true });
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-gateway-'));
  const make = async (path: string, body: object) => {
    const answer = await service.call('POST', `/v1/${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const vault = await make('vaults', { name: 'production' });
  const secret = await make('secrets', { vault_id: vault.id, name: 'TOKEN', value });
  const key = await make('access-keys', { vault_id: vault.id, name: 'agent', may_use: true });
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    STRONGROOM_URL: service.url,
    STRONGROOM_ACCESS_KEY: key.token,
  };
  return {
    folder,
    url: service.url,
    run: async (via, ...program) => {
      const args = [command, 'run', '--via', via, '--no-mask', '--', ...program];
      const { stdout, stderr } = await execute(process.execPath, args, { env, cwd: folder, timeout: 60_000 });
      return stdout + stderr;
    },
    rule: async (host, more) => {
      await make('use-rules', {
        secret_id: secret.id,
        hosts: [host],
        approval: 'never',
        rate_limit: null,
        gateway,
        binary: true,
        ...more,
      });
    },
    stop: async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function listening(listener: RequestListener): Promise<{ server: Server; host: string }> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  return { server, host: `http://localhost:${(server.address() as AddressInfo).port}` };
}

/** git's own server, behind a password. */
function gitServer(repositories: string): RequestListener {
  const expected = `Basic ${Buffer.from(`x-access-token:${value}`).toString('base64')}`;
  return (request, response) => {
    if (request.headers.authorization !== expected) return void response.writeHead(401).end();
    const [path, query = ''] = request.url!.split('?');
    const env = {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: repositories,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      ...(request.headers['git-protocol'] === undefined
        ? {}
        : { GIT_PROTOCOL: String(request.headers['git-protocol']) }),
      REMOTE_USER: 'agent',
      REMOTE_ADDR: '127.0.0.1',
    };
    const child = spawn(backend, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    request.pipe(child.stdin);
    answerOf(child.stdout, response);
  };
}

/** CGI: headers, an empty line, and the body. */
function answerOf(output: NodeJS.ReadableStream, response: ServerResponse): void {
  let head = Buffer.alloc(0);
  const take = (piece: Buffer) => {
    head = Buffer.concat([head, piece]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    output.off('data', take);
    const lines = head.subarray(0, end).toString('latin1').split('\r\n');
    const headers = lines.map(line => line.split(': ') as [string, string]);
    const status = headers.find(([name]) => name === 'Status')?.[1] ?? '200';
    response.writeHead(
      Number.parseInt(status, 10),
      Object.fromEntries(headers.filter(([name]) => name !== 'Status')),
    );
    response.write(head.subarray(end + 4));
    output.pipe(response);
  };
  output.on('data', take);
}

/** Says what was done, or throws. */
export async function gitThroughGateway(git: string): Promise<string> {
  const world = await startWorld();
  const repositories = join(world.folder, 'served');
  const { server, host } = await listening(gitServer(repositories));
  try {
    await mkdir(join(repositories, 'acme'), { recursive: true });
    const plain = (...args: string[]) => execute(git, args, { cwd: world.folder });
    await plain('init', '--bare', '--initial-branch=main', join(repositories, 'acme', 'shop.git'));
    await plain('-C', join(repositories, 'acme', 'shop.git'), 'config', 'http.receivepack', 'true');
    await world.rule(host, {
      name: 'git',
      methods: ['GET', 'POST'],
      paths: ['/acme/shop.git/**'],
      place: { type: 'basic', username: 'x-access-token' },
      request_headers: ['accept', 'content-type', 'git-protocol'],
    });
    const inRepository = (...args: string[]) =>
      world.run('git', git, '-C', 'shop', '-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args);
    await world.run('git', git, 'clone', 'https://github.com/acme/shop.git');
    await writeFile(join(world.folder, 'shop', 'large.bin'), randomBytes(3_000_000));
    await inRepository('add', '.');
    await inRepository('commit', '-m', 'first');
    await inRepository('push', 'origin', 'HEAD:main');
    await world.run('git', git, 'clone', 'https://github.com/acme/shop.git', 'again');
    const [one, other] = await Promise.all(
      ['shop', 'again'].map(name => readFile(join(world.folder, name, 'large.bin'))),
    );
    assert.ok(one!.equals(other!), 'what was pushed is what is cloned');
    const environment = await world.run('git', 'env');
    assert.ok(!environment.includes(value), 'the value is not in the environment');
    await searchedFor(value, world.folder, repositories);
    await assert.rejects(world.run('git', git, 'clone', 'https://github.com/acme/other.git'));
    return `${(await execute(git, ['--version'])).stdout.trim()}: cloned, pushed 3 MB and cloned again`;
  } finally {
    server.closeAllConnections();
    server.close();
    await world.stop();
  }
}

/** No file of the program contains it. */
async function searchedFor(text: string, folder: string, except: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || path.startsWith(except)) continue;
    assert.ok(!(await readFile(path)).includes(text), path);
  }
}

export async function npmThroughGateway(npm: string): Promise<string> {
  const world = await startWorld();
  const packed = join(world.folder, 'package');
  await mkdir(packed);
  await writeFile(join(packed, 'package.json'), JSON.stringify({ name: '@acme/one', version: '1.0.0' }));
  await execute(npm, ['pack', packed], {
    cwd: world.folder,
    env: { PATH: process.env.PATH, HOME: world.folder },
  });
  const tarball = await readFile(join(world.folder, 'acme-one-1.0.0.tgz'));
  const seen: string[] = [];
  const { server, host } = await listening((request: IncomingMessage, response: ServerResponse) => {
    seen.push(`${request.headers.authorization === `Bearer ${value}` ? 'with' : 'without'} ${request.url}`);
    if (request.headers.authorization !== `Bearer ${value}`) return void response.writeHead(401).end();
    if (request.url!.endsWith('.tgz'))
      return void response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(tarball);
    const dist = { tarball: `${host}/@acme/one/-/one-1.0.0.tgz` };
    const versions = { '1.0.0': { name: '@acme/one', version: '1.0.0', dist } };
    const body = { name: '@acme/one', 'dist-tags': { latest: '1.0.0' }, versions };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  try {
    await world.rule(host, {
      name: 'npm',
      methods: ['GET'],
      paths: ['/@acme/**'],
      place: { type: 'bearer' },
    });
    await mkdir(join(world.folder, 'project'));
    await writeFile(join(world.folder, 'project', 'package.json'), '{"name":"project"}');
    await world.run('npm', npm, 'install', '--prefix', 'project', '--no-audit', '--no-fund', '@acme/one');
    const installed = await readFile(
      join(world.folder, 'project/node_modules/@acme/one/package.json'),
      'utf8',
    );
    assert.equal(JSON.parse(installed).version, '1.0.0');
    assert.ok(seen.length >= 2 && seen.every(line => line.startsWith('with ')), seen.join(', '));
    await searchedFor(value, world.folder, packed);
    return `npm ${(await execute(npm, ['--version'])).stdout.trim()}: installed a scoped package`;
  } finally {
    server.closeAllConnections();
    server.close();
    await world.stop();
  }
}
