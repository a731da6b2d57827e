/** `strongroom run`, part by part: what a program gets and when, how it is started, and how it ends. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Project } from '../src/cli/connection/project.ts';
import { referenceIn, resolver } from '../src/cli/connection/references.ts';
import type { Settings } from '../src/cli/connection/settings.ts';
import type { Snapshot } from '../src/cli/connection/vaults.ts';
import { endAs, forwardSignals, startProgram } from '../src/cli/vault/child.ts';
import { chosen, environmentFor, type Given } from '../src/cli/vault/environment.ts';
import { command } from '../src/cli/vault/run.ts';
import { type RunValues, runOptions } from '../src/cli/vault/run-options.ts';
import { sourceOf, supervise, type ValueSource } from '../src/cli/vault/supervision.ts';
import { readOptions } from '../src/service/settings/options.ts';
import { accessKey, vaultDouble } from './vault-double.ts';

const folder = mkdtempSync(join(tmpdir(), 'strongroom-run-'));
after(() => rmSync(folder, { recursive: true }));

const valuesOf = (more: Partial<RunValues> = {}): RunValues => ({
  ...readOptions(runOptions, [], {}),
  ...more,
});
const none: Settings = {
  url: 'http://127.0.0.1:1',
  vault: null,
  accessKey,
  apiKey: null,
  workload: null,
  project: null,
  profile: null,
  source: 'the environment',
};
const projectOf = (more: Partial<Project>): Project => ({
  file: 'f',
  url: null,
  vault: null,
  names: [],
  map: {},
  ...more,
});
const snapshotOf = (secrets: Readonly<Record<string, string>>): Snapshot => ({
  vault: { id: 'v', name: 'app' },
  secrets: Object.entries(secrets).map(([name, value]) => ({
    id: name,
    name,
    value,
    content_type: 'text/plain',
  })),
  tag: 't',
});

/** What is said on standard error meanwhile. */
function listening(t: TestContext): string[] {
  const said: string[] = [];
  t.mock.method(process.stderr, 'write', (text: string) => {
    said.push(text);
    return true;
  });
  return said;
}

describe('the secrets that a program is given', () => {
  const all = { A: 'a', B: 'b', Ä: 'c' };
  const pick = (more: Partial<RunValues>, project: Project | null = null) =>
    chosen(snapshotOf(all), valuesOf(more), project);

  it('are all of them, those that are named, or those that the project names', () => {
    assert.deepEqual(pick({}), Object.entries(all));
    assert.deepEqual(pick({}, projectOf({})), Object.entries(all));
    assert.deepEqual(pick({ only: ['B'] }), [['B', 'b']]);
    assert.deepEqual(pick({}, projectOf({ names: ['A'] })), [['A', 'a']]);
    assert.deepEqual(pick({ only: ['B', 'A'] }, projectOf({ names: ['A'] })), [
      ['B', 'b'],
      ['A', 'a'],
    ]);
    assert.deepEqual(pick({ only: ['A\u0308'] }), [['A\u0308', 'c']]);
  });

  it('have the names that the project gives them besides, and the prefix', () => {
    const project = projectOf({ names: ['A'], map: { X: 'B', Y: 'A\u0308' } });
    assert.deepEqual(pick({ prefix: 'P_' }, project), [
      ['P_A', 'a'],
      ['P_X', 'b'],
      ['P_Y', 'c'],
    ]);
  });

  it('are refused if one is missing, or its name changes what is run', () => {
    const unknown = { message: 'there is no active secret "C"' };
    assert.throws(() => pick({ only: ['A', 'C'] }), unknown);
    assert.throws(() => pick({}, projectOf({ names: ['C'] })), unknown);
    assert.throws(() => pick({}, projectOf({ map: { X: 'C' } })), unknown);
    const unsafe = projectOf({ map: { PATH: 'A' } });
    assert.throws(() => pick({}, unsafe), /PATH changes what is run/);
    assert.equal(pick({ 'allow-unsafe-names': true }, unsafe).length, 4);
  });
});

describe('the environment of a program', () => {
  const given = async (
    secrets: Readonly<Record<string, string>> | null,
    more: Partial<RunValues> = {},
    inherited: Readonly<Record<string, string>> = {},
    settings = none,
  ) => environmentFor(settings, valuesOf(more), secrets && snapshotOf(secrets), inherited);

  it('is the inherited one with the secrets, which win, unless it is to be preserved or pristine', async () => {
    const before = { A: 'before', KEPT: 'k', STRONGROOM_URL: 'u' };
    const rows: readonly [more: Partial<RunValues>, expected: object][] = [
      [{}, { A: 'a', KEPT: 'k' }],
      [{ preserve: true }, { A: 'before', KEPT: 'k' }],
      [{ pristine: true }, { A: 'a' }],
      [{ pristine: true, preserve: true }, { A: 'a' }],
    ];
    for (const [more, expected] of rows)
      assert.deepEqual((await given({ A: 'a' }, more, before)).environment, expected);
    assert.deepEqual((await given(null, {}, before)).environment, { A: 'before', KEPT: 'k' });
  });

  it('masks its secrets and our key', async () => {
    assert.deepEqual((await given({ A: 'a' })).secrets, [
      { name: 'A', value: 'a' },
      { name: 'STRONGROOM_ACCESS_KEY', value: accessKey },
    ]);
  });

  it('replaces nothing that is set to something else if it is strict', async () => {
    const replaces = { message: 'A is already set to something else' };
    await assert.rejects(given({ B: 'b', A: 'a' }, { strict: true }, { A: 'before' }), replaces);
    await assert.rejects(given({ A: 'a' }, { strict: true }, { A: '' }), replaces);
    for (const inherited of [{}, { A: 'a' }, { B: 'other' }])
      assert.equal((await given({ A: 'a' }, { strict: true }, inherited as never)).environment.A, 'a');
  });

  it('leaves out what is no name of a variable, and says so, or refuses it if it is strict', async t => {
    const said = listening(t);
    const { environment, secrets } = await given({ 'no-name': 'x', A: 'a' });
    assert.deepEqual(
      [environment, secrets.map(({ name }) => name)],
      [{ A: 'a' }, ['A', 'STRONGROOM_ACCESS_KEY']],
    );
    assert.deepEqual(said, [
      'strongroom: left out "no-name": it can’t be the name of an environment variable\n',
    ]);
    await assert.rejects(given({ 'no-name': 'x' }, { strict: true }), {
      message: '"no-name" can’t be the name of an environment variable',
    });
    await assert.rejects(given({ A: 'a\0' }), {
      message: '"A" contains a zero byte, which is not possible in an environment variable',
    });
  });

  it('has the variables of a file, in which a reference is a secret', async t => {
    const { settings } = await vaultDouble(t, { A: 'a', 'with space': 's' });
    const variables = join(folder, 'variables');
    writeFileSync(variables, 'PLAIN=p\nREF=sr://self/A\nSPACED=sr://self/with%20space\nA=sr://x');
    const { environment, secrets } = await given({ B: 'b' }, { variables }, {}, settings);
    assert.deepEqual(environment, { B: 'b', PLAIN: 'p', REF: 'a', SPACED: 's', A: 'sr://x' });
    assert.deepEqual(
      secrets.map(({ name }) => name),
      ['B', 'REF', 'SPACED', 'STRONGROOM_ACCESS_KEY'],
    );
    writeFileSync(variables, 'PATH=p');
    await assert.rejects(given({}, { variables }), /PATH changes what is run/);
    assert.equal((await given({}, { variables, 'allow-unsafe-names': true })).environment.PATH, 'p');
  });
});

describe('a reference', () => {
  it('names a vault and a secret, and is nothing else', () => {
    const rows: readonly [text: string, expected: object | null][] = [
      ['sr://app/NAME', { vault: 'app', name: 'NAME' }],
      ['sr://my%20app/a%2Fb/c', { vault: 'my app', name: 'a/b/c' }],
      ['sr://app/', null],
      ['sr:///NAME', null],
      ['sr://app', null],
      ['xsr://app/NAME', null],
      ['sr://app/NA ME', null],
      ['', null],
    ];
    for (const [text, expected] of rows) assert.deepEqual(referenceIn(text), expected, text);
    for (const text of ['sr://%/A', 'sr://app/%E0'])
      assert.throws(() => referenceIn(text), { message: 'a reference contains an invalid percent-encoding' });
  });

  it('is read from the vault of the settings, or from the one that it names, once', async t => {
    const double = await vaultDouble(t, { A: 'a', Ä: 'u' });
    const id = '01890000-0000-7000-8000-000000000001';
    const resolve = resolver({ ...double.settings, vault: id });
    assert.equal(await resolve({ vault: 'self', name: 'A' }), 'a');
    assert.equal(await resolve({ vault: 'self', name: 'A\u0308' }), 'u');
    assert.equal(await resolve({ vault: 'app', name: 'A' }), 'a');
    assert.deepEqual(double.asked, [`GET /api/v1/vaults/${id}`, 'GET /api/v1/vaults/self']);
    await assert.rejects(resolve({ vault: 'self', name: 'B' }), { message: 'there is no active secret "B"' });
    await assert.rejects(
      resolver(double.settings)({ vault: 'other', name: 'A' }),
      /belongs to another vault/,
    );
  });
});

describe('what a program gets from its vault', () => {
  const home = () => ({ HOME: mkdtempSync(join(folder, 'home-')) });
  const kept = ({ HOME }: { HOME: string }) => {
    const place = join(HOME, '.cache/strongroom/offline');
    return existsSync(place) ? fs.readdirSync(place).length : 0;
  };
  const workload = { identityId: 'i', source: 's', proof: async () => ({ jwt: 'j' }) };
  const loggingIn = (url: string | undefined) => (url === '/api/v1/login' ? { token: accessKey } : null);

  it('is read at the start, and again when it has changed', async t => {
    const double = await vaultDouble(t, { A: 'a' });
    const source = sourceOf(double.settings, valuesOf(), home());
    assert.equal((await source.first()).environment.A, 'a');
    assert.equal(await source.next(), null);
    double.secrets = { A: 'b' };
    assert.equal((await source.next())?.environment.A, 'b');
    assert.equal(await source.next(), null);
  });

  it('is kept for when the service is away, unless that is forbidden or the key lives for minutes', async t => {
    const rows: readonly [more: Partial<RunValues>, change: Partial<Settings>, files: number][] = [
      [{}, {}, 1],
      [{ 'no-cache': true }, {}, 0],
      [{}, { accessKey: null, workload }, 0],
    ];
    for (const [more, change, files] of rows) {
      const double = await vaultDouble(t, { A: 'a' });
      double.answer = ({ url }) => loggingIn(url);
      const environment = home();
      const source = sourceOf({ ...double.settings, ...change }, valuesOf(more), environment);
      await source.keep();
      assert.equal(kept(environment), 0, 'nothing was read yet');
      await source.first();
      await source.keep();
      assert.equal(kept(environment), files);
    }
    const { settings } = await vaultDouble(t);
    assert.throws(
      () => sourceOf({ ...settings, accessKey: null, workload }, valuesOf({ offline: true }), home()),
      { message: '--offline requires an access key or an API key' },
    );
    sourceOf(settings, valuesOf({ offline: true }), home());
  });

  it('is what was kept, if that is wanted and the service is away; that is not kept again', async t => {
    const said = listening(t);
    const double = await vaultDouble(t, { A: 'a' });
    const environment = home();
    const first = sourceOf(double.settings, valuesOf(), environment);
    await first.first();
    await first.keep();
    double.secrets = { A: 'b' };
    const source = sourceOf(double.settings, valuesOf({ offline: true }), environment);
    await double.away();
    assert.equal((await source.first()).environment.A, 'a');
    assert.match(said.join(''), /using the values of 20\d\d-/);
    const [file] = fs.readdirSync(join(environment.HOME, '.cache/strongroom/offline'));
    const before = fs.readFileSync(join(environment.HOME, '.cache/strongroom/offline', file!));
    await source.keep();
    assert.deepEqual(fs.readFileSync(join(environment.HOME, '.cache/strongroom/offline', file!)), before);
    await assert.rejects(sourceOf(double.settings, valuesOf(), environment).first(), /can’t reach/);
    assert.equal(kept(environment), 1, 'being away is no reason to forget');
  });

  it('a refusal is passed on, and what was kept is forgotten when the key may read no longer', async t => {
    const rows: readonly [status: number, isForgotten: boolean][] = [
      [401, true],
      [403, true],
      [404, true],
      [400, false],
      [410, false],
    ];
    for (const [status, isForgotten] of rows)
      for (const method of ['first', 'next'] as const)
        for (const offline of [false, true]) {
          const double = await vaultDouble(t, { A: 'a' });
          const environment = home();
          const source = sourceOf(double.settings, valuesOf({ offline }), environment);
          await source.first();
          await source.keep();
          assert.equal(kept(environment), 1);
          double.status = status;
          await assert.rejects(source[method](), { status });
          assert.equal(kept(environment), isForgotten ? 0 : 1, `${status} ${method}`);
        }
  });

  it('a refusal touches nothing where nothing is to be kept', async t => {
    const double = await vaultDouble(t, { A: 'a' });
    const environment = home();
    const keeping = sourceOf(double.settings, valuesOf(), environment);
    await keeping.first();
    await keeping.keep();
    double.status = 401;
    await assert.rejects(sourceOf(double.settings, valuesOf({ 'no-cache': true }), environment).first());
    assert.equal(kept(environment), 1);
  });

  it('a file of variables is enough for an API key without a vault, and for nothing else', async t => {
    const variables = join(folder, 'plain');
    writeFileSync(variables, 'PLAIN=p\n');
    const byApiKey = { accessKey: null, apiKey: 'sr_api_x' };
    const rows: readonly [change: Partial<Settings>, more: Partial<RunValues>, isAsked: boolean][] = [
      [byApiKey, { variables }, false],
      [byApiKey, {}, true],
      [{ ...byApiKey, vault: 'app' }, { variables }, true],
      [{}, { variables }, true],
      [{ accessKey: null, workload }, { variables }, true],
    ];
    for (const [change, more, isAsked] of rows) {
      const double = await vaultDouble(t, { A: 'a' });
      double.answer = ({ url }) => loggingIn(url);
      const environment = home();
      const source = sourceOf({ ...double.settings, ...change }, valuesOf(more), environment);
      const found = await source.first().catch(() => null);
      assert.equal(double.asked.length > 0, isAsked, JSON.stringify(change));
      if (isAsked) continue;
      assert.deepEqual(found!.environment, { ...environment, PLAIN: 'p' });
      assert.equal(await source.next(), null);
      await source.keep();
      assert.equal(kept(environment), 0);
    }
  });
});

/** Ends with the code that a line of shell gives it. */
const shell = (line: string, ...args: readonly string[]) => ['/bin/sh', '-c', line, 'sh', ...args];
const unmasked = { stdout: null, stderr: null };

describe('a program', () => {
  const start = (command: readonly string[], path: string | undefined = '/usr/bin:/bin', environment = {}) =>
    startProgram({ command, path, environment, masks: unmasked }).ended;

  it('is looked for in the path that is given, else where programs usually are, or where it is named', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    for (const [name, code, mode] of [
      ['ours', 3, 0o755],
      ['plain', 4, 0o644],
    ] as const) {
      writeFileSync(join(bin, name), `#!/bin/sh\nexit ${code}\n`);
      chmodSync(join(bin, name), mode);
    }
    mkdirSync(join(bin, 'folder'));
    assert.deepEqual(await start(['ours'], `/nowhere:${bin}`), { code: 3, signal: null });
    assert.deepEqual(await start([join(bin, 'ours')], '/nowhere'), { code: 3, signal: null });
    assert.deepEqual(
      await startProgram({ command: ['true'], path: undefined, environment: {}, masks: unmasked }).ended,
      {
        code: 0,
        signal: null,
      },
    );
    for (const name of ['plain', 'folder', 'absent'])
      assert.throws(() => void start([name], bin), {
        message: `there is no program "${name}" in PATH`,
        exitCode: 127,
      });
    await assert.rejects(start([join(bin, 'plain')]), {
      message: /can’t be started \(EACCES\)$/,
      exitCode: 126,
    });
    await assert.rejects(start([join(bin, 'absent')]), {
      message: /can’t be started \(ENOENT\)$/,
      exitCode: 126,
    });
  });

  it('is found in the current folder where the path says so, also if it gets another path', async t => {
    const before = process.cwd();
    t.after(() => process.chdir(before));
    process.chdir(join(folder, 'bin'));
    for (const path of ['', '/nowhere:', '.', '/nowhere:../bin'])
      assert.deepEqual(await start(['ours'], path, { PATH: '/nowhere' }), { code: 3, signal: null }, path);
    process.chdir(folder);
    assert.deepEqual(await start(['bin/ours'], '/nowhere'), { code: 3, signal: null });
  });

  it('has its output passed through what masks it, and only that', async t => {
    const out = listeningTo(t, process.stdout, 'one\n');
    const err = listeningTo(t, process.stderr, 'two\n');
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const seen: string[] = [];
    for (const [name, stream] of [
      ['out', stdout],
      ['err', stderr],
    ] as const)
      stream.on('data', data => seen.push(`${name} ${data}`));
    const line = shell('echo one; echo two >&2');
    await startProgram({ command: line, path: '', environment: {}, masks: { stdout, stderr } }).ended;
    assert.deepEqual([seen.sort(), out(), err()], [['err two\n', 'out one\n'], 1, 1]);
  });

  it('is ended by the signal that it was ended by', async () => {
    assert.deepEqual(await start(shell('kill -TERM $$')), { code: null, signal: 'SIGTERM' });
  });
});

/** How often a line is written to a stream of this process meanwhile, which doesn't get it. */
function listeningTo(t: TestContext, stream: NodeJS.WriteStream, line: string) {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  let count = 0;
  t.mock.method(stream, 'write', (...args: unknown[]) => {
    if (String(args[0]) !== line) return write(...args);
    count += 1;
    const done = args.at(-1);
    if (typeof done === 'function') done();
    return true;
  });
  return () => count;
}

describe('signals', () => {
  /** As `/proc/self/stat` has it: the group of this process, and the one that the terminal sends to. */
  const reading = (t: TestContext, stat: () => string) => {
    t.mock.method(fs, 'readFileSync', stat);
    syncBuiltinESMExports();
    t.after(() => {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    });
  };
  const all = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;
  /** Which of them reach the program, if each comes once. */
  const passed = () => {
    const sent: string[] = [];
    const known = new Map(all.map(signal => [signal, process.listeners(signal)]));
    const added = (signal: (typeof all)[number]) =>
      process.listeners(signal).filter(one => !known.get(signal)!.includes(one));
    const stop = forwardSignals(
      () => ({ kill: (signal: string) => sent.push(signal) }) as unknown as ChildProcess,
      () => assert.fail('there is a program'),
    );
    for (const signal of all) for (const listener of added(signal)) listener(signal as never);
    stop();
    assert.deepEqual(all.flatMap(added), []);
    return sent.join(' ');
  };
  const every = 'SIGINT SIGQUIT SIGTERM SIGHUP SIGUSR1 SIGUSR2';
  const notTyped = 'SIGTERM SIGHUP SIGUSR1 SIGUSR2';

  it('are all forwarded by a process that no terminal sends to', t => {
    reading(t, () => '7 (a) b) S 1 40 40 0 -1 0');
    assert.equal(passed(), every);
  });

  it('that are typed reach the program by themselves in the foreground', t => {
    reading(t, () => '7 (a) b) S 1 40 40 34816 40 0');
    assert.equal(passed(), notTyped);
  });

  it('are judged by the terminal where the system does not say', t => {
    reading(t, () => {
      throw new Error('ENOENT');
    });
    const before = [process.stdin.isTTY, process.stderr.isTTY] as const;
    t.after(() => {
      [process.stdin.isTTY, process.stderr.isTTY] = before;
    });
    for (const [stdin, stderr] of [
      [true, true],
      [true, false],
      [false, true],
      [false, false],
    ] as const) {
      [process.stdin.isTTY, process.stderr.isTTY] = [stdin, stderr];
      assert.equal(passed(), stdin || stderr ? notTyped : every, `${stdin} ${stderr}`);
    }
  });
});

describe('the end of a program is our own', () => {
  class Exit extends Error {}
  const ending = (t: TestContext, ended: Parameters<typeof endAs>[0]) => {
    const done: unknown[] = [];
    t.mock.method(process, 'exit', (code: number) => {
      done.push(code);
      throw new Exit();
    });
    t.mock.method(process, 'kill', (_: number, signal: string) => done.push(signal));
    const on = t.mock.method(process, 'on');
    assert.throws(() => endAs(ended), Exit);
    const listened = on.mock.calls.map(call => call.arguments[0]);
    t.mock.restoreAll();
    return [...done, ...listened];
  };

  it('by its code', t => {
    assert.deepEqual(ending(t, { code: 0, signal: null }), [0]);
    assert.deepEqual(ending(t, { code: 42, signal: null }), [42]);
    assert.deepEqual(ending(t, { code: null, signal: null }), [1]);
  });

  it('by its signal, which the runtime no longer listens to', t => {
    assert.deepEqual(ending(t, { code: null, signal: 'SIGTERM' }), ['SIGTERM', 143, 'SIGTERM']);
    assert.deepEqual(ending(t, { code: null, signal: 'SIGKILL' }), ['SIGKILL', 137]);
    assert.deepEqual(ending(t, { code: null, signal: 'SIGSTOP' }), ['SIGSTOP', 147]);
  });
});

describe('a program that is supervised', () => {
  const of = (A: string): Given => ({ environment: { A }, files: [], secrets: [] });
  const path = { PATH: '/usr/bin:/bin' };

  function sourceDouble(...changes: (Given | null | Error)[]) {
    const counts = { next: 0, kept: 0, ended: 0 };
    const source: ValueSource = {
      first: async () => of('first'),
      next: async () => {
        counts.next += 1;
        const change = changes.shift() ?? null;
        if (change instanceof Error) throw change;
        return change;
      },
      keep: async () => {
        counts.kept += 1;
        throw new Error('no disk');
      },
      end: async () => {
        counts.ended += 1;
      },
    };
    return { source, counts };
  }
  const quiet = { 'no-mask': true } as const;

  it('ends as it ends, is not watched unasked, and what can’t be kept does not matter', async () => {
    const { source, counts } = sourceDouble(of('second'));
    const values = valuesOf({ ...quiet, 'watch-interval': 0.01 });
    const line = shell('sleep 0.2; [ "$A" = first ] && exit 7');
    assert.deepEqual(await supervise(line, values, source, path), { code: 7, signal: null });
    assert.deepEqual(counts, { next: 0, kept: 1, ended: 1 });
  });

  it('is restarted with what has changed, and goes on while nothing has or the service is away', async t => {
    const said = listening(t);
    const { source, counts } = sourceDouble(null, new Error('away'), of('second'));
    const values = valuesOf({ ...quiet, watch: true, 'watch-interval': 0.01 });
    const line = shell('[ "$A" = second ] && exit 5; trap "exit 0" TERM; while :; do sleep 0.05; done');
    assert.deepEqual(await supervise(line, values, source, path), { code: 5, signal: null });
    assert.deepEqual(said, ['strongroom: a value has changed: restarting\n']);
    assert.equal(counts.kept, 2);
    assert.ok(counts.next >= 3);
  });

  it('ends with its own end also while it is watched', async () => {
    const { source } = sourceDouble();
    const values = valuesOf({ ...quiet, watch: true, 'watch-interval': 0.01 });
    assert.deepEqual(await supervise(shell('sleep 0.1; exit 9'), values, source, path), {
      code: 9,
      signal: null,
    });
  });

  it('is killed ten seconds after it was asked to stop, and not before', async t => {
    listening(t);
    const { source } = sourceDouble(of('second'));
    const values = valuesOf({ ...quiet, watch: true, 'watch-interval': 0.05 });
    const ready = join(folder, 'ready');
    const line = shell(
      `[ "$A" = second ] && exit 5; trap "echo > ${ready}" TERM; while :; do sleep 0.02; done`,
    );
    const until = async (is: () => boolean) => {
      while (!is()) await sleep(10);
    };
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let ended: unknown = null;
    const done = supervise(line, values, source, path).then(found => {
      ended = found;
    });
    await until(() => existsSync(ready));
    t.mock.timers.tick(9_999);
    await sleep(100);
    assert.equal(ended, null);
    t.mock.timers.tick(1);
    await done;
    assert.deepEqual(ended, { code: 5, signal: null });
  });

  it('has its output masked unless it goes to a terminal, or as it is told', async t => {
    const before = [process.stdout.isTTY, process.stderr.isTTY] as const;
    t.after(() => {
      [process.stdout.isTTY, process.stderr.isTTY] = before;
    });
    // One for standard output that is not ours, and two for standard error.
    const line = shell(
      'r=0; [ "$(readlink /proc/$$/fd/1)" = "$1" ] || r=1; [ "$(readlink /proc/$$/fd/2)" = "$2" ] || r=$((r+2)); exit $r',
      readlinkSync('/proc/self/fd/1'),
      readlinkSync('/proc/self/fd/2'),
    );
    const rows: readonly [more: Partial<RunValues>, stdout: boolean, stderr: boolean, code: number][] = [
      [{}, false, false, 3],
      [{}, true, false, 2],
      [{}, false, true, 1],
      [{}, true, true, 0],
      [{ mask: true }, true, true, 3],
      [{ 'no-mask': true }, false, false, 0],
    ];
    for (const [more, stdout, stderr, code] of rows) {
      [process.stdout.isTTY, process.stderr.isTTY] = [stdout, stderr];
      const ended = await supervise(line, valuesOf(more), sourceDouble().source, path);
      assert.equal(ended.code, code, JSON.stringify([more, stdout, stderr]));
    }
  });
});

describe('the arguments of run', () => {
  const rows: readonly [args: string, message: RegExp, url?: string][] = [
    ['', /^write the program after --/],
    ['--', /^write the program after --/],
    ['--strict', /^write the program after --/],
    ['--env-file=x', /^--env-file is now --variables/],
    ['--env-file x -- true', /^--env-file is now --variables/],
    ['-- true', /^STRONGROOM_URL is required/],
    ['-- true --env-file=x -- --strict', /^STRONGROOM_URL is required/],
    ['--env-files x -- true', /--env-files/],
    ['--mask --no-mask -- true', /^--mask and --no-mask can’t be combined$/],
    ['--mask -- true', /^STRONGROOM_URL is required/],
    ['--no-mask -- true', /^STRONGROOM_URL is required/],
    ['--strict -- true', /^--strict requires the expected names/, 'http://127.0.0.1:1'],
    ['--strict --only A -- true', /^can’t reach/, 'http://127.0.0.1:1'],
    ['-- true', /^can’t reach/, 'http://127.0.0.1:1'],
  ];
  for (const [args, message, url] of rows)
    it(`${args || 'none'}${url === undefined ? '' : ' with an address'}: ${message.source}`, async t => {
      const before = { ...process.env };
      t.after(() => {
        process.env = before;
      });
      process.env = { HOME: folder, PATH: '/usr/bin:/bin' };
      if (url !== undefined)
        Object.assign(process.env, { STRONGROOM_URL: url, STRONGROOM_ACCESS_KEY: accessKey });
      await assert.rejects(command.run(args.split(' ').filter(arg => arg !== '')), { message });
    });

  it('--strict is content with the names of a project file', async t => {
    const [before, cwd] = [{ ...process.env }, process.cwd()];
    t.after(() => {
      process.env = before;
      process.chdir(cwd);
    });
    const project = mkdtempSync(join(folder, 'project-'));
    process.chdir(project);
    process.env = { HOME: folder, STRONGROOM_URL: 'http://127.0.0.1:1', STRONGROOM_ACCESS_KEY: accessKey };
    for (const [names, message] of [
      [['A'], /^can’t reach/],
      [[], /^--strict requires/],
    ] as const) {
      writeFileSync(join(project, '.strongroom.json'), JSON.stringify({ names }), { mode: 0o600 });
      await assert.rejects(command.run(['--strict', '--', 'true']), { message });
    }
  });
});
