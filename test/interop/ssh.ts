/**
 * OpenSSH with certificates and revocation lists of the service: a real sshd accepts a certificate of a user and shows one
 * of its own, and rejects what is revoked. ssh-keygen reads both.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const command = fileURLToPath(new URL('../../bin/strongroom.js', import.meta.url));
const user = userInfo().username;

interface Place {
  readonly url: string;
  readonly key: string;
}

/** Says what was run, or throws. */
export async function throughSshd(sshd: string, { url, key }: Place): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-ssh-'));
  const file = (name: string) => join(folder, name);
  const api = async (method: string, path: string, body?: object) => {
    const authorization = `Bearer ${key}`;
    const sent =
      body === undefined
        ? { headers: { authorization } }
        : { headers: { authorization, 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const answer = await fetch(`${url}/v1/${path}`, { method, ...sent });
    assert.equal(answer.status, 200, await answer.clone().text());
    return answer;
  };
  const made = async (path: string, body: object) =>
    (await (await api('POST', path, body)).json()) as { readonly id: string; readonly token: string };
  const vault_id = (await made('vaults', { name: `ssh ${Date.now()}` })).id;
  const authority = async (name: string, generate: object, ssh: object) => {
    const { id } = await made('keys', { vault_id, name, generate, exportable: false });
    await api('PUT', `keys/${id}`, { ssh: { principals: ['*'], max_valid_for: 3_600, ...ssh } });
    return id;
  };
  const users = await authority(
    'users',
    { key_type: 'EC', curve: 'P-256' },
    { types: ['user'], extensions: ['permit-pty'] },
  );
  const hosts = await authority('hosts', { key_type: 'RSA', key_size: 3072 }, { types: ['host'] });
  const operations = ['ssh-certificate'];
  const access = await made('access-keys', { vault_id, name: 'deployer', names_only: true, operations });
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    XDG_RUNTIME_DIR: folder,
    STRONGROOM_URL: url,
    STRONGROOM_ACCESS_KEY: access.token,
  };
  const ours = (...args: string[]) => execute(process.execPath, [command, ...args], { env, timeout: 60_000 });
  const save = async (path: string, name: string) =>
    writeFile(file(name), Buffer.from(await (await api('GET', path)).arrayBuffer()));
  const port = await freePort();
  let server: ChildProcess | null = null;
  try {
    for (const name of ['host', 'ada'])
      await execute('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file(name)]);
    await ours('ssh-certificate', file('host.pub'), '--key', 'hosts', '--host', '--principal', '127.0.0.1');
    const { stdout: listing } = await execute('ssh-keygen', ['-L', '-f', file('host-cert.pub')]);
    assert.match(listing, /host certificate[\s\S]*using rsa-sha2-512[\s\S]*Principals: \n\s+127\.0\.0\.1/);
    await save(`keys/${users}/ssh-public-key`, 'users.pub');
    await save(`keys/${users}/krl`, 'revoked');
    const hostKey = await (await api('GET', `keys/${hosts}/ssh-public-key`)).text();
    await writeFile(file('known'), `@cert-authority * ${hostKey}`);
    server = await serving(sshd, folder, port);

    const target = [
      `${user}@127.0.0.1`,
      '-p',
      String(port),
      '-F',
      'none',
      '-o',
      'BatchMode=yes',
      '-o',
      `UserKnownHostsFile=${file('known')}`,
      '-o',
      'StrictHostKeyChecking=yes',
    ];
    const { stdout: said } = await ours('ssh', '--key', 'users', ...target, 'echo', 'signed', 'in');
    assert.equal(said, 'signed in\n');
    assert.deepEqual(
      (await readdir(folder)).filter(name => name.startsWith('strongroom-run-')),
      [],
      'removed',
    );
    await assert.rejects(
      ours('ssh', '--key', 'users', '--principal', 'another', ...target, 'true'),
      /Permission denied/,
    );

    const obtained = async (...more: string[]) => {
      await ours('ssh-certificate', file('ada.pub'), '--key', 'users', '--principal', user, ...more);
      const { stdout } = await execute('ssh-keygen', ['-L', '-f', file('ada-cert.pub')]);
      return /Serial: (\d+)/.exec(stdout)![1]!;
    };
    const isLetIn = () =>
      execute('ssh', ['-i', file('ada'), '-o', 'IdentitiesOnly=yes', ...target, 'true'], { env }).then(
        () => true,
        ({ stderr }) => {
          assert.match(stderr, /Permission denied/);
          return false;
        },
      );
    const change = async (said: object) => {
      await api('POST', `keys/${users}/ssh-revocations`, said);
      await save(`keys/${users}/krl`, 'revoked');
    };
    const serial = await obtained();
    assert.equal(await isLetIn(), true);
    await change({ serials: [serial] });
    await assert.rejects(execute('ssh-keygen', ['-Q', '-f', file('revoked'), file('ada-cert.pub')]));
    assert.equal(await isLetIn(), false, 'revoked by serial');
    await obtained('--key-id', 'ada on laptop');
    assert.equal(await isLetIn(), true, 'another certificate');
    await change({ key_ids: ['ada on laptop'] });
    assert.equal(await isLetIn(), false, 'revoked by key id');
    await change({ key_ids: ['ada on laptop'], undo: true });
    assert.equal(await isLetIn(), true, 'no longer revoked');
    const { stdout: print } = await execute('ssh-keygen', ['-l', '-f', file('ada.pub')]);
    await change({ public_keys: [print.split(' ')[1]] });
    assert.equal(await isLetIn(), false, 'revoked by key');
    await change({ public_keys: [print.split(' ')[1]], undo: true });
    await api('POST', `keys/${users}/rotate`);
    await api('PUT', `keys/${users}`, { min_version: 2 });
    await save(`keys/${users}/krl`, 'revoked');
    assert.equal(await isLetIn(), false, 'an ended version of the key is revoked');
    await save(`keys/${users}/ssh-public-key`, 'users.pub');
    await obtained();
    assert.equal(await isLetIn(), true, 'the new version is trusted');
    const { stderr: version } = await execute('ssh', ['-V']);
    return `${version.trim()}: a user and a host were accepted, and rejected once revoked by serial, key id, key and version`;
  } finally {
    server?.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

async function serving(sshd: string, folder: string, port: number): Promise<ChildProcess> {
  // Where sshd of Debian confines its unprivileged part, if it was not started as a service.
  if (process.getuid!() === 0) mkdirSync('/run/sshd', { recursive: true });
  const file = (name: string) => join(folder, name);
  const settings = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${file('host')}`,
    `HostCertificate ${file('host-cert.pub')}`,
    `TrustedUserCAKeys ${file('users.pub')}`,
    `RevokedKeys ${file('revoked')}`,
    `PidFile ${file('pid')}`,
    'AuthorizedKeysFile none',
    'AuthenticationMethods publickey',
    'PermitRootLogin prohibit-password',
    'StrictModes no',
    'UsePAM no',
  ];
  await writeFile(file('sshd_config'), `${settings.join('\n')}\n`);
  const child = spawn(sshd, ['-D', '-e', '-f', file('sshd_config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', chunk => {
    said += chunk;
  });
  for (let tries = 0; tries < 100; tries++) {
    if (child.exitCode !== null) throw new Error(`sshd ended: ${said}`);
    if (await answers(port)) return child;
    await sleep(100);
  }
  child.kill();
  throw new Error(`sshd does not answer: ${said}`);
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isUp = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isUp;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
