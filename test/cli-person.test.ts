/** What a person does with the command, part by part: signing in, the system's keyring, completion at a shell, and export. */
import assert from 'node:assert/strict';
import childProcess from 'node:child_process';
import fs, { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, describe, it, type TestContext } from 'node:test';
import { systemKeyring } from '../src/cli/connection/system-keyring.ts';
import type { Command } from '../src/cli/terminal/command.ts';
import { type Commands, complete } from '../src/cli/vault/complete.ts';
import { command as exporting } from '../src/cli/vault/export.ts';
import { endProfile, look, command as signingIn } from '../src/cli/vault/login.ts';
import { choice, flag, text } from '../src/service/settings/options.ts';
import { accessKey, vaultDouble } from './vault-double.ts';

const folder = mkdtempSync(join(tmpdir(), 'strongroom-person-'));
after(() => rmSync(folder, { recursive: true }));

const ownEnvironment = process.env;

/** The environment of this process meanwhile, with a home folder of its own. */
function environmentOf(t: TestContext, more: Readonly<Record<string, string>>): string {
  t.after(() => {
    process.env = ownEnvironment;
  });
  const HOME = mkdtempSync(join(folder, 'home-'));
  process.env = { HOME, PATH: '/nowhere', ...more };
  return HOME;
}

/** The text that is written to a stream of this process meanwhile, which doesn't get it. What tests report is bytes. */
function listeningTo(t: TestContext, stream: NodeJS.WriteStream): string[] {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  const written: string[] = [];
  t.mock.method(stream, 'write', (...args: unknown[]) => {
    if (typeof args[0] !== 'string') return write(...args);
    written.push(args[0]);
    return true;
  });
  return written;
}

const originals = new Map<object, Map<string, PropertyDescriptor | undefined>>();

/** A member of this process, or of a module of the runtime, is another meanwhile. */
function replacing(t: TestContext, object: object, name: string, value: unknown): void {
  const known = originals.get(object) ?? new Map<string, PropertyDescriptor | undefined>();
  originals.set(object, known);
  if (!known.has(name)) known.set(name, Object.getOwnPropertyDescriptor(object, name));
  Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: true });
  syncBuiltinESMExports();
  t.after(() => {
    const original = known.get(name);
    if (original === undefined) delete (object as Record<string, unknown>)[name];
    else Object.defineProperty(object, name, original);
    syncBuiltinESMExports();
  });
}

/** Doubles the programs of a keyring; a program that is not there has no status. */
function keyringDouble(t: TestContext, answers: { store?: number; find?: (kept: string) => string } = {}) {
  const calls: { program: string; args: readonly string[]; input: string; timeout: number }[] = [];
  let kept = '';
  const isStoring = (args: readonly string[]) => args[0] === 'store' || args[0] === '-i';
  const spawned = (program: string, args: string[], options: { input: string; timeout: number }) => {
    calls.push({ program, args, ...options });
    if (isStoring(args)) kept = options.input;
    const status = isStoring(args) ? (answers.store ?? 0) : 0;
    const stdout = (answers.find ?? (value => `${value}\n`))(kept);
    return stdout === 'absent' ? { status: 1, stdout: 'something' } : { status, stdout };
  };
  replacing(t, childProcess, 'spawnSync', spawned);
  return calls;
}

describe('the system’s keyring', () => {
  const bus = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' };

  it('is there on Linux in a session with a bus, on macOS always, and nowhere else', t => {
    const runtime = mkdtempSync(join(folder, 'runtime-'));
    writeFileSync(join(runtime, 'bus'), '');
    const rows: readonly [
      platform: string,
      environment: Readonly<Record<string, string>>,
      isThere: boolean,
    ][] = [
      ['linux', bus, true],
      ['linux', { XDG_RUNTIME_DIR: runtime }, true],
      ['linux', { XDG_RUNTIME_DIR: folder }, false],
      ['linux', { DBUS_SESSION_BUS_ADDRESS: '' }, false],
      ['linux', {}, false],
      ['darwin', {}, true],
      ['win32', bus, false],
    ];
    for (const [platform, environment, isThere] of rows) {
      replacing(t, process, 'platform', platform);
      assert.equal(
        systemKeyring(environment) !== null,
        isThere,
        `${platform} ${JSON.stringify(environment)}`,
      );
    }
  });

  it('takes a key by standard input and gives it by standard output, never as an argument', t => {
    for (const [platform, program] of [
      ['linux', 'secret-tool'],
      ['darwin', 'security'],
    ] as const) {
      replacing(t, process, 'platform', platform);
      const calls = keyringDouble(t, { find: kept => `${/sr_\w+/.exec(kept)?.[0]}\n` });
      const keyring = systemKeyring(bus)!;
      assert.equal(keyring.store('ref', 'label', 'sr_api_1'), true);
      assert.equal(keyring.find('ref'), 'sr_api_1');
      keyring.forget('ref');
      assert.ok(calls.every(call => call.program === program && call.timeout === 60_000));
      assert.ok(calls.every(({ args }) => !args.join(' ').includes('sr_api_1')));
      assert.deepEqual(
        calls.map(({ input }) => input.includes('sr_api_1')),
        [true, false, false, false],
      );
      assert.ok(calls.slice(1).every(({ input, args }) => input === '' && args.includes('ref')));
    }
  });

  it('has stored a key only if it gives the same back', t => {
    const rows: readonly [answers: Parameters<typeof keyringDouble>[1], isStored: boolean][] = [
      [{}, true],
      [{ store: 1 }, false],
      [{ find: () => 'other\n' }, false],
      [{ find: () => '' }, false],
      [{ find: () => 'absent' }, false],
    ];
    for (const [answers, isStored] of rows) {
      keyringDouble(t, answers);
      assert.equal(systemKeyring(bus)!.store('ref', 'label', 'key'), isStored, String(answers?.find));
    }
    for (const found of ['', '\n', 'absent']) {
      keyringDouble(t, { find: () => found });
      assert.equal(systemKeyring(bus)!.find('ref'), null);
    }
  });
});

describe('what a key opens', () => {
  const whoami = { organization: { name: 'Org' }, member: null, role: 'owner', expiration_date: null };

  it('is its vault, or its organization with its member, role and end', async t => {
    const double = await vaultDouble(t);
    const { url } = double.settings;
    assert.deepEqual(await look(url, accessKey), { vault: 'app' });
    double.answer = () => whoami;
    assert.deepEqual(await look(url, 'sr_api_x'), { organization: 'Org', role: 'owner' });
    double.answer = () => ({ ...whoami, member: { email: 'a@b' }, expiration_date: '2030' });
    assert.deepEqual(await look(url, 'sr_api_x'), {
      organization: 'Org',
      member: 'a@b',
      role: 'owner',
      expires: '2030',
    });
    assert.deepEqual(double.asked, [
      'GET /api/v1/vaults/self?secrets=names',
      'GET /v1/whoami',
      'GET /v1/whoami',
    ]);
  });

  it('a sign-in that is replaced is ended at the service, a key is only forgotten', async t => {
    const double = await vaultDouble(t);
    const { url } = double.settings;
    const now = Date.parse('2026-01-01T00:00:00Z');
    t.mock.timers.enable({ apis: ['Date'], now });
    const end = (more: object) => endProfile({ url, api_key: 'sr_api_x', ...more }, 'p');
    const until = (ms: number) => ({ member: 'a@b', expires_at: new Date(now + ms).toISOString() });
    assert.equal(await end({}), true);
    assert.deepEqual(double.asked, []);
    assert.equal(await end(until(1)), true);
    assert.deepEqual(double.asked, ['POST /auth/device/revoke']);
    assert.equal(await end(until(0)), true, 'it is over');
    assert.equal(double.asked.length, 1);
    double.status = 401;
    assert.equal(await end(until(1)), true, 'it was over before');
    double.status = 403;
    assert.equal(await end(until(1)), false);
    assert.equal(await end({ ...until(1), keyring: 'lost' }), false, 'its key is gone');
  });
});

describe('login', () => {
  type Kind = 'isFIFO' | 'isFile' | 'isSocket' | 'other';

  function typing(t: TestContext, input: string, kind: Kind, isTTY = false): void {
    const stdin = Object.assign(Readable.from([Buffer.from(input)]), { isTTY, setRawMode: () => {} });
    replacing(t, process, 'stdin', stdin);
    const names = ['isFIFO', 'isFile', 'isSocket'];
    const { fstatSync } = fs;
    replacing(t, fs, 'fstatSync', (file: number) =>
      file === 0 ? Object.fromEntries(names.map(name => [name, () => name === kind])) : fstatSync(file),
    );
  }

  const rows: readonly [flags: string[], kind: Kind, isTTY: boolean, isByKey: boolean][] = [
    [[], 'isFIFO', false, true],
    [[], 'isFile', false, true],
    [[], 'isSocket', false, true],
    [[], 'other', false, false],
    [[], 'isFIFO', true, false],
    [['--with-key'], 'other', false, true],
    [['--with-key'], 'isFIFO', true, true],
    [['--with-key', '--no-browser'], 'other', false, true],
    [['--no-browser'], 'isFIFO', false, false],
  ];
  for (const [flags, kind, isTTY, isByKey] of rows)
    it(`${[...flags, kind, isTTY ? 'on a terminal' : 'without one'].join(' ')}: ${isByKey ? 'by the key that comes in' : 'at the browser'}`, async t => {
      const double = await vaultDouble(t);
      const home = environmentOf(t, { STRONGROOM_URL: double.settings.url });
      const said = listeningTo(t, process.stderr);
      typing(t, ` ${accessKey}\n`, kind, isTTY);
      if (!isByKey) double.status = 403;
      const done = signingIn.run(flags);
      if (!isByKey) {
        await assert.rejects(done);
        assert.deepEqual(double.asked, ['POST /auth/device']);
        return;
      }
      await done;
      assert.deepEqual(double.asked, ['GET /api/v1/vaults/self?secrets=names']);
      assert.equal(said.join('').includes('create a key in the dashboard'), isTTY);
      assert.match(said.at(-1)!, /^strongroom: signed in to http:\S+ \(app\) as profile default\n$/);
      const stored = JSON.parse(readFileSync(join(home, '.config/strongroom/profiles.json'), 'utf8'));
      assert.deepEqual(stored, {
        current: 'default',
        profiles: { default: { url: double.settings.url, access_key: accessKey } },
      });
    });

  it('needs an address, of a flag, of the environment or of the profile that it replaces', async t => {
    const double = await vaultDouble(t);
    const home = environmentOf(t, {});
    listeningTo(t, process.stderr);
    typing(t, accessKey, 'isFIFO');
    await assert.rejects(signingIn.run([]), { message: /^STRONGROOM_URL is required/ });
    mkdirSync(join(home, '.config/strongroom'), { recursive: true });
    const profiles = join(home, '.config/strongroom/profiles.json');
    const { url } = double.settings;
    const before = {
      current: 'x',
      profiles: { x: { url: 'http://127.0.0.1:1' }, work: { url, access_key: 'sr_vault_old' } },
    };
    writeFileSync(profiles, JSON.stringify(before), { mode: 0o600 });
    await signingIn.run(['--profile', 'work', '--vault', 'app']);
    assert.deepEqual(JSON.parse(readFileSync(profiles, 'utf8')), {
      current: 'work',
      profiles: { x: before.profiles.x, work: { url, access_key: accessKey, vault: 'app' } },
    });
    assert.equal(double.asked.length, 1, 'a key is not ended');
  });

  it('keeps the key in the keyring where there is one, unless it is told not to, and forgets the one before', async t => {
    const double = await vaultDouble(t);
    const home = environmentOf(t, { STRONGROOM_URL: double.settings.url, DBUS_SESSION_BUS_ADDRESS: 'x' });
    const stored = () =>
      JSON.parse(readFileSync(join(home, '.config/strongroom/profiles.json'), 'utf8')).profiles.default;
    const written = listeningTo(t, process.stdout);
    const said = listeningTo(t, process.stderr);
    const calls = keyringDouble(t);
    typing(t, accessKey, 'isFIFO');
    await signingIn.run(['--json']);
    assert.deepEqual(JSON.parse(written.join('')), {
      profile: 'default',
      url: double.settings.url,
      vault: 'app',
    });
    assert.deepEqual(said, []);
    const { keyring, access_key } = stored();
    assert.equal(access_key, undefined);
    assert.ok(!calls.some(({ args }) => args[0] === 'clear'));
    typing(t, accessKey, 'isFIFO');
    const again = keyringDouble(t);
    await signingIn.run(['--no-keyring']);
    assert.deepEqual(stored(), { url: double.settings.url, access_key: accessKey });
    assert.deepEqual(
      again.map(({ args }) => args),
      [['clear', 'service', 'strongroom', 'key', keyring]],
    );
  });

  it('at a browser keeps who signed in and until when, ends the sign-in before, and opens one only if it may', async t => {
    const double = await vaultDouble(t);
    const { url } = double.settings;
    const begun = {
      device_code: 'd',
      user_code: 'ABCD-EFGH',
      verification_uri: `${url}/device`,
      verification_uri_complete: `${url}/device#ABCD-EFGH`,
      expires_in: 60,
      interval: 0,
    };
    const expiration_date = '2999-01-01T00:00:00.000Z';
    double.answer = ({ url: path }) => {
      if (path === '/auth/device') return begun;
      if (path === '/auth/device/token')
        return { status: 'approved', interval: 0, api_key: { token: 'sr_api_new' } };
      if (path === '/v1/whoami')
        return { organization: { name: 'Org' }, member: { email: 'a@b' }, role: 'viewer', expiration_date };
      return {};
    };
    const home = environmentOf(t, { STRONGROOM_URL: url, DISPLAY: ':0' });
    replacing(t, process.stdout, 'isTTY', true);
    for (const [flags, words] of [
      [[], /check in the browser that the code is ABCD-EFGH/],
      [['--no-browser'], /open http:\S+ in a browser, or enter the code ABCD-EFGH there/],
    ] as const) {
      const said = listeningTo(t, process.stderr);
      typing(t, '', 'other');
      await signingIn.run([...flags]);
      assert.match(said[0]!, words);
      assert.match(
        said.at(-1)!,
        /\(Org, a@b, viewer, until 2999-01-01T00:00:00\.000Z\) as profile default\n$/,
      );
    }
    const stored = JSON.parse(readFileSync(join(home, '.config/strongroom/profiles.json'), 'utf8'));
    assert.deepEqual(stored.profiles.default, {
      url,
      api_key: 'sr_api_new',
      member: 'a@b',
      expires_at: expiration_date,
    });
    assert.deepEqual(
      double.asked.filter(one => one.includes('revoke')),
      ['POST /auth/device/revoke'],
    );
  });
});

describe('completion', () => {
  const options = {
    format: choice('x', ['json', 'yaml']),
    vault: text('NAME', 'x'),
    only: text('NAMES', 'x'),
    out: text('FILE', 'x'),
    folder: text('DIR', 'x'),
    prefix: text('P', 'x'),
    url: text('URL', 'x'),
    profile: text('NAME', 'x'),
    pristine: flag('x'),
  };
  const of =
    (more: Partial<Command> = {}) =>
    async () => ({
      command: { usage: '', summary: '', about: '', options, run: async () => {}, ...more } as Command,
    });
  const commands: Commands = {
    mcp: of({ completes: ['config-name'] }),
    'mcp config': of({ completes: ['codex', 'copilot'] }),
    get: of({ completes: 'secrets' }),
    import: of({ completes: 'files' }),
    'groups delete': of({ completes: 'groups' }),
    'groups list': of(),
    'members remove': of({ completes: 'members' }),
    getter: of(),
  };

  async function completed(t: TestContext, words: readonly string[], marked = true): Promise<string[]> {
    const written = listeningTo(t, process.stdout);
    await complete(commands, marked ? ['--', ...words] : words);
    return written.join('').split('\n').slice(0, -1);
  }

  const rows: readonly [words: string[], expected: string][] = [
    [[], 'get getter groups help import mcp members version'],
    [[''], 'get getter groups help import mcp members version'],
    [['ge'], 'get getter'],
    [['groups', ''], 'delete list'],
    [['groups', 'd'], 'delete'],
    [['nothing', ''], ''],
    [['mcp', ''], 'config-name'],
    [['mcp', 'config', ''], 'codex copilot'],
    [['mcp', 'config', 'co'], 'codex copilot'],
    [['mcp', 'config', 'cop'], 'copilot'],
    [['groups', 'list', ''], ''],
    [['import', ''], ':files'],
    [['import', 'x'], ':files'],
    [['get', '--', 'x'], ':files'],
    [['get', '--p'], '--prefix --profile --pristine'],
    [['get', '--he'], '--help'],
    [['get', '--format', ''], 'json yaml'],
    [['get', '--format', 'y'], 'yaml'],
    [['get', '--out', ''], ':files'],
    [['get', '--folder', ''], ':files'],
    [['get', '--prefix', ''], ''],
    [['get', '--pristine', 'A'], 'A_KEY'],
    [['get', ''], 'A_KEY B_KEY'],
    [['get', 'B'], 'B_KEY'],
    [['get', 'xx'], ''],
    [['get', '--only', 'A'], 'A_KEY'],
    [['get', 'vault', 'A'], 'A_KEY'],
    [['get', '-xvault', 'A'], 'A_KEY'],
    [['get', 'xxvault', 'A'], 'A_KEY'],
  ];
  for (const [words, expected] of rows)
    it(`${JSON.stringify(words)}: ${expected}`, async t => {
      const { settings } = await vaultDouble(t, { A_KEY: '', B_KEY: '', 'A\u001bC': '' });
      environmentOf(t, { STRONGROOM_URL: settings.url, STRONGROOM_ACCESS_KEY: accessKey });
      assert.deepEqual(await completed(t, words), expected.split(' ').filter(Boolean));
      if (words[0] !== undefined)
        assert.deepEqual(await completed(t, words, false), expected.split(' ').filter(Boolean));
    });

  it('names vaults, groups and members by an API key, and asks the vault that the line names', async t => {
    const double = await vaultDouble(t);
    const { url } = double.settings;
    double.answer = () => ({ data: [{ id: '1', name: 'one' }], pagination: { total: 1 } });
    environmentOf(t, { STRONGROOM_API_KEY: 'sr_api_x' });
    const place = ['--url', url];
    for (const words of [
      ['get', ...place, '--vault', ''],
      ['groups', 'delete', ...place, ''],
      ['members', 'remove', ...place, ''],
    ])
      assert.deepEqual(await completed(t, words), ['one']);
    assert.deepEqual(double.asked, [
      'GET /v1/vaults?page=1&limit=100',
      'GET /v1/groups?page=1&limit=100',
      'GET /v1/members?page=1&limit=100',
    ]);
    double.asked.length = 0;
    await completed(t, ['get', ...place, '--vault', 'one', '']);
    assert.deepEqual(double.asked, [
      'GET /v1/vaults?q=one&page=1&limit=100',
      'GET /v1/secrets?vault_id=1&state=active&page=1&limit=100',
    ]);
    assert.deepEqual(await completed(t, ['get', '--vault', '']), [], 'without an address it is silent');
  });
});

describe('export', () => {
  async function exported(
    t: TestContext,
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
    name = 'app',
  ) {
    const double = await vaultDouble(t, { B: "b'b", A: 'a', C: 'c' });
    double.name = name;
    environmentOf(t, { STRONGROOM_URL: double.settings.url, STRONGROOM_ACCESS_KEY: accessKey, ...more });
    const [out, err] = [listeningTo(t, process.stdout), listeningTo(t, process.stderr)];
    await exporting.run(args);
    return { out: out.join(''), err: err.join('') };
  }

  it('is a dotenv file for Node, in the order of the names', async t => {
    const { out, err } = await exported(t, []);
    assert.equal(out.replace(/=.*/g, ''), 'A\nB\nC\n');
    assert.equal(err, '');
    assert.equal((await exported(t, ['--format', 'dotenv', '--dialect', 'node'])).out, out);
    assert.notEqual((await exported(t, ['--dialect', 'python'])).out, out);
    assert.deepEqual(JSON.parse((await exported(t, ['--format', 'json'])).out), { A: 'a', B: "b'b", C: 'c' });
  });

  it('a name that the project gives to another secret is that one’s, and is there once', async t => {
    const before = process.cwd();
    const project = mkdtempSync(join(folder, 'project-'));
    t.after(() => process.chdir(before));
    process.chdir(project);
    writeFileSync(join(project, '.strongroom.json'), JSON.stringify({ map: { A: 'C' } }), { mode: 0o600 });
    const lines = (await exported(t, ['--format', 'docker'])).out;
    assert.equal(lines, "A=c\nB=b'b\nC=c\n");
  });

  it('is a Kubernetes Secret of the name that is given, or of the vault’s', async t => {
    const nameOf = async (args: string[], vault?: string) =>
      /name: "?([^"\n]*)/.exec((await exported(t, ['--format', 'kubernetes', ...args], {}, vault)).out)?.[1];
    assert.equal(await nameOf([]), 'app');
    assert.equal(await nameOf([], ' My App! '), 'my-app');
    assert.equal(await nameOf([], '!!'), 'strongroom');
    assert.equal(await nameOf(['--name', 'other']), 'other');
  });

  it('tells a GitHub runner, and nobody else, what to mask', async t => {
    const runner = { GITHUB_ACTIONS: 'true' };
    assert.match((await exported(t, ['--format', 'github'], runner)).err, /::add-mask::a\n/);
    assert.equal((await exported(t, ['--format', 'github'])).err, '');
    assert.equal((await exported(t, ['--format', 'github'], { GITHUB_ACTIONS: '1' })).err, '');
    assert.equal((await exported(t, ['--format', 'json'], runner)).err, '');
  });
});
