/** Where the command line finds the service and its key, and what it says when it doesn't. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
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
    fails(await tool.admin(['get', 'DATABASE_URL', '--vault', 'other']), 1, /no vault of that name/);
  });

  it('a project file is found upwards to the root of the repository; flag and environment win over it', async () => {
    const project = folder('project', { url: tool.service.url, vault: 'app' });
    const deep = join(project, 'src', 'deep');
    const env = { STRONGROOM_URL: undefined };
    assert.equal((await tool.run(['get', 'DATABASE_URL'], { env, cwd: deep })).stdout, 'postgres://one\n');
    const wrong = folder('wrong', { url: 'http://127.0.0.1:1', vault: 'app' });
    assert.equal((await tool.run(['get', 'DATABASE_URL'], { cwd: wrong })).code, 0);
    const flag = ['get', 'DATABASE_URL', '--url', tool.service.url];
    assert.equal(
      (await tool.run(flag, { cwd: wrong, env: { STRONGROOM_URL: 'http://127.0.0.1:1' } })).code,
      0,
    );
    mkdirSync(join(project, 'src', '.git'));
    fails(await tool.run(['list'], { env, cwd: deep }), 2, /STRONGROOM_URL is required/);
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
    fails(await tool.run(['list'], { env, cwd }), 2, /there is no key for/);
    fails(await tool.run(['list', '--profile', 'work'], { env, cwd }), 2, /stored for another address/);
    assert.deepEqual(seen, []);
    await new Promise(resolve => thief.close(resolve));
    const open = { ...nothing, XDG_CONFIG_HOME: profiles('open', stored, 0o644) };
    fails(await tool.run(['list'], { env: open }), 1, /can be read by others/);
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
    fails(await tool.run(['get', '--vlaut', 'x']), 2, /unknown flag '--vlaut': --help lists/);
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
    const { statSync, readFileSync } = await import('node:fs');
    const file = join(tool.home, 'value');
    assert.equal((await tool.run(['get', 'DATABASE_URL', '--out', file])).stdout, '');
    assert.equal(readFileSync(file, 'utf8'), 'postgres://one');
    assert.equal(statSync(file).mode & 0o777, 0o600);
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
