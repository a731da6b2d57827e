/** `keys`, `certificates`, `restore`, `init`, `export --all` and `doctor --client`, against a real service. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { opened } from '../src/keyring/age/age.ts';
import { identityFrom, newKeyPair } from '../src/keyring/age/keys.ts';
import { type Done, startTool, type Tool } from './tool.ts';

let tool: Tool;
let otherId: string;
before(async () => {
  tool = await startTool({ DATABASE_URL: 'postgres://one', API_TOKEN: 'correct horse' });
  otherId = (await tool.service.call('POST', '/v1/vaults', { name: 'other', tags: { team: 'a' } })).body.id;
});
after(() => tool.stop());

function fails({ code, stdout, stderr }: Done, expected: number, what: RegExp): void {
  assert.equal(code, expected, stderr);
  assert.match(stderr, what);
  assert.match(stderr, /^strongroom: [^\n]+\n$/, 'one line');
  assert.equal(stdout, '');
}

function succeeds({ code, stdout, stderr }: Done): string {
  assert.equal(code, 0, stderr);
  return stdout;
}

const inApp = ['--vault', 'app'];
const inOther = ['--vault', 'other'];

describe('keys', () => {
  it('are created, listed, rotated and printed', async () => {
    const created = await tool.admin([
      'keys',
      'create',
      'signing',
      ...inApp,
      '--kind',
      'Ed25519',
      '--tag',
      'a=b',
    ]);
    assert.match(succeeds(created), /^[0-9a-f-]{36}\n$/);
    succeeds(await tool.admin(['keys', 'create', 'usual', ...inApp, '--not-exportable', '--expires', '90d']));
    const lines = succeeds(await tool.admin(['keys', 'list', ...inApp])).split('\n');
    assert.match(lines[0]!, /^signing +Ed25519 +version 1 +does not expire +[0-9a-f-]{36}$/);
    assert.match(lines[1]!, /^usual +P-256 +version 1 +expires in (89|90)d +[0-9a-f-]{36}$/);
    assert.equal(lines.length, 3);

    const publicPem = succeeds(await tool.admin(['keys', 'public', 'signing', ...inApp]));
    const privatePem = succeeds(await tool.admin(['keys', 'export', 'signing', ...inApp]));
    assert.equal(
      createPublicKey(createPrivateKey(privatePem)).export({ type: 'spki', format: 'pem' }),
      publicPem,
    );
    const file = join(tool.home, 'signing.pem');
    assert.equal(succeeds(await tool.admin(['keys', 'export', 'signing', ...inApp, '--out', file])), '');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(readFileSync(file, 'utf8'), privatePem);

    const rotated = await tool.admin(['keys', 'rotate', 'signing', ...inApp]);
    assert.equal(rotated.stderr, 'strongroom: signing is now version 2\n');
    assert.notEqual(succeeds(await tool.admin(['keys', 'public', 'signing', ...inApp])), publicPem);
    succeeds(await tool.admin(['keys', 'rotate', 'signing', ...inApp, '--pem', file]));
    assert.equal(succeeds(await tool.admin(['keys', 'public', 'signing', ...inApp])), publicPem);
    const json = JSON.parse(succeeds(await tool.admin(['keys', 'list', ...inApp, '--json'])));
    assert.deepEqual([json[0].version, json[0].tags], [3, { a: 'b' }]);
    assert.doesNotMatch(JSON.stringify(json), /PRIVATE/);
  });

  it('that can’t be exported stay, and flags that contradict each other are refused', async () => {
    const refused = await tool.admin(['keys', 'export', 'usual', ...inApp]);
    assert.equal(refused.code, 1);
    assert.doesNotMatch(refused.stdout + refused.stderr, /PRIVATE/);
    fails(await tool.admin(['keys', 'public', 'none', ...inApp]), 1, /there is no key "none"/);
    fails(await tool.admin(['keys', 'public', 'signing', ...inOther]), 1, /there is no key "signing"/);
    const both = ['--kind', 'P-256', '--pem', '/nowhere'];
    fails(
      await tool.admin(['keys', 'create', 'x', ...inApp, ...both]),
      2,
      /--kind can’t be combined with --pem/,
    );
    fails(await tool.admin(['keys', 'create', 'x', ...inApp, '--kind', 'DSA']), 2, /--kind must be one of/);
  });
});

describe('certificates', () => {
  it('are stored from PEM and PKCS#12 files, and listed', async () => {
    const [pem, key] = [join(tool.home, 'cert.pem'), join(tool.home, 'cert.key')];
    const request = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '30',
    ];
    const names = ['-subj', '/CN=web', '-addext', 'subjectAltName=DNS:web.example.com'];
    execFileSync('openssl', [...request, ...names, '-keyout', key, '-out', pem], { stdio: 'ignore' });
    const added = await tool.admin(['certificates', 'add', 'web', pem, ...inApp, '--tag', 'team=web']);
    assert.match(succeeds(added), /^[0-9a-f-]{36}\n$/);
    const bundle = join(tool.home, 'cert.p12');
    const words = join(tool.home, 'words');
    writeFileSync(words, 'open sesame\n');
    const packing = [
      'pkcs12',
      '-export',
      '-in',
      pem,
      '-inkey',
      key,
      '-passout',
      'pass:open sesame',
      '-out',
      bundle,
    ];
    execFileSync('openssl', packing, { stdio: 'ignore' });
    const packed = ['certificates', 'add', 'packed', bundle, ...inApp, '--passphrase-file', words];
    succeeds(await tool.admin(packed));
    const lines = succeeds(await tool.admin(['certificates', 'list', ...inApp])).split('\n');
    assert.equal(lines.length, 3);
    for (const [at, name] of ['packed', 'web'].entries())
      assert.match(
        lines[at]!,
        new RegExp(
          `^${name} +version 1 +expires in (29|30)d +CN=web +.*web\\.example\\.com.* [0-9a-f-]{36}$`,
        ),
      );
    execFileSync('openssl', ['req', '-x509', '-key', key, '-days', '60', ...names, '-out', pem], {
      stdio: 'ignore',
    });
    const renewed = await tool.admin(['certificates', 'renew', 'web', pem, ...inApp]);
    assert.match(renewed.stderr, /^strongroom: web is now version 2, and expires 20\S+\n$/);
    assert.match(
      succeeds(await tool.admin(['certificates', 'list', ...inApp])),
      /^web +version 2 +expires in (59|60)d /m,
    );
    fails(
      await tool.admin(['certificates', 'renew', 'none', pem, ...inApp]),
      1,
      /there is no certificate "none"/,
    );
    fails(await tool.admin(['certificates', 'add', 'web', ...inApp]), 2, /the name of a file are required/);
    fails(await tool.admin(['certificates', 'add', 'x', '/nowhere', ...inApp]), 1, /can’t be read/);
  });
});

describe('restore', () => {
  it('takes a deleted resource out of the trash, by its name or id', async () => {
    await tool.put('GONE', 'first');
    succeeds(await tool.admin(['rm', 'GONE', ...inApp]));
    fails(await tool.run(['get', 'GONE']), 1, /no active secret/);
    const done = await tool.admin(['restore', 'GONE', ...inApp]);
    assert.equal(done.stderr, 'strongroom: the secret GONE is restored\n');
    assert.equal(succeeds(await tool.run(['get', 'GONE'])), 'first\n');
    // Without a flag of its own, as there is no file of this name.
    const env = { STRONGROOM_VAULT: 'app' };
    succeeds(await tool.admin(['rm', 'GONE', ...inApp]));
    writeFileSync(join(tool.home, 'GONE'), 'no backup');
    assert.equal((await tool.admin(['restore', 'GONE'], { env })).code, 0);
    fails(await tool.admin(['restore', 'GONE'], { env }), 1, /no deleted resource "GONE", and no backup/);

    const { call } = tool.service;
    const ids = [];
    for (const value of ['a', 'b']) {
      const { body } = await call('POST', '/v1/secrets', { vault_id: otherId, name: 'TWICE', value });
      await call('DELETE', `/v1/secrets/${body.id}`);
      ids.push(body.id);
    }
    const twice = await tool.admin(['restore', 'TWICE', ...inOther]);
    fails(twice, 1, /2 deleted resources are called "TWICE": give the id/);
    for (const id of ids) assert.ok(twice.stderr.includes(id));
    const json = JSON.parse(
      succeeds(await tool.admin(['restore', ids[0], '--json'], { env: { STRONGROOM_VAULT: 'other' } })),
    );
    assert.deepEqual([json.id, json.type], [ids[0], 'secret']);
    await call('DELETE', `/v1/vaults/${otherId}`);
    assert.match(
      (await tool.admin(['restore', 'other', '--type', 'vault'])).stderr,
      /the vault other is restored/,
    );
  });

  it('is the operator’s command with its flags, a path, or the name of a backup', async () => {
    fails(
      await tool.admin(['restore', 'x', '--data', 'somewhere', '--vault', 'app']),
      2,
      /can’t be combined/,
    );
    writeFileSync(join(tool.home, 'backup.age'), 'age-encryption.org/v1\n-> X25519 x\n');
    for (const args of [['backup.age'], ['./missing.age'], ['missing.age', '--data', join(tool.home, 'd')]]) {
      const { code, stderr } = await tool.run(['restore', ...args]);
      assert.equal(code, 2);
      assert.match(stderr, /a key or passphrase for the backup is required/, args.join(' '));
      assert.equal((await tool.run(['backup', 'restore', ...args])).stderr, stderr);
    }
    assert.match((await tool.run(['restore', '--help'])).stdout, /strongroom backup restore --help/);
    assert.match((await tool.run(['backup', 'restore', '--help'])).stdout, /--no-verify/);
  });
});

describe('init', () => {
  const folderOf = (name: string) => {
    const folder = join(tool.home, name);
    mkdirSync(join(folder, '.git'), { recursive: true });
    return folder;
  };

  it('creates the project file with what commands need, and never replaces one', async () => {
    const cwd = folderOf('project');
    const done = await tool.admin(['init', ...inApp, '--only', 'DATABASE_URL'], { cwd });
    assert.match(done.stderr, /\.strongroom\.json is created, for the vault app\n$/);
    const file = join(cwd, '.strongroom.json');
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
      url: tool.service.url,
      vault: 'app',
      names: ['DATABASE_URL'],
    });
    assert.equal(statSync(file).mode & 0o777, 0o644);
    assert.equal(succeeds(await tool.admin(['get', 'API_TOKEN'], { cwd })), 'correct horse\n');
    fails(await tool.admin(['init', ...inApp], { cwd }), 1, /exists already/);
  });

  it('finds the vault of an access key, and refuses a vault or a name that does not exist', async () => {
    const cwd = folderOf('keyed');
    assert.equal(JSON.parse(succeeds(await tool.run(['init', '--json'], { cwd }))).vault, 'app');
    const empty = folderOf('empty');
    fails(await tool.admin(['init', '--vault', 'none'], { cwd: empty }), 1, /no vault with this name/);
    fails(
      await tool.admin(['init', ...inApp, '--only', 'NONE'], { cwd: empty }),
      1,
      /no active secret "NONE"/,
    );
    fails(await tool.run(['init', '--vault', 'other'], { cwd: empty }), 1, /belongs to another vault/);
    assert.ok(!existsSync(join(empty, '.strongroom.json')));
  });
});

describe('export --all', () => {
  const pair = newKeyPair();
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-export-'));
  after(() => rmSync(folder, { recursive: true }));

  async function contentsOf(bytes: Buffer) {
    const source = (async function* () {
      yield bytes;
    })();
    const parts: Uint8Array[] = [];
    for await (const part of opened(source, identityFrom(pair.identity)!)) parts.push(part);
    return JSON.parse(Buffer.concat(parts).toString());
  }
  const flags = ['--all', '--recipient', pair.recipient];

  it('writes everything of every vault as JSON into one age file, and no value anywhere else', async () => {
    const out = join(folder, 'all.age');
    const done = await tool.admin(['export', ...flags, '--out', out]);
    assert.equal(succeeds(done), '');
    assert.match(done.stderr, /exported 2 vaults\n$/);
    assert.equal(statSync(out).mode & 0o777, 0o600);
    const bytes = readFileSync(out);
    assert.ok(bytes.subarray(0, 22).equals(Buffer.from('age-encryption.org/v1\n')));
    assert.doesNotMatch(bytes.toString('latin1'), /postgres|DATABASE|PRIVATE/);
    const { format, vaults, left_out } = await contentsOf(bytes);
    assert.deepEqual([format, left_out], ['strongroom-export/1', []]);
    const app = vaults.find(({ name }: { name: string }) => name === 'app');
    const named = (list: { name: string }[], name: string) => list.find(one => one.name === name);
    assert.equal(
      (named(app.secrets, 'DATABASE_URL') as unknown as { value: string }).value,
      'postgres://one',
    );
    assert.match((named(app.keys, 'signing') as unknown as { pem: string }).pem, /BEGIN PRIVATE KEY/);
    assert.match((named(app.keys, 'usual') as unknown as { pem: string }).pem, /BEGIN PUBLIC KEY/);
    assert.match((named(app.certificates, 'web') as unknown as { pem: string }).pem, /BEGIN CERTIFICATE/);
    assert.deepEqual(named(vaults, 'other')!, { ...named(vaults, 'other')!, tags: { team: 'a' } });
    fails(await tool.admin(['export', ...flags, '--out', out]), 1, /exists already/);
    const piped = await tool.admin(['export', ...flags]);
    assert.equal((await contentsOf(piped.bytes)).vaults.length, 2);
  });

  it('leaves out what the API key may not reveal, and says so', async () => {
    const scopes = ['vaults:read', 'secrets:read', 'secrets:reveal', 'keys:read', 'certificates:read'];
    const { body } = await tool.service.call('POST', '/v1/api-keys', {
      name: 'part',
      role: 'editor',
      scopes,
    });
    const done = await tool.admin(['export', ...flags], { env: { STRONGROOM_API_KEY: body.token } });
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stderr, /left out, because the API key may not reveal them: keys of app/);
    const { left_out, vaults } = await contentsOf(done.bytes);
    assert.deepEqual(left_out, ['keys of app']);
    assert.ok(vaults.every(({ keys }: { keys: unknown[] }) => keys.length === 0));
  });

  it('refuses what would not be encrypted, and flags of another form', async () => {
    fails(await tool.admin(['export', '--all']), 2, /--all requires --recipient/);
    fails(await tool.admin(['export', '--all', '--recipient', 'age1x']), 2, /must be an age public key/);
    fails(
      await tool.admin(['export', ...flags, '--format', 'json']),
      2,
      /--format can’t be combined with --all/,
    );
    fails(await tool.admin(['export', ...flags, '--only', 'A']), 2, /--only can’t be combined with --all/);
    fails(await tool.admin(['export', '--recipient', pair.recipient]), 2, /--recipient requires --all/);
    fails(await tool.run(['export', ...flags]), 2, /STRONGROOM_API_KEY is required/);
  });
});

describe('doctor --client', () => {
  const checksOf = (done: Done) =>
    Object.fromEntries(
      JSON.parse(done.stdout).checks.map(({ check, outcome, message }: Record<string, string>) => [
        check,
        `${outcome} ${message}`,
      ]),
    ) as Record<string, string>;

  it('examines the way to the service, with either key, and prints no key', async () => {
    for (const [run, kind] of [
      [tool.run, 'access key of the environment, vault app'],
      [tool.admin, 'API key of the environment, organization Test'],
    ] as const) {
      const done = await run(['doctor', '--client', '--json']);
      assert.equal(done.code, 0, done.stdout);
      const found = checksOf(done);
      assert.deepEqual(Object.keys(found), [
        ...['project', 'profiles', 'keyring', 'address', 'service', 'tls', 'clock', 'credential'],
      ]);
      assert.ok(found.credential!.includes(kind), found.credential!);
      assert.match(found.address!, /^ok http:\/\/127\.0\.0\.1:\d+, from a flag or the environment$/);
      assert.match(found.service!, /^ok reachable, version \d/);
      assert.match(found.clock!, /^ok at most/);
      assert.doesNotMatch(done.stdout + done.stderr, /sr_(vault|api)_/);
    }
    assert.match((await tool.run(['doctor', '--client'])).stdout, /^ok +service +reachable/m);
  });

  it('says what is wrong: no address, no credential, a service that is away or has another time', async () => {
    const none = { STRONGROOM_URL: undefined, STRONGROOM_ACCESS_KEY: undefined };
    const lost = await tool.run(['doctor', '--client', '--json'], { env: none });
    assert.equal(lost.code, 2);
    assert.match(checksOf(lost).address!, /^failed STRONGROOM_URL is required/);
    assert.match(checksOf(lost).service!, /^warning not checked: there is no address/);
    const keyless = await tool.run(['doctor', '--client', '--json'], {
      env: { STRONGROOM_ACCESS_KEY: undefined },
    });
    assert.match(checksOf(keyless).credential!, /^failed there is none/);
    const away = await tool.run(['doctor', '--client', '--json'], {
      env: { STRONGROOM_URL: 'http://127.0.0.1:1' },
    });
    assert.equal(away.code, 2);
    assert.match(checksOf(away).service!, /^failed can’t reach/);
    assert.match(checksOf(away).clock!, /^warning not checked/);
    const wrong = await tool.run(['doctor', '--client', '--json'], {
      env: { STRONGROOM_ACCESS_KEY: `sr_vault_${'0'.repeat(43)}` },
    });
    assert.match(checksOf(wrong).credential!, /^failed the key is not accepted/);

    const late = createServer((_, response) => {
      const date = new Date(Date.now() - 3_600_000).toUTCString();
      response.writeHead(200, { date }).end('{"status":"ok","version":"1"}');
    });
    await new Promise<void>(resolve => late.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(late.address() as AddressInfo).port}`;
    const skewed = await tool.run(['doctor', '--client', '--json', '--url', url]);
    late.closeAllConnections();
    await new Promise(resolve => late.close(resolve));
    assert.match(checksOf(skewed).clock!, /^warning 60 minutes ahead of the service’s/);
  });

  it('is not the operator’s, which is as it was', async () => {
    fails(await tool.run(['doctor', '--client', '--data', 'x']), 2, /unknown flag '--data'/);
    fails(await tool.run(['doctor', '--url', tool.service.url]), 2, /unknown flag '--url'/);
  });
});
