/**
 * The samples under deploy/proxies, run by the programs that they are for, in front of a real service on its Unix socket.
 * Only what must differ here is replaced in them: paths, the port, and who gets the certificate.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { issueServerCertificate, selfSign } from '../../src/material/certificate.ts';
import { generateKey } from '../../src/material/key-material.ts';
import { eventually, type Service, startService } from '../harness.ts';

export const proxies = ['nginx', 'caddy', 'haproxy'] as const;
export type Proxy = (typeof proxies)[number];

const samples = fileURLToPath(new URL('../../deploy/proxies', import.meta.url));
const host = 'vault.example.com';

interface Place {
  readonly folder: string;
  readonly socket: string;
  readonly port: number;
  readonly authority: string;
  readonly pem: string;
  readonly key: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Each gives the command that runs it in the foreground. */
const prepared: Readonly<Record<Proxy, (place: Place) => string[]>> = {
  nginx: ({ folder, socket, port, pem, key }) => {
    const sample = replaced('nginx.conf', [
      ['unix:/run/strongroom/strongroom.sock', `unix:${socket}`],
      ['/var/log/nginx/error.log', 'stderr'],
      ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
      ['    listen [::]:443 ssl;\n', ''],
      [/ssl_certificate +\S+;/, `ssl_certificate ${pem};`],
      [/ssl_certificate_key +\S+;/, `ssl_certificate_key ${key};`],
    ]);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${folder}/${name};`,
    );
    const file = join(folder, 'nginx.conf');
    writeFileSync(
      file,
      `daemon off; master_process off; pid ${folder}/pid; error_log stderr;\nevents {}\nhttp {\n${paths.join('\n')}\n${sample}}\n`,
    );
    return ['nginx', '-p', folder, '-e', 'stderr', '-c', file];
  },
  caddy: ({ folder, socket, port, pem, key }) => {
    const sample = replaced('Caddyfile', [
      ['unix//run/strongroom/strongroom.sock', `unix/${socket}`],
      [
        '{\n\t# Requests',
        `{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system ${folder}\n\t# Requests`,
      ],
      [`${host} {`, `https://${host}:${port} {\n\tbind 127.0.0.1\n\ttls ${pem} ${key}`],
    ]);
    const file = join(folder, 'Caddyfile');
    writeFileSync(file, sample);
    return ['caddy', 'run', '--config', file, '--adapter', 'caddyfile'];
  },
  haproxy: ({ folder, socket, port, pem, key }) => {
    const both = join(folder, 'both.pem');
    writeFileSync(both, readFileSync(pem, 'utf8') + readFileSync(key, 'utf8'), { mode: 0o600 });
    const sample = replaced('haproxy.cfg', [
      ['maxconn 10000', 'maxconn 1000'], // Whoever runs this may have fewer file descriptors.
      ['unix@/run/strongroom/strongroom.sock', `unix@${socket}`],
      [/bind :443 ssl crt \S+/, `bind 127.0.0.1:${port} ssl crt ${both}`],
    ]);
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(file, sample);
    return ['haproxy', '-db', '-f', file];
  },
};

function replaced(name: string, changes: readonly (readonly [string | RegExp, string])[]): string {
  return changes.reduce(
    (text, [from, to]) => {
      const changed = text.replace(from, () => to);
      assert.notEqual(changed, text, `${name} has no ${from}`);
      return changed;
    },
    readFileSync(join(samples, name), 'utf8'),
  );
}

/** Says what was seen, or throws. */
export async function runBehind(proxy: Proxy): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `strongroom-${proxy}-`));
  chmodSync(folder, 0o700);
  mkdirSync(join(folder, 'run'));
  const place: Place = {
    folder,
    socket: join(folder, 'run', 'strongroom.sock'),
    port: await freePort(),
    ...(await certificateIn(folder)),
  };
  const flags = [
    '--socket',
    place.socket,
    '--behind-proxy',
    '127.0.0.1/32',
    '--public-url',
    `https://${host}`,
  ];
  const service = await startService({ threads: true, flags });
  const [program = '', ...args] = prepared[proxy](place);
  const child = spawn(program, args, {
    env: { ...process.env, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (said += chunk));
  try {
    await eventually(
      'the proxy passes requests on',
      async () => (await asked(place, 'GET', '/readyz').catch(() => null))?.status === 200,
    );
    return await seenThrough(place, service, () => said);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${said.slice(-2_000)}`, { cause: error });
  } finally {
    await ended(child);
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function seenThrough(place: Place, service: Service, logged: () => string): Promise<string> {
  const call = (method: string, path: string, body?: unknown, token = service.key, headers = {}) =>
    asked(place, method, path, { token, headers, body: body === undefined ? null : JSON.stringify(body) });
  const made = async (path: string, body: object) => {
    const { status, text } = await call('POST', path, body);
    assert.equal(status, 200, text);
    return JSON.parse(text);
  };
  const vault = await made('/v1/vaults', { name: 'v' });
  const { token } = await made('/v1/access-keys', { vault_id: vault.id, name: 'k' });
  await made('/v1/secrets', { vault_id: vault.id, name: 'BEHIND_PROXY', value: 'x'.repeat(60_000) });
  const forged = {
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'evil.example',
  };
  const path = `/api/v1/vaults/${vault.id}`;
  const read = await call('GET', path, undefined, token, forged);
  assert.equal(read.status, 200, read.text);
  assert.equal(JSON.parse(read.text).secrets[0].value.length, 60_000);
  assert.equal(read.headers['strict-transport-security'], 'max-age=31536000', 'once, and by the proxy');
  assert.equal(read.headers['cache-control'], 'no-store');
  const same = await call('GET', path, undefined, token, { 'if-none-match': read.headers.etag as string });
  assert.equal(same.status, 304);
  const { data } = JSON.parse((await call('GET', '/v1/request-logs')).text);
  assert.deepEqual(
    data.map((entry: { ip_address: string }) => entry.ip_address),
    ['127.0.0.1', '127.0.0.1'],
    'the client’s own address, and not what it wrote',
  );
  assert.equal(data.at(-1).id, read.headers['x-request-id']);
  const value = 'x'.repeat(2 ** 21);
  for (const where of ['/v1/secrets', `${path}?name=BEHIND_PROXY`]) {
    const large = await call('POST', where, { value }).catch(() => null);
    assert.ok(large === null || large.status >= 400, 'a body past the limit is refused');
  }
  const listed = await asked(place, 'LIST', '/vault/v1/secret/metadata/', {
    headers: { 'x-vault-token': token },
  });
  for (const text of [vault.id, 'BEHIND_PROXY', token])
    assert.ok(!logged().includes(text), 'the proxy writes no path to its log');
  const list = listed.status === 200 ? 'LIST is handed on' : `LIST is answered with ${listed.status}`;
  return `read, write, 304, forwarded address, HSTS, limit of a body; ${list}`;
}

interface Asked {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | null;
}

function asked({ port, authority }: Place, method: string, path: string, given: Asked = {}): Promise<Answer> {
  const { token, headers = {}, body = null } = given;
  const options = {
    host: '127.0.0.1',
    port,
    servername: host,
    ca: authority,
    method,
    path,
    agent: false as const,
    headers: {
      host,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === null
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      ...headers,
    },
  };
  return new Promise((resolve, reject) => {
    const sent = request(options, response => {
      let text = '';
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function certificateIn(folder: string): Promise<Pick<Place, 'authority' | 'pem' | 'key'>> {
  const [root, leaf] = await Promise.all([1, 2].map(() => generateKey({ key_type: 'EC', curve: 'P-256' })));
  const notBefore = new Date(Date.now() - 60_000);
  const made = {
    privatePem: root!.pem,
    subject: 'CN=interop',
    sans: [],
    notBefore,
    days: 2,
    isAuthority: true,
  };
  const authority = await selfSign(made);
  const [pem, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const issued = { authorityPem: authority, authorityPrivatePem: root!.pem, publicPem: leaf!.publicPem };
  writeFileSync(pem, await issueServerCertificate({ ...issued, names: [host], notBefore, days: 1 }));
  writeFileSync(key, leaf!.pem, { mode: 0o600 });
  return { authority, pem, key };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
  await once(child, 'exit');
  clearTimeout(late);
}
