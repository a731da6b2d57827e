/** What a person does with the command: sign in and out, see who they are, complete at a shell. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Answer } from './harness.ts';
import { Browser, password } from './people.ts';
import { binary, type Done, type How, startTool, type Tool } from './tool.ts';

const execute = promisify(execFile);
let tool: Tool;
before(async () => {
  tool = await startTool({ DATABASE_URL: 'postgres://one', DATA_KEY: 'x', 'a b': 'y' });
});
after(() => tool.stop());

const nothing = { STRONGROOM_URL: undefined, STRONGROOM_ACCESS_KEY: undefined };

function fails({ code, stdout, stderr }: Done, expected: number, what: RegExp): void {
  assert.equal(code, expected, stderr);
  assert.match(stderr, what);
  assert.match(stderr, /^strongroom: [^\n]+\n$/, 'one line');
  assert.equal(stdout, '');
}

describe('login and logout', () => {
  it('stores a checked key where only its owner reads it, in several profiles, and forgets it', async () => {
    const file = join(tool.home, '.config', 'strongroom', 'profiles.json');
    const login = (input: string, ...flags: string[]) =>
      tool.run(['login', '--url', tool.service.url, ...flags], { env: nothing, input });
    const done = await login(`${tool.accessKey}\n`);
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stderr, /signed in to http:\S+ \(app\) as profile default/);
    assert.ok(!done.stderr.includes(tool.accessKey));
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(join(file, '..')).mode & 0o777, 0o700);
    assert.equal((await tool.run(['get', 'DATABASE_URL'], { env: nothing })).stdout, 'postgres://one\n');

    const owner = await login(tool.service.key, '--profile', 'owner', '--vault', 'app', '--json');
    assert.deepEqual(JSON.parse(owner.stdout), {
      profile: 'owner',
      url: tool.service.url,
      organization: 'Test',
      role: 'owner',
    });
    assert.equal((await tool.run(['set', 'NEW'], { env: nothing, input: 'v' })).code, 0);
    const other = await tool.run(['set', 'NEW', '--profile', 'default'], { env: nothing, input: 'v' });
    fails(other, 2, /STRONGROOM_API_KEY is required/);

    const before = readFileSync(file, 'utf8');
    fails(await login(`${tool.accessKey.slice(0, -2)}xx`), 1, /the key is not accepted/);
    fails(await login('hunter2'), 2, /^(?!.*hunter2).*begins with sr_api_ or sr_vault_/);
    assert.equal(readFileSync(file, 'utf8'), before);

    assert.match((await tool.run(['logout'], { env: nothing })).stderr, /deleted the profile owner/);
    assert.ok(!readFileSync(file, 'utf8').includes(tool.service.key));
    assert.equal((await tool.run(['list'], { env: nothing })).code, 0, 'the other one is in use');
    assert.equal((await tool.run(['logout', '--profile', 'default', '--json'], { env: nothing })).code, 0);
    fails(await tool.run(['logout'], { env: nothing }), 1, /no such profile/);
    fails(await tool.run(['list'], { env: nothing }), 2, /STRONGROOM_URL is required/);
  });
});

describe('login at a browser', () => {
  /** Behaves as libsecret’s `secret-tool` does: values by standard input and output, and exit code 1 for what is not there. */
  const secretTool = `#!/bin/sh
echo "$*" >> "$KEYRING/arguments"
case "$1" in
  store) shift 3; cat > "$KEYRING/$(echo "$*" | tr ' ' .)" ;;
  lookup) shift; cat "$KEYRING/$(echo "$*" | tr ' ' .)" 2>/dev/null ;;
  clear) shift; rm "$KEYRING/$(echo "$*" | tr ' ' .)" ;;
esac
`;
  const profiles = () => join(tool.home, '.config', 'strongroom', 'profiles.json');
  const stored = () => JSON.parse(readFileSync(profiles(), 'utf8')).profiles;

  async function person(): Promise<Browser> {
    const { body } = await tool.service.call('POST', '/v1/members', {
      email: 'ada@example.org',
      role: 'editor',
    });
    const browser = new Browser(tool.service.url);
    const joined = await browser.post('/auth/invitation/accept', { token: body.token, password });
    assert.equal(joined.status, 200, joined.text);
    return browser;
  }

  /** Answers the code that the command shows. */
  async function login(args: string[], env: How['env'], answer: (user_code: string) => Promise<Answer>) {
    const url = ['--url', tool.service.url, '--no-browser'];
    const { child, done } = tool.start(['login', ...url, ...args], { env: { ...nothing, ...env } });
    const code = await new Promise<string>((resolve, reject) => {
      let said = '';
      child.stderr!.on('data', chunk => {
        said += chunk;
        const [, shown] = /#([A-Z]{4}-[A-Z]{4}) /.exec(said) ?? [];
        if (shown !== undefined) resolve(shown);
      });
      done.then(({ stderr }) => reject(new Error(stderr)));
    });
    const { status, text } = await answer(code);
    assert.equal(status, 200, text);
    return done;
  }

  it('waits for the person, keeps the key in the keyring or the file, ends it at the service', async () => {
    const ada = await person();
    const bin = join(tool.home, 'bin');
    const KEYRING = join(tool.home, 'keyring');
    for (const folder of [bin, KEYRING]) mkdirSync(folder);
    writeFileSync(join(bin, 'secret-tool'), secretTool, { mode: 0o755 });
    const bus = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere', PATH: `${bin}:${process.env.PATH}` };
    const keyring = { ...bus, KEYRING };
    const allow = (user_code: string) =>
      ada.post('/auth/device/approve', { user_code, role: 'viewer', expires_in: 3_600 });

    const done = await login(['--json'], keyring, allow);
    assert.equal(done.code, 0, done.stderr);
    const { profile, organization, member, role } = JSON.parse(done.stdout);
    assert.deepEqual([profile, organization, member, role], ['default', 'Test', 'ada@example.org', 'viewer']);
    const reference = stored().default.keyring;
    const held = join(KEYRING, `service.strongroom.key.${reference}`);
    const key = readFileSync(held, 'utf8');
    assert.match(key, /^sr_api_/);
    for (const file of [profiles(), join(KEYRING, 'arguments')])
      assert.ok(!readFileSync(file, 'utf8').includes(key), file);
    const env = { ...nothing, ...keyring };
    const me = await tool.run(['whoami'], { env });
    assert.match(me.stdout, /organization: +Test\nmember: +ada@example\.org\nrole: +viewer\nexpires: +20/);

    const refused = await login(['--profile', 'other'], keyring, user_code =>
      ada.post('/auth/device/deny', { user_code }),
    );
    assert.match(refused.stderr, /the sign-in was refused in the dashboard\n$/);
    assert.equal(refused.code, 1);

    const again = await login(['--no-keyring'], keyring, allow);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, /\(Test, ada@example\.org, viewer, until 20\S+\) as profile default\n$/);
    assert.ok(!existsSync(held), 'the one before is forgotten');
    assert.equal((await tool.service.call('GET', '/v1/whoami', undefined, key)).status, 401, 'and ended');
    const next = stored().default.api_key;
    assert.equal((await tool.service.call('GET', '/v1/whoami', undefined, next)).status, 200);

    const out = await tool.run(['logout'], { env });
    assert.match(out.stderr, /signed out of http:\S+, and deleted the profile default\n$/);
    assert.equal((await tool.service.call('GET', '/v1/whoami', undefined, next)).status, 401);
  });

  it('says to sign in again once it has expired, or the keyring has lost it', async () => {
    const now = Date.now();
    const kept = (expires: number) => ({
      current: 'work',
      profiles: {
        work: {
          url: tool.service.url,
          keyring: 'gone',
          member: 'ada@example.org',
          expires_at: new Date(expires).toISOString(),
        },
      },
    });
    writeFileSync(profiles(), JSON.stringify(kept(now - 1)), { mode: 0o600 });
    fails(await tool.run(['list'], { env: nothing }), 1, /profile work has expired: run strongroom login/);
    writeFileSync(profiles(), JSON.stringify(kept(now + 1e6)), { mode: 0o600 });
    fails(await tool.run(['list'], { env: nothing }), 1, /keyring: run strongroom login/);
    assert.equal((await tool.run(['list'])).code, 0, 'a key in the environment still works');
    assert.equal((await tool.run(['open'], { env: nothing })).code, 0, 'what needs no key asks for none');
    rmSync(profiles());
  });
});

describe('whoami and open', () => {
  it('says which service and key are used, and never the key', async () => {
    const { stdout } = await tool.run(['whoami']);
    assert.match(stdout, /^url: +http:\S+\nsource: +the environment\nkey: +access key\nvault: +app\n$/);
    const owner = JSON.parse((await tool.admin(['whoami', '--json'])).stdout);
    assert.deepEqual([owner.key, owner.organization], ['API key', 'Test']);
    fails(await tool.run(['whoami'], { env: { STRONGROOM_ACCESS_KEY: undefined } }), 2, /there is no key/);
    assert.equal((await tool.run(['open'])).stdout, `${tool.service.url}/\n`);
  });
});

describe('completion', () => {
  const complete = async (...words: string[]) =>
    (await tool.run(['complete', '--', ...words])).stdout.split('\n').slice(0, -1);

  it('offers commands, flags, choices, vaults and secrets', async () => {
    assert.deepEqual(await complete('re'), ['readers', 'redact', 'requests', 'restore']);
    assert.ok((await complete('')).includes('organization') && (await complete('')).includes('run'));
    assert.deepEqual(await complete('organization', ''), ['set-plan']);
    assert.deepEqual(await complete('members', ''), ['grant', 'invite', 'list']);
    const made = await tool.admin(['groups', 'create', 'completed']);
    assert.equal(made.code, 0, made.stderr);
    const admin = { env: { STRONGROOM_API_KEY: tool.service.key } };
    const groups = await tool.run(['complete', '--', 'groups', 'delete', ''], admin);
    assert.equal(groups.stdout, 'completed\n');
    assert.equal((await tool.admin(['groups', 'delete', 'completed'])).code, 0);
    assert.equal((await tool.admin(['groups', 'delete', 'completed'])).code, 1);
    assert.equal((await tool.admin(['members', 'grant', 'nobody@example.com', 'app', 'chief'])).code, 2);
    assert.equal((await tool.admin(['members', 'invite', 'ends@example.com'])).code, 0);
    const granting = ['members', 'grant', 'ends@example.com', 'app'];
    assert.equal((await tool.admin([...granting, 'viewer'])).code, 0);
    assert.equal((await tool.admin([...granting, 'none', '--until', '1h'])).code, 2);
    assert.equal((await tool.admin([...granting, 'editor', '--until', '1h'])).code, 0);
    const { stdout: people } = await tool.admin(['members', 'list']);
    assert.match(people, /ends@example\.com .*app=viewer app=editor until 20\d\d-/);
    assert.deepEqual((await tool.admin(['requests', 'list'])).code, 0);
    assert.deepEqual((await complete('get', 'DATA')).sort(), ['DATABASE_URL', 'DATA_KEY']);
    assert.deepEqual(await complete('run', '--pri'), ['--pristine']);
    assert.deepEqual(await complete('serve', '--tls-'), ['--tls-cert', '--tls-key']);
    assert.deepEqual(await complete('audit', 'verify', '--rec'), ['--receipt']);
    assert.deepEqual(await complete('export', '--format', 'd'), ['dotenv', 'docker']);
    assert.deepEqual(await complete('completion', ''), ['bash', 'zsh', 'fish']);
    assert.deepEqual(await complete('import', ''), [':files']);
    assert.deepEqual(await complete('run', '--', 'np'), [':files']);
    const vaults = await tool.admin(['complete', '--', 'list', '--vault', '']);
    assert.equal(vaults.stdout, 'app\n');
  });

  it('is silent where nothing is set up', async () => {
    const done = await tool.run(['complete', '--', 'get', ''], { env: nothing });
    assert.deepEqual([done.code, done.stdout, done.stderr], [0, '', '']);
  });

  it('works in bash', async () => {
    const script = `
strongroom() { '${process.execPath}' -- '${binary}' "$@"; }
eval "$(strongroom completion bash)"
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _strongroom; printf '%s\\n' "\${COMPREPLY[@]}"; }
try strongroom hist
try strongroom get DATABASE
try strongroom get a`;
    const { stdout } = await execute('bash', ['-ec', script], { env: tool.environment() });
    assert.equal(stdout, 'history\nDATABASE_URL\na\\ b\n');
  });

  /** Where they are installed; `npm ci` brings neither. */
  const others = [
    ['zsh', ['-n']],
    ['fish', ['--no-execute']],
  ] as const;
  for (const [shell, check] of others.filter(([name]) => spawnSync(name, ['--version']).status === 0)) {
    it(`is a valid script for ${shell}`, async () => {
      const file = join(tool.home, `completion.${shell}`);
      writeFileSync(file, (await tool.run(['completion', shell])).stdout);
      await execute(shell, [...check, file]);
    });
  }

  it('refuses any other shell', async () => {
    fails(await tool.run(['completion', 'tcsh']), 2, /bash, zsh or fish/);
    fails(await tool.run(['completion', 'toString']), 2, /bash, zsh or fish/);
  });
});
