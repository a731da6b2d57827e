import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { keyFile } from '../src/keyring/root-key/key-file.ts';
import { openStore } from '../src/store/store.ts';
import { type Result, run, setup, start, stop } from './command.ts';
import { callService, enginesInTurn, eventually, makeOrganization } from './harness.ts';
import { dataRoot, freshDatabase } from './postgres.ts';
import { holdInFlight, isTurnedAway } from './sockets.ts';

const folders: string[] = [];
const folder = () => {
  const path = mkdtempSync(join(dataRoot(), 'strongroom-cli-'));
  folders.push(path);
  return path;
};
after(() => Promise.all(folders.map(path => rm(path, { recursive: true, force: true }))));

/** Data as `strongroom setup` leaves them, made in this process where the command is not what is tested. */
async function filled(place: readonly string[]): Promise<string> {
  return (await makeOrganization(place, 'Default', 'enterprise', 0)).key;
}

function failsWith({ code, stdout, stderr }: Result, expected: number, what: RegExp): void {
  assert.equal(code, expected, stderr);
  assert.match(stderr, what);
  assert.match(stderr, /^strongroom: [^\n]+\n$/, 'one line');
  assert.equal(stdout, '');
}

/** What lies in a data folder, byte for byte; locks, and what SQLite shares between processes, are no data. */
function contentsOf(path: string): Record<string, string> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile());
  return Object.fromEntries(
    files
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter(file => statSync(file).size > 0 && !/-shm$|serve\.lock/.test(file))
      .map(file => [file, createHash('sha256').update(readFileSync(file)).digest('hex')]),
  );
}

describe('the command', () => {
  it('says what it can do: --help, for every command', async () => {
    const overview = await run(['--help']);
    assert.equal(overview.code, 0);
    for (const command of [
      'serve',
      'setup',
      'organization set-plan',
      'owner reset',
      'keyring rotate',
      'keyring status',
      'root-key rotate',
    ]) {
      assert.ok(overview.stdout.includes(command));
      const help = await run([...command.split(' '), '--help']);
      assert.equal(help.code, 0);
      assert.match(help.stdout, new RegExp(`Usage: strongroom ${command}`));
      assert.match(help.stdout, /--data DIR/);
    }
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    assert.equal((await run(['--version'])).stdout, `${version}\n`);
  });

  it('stops at an unknown command, flag or value with one line that names it, and exit code 2', async () => {
    const [command, flag, value, twin, argument] = await Promise.all([
      run(['sevre']),
      run(['serve', '--prot', '1']),
      run(['serve', '--port', 'x']),
      run(['serve'], { env: { STRONGROOM_PORT: '70000' } }),
      run(['setup', 'now']),
    ]);
    failsWith(command!, 2, /"sevre"/);
    failsWith(flag!, 2, /--prot/);
    failsWith(value!, 2, /--port must be a whole number/);
    failsWith(twin!, 2, /STRONGROOM_PORT must be/);
    failsWith(argument!, 2, /now/);
  });

  it('refuses to listen beyond loopback without TLS or a proxy, and half a certificate', async () => {
    const place = ['--data', folder(), '--port', '0'];
    failsWith(await run(['serve', ...place, '--host', '0.0.0.0']), 2, /--host is not a loopback address/);
    failsWith(await run(['serve', ...place, '--tls-cert', '/x']), 2, /--tls-cert requires --tls-key/);
    failsWith(await run(['serve', ...place, '--tls-cert', '/x', '--tls-key', '/y']), 2, /ENOENT/);
  });

  it('what is about existing data creates none where there are none: a mistyped folder stays as it is', async () => {
    const data = join(folder(), 'mistyped');
    const done = await Promise.all(
      [
        ['keyring', 'status'],
        ['audit', 'public-key'],
        ['organization', 'set-plan', '--plan', 'free'],
        ['migrate'],
      ].map(args => run([...args, '--data', data])),
    );
    for (const one of done) failsWith(one, 2, /--data contains no database/);
    assert.ok(!existsSync(data));
  });

  it('names a port that is taken, a folder that can’t be used and a database that isn’t there', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    failsWith(await run(['serve', '--data', folder(), '--port', String(port)]), 2, /--port \d+ is in use/);
    await new Promise(resolve => server.close(resolve));
    const file = join(folder(), 'file');
    writeFileSync(file, 'x');
    const unusable = await run(['serve', '--data', join(file, 'x'), '--port', '0']);
    failsWith(unusable, 1, /ENOTDIR/);
    const away = `postgres://nobody:sesame@127.0.0.1:${port}/x`;
    const gone = await run(['serve', '--data', folder(), '--port', '0', '--database-url', away]);
    failsWith(gone, 1, /^strongroom: the database can’t be used: connect ECONNREFUSED 127\.0\.0\.1:\d+\n$/);
    assert.ok(!gone.stderr.includes('sesame'));
  });
});

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`setup on ${engine}`, () => {
    it('without a name it creates no organization beside another, and says which there is', async () => {
      const database = engine === 'postgres' ? ['--database-url', await freshDatabase()] : [];
      const place = ['--data', folder(), ...database];
      await makeOrganization(place, 'Acme', 'pro', 0);
      for (const more of [[], ['--json'], ['--email', 'ada@example.com'], ['--new-key']])
        failsWith(await run(['setup', ...place, ...more]), 2, /“Acme” already exists: use --organization/);
      const named = await run(['setup', ...place, '--organization', 'Default', '--json']);
      assert.equal(named.code, 0, named.stderr);
    });

    it('prints the object of the contract, whose key opens the API, before serve and beside it', async () => {
      const place = [
        '--data',
        folder(),
        ...(engine === 'postgres' ? ['--database-url', await freshDatabase()] : []),
      ];
      const made = await run(['setup', ...place, '--json']);
      assert.equal(made.code, 0, made.stderr);
      const first = JSON.parse(made.stdout);
      assert.deepEqual(Object.keys(first), ['organization', 'api_key']);
      assert.deepEqual({ ...first.organization, id: '' }, { id: '', name: 'Default', plan: 'pro' });
      assert.match(first.organization.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
      assert.match(first.api_key, /^sr_api_[0-9A-Za-z]{71}$/);

      const service = start(['serve', ...place, '--port', '0']);
      const url = await service.url;
      const vaults = (key: string) => callService(url, 'GET', '/v1/vaults', undefined, key);
      assert.equal((await vaults(first.api_key)).status, 200);
      assert.equal((await vaults(first.api_key)).headers.get('x-ratelimit-limit'), '1000');

      failsWith(await run(['setup', ...place, '--json']), 2, /--organization names an existing organization/);
      failsWith(
        await run(['setup', ...place, '--organization', 'New', '--new-key']),
        2,
        /--new-key requires/,
      );
      failsWith(await run(['setup', ...place, '--organization', 'a\u202eb']), 2, /--organization must not/);

      const added = JSON.parse((await run(['setup', ...place, '--new-key', '--json'])).stdout);
      assert.deepEqual(added.organization, first.organization);
      assert.notEqual(added.api_key, first.api_key);

      const state = async () => (await callService(url, 'GET', '/auth/state', undefined, null)).body;
      assert.equal((await state()).nobody_joined, true);
      const invited = ['setup', ...place, '--email', 'ada@example.com', '--public-url', url, '--json'];
      const { invitation, api_key } = JSON.parse((await run(invited)).stdout);
      assert.deepEqual([invitation.email, api_key], ['ada@example.com', undefined]);
      const [address, token] = invitation.url.split('#');
      assert.equal(address, `${url}/invite`);
      const shown = await callService(url, 'POST', '/auth/invitation', { token }, null);
      assert.deepEqual([shown.body.email, shown.body.role], ['ada@example.com', 'owner'], shown.text);
      assert.equal((await vaults(added.api_key)).status, 200);

      const args = [
        'setup',
        ...place,
        '--organization',
        'Other',
        '--plan',
        'enterprise',
        '--enterprise-limit',
        '7',
        '--json',
      ];
      const other = JSON.parse((await run(args)).stdout);
      assert.equal(other.organization.plan, 'enterprise');
      assert.equal((await vaults(other.api_key)).headers.get('x-ratelimit-limit'), '7');

      const changed = await run([
        'organization',
        'set-plan',
        ...place,
        '--organization',
        'Other',
        '--plan',
        'free',
      ]);
      assert.equal(changed.code, 0, changed.stderr);
      const limit = async () => (await vaults(other.api_key)).headers.get('x-ratelimit-limit');
      await eventually('the limit of the new plan holds', async () => (await limit()) === '100');
      failsWith(await run(['organization', 'set-plan', ...place, '--plan', 'free']), 2, /--organization/);
      failsWith(await run(['organization', 'set-plan', ...place]), 2, /--plan/);
      assert.equal((await stop(service)).code, 0);
    });
  });
}

describe('the root key at the start', () => {
  it('wrong, missing, readable by others, or replaced by a passphrase: one line, exit 1, data as it was', async () => {
    const data = folder();
    await filled(['--data', data]);
    const key = join(data, 'root.key');
    assert.equal(statSync(key).mode & 0o777, 0o400);
    const other = folder();
    await filled(['--data', other]);
    const before = contentsOf(data);
    const serve = (...more: string[]) => run(['serve', '--data', data, '--port', '0', ...more]);

    failsWith(
      await serve('--root-key-file', join(other, 'root.key')),
      1,
      /is not the one that protects this data/,
    );
    failsWith(await serve('--root-key-file', join(other, 'none.key')), 1, /can't be opened/);
    failsWith(
      await run(['setup', '--data', data, '--new-key', '--root-key-file', join(other, 'root.key')]),
      1,
      /is not the one/,
    );
    const phrase = join(other, 'phrase');
    writeFileSync(phrase, 'correct horse battery staple\n');
    failsWith(
      await serve('--passphrase-file', phrase),
      1,
      /protected by a key-file, but a passphrase was given/,
    );
    assert.deepEqual(contentsOf(data), before);

    renameSync(key, `${key}.away`);
    failsWith(await serve(), 1, /can't be opened/);
    assert.ok(!existsSync(key), 'no new key is made over data that has one');
    renameSync(`${key}.away`, key);
    chmodSync(key, 0o444);
    failsWith(await serve(), 1, /chmod 400/);
    chmodSync(key, 0o400);
    assert.deepEqual(contentsOf(data), before);
    const service = start(['serve', '--data', data, '--port', '0']);
    await service.url;
    assert.equal((await stop(service)).code, 0);
  });

  it('after a crash, too, a wrong key leaves the database and its log as they were', async () => {
    const data = folder();
    const key = await filled(['--data', data]);
    const service = start(['serve', '--data', data, '--port', '0']);
    await callService(await service.url, 'POST', '/v1/vaults', { name: 'v' }, key);
    service.child.kill('SIGKILL');
    await service.ended;
    const before = contentsOf(data);
    assert.ok(Object.keys(before).some(file => file.endsWith('-wal')));
    const other = folder();
    await filled(['--data', other]);
    failsWith(
      await run(['serve', '--data', data, '--root-key-file', join(other, 'root.key')]),
      1,
      /is not the one/,
    );
    assert.deepEqual(contentsOf(data), before);
    const again = start(['serve', '--data', data, '--port', '0']);
    assert.equal(
      (await callService(await again.url, 'GET', '/v1/vaults', undefined, key)).body.pagination.total,
      1,
    );
    await stop(again);
  });

  it('a passphrase, from a file or the environment, protects the same; a wrong or short one is refused', async () => {
    const data = folder();
    const phrase = join(folder(), 'phrase');
    writeFileSync(phrase, 'correct horse battery staple\n');
    const place = ['--data', data, '--passphrase-file', phrase];
    await setup(place);
    assert.ok(!existsSync(join(data, 'root.key')));
    const before = contentsOf(data);
    const env = (STRONGROOM_PASSPHRASE: string) => ({ env: { STRONGROOM_PASSPHRASE } });
    const serve = ['serve', '--data', data, '--port', '0'];
    failsWith(await run(serve, env('correct horse battery stapler')), 1, /the passphrase is not the one/);
    failsWith(await run(serve, env('x'.repeat(11))), 1, /too short/);
    failsWith(await run(serve), 1, /protected by a passphrase, but a key-file was given/);
    failsWith(
      await run([...serve, '--passphrase-file', `${phrase}.none`]),
      1,
      /the passphrase file \S+ can’t be read/,
    );
    failsWith(await run([...serve, '--passphrase-prompt']), 1, /a terminal is required/);
    assert.deepEqual(contentsOf(data), before);
    const service = start(serve, env('correct horse battery staple'));
    await service.url;
    assert.equal((await stop(service)).code, 0);
  });

  it('a database without its keyring, or a log without its database, is not mistaken for a fresh start', async () => {
    const data = folder();
    await filled(['--data', data]);
    const { DatabaseSync } = await import('node:sqlite');
    const database = new DatabaseSync(join(data, 'strongroom.db'), { timeout: 5_000 });
    database.exec("DELETE FROM meta WHERE key = 'keyring'");
    database.close();
    failsWith(await run(['serve', '--data', data, '--port', '0']), 1, /contains data but no keyring/);
    const half = folder();
    writeFileSync(join(half, 'strongroom.db-wal'), 'x');
    failsWith(
      await run(['serve', '--data', half, '--port', '0']),
      2,
      /--data contains the write-ahead log of a database/,
    );
  });
});

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`a root key without its data, on ${engine}`, () => {
    const place = async (data: string) => [
      '--data',
      data,
      ...(engine === 'postgres' ? ['--database-url', await freshDatabase()] : []),
    ];

    it('starts no empty vault, unless a new database is meant; a first start that was cut off goes on', async () => {
      const before = folder();
      const first = await place(before);
      await filled(first);
      const data = folder();
      const lost = await place(data);
      cpSync(join(before, 'root.key'), join(data, 'root.key'));
      chmodSync(join(data, 'root.key'), 0o400);
      const empty = /there is a root key, but the database is empty: .*--new-database/;
      failsWith(await run(['serve', ...lost, '--port', '0']), 1, empty);
      failsWith(await run(['setup', ...lost, '--json']), 1, empty);
      failsWith(await run(['keyring', 'status', ...lost]), 2, /contains no data/);
      assert.ok(!existsSync(join(data, 'strongroom.db')), 'nothing was made');
      const begun = start(['serve', ...lost, '--port', '0', '--new-database']);
      await begun.url;
      assert.equal((await stop(begun)).code, 0);
      const again = start(['serve', ...lost, '--port', '0']);
      await again.url;
      assert.equal((await stop(again)).code, 0);

      const cut = folder();
      const [, , , url] = await place(cut);
      const tables = await openStore(
        url === undefined
          ? { engine: 'sqlite', path: join(cut, 'strongroom.db'), serves: false }
          : { engine: 'postgres', url },
      );
      await tables.close();
      await keyFile(join(cut, 'root.key')).create();
      const goesOn = ['--data', cut, ...(url === undefined ? [] : ['--database-url', url])];
      assert.match(await setup(goesOn), /^sr_api_/);
    });
  });
}

describe('the serving process', () => {
  it('leaves nothing that others can read, whatever the shell’s mask is', async test => {
    const data = join(folder(), 'data');
    const under = ['sh', '-c', 'umask 000; exec "$@"', 'sh'];
    await setup(['--data', data], { under });
    const service = start(['serve', '--data', data, '--port', '0', '--tls', 'auto'], { under });
    test.after(() => service.child.kill('SIGKILL'));
    await service.url;
    const open = () =>
      readdirSync(data, { recursive: true, withFileTypes: true })
        .map(({ parentPath, name }) => join(parentPath, name))
        .concat(data)
        .filter(path => (statSync(path).mode & 0o077) !== 0 && !path.endsWith('log-public-key.pem'));
    assert.deepEqual(open(), []);
    await stop(service);
    assert.deepEqual(open(), []);
    assert.ok(existsSync(join(data, 'checkpoint.json')));
  });

  it('SIGHUP: requests in flight finish, and it serves on', async () => {
    const data = folder();
    const key = await filled(['--data', data]);
    const service = start(['serve', '--data', data, '--port', '0']);
    const { hostname, port } = new URL(await service.url);
    const { socket, answer } = await inFlight(hostname, Number(port), key);
    service.child.kill('SIGHUP');
    await answers(`http://${hostname}:${port}/livez`);
    socket.write(inFlightBody);
    assert.match(await answer, /^HTTP\/1\.1 200 .*in flight/s);
    await answers(`http://${hostname}:${port}/readyz`);
    assert.equal((await stop(service)).code, 0);
  });

  it('a password on the command line is served, and warned of in one line that does not repeat it', async () => {
    const url = await freshDatabase();
    const data = folder();
    const service = start(['serve', '--data', data, '--port', '0', `--database-url=${url}`]);
    await service.url;
    const { code, stderr } = await stop(service);
    assert.equal(code, 0);
    assert.match(stderr, /^strongroom: the password in --database-url is visible [^\n]+\n$/);
    assert.ok(!stderr.includes('postgres:postgres'));
    const file = join(folder(), 'url');
    writeFileSync(file, url);
    const quiet = start(['serve', '--data', data, '--port', '0', '--database-url-file', file]);
    await quiet.url;
    assert.equal((await stop(quiet)).stderr, '');
  });

  it('two on one folder: the second is refused, and the first serves on; a killed one leaves no lock', async test => {
    const data = folder();
    const first = start(['serve', '--data', data, '--port', '0']);
    test.after(() => first.child.kill('SIGKILL'));
    const url = await first.url;
    failsWith(
      await run(['serve', '--data', data, '--port', '0']),
      2,
      /--data is already served by another process/,
    );
    assert.equal((await fetch(`${url}/livez`)).status, 200);
    first.child.kill('SIGKILL');
    await first.ended;
    const next = start(['serve', '--data', data, '--port', '0']);
    await next.url;
    await stop(next);
  });

  it('serves on when nobody reads what it prints any more', async () => {
    const data = folder();
    await filled(['--data', data]);
    const service = start(['serve', '--data', data, '--port', '0']);
    const url = await service.url;
    service.child.stdout!.destroy();
    service.child.stderr!.destroy();
    const broken = await fetch(`${url}/v1/vaults`, { method: 'POST', body: '{' });
    assert.equal(broken.status, 401);
    assert.equal((await fetch(`${url}/livez`)).status, 200);
    await stop(service);
  });

  it('SIGTERM: requests in flight finish, new ones are turned away, and it ends with 0 in time', async () => {
    const data = folder();
    const key = await filled(['--data', data]);
    const service = start(['serve', '--data', data, '--port', '0']);
    const url = await service.url;
    const body = JSON.stringify({ name: 'in flight' });
    const { held, answer } = await holdInFlight(
      url,
      `POST /v1/vaults HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    service.child.kill('SIGTERM');
    await eventually('new connections are turned away', () => isTurnedAway(url));
    held.socket.write(body);
    const { code, stderr } = await service.ended;
    assert.equal(code, 0, stderr);
    assert.match(answer(), /^HTTP\/1\.1 200 /);
    assert.match(answer(), /in flight/);
  });

  it('SIGTERM: a sender that never ends does not hold the end up', async () => {
    const service = start(['serve', '--data', folder(), '--port', '0']);
    await holdInFlight(await service.url, 'POST /v1/vaults HTTP/1.1\r\nHost: x\r\nContent-Le');
    const { code } = await stop(service);
    assert.equal(code, 0);
  });

  it('SIGUSR1 opens no inspector, and a core file would hold no memory', async () => {
    const service = start(['serve', '--data', folder(), '--port', '0']);
    const url = await service.url;
    const pid = service.child.pid!;
    if (process.platform === 'linux') {
      assert.equal(readFileSync(`/proc/${pid}/coredump_filter`, 'utf8').trim(), '00000000');
    }
    service.child.kill('SIGUSR1');
    for (let asked = 0; asked < 20; asked++) assert.equal((await fetch(`${url}/livez`)).status, 200);
    assert.equal(await opens(9229), false);
    const { stderr } = await stop(service);
    assert.ok(!stderr.includes('Debugger'));
  });

  it('gives back what only its start needed', { skip: process.platform !== 'linux' }, async () => {
    // The first start after a change of the code compiles it, and keeps what that took.
    for (const isMeasured of [false, true]) {
      const service = start(['serve', '--data', folder(), '--port', '0']);
      assert.equal((await fetch(`${await service.url}/readyz`)).status, 200);
      if (isMeasured)
        await eventually('under 160 MB are resident', async () => resident(service.child.pid!) < 160);
      await stop(service);
    }
  });
});

const inFlightBody = JSON.stringify({ name: 'in flight' });

/** A request whose body is still to come; it closes the connection once it is answered. */
async function inFlight(host: string, port: number, key: string) {
  const socket = connect(port, host);
  let heard = '';
  socket.on('data', chunk => {
    heard += chunk;
  });
  socket.on('error', () => {});
  const answer = once(socket, 'close').then(() => heard);
  const head = `POST /v1/vaults HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}`;
  const body = `Content-Type: application/json\r\nContent-Length: ${inFlightBody.length}`;
  await new Promise(resolve => socket.write(`${head}\r\n${body}\r\n\r\n`, resolve));
  return { socket, answer };
}

async function answers(url: string): Promise<void> {
  assert.equal((await fetch(url)).status, 200);
}

function opens(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** MiB of memory. */
function resident(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) / 1024;
}
