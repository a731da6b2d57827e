/** Where the command line finds the service and its key, and what it says when it doesn't. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { commands } from '../src/cli/commands.ts';
import { sshKeyOf, sshLineOf } from '../src/material/ssh/public-key.ts';
import { startHostileFolder } from './hostile-folder.ts';
import { type Done, startTool, type Tool } from './tool.ts';

let tool: Tool;
before(async () => {
  tool = await startTool({ DATABASE_URL: 'postgres://one' });
});
after(() => tool.stop());

const nothing = { STRONGROOM_URL: undefined, STRONGROOM_ACCESS_KEY: undefined };

function fails({ code, stdout, stderr }: Done, expected: number, what: RegExp): void {
  assert.equal(code, expected, stderr);
  assert.match(stderr, what);
  assert.match(stderr, /^strongroom: [^\n]+\n$/, 'one line');
  assert.equal(stdout, '');
}

function folder(name: string, project: unknown): string {
  const path = join(tool.home, name);
  mkdirSync(join(path, 'src', 'deep'), { recursive: true });
  writeFileSync(
    join(path, '.strongroom.json'),
    typeof project === 'string' ? project : JSON.stringify(project),
  );
  return path;
}

function profiles(name: string, content: unknown, mode = 0o600): string {
  const config = join(tool.home, name);
  mkdirSync(join(config, 'strongroom'), { recursive: true });
  const file = join(config, 'strongroom', 'profiles.json');
  writeFileSync(file, JSON.stringify(content), { mode });
  chmodSync(file, mode);
  return config;
}

describe('settings', () => {
  it('an address and a key in the environment are enough, of either kind', async () => {
    assert.equal((await tool.run(['get', 'DATABASE_URL'])).stdout, 'postgres://one\n');
    assert.equal((await tool.admin(['get', 'DATABASE_URL'])).stdout, 'postgres://one\n');
    assert.equal((await tool.admin(['get', 'DATABASE_URL', '--vault', 'app'])).code, 0);
    assert.equal((await tool.run(['get', 'DATABASE_URL', '--vault', tool.vaultId])).code, 0);
    fails(await tool.run(['get', 'DATABASE_URL', '--vault', 'other']), 1, /belongs to another vault/);
    fails(await tool.admin(['get', 'DATABASE_URL', '--vault', 'other']), 1, /no vault with this name/);
  });

  it('a project file is found upwards to the root of the repository; flag and environment win over it', async () => {
    const project = folder('project', { url: tool.service.url, vault: 'app' });
    const deep = join(project, 'src', 'deep');
    const stored = {
      current: 'other',
      profiles: {
        other: { url: 'http://127.0.0.1:1', access_key: tool.accessKey },
        work: { url: tool.service.url, access_key: tool.accessKey },
      },
    };
    const env = { ...nothing, XDG_CONFIG_HOME: profiles('by-project', stored) };
    assert.equal((await tool.run(['get', 'DATABASE_URL'], { env, cwd: deep })).stdout, 'postgres://one\n');
    const wrong = folder('wrong', { url: 'http://127.0.0.1:1', vault: 'app' });
    assert.equal((await tool.run(['get', 'DATABASE_URL'], { cwd: wrong })).code, 0);
    const flag = ['get', 'DATABASE_URL', '--url', tool.service.url];
    assert.equal(
      (await tool.run(flag, { cwd: wrong, env: { STRONGROOM_URL: 'http://127.0.0.1:1' } })).code,
      0,
    );
    mkdirSync(join(project, 'src', '.git'));
    fails(await tool.run(['list'], { env, cwd: deep }), 1, /can’t reach http:\/\/127.0.0.1:1/);
  });

  it('a project file with a key, an unknown field or no JSON is refused, and not quoted', async () => {
    const env = { STRONGROOM_URL: undefined };
    const key = folder('with-key', { url: tool.service.url, access_key: tool.accessKey });
    const result = await tool.run(['list'], { env, cwd: key });
    fails(result, 1, /contains a key: revoke it/);
    assert.ok(!result.stderr.includes(tool.accessKey));
    fails(await tool.run(['list'], { env, cwd: folder('unknown', { vualt: 'x' }) }), 1, /"vualt"/);
    fails(await tool.run(['list'], { env, cwd: folder('broken', 'hunter2') }), 1, /^(?!.*hunter2)/);
    const plain = folder('plain', { url: 'http://vault.example.com' });
    fails(await tool.run(['list'], { env, cwd: plain }), 1, /must begin with https/);
  });

  it('a profile’s key goes only to the address that it was stored for', async () => {
    const stored = {
      current: 'work',
      profiles: {
        work: { url: tool.service.url, access_key: tool.accessKey },
        other: { url: 'http://127.0.0.1:1', access_key: tool.accessKey },
      },
    };
    const env = { ...nothing, XDG_CONFIG_HOME: profiles('config', stored) };
    assert.equal((await tool.run(['get', 'DATABASE_URL'], { env })).stdout, 'postgres://one\n');
    fails(await tool.run(['list', '--profile', 'other'], { env }), 1, /can’t reach/);
    const seen: Buffer[] = [];
    const thief = createServer(socket => socket.on('data', chunk => seen.push(Buffer.from(chunk))).resume());
    await new Promise<void>(resolve => thief.listen(0, '127.0.0.1', resolve));
    const { port } = thief.address() as { port: number };
    const cwd = folder('thief', { url: `http://127.0.0.1:${port}` });
    fails(
      await tool.run(['list'], { env, cwd }),
      2,
      /names http:.* there is no profile for it: if you trust/,
    );
    fails(await tool.run(['list', '--profile', 'work'], { env, cwd }), 2, /stored for another address/);
    assert.deepEqual(seen, []);
    await new Promise(resolve => thief.close(resolve));
    const open = { ...nothing, XDG_CONFIG_HOME: profiles('open', stored, 0o644) };
    fails(await tool.run(['list'], { env: open }), 1, /can be read by others/);
  });

  it('a key of the environment goes to an address that the person named, whatever a project file says', async t => {
    const folders = await startHostileFolder();
    t.after(() => folders.stop());
    const stored = {
      current: 'mine',
      profiles: {
        mine: { url: tool.service.url, access_key: tool.accessKey },
        // An address that the person has used, but not for this key.
        other: { url: folders.url, access_key: tool.accessKey },
      },
    };
    const XDG_CONFIG_HOME = profiles('of-environment', stored);
    const credentials = {
      'an access key': { STRONGROOM_ACCESS_KEY: tool.accessKey },
      'an API key': { STRONGROOM_API_KEY: tool.service.key },
      'a secret id': { STRONGROOM_ROLE_ID: tool.vaultId, STRONGROOM_SECRET_ID: 'sr_login_x' },
    };
    for (const [what, credential] of Object.entries(credentials)) {
      const env = { ...nothing, ...credential };
      const bare = await tool.run(['list'], { env, cwd: folders.path });
      fails(
        bare,
        2,
        /names http.*no profile for it: if you trust that address, set STRONGROOM_URL or use --url/,
      );
      const chosen = await tool.run(['list'], { env: { ...env, XDG_CONFIG_HOME }, cwd: folders.path });
      fails(chosen, 2, /a project file does not decide where a key from the environment is sent/);
      for (const words of [
        ['get', ''],
        ['run', '--only', ''],
        ['list', '--vault', ''],
        ['groups', 'delete', ''],
      ])
        for (const config of [{}, { XDG_CONFIG_HOME }]) {
          const done = await tool.run(['complete', '--', ...words], {
            env: { ...env, ...config },
            cwd: folders.path,
          });
          assert.equal(done.stdout, '', `${what}: ${words.join(' ')}`);
        }
      assert.deepEqual(folders.caught(), [], what);
    }
    const env = { STRONGROOM_URL: undefined, XDG_CONFIG_HOME };
    assert.equal(
      (await tool.run(['list'], { env })).code,
      0,
      'the address of the current profile is the person’s own',
    );
    const same = folder('same', { url: tool.service.url });
    assert.equal(
      (await tool.run(['list'], { env, cwd: same })).code,
      0,
      'and a project file may name it too',
    );
  });

  it('login and open go to no address of a project file', async t => {
    const folders = await startHostileFolder();
    t.after(() => folders.stop());
    for (const args of [['login'], ['login', '--with-key'], ['login', '--no-browser'], ['open']]) {
      const done = await tool.run(args, { env: nothing, cwd: folders.path, input: tool.accessKey });
      fails(done, 2, /names http:.*if you trust that address/);
      assert.deepEqual(folders.caught(), [], args.join(' '));
    }
  });

  it('on Tab an address is judged as the command would judge it', async () => {
    for (const url of ['http://vault.example.com', 'ftp://127.0.0.1', 'http://user@127.0.0.1']) {
      const env = { STRONGROOM_URL: url };
      const done = await tool.run(['complete', '--', 'get', ''], { env });
      assert.deepEqual([done.code, done.stdout], [0, ''], url);
      const typed = await tool.run(['complete', '--', 'get', '--url', url, '']);
      assert.deepEqual([typed.code, typed.stdout], [0, ''], url);
    }
    assert.equal((await tool.run(['complete', '--', 'get', ''])).stdout, 'DATABASE_URL\n');
  });

  it('a project file of another user, or that everyone can write to, is ignored and named', async t => {
    const cwd = folder('of-others', { vault: 'elsewhere' });
    const file = join(cwd, '.strongroom.json');
    const list = () => tool.run(['list'], { cwd });
    fails(await list(), 1, /belongs to another vault/);
    chmodSync(file, 0o666);
    const open = await list();
    assert.deepEqual([open.code, open.stdout], [0, 'DATABASE_URL\n']);
    assert.equal(open.stderr, `strongroom: ignored ${file}: everyone can write to it\n`);
    chmodSync(file, 0o644);
    writeFileSync(file, `{ "vault": "elsewhere" }${' '.repeat(64 * 1024 - 24)}`);
    fails(await list(), 1, /belongs to another vault/);
    writeFileSync(file, `{ "vault": "elsewhere" }${' '.repeat(64 * 1024 - 23)}`);
    assert.match((await list()).stderr, /ignored .*: it is not a small file\n$/);
    rmSync(file);
    execFileSync('mkfifo', [file]);
    assert.match((await list()).stderr, /ignored .*: it is not a small file\n$/, 'a pipe is not waited for');
    rmSync(file);
    if (process.getuid?.() !== 0) return t.skip('only root can give a file to another user');
    writeFileSync(file, '{ "vault": "elsewhere" }');
    chownSync(file, 12_345, 12_345);
    assert.equal((await list()).stderr, `strongroom: ignored ${file}: another user owns it\n`);
    rmSync(file);
    symlinkSync('real.json', file);
    writeFileSync(join(cwd, 'real.json'), '{ "vault": "elsewhere" }');
    fails(await list(), 1, /belongs to another vault/);
    execFileSync('chown', ['-h', '12345', file]);
    assert.match((await list()).stderr, /another user owns it/, 'a link of another user to a file of ours');
  });

  it('a project file is searched for up to the home folder and the end of the file system, and no further', async t => {
    const outer = folder('outer', { vault: 'elsewhere' });
    const inner = join(outer, 'src', 'deep');
    fails(await tool.run(['list'], { cwd: inner }), 1, /belongs to another vault/);
    const atHome = await tool.run(['list'], { cwd: inner, env: { HOME: join(outer, 'src') } });
    assert.equal(atHome.stdout, 'DATABASE_URL\n', 'nothing above the home folder counts');
    const linked = join(tool.home, 'linked-home');
    symlinkSync(join(outer, 'src'), linked);
    assert.equal(
      (await tool.run(['list'], { cwd: inner, env: { HOME: linked } })).code,
      0,
      'a home by a link',
    );
    fails(await tool.run(['list'], { cwd: inner, env: { HOME: outer } }), 1, /belongs to another vault/);
    try {
      execFileSync('mount', ['-t', 'tmpfs', 'none', inner], { stdio: 'ignore' });
    } catch {
      return t.skip('no file system can be mounted here');
    }
    t.after(() => execFileSync('umount', [inner]));
    assert.equal((await tool.run(['list'], { cwd: inner })).stdout, 'DATABASE_URL\n');
  });

  it('a relative XDG_CONFIG_HOME, XDG_CACHE_HOME or HOME means no folder of the project', async () => {
    const project = join(tool.home, 'relative');
    const stored = {
      current: 'a',
      profiles: { a: { url: 'http://127.0.0.1:1', access_key: tool.accessKey } },
    };
    profiles('relative/conf', stored);
    profiles('relative/home/.config', stored);
    for (const env of [{ XDG_CONFIG_HOME: 'conf' }, { HOME: 'home', XDG_CONFIG_HOME: undefined }]) {
      const done = await tool.run(['list'], { env: { ...nothing, ...env }, cwd: project });
      fails(done, 2, /STRONGROOM_URL is required/);
    }
    await tool.run(['run', '--', 'true'], { cwd: project, env: { XDG_CACHE_HOME: 'kept' } });
    assert.ok(!existsSync(join(project, 'kept')));
  });

  it('says in one line what is wrong: address, key, name, placeholder', async () => {
    fails(await tool.run(['get', 'NOTHING']), 1, /no active secret "NOTHING"/);
    fails(await tool.admin(['get', 'NOTHING']), 1, /no active secret "NOTHING"/);
    fails(await tool.run(['get', '\u001b[31mX\u202e']), 1, /^\P{C}*\n$/u);
    fails(await tool.run(['list'], { env: { STRONGROOM_URL: 'http://127.0.0.1:1' } }), 1, /can’t reach/);
    const wrong = `${tool.accessKey.slice(0, -1)}${tool.accessKey.endsWith('A') ? 'B' : 'A'}`;
    fails(await tool.run(['list'], { env: { STRONGROOM_ACCESS_KEY: wrong } }), 1, /the key is not accepted/);
    const placeholder = { STRONGROOM_ACCESS_KEY: 'YOUR_KEY' };
    fails(await tool.run(['list'], { env: placeholder }), 2, /must be a key that begins with sr_vault_/);
    fails(
      await tool.run(['list'], { env: { ...nothing, STRONGROOM_URL: tool.service.url } }),
      2,
      /no key for/,
    );
    fails(await tool.run(['get']), 2, /the name of a secret is required/);
    fails(await tool.run(['get', 'A', 'hunter2']), 2, /^(?!.*hunter2)/);
  });

  it('suggests the command that was meant, and explains each with -h, --help and help', async () => {
    fails(await tool.run(['gte', 'X']), 2, /unknown command "gte": did you mean strongroom get\?/);
    fails(await tool.run(['lsit']), 2, /did you mean strongroom list\?/);
    fails(await tool.run(['xyzzy']), 2, /see strongroom --help/);
    fails(await tool.run(['keyring']), 2, /keyring takes one of these: rotate, status/);
    fails(await tool.run(['get', '--vlaut', 'x']), 2, /unknown flag '--vlaut': see --help/);
    assert.match(
      (await tool.run(['access-keys', '--help'])).stdout,
      /^Commands:\n( {2}access-keys .*\n){3}$/,
    );
    const [long, short, asked] = await Promise.all(
      [
        ['get', '--help'],
        ['get', '-h'],
        ['help', 'get'],
      ].map(args => tool.run(args)),
    );
    assert.match(long!.stdout, /Usage: strongroom get NAME/);
    assert.equal(short!.stdout, long!.stdout);
    assert.equal(asked!.stdout, long!.stdout);
    const versions = await Promise.all([tool.run(['version']), tool.run(['--version'])]);
    assert.equal(versions[0].stdout, versions[1].stdout);
  });
});

describe('get and list', () => {
  it('a reader that has seen enough is no error of ours: nothing is said, and the exit code is that of a closed pipe', async () => {
    for (const args of [
      ['list', '--json'],
      ['audit', 'export', '--data', tool.service.data],
    ]) {
      const { child, done } = tool.start(args);
      child.stdout!.destroy();
      const { code, stderr } = await done;
      assert.deepEqual([code, stderr], [141, ''], args.join(' '));
    }
  });

  it('prints the value and a newline, the value alone, JSON, or a file that only its owner reads', async () => {
    assert.equal((await tool.run(['get', 'DATABASE_URL', '--no-newline'])).stdout, 'postgres://one');
    const json = JSON.parse((await tool.run(['get', 'DATABASE_URL', '--json'])).stdout);
    assert.equal(json.name, 'DATABASE_URL');
    assert.equal(json.value, 'postgres://one');
    const file = join(tool.home, 'value');
    assert.equal((await tool.run(['get', 'DATABASE_URL', '--out', file])).stdout, '');
    assert.equal(readFileSync(file, 'utf8'), 'postgres://one');
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it('what prints a value, a key or a link can write it to a file that only its owner reads, every such command', async () => {
    const { accessKey } = tool;
    await tool.admin(['identities', 'create', 'written', '--method', 'secret_id', '--vault', 'app']);
    const [keyFile, publicFile] = [join(tool.home, 'issued.key'), join(tool.home, 'written.pub')];
    const { publicKey } = generateKeyPairSync('ed25519', {
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    writeFileSync(publicFile, sshLineOf(sshKeyOf(publicKey)!, 'written'));
    const lines: Record<string, readonly string[]> = {
      get: ['DATABASE_URL'],
      export: [],
      inject: [],
      narrow: ['--expires-in', '10m'],
      'access-keys create': ['written', '--vault', 'app'],
      'identities secret-id': ['written'],
      'members invite': ['written@example.com'],
      'keys public': ['written', '--vault', 'app'],
      'keys export': ['written', '--vault', 'app'],
      'authorities create': ['written', '--vault', 'app'],
      'authorities trust': ['written', '--vault', 'app'],
      'profiles issue': ['written', 'written.example', '--vault', 'app', '--key-out', keyFile],
      'ssh-certificate': [publicFile, '--key', 'ssh', '--principal', 'deploy', '--vault', 'app'],
      'webhooks create': ['written', '-'],
    };
    const inputs: Record<string, string> = {
      inject: 'sr://self/DATABASE_URL',
      'webhooks create': `${tool.service.url}/hook`,
    };
    assert.equal((await tool.admin(['keys', 'create', 'written', '--vault', 'app'])).code, 0);
    const made = await tool.admin(['keys', 'create', 'ssh', '--vault', 'app', '--not-exportable']);
    assert.equal(made.code, 0, made.stderr);
    const ssh = { types: ['user'], principals: ['deploy'], max_valid_for: 3_600 };
    const certifying = await tool.service.call('PUT', `/v1/keys/${made.stdout.trim()}`, { ssh });
    assert.equal(certifying.status, 200, certifying.text);
    const loaded = await Promise.all(
      Object.entries(commands).map(async ([name, load]) => [name, (await load()).command.options] as const),
    );
    const writing = loaded
      .filter(([, options]) => 'out' in options && !('data' in options))
      .map(([name]) => name);
    assert.deepEqual(Object.keys(lines).sort(), writing.sort());
    for (const [name, args] of Object.entries(lines)) {
      const file = join(tool.home, `out-${name.replace(' ', '-')}`);
      const env = name === 'narrow' ? { STRONGROOM_ACCESS_KEY: accessKey } : {};
      const input = inputs[name] ?? '';
      if (name === 'profiles issue') {
        const profile = ['--authority', 'written', '--allow', '**.example', '--vault', 'app'];
        const ready = await tool.admin(['profiles', 'create', 'written', ...profile]);
        assert.equal(ready.code, 0, ready.stderr);
      }
      const done = await tool.admin([...name.split(' '), ...args, '--out', file], { env, input });
      assert.deepEqual([done.code, done.stdout], [0, ''], `${name}: ${done.stderr}`);
      // Servers and programs of others read an SSH certificate, which is public.
      assert.equal(statSync(file).mode & 0o777, name === 'ssh-certificate' ? 0o644 : 0o600, name);
      const written = readFileSync(file, 'utf8');
      assert.match(
        written,
        /postgres:\/\/one|sr_(?:narrow|vault|login)_\w+|\/invite#|BEGIN (?:PUBLIC|PRIVATE) KEY|BEGIN CERTIFICATE|^whsec_|^ssh-ed25519-cert/,
        name,
      );
      assert.ok(!done.stderr.includes(written.trim()), name);
    }
    assert.equal(statSync(keyFile).mode & 0o777, 0o600);
    assert.match(readFileSync(keyFile, 'utf8'), /BEGIN PRIVATE KEY/);
  });

  it('lists names, never values, with either key', async () => {
    for (const list of [tool.run, tool.admin]) {
      const { stdout } = await list(['list']);
      assert.equal(stdout, 'DATABASE_URL\n');
      const json = JSON.parse((await list(['list', '--json'])).stdout);
      assert.equal(json[0].name, 'DATABASE_URL');
      assert.ok(!JSON.stringify(json).includes('postgres'));
    }
    assert.equal((await tool.admin(['list', '--vaults'])).stdout, 'app\n');
    fails(await tool.run(['list', '--vaults']), 2, /STRONGROOM_API_KEY is required/);
  });
});
