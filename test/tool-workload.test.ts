/** The command line on machines that have no key: in GitHub Actions, in Kubernetes, in GitLab, with a secret id. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { type HostileFolder, startHostileFolder } from './hostile-folder.ts';
import { newKey, startTokenIssuer, type TokenIssuer } from './token-issuer.ts';
import { collect, type Done, startTool, type Tool } from './tool.ts';

describe('a machine without a key', () => {
  let tool: Tool;
  let issuer: TokenIssuer;
  let runner: Server;
  let identity: string;
  /** What the runner was asked for, and with which token. */
  const asked: string[] = [];

  before(async () => {
    issuer = await startTokenIssuer([await newKey('one')]);
    tool = await startTool({ DATABASE_URL: 'postgres://one' });
    await tool.service.restart(['--allow-private-issuers', '127.0.0.0/8']);
    const create = ['identities', 'create', 'ci', '--issuer', issuer.url, '--subject', 'repo:acme/*'];
    const { stdout, stderr } = await tool.admin([...create, '--vault', 'app', '--lifetime', '60']);
    assert.match(stdout, /^[0-9a-f-]{36}\n$/, stderr);
    identity = stdout.trim();
    runner = createServer(async ({ url, headers }, response) => {
      asked.push(`${url} ${headers.authorization}`);
      response.end(JSON.stringify({ value: await token() }));
    });
    await new Promise<void>(resolve => runner.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    runner?.close();
    await issuer?.close();
    await tool?.stop();
  });

  function token(sub = 'repo:acme/shop:main'): Promise<string> {
    const iat = Math.floor(tool.service.clock.now() / 1_000);
    return issuer.sign({ iss: issuer.url, sub, aud: 'strongroom', iat, exp: iat + 300 });
  }
  /** With no key in the environment. */
  const bare = (args: readonly string[], env: Record<string, string> = {}): Promise<Done> =>
    tool.run(args, { env: { STRONGROOM_URL: tool.service.url, STRONGROOM_ACCESS_KEY: undefined, ...env } });
  const get = (env: Record<string, string>) => bare(['get', 'DATABASE_URL'], env);
  const actions = () => ({
    STRONGROOM_IDENTITY: identity,
    ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${(runner.address() as AddressInfo).port}/token?v=1`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'a-token-of-the-runner',
  });

  it('logs in by itself in GitHub Actions, for run, get and whoami', async () => {
    assert.equal((await get(actions())).stdout, 'postgres://one\n');
    assert.deepEqual(asked, ['/token?v=1&audience=strongroom Bearer a-token-of-the-runner']);
    const program = ['run', '--no-mask', '--', process.execPath, '-p', 'process.env.DATABASE_URL'];
    assert.equal((await bare(program, actions())).stdout, 'postgres://one\n');
    const shown = await bare(['whoami', '--json'], actions());
    const { source, vault } = JSON.parse(shown.stdout);
    assert.deepEqual([source, vault], ['GitHub Actions', 'app']);
  });

  describe('the action, in a workspace that a stranger wrote', () => {
    let workspace: HostileFolder;
    let checkout: string;
    before(async () => {
      workspace = await startHostileFolder();
      // As the runner gets it: what is committed, without any package beside it.
      checkout = join(tool.home, 'action');
      for (const name of ['action.yml', 'bin', 'src', 'package.json'])
        cpSync(new URL(`../${name}`, import.meta.url), join(checkout, name), { recursive: true });
    });
    after(() => workspace?.stop());

    async function act(only: string) {
      const { runs, inputs } = parse(readFileSync(join(checkout, 'action.yml'), 'utf8'));
      assert.deepEqual(runs, { using: 'node24', main: 'bin/action.js' });
      const given: Record<string, string> = { url: tool.service.url, identity, only };
      const all = Object.entries<{ default?: string }>(inputs).map(
        ([name, input]) => [`INPUT_${name.toUpperCase()}`, given[name] ?? input.default ?? ''] as const,
      );
      const file = join(tool.home, `github-env-${only}`);
      const job = spawn(process.execPath, [join(checkout, runs.main)], {
        cwd: workspace.path,
        env: {
          ...actions(),
          ...Object.fromEntries(all),
          // What an earlier step may have left for this one.
          STRONGROOM_ACCESS_KEY: tool.accessKey,
          STRONGROOM_ALLOW_UNSAFE_NAMES: 'true',
          STRONGROOM_URL: workspace.url,
          HOME: workspace.path,
          PATH: `${workspace.path}/node_modules/.bin:${process.env.PATH}`,
          GITHUB_WORKSPACE: workspace.path,
          GITHUB_ACTION_PATH: checkout,
          GITHUB_ENV: file,
          GITHUB_ACTIONS: 'true',
        },
      });
      const done = await collect(job);
      return { ...done, written: readFileSync(file, 'utf8') };
    }

    it('sets the variables of a job, masks their values, and takes nothing of the workspace', async () => {
      const { written, stderr, stdout } = await act('DATABASE_URL');
      assert.match(written, /^DATABASE_URL<<(\w+)\npostgres:\/\/one\n\1\n$/, stderr);
      assert.match(stderr, /::add-mask::postgres:\/\/one/);
      assert.equal(stdout, '');
      assert.deepEqual(workspace.caught(), []);
    });

    it('fails, and sets nothing, where a name would change what the next steps run', async () => {
      const names = ['LD_PRELOAD', 'BASH_ENV', 'PROMPT_COMMAND', 'GITHUB_PATH'];
      for (const name of names) {
        await tool.put(name, '/tmp/evil');
        const { written, code, stderr } = await act(name);
        assert.deepEqual([written, code], ['', 1]);
        assert.match(stderr, new RegExp(`${name} changes what is run`));
      }
      assert.deepEqual(workspace.caught(), []);
      assert.equal((await tool.admin(['rm', ...names])).code, 0);
    });
  });

  it('logs in with the token that Kubernetes mounts, and with that of a job in GitLab', async () => {
    const file = join(tool.home, 'token');
    writeFileSync(file, `${await token()}\n`);
    assert.equal((await get({ STRONGROOM_IDENTITY: identity, STRONGROOM_TOKEN_FILE: file })).code, 0);
    const job = { STRONGROOM_IDENTITY: identity, STRONGROOM_ID_TOKEN: await token() };
    assert.equal((await get(job)).stdout, 'postgres://one\n');
  });

  it('logs in with a role id and a secret id', async () => {
    const made = await tool.admin([
      'identities',
      'create',
      'role',
      '--method',
      'secret_id',
      '--vault',
      'app',
    ]);
    const secret = await tool.admin(['identities', 'secret-id', 'role', '--uses', '1']);
    assert.match(secret.stdout, /^sr_login_\w+\n$/, secret.stderr);
    assert.ok(!secret.stderr.includes(secret.stdout.trim()));
    const env = { STRONGROOM_ROLE_ID: made.stdout.trim(), STRONGROOM_SECRET_ID: secret.stdout.trim() };
    assert.equal((await get(env)).stdout, 'postgres://one\n');
    const kept = join(tool.home, 'secret-id');
    writeFileSync(kept, (await tool.admin(['identities', 'secret-id', 'role'])).stdout);
    const inFile = { STRONGROOM_ROLE_ID: made.stdout.trim(), STRONGROOM_SECRET_ID_FILE: kept };
    assert.equal((await get(inFile)).stdout, 'postgres://one\n');
    const again = await get(env);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /^strongroom: the service refused the login of this machine[^\n]*\n$/);
  });

  it('logs in again while a program runs for longer than its access key lives', async () => {
    const file = join(tool.home, 'renewed-token');
    writeFileSync(file, await token());
    const program = ['run', '--watch', '--watch-interval', '1', '--no-mask', '--'];
    const script = 'console.log(process.env.DATABASE_URL); setInterval(() => {}, 1000)';
    const { child, done } = tool.start([...program, process.execPath, '-e', script], {
      env: { STRONGROOM_ACCESS_KEY: undefined, STRONGROOM_IDENTITY: identity, STRONGROOM_TOKEN_FILE: file },
    });
    const lines = child.stdout![Symbol.asyncIterator]();
    assert.equal(String((await lines.next()).value).trim(), 'postgres://one');
    tool.service.clock.pass(120_000);
    writeFileSync(file, await token());
    await tool.put('DATABASE_URL', 'postgres://two');
    assert.equal(String((await lines.next()).value).trim(), 'postgres://two');
    child.kill('SIGTERM');
    await done;
    await tool.put('DATABASE_URL', 'postgres://one');
  });

  it('says in one line what is missing or refused, and repeats no token', async () => {
    const refused = await get({
      STRONGROOM_IDENTITY: identity,
      STRONGROOM_ID_TOKEN: await token('repo:evil/x'),
    });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^strongroom: the service refused the login of this machine[^\n]*\n$/);
    assert.ok(!refused.stderr.includes('eyJ'));
    const why = await tool.admin(['identities', 'refusals', 'ci']);
    assert.match(why.stdout, /sub: no pattern of the identity matches/);
    for (const [env, what] of [
      [{ STRONGROOM_IDENTITY: identity }, /there is no token/],
      [{ STRONGROOM_IDENTITY: 'ci' }, /must be the id of an identity/],
      [{ STRONGROOM_ROLE_ID: identity }, /require each other/],
      [{ ...actions(), ACTIONS_ID_TOKEN_REQUEST_URL: 'http://192.0.2.1/' }, /not what GitHub sets/],
    ] as const) {
      const { code, stderr } = await get(env);
      assert.equal(code, 2, stderr);
      assert.match(stderr, what);
    }
    const offline = await bare(['run', '--offline', '--', 'true'], actions());
    assert.equal(offline.code, 2, offline.stderr);
  });

  it('is let in from a preset, listed and deleted', async () => {
    const presets = await bare(['identities', 'presets']);
    assert.match(presets.stdout, /^github-actions +https:\/\/token\.actions\.githubusercontent\.com/);
    const create = ['identities', 'create', 'github', '--preset', 'github-actions', '--vault', 'app'];
    const without = await tool.admin(create);
    assert.match(without.stderr, /--subject is required, such as repo:OWNER/);
    const made = await tool.admin([
      ...create,
      '--subject',
      'repo:acme/shop:*',
      '--claim',
      'ref=refs/heads/main',
      '--only',
      'DB_*',
      '--json',
    ]);
    const { issuer: its, claims, names } = JSON.parse(made.stdout);
    assert.deepEqual(
      [its, claims, names],
      ['https://token.actions.githubusercontent.com', { ref: ['refs/heads/main'] }, ['DB_*']],
    );
    assert.match(
      (await tool.admin(['identities', 'list'])).stdout,
      /^github +[0-9a-f-]{36} +https:\/\/token/m,
    );
    assert.equal((await tool.admin(['identities', 'delete', 'github'])).code, 0);
    const gone = await tool.admin(['identities', 'delete', 'github']);
    assert.match(gone.stderr, /there is no identity "github"/);
  });
});
