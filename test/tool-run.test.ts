/** `strongroom run`: the program's exit, signals, terminal and output are its own; its environment is the vault's. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { passedOn } from './exit-codes.ts';
import { eventually } from './harness.ts';
import { binary, type Done, startTool, type Tool } from './tool.ts';

const execute = promisify(execFile);
const value = 'postgres://app:hunter2@db/prod';
let tool: Tool;
before(async () => {
  tool = await startTool({ DATABASE_URL: value, API_TOKEN: 'correct horse battery' });
});
after(() => tool.stop());

const sh = (script: string, ...flags: string[]) => ['run', ...flags, '--', 'sh', '-c', script];

function fails({ code, stdout, stderr }: Done, expected: number, what: RegExp): void {
  assert.equal(code, expected, stderr);
  assert.match(stderr, what);
  assert.equal(stdout, '');
}

/** What the program sees, read by the program itself. */
async function seen(flags: readonly string[], env: Record<string, string> = {}, cwd?: string) {
  const script = 'process.stdout.write(Buffer.from(JSON.stringify(process.env)).toString("base64"))';
  const program = ['run', ...flags, '--', process.execPath, '-e', script];
  const done = await tool.run(program, { env, ...(cwd === undefined ? {} : { cwd }) });
  assert.equal(done.code, 0, done.stderr);
  return JSON.parse(Buffer.from(done.stdout, 'base64').toString()) as Record<string, string>;
}

describe('the exit', () => {
  it('exit codes are passed on, those that shells and we give a meaning among them', async () => {
    // All 256: `npm run campaign:exit-codes`.
    const codes = [
      0, 1, 2, 3, 4, 63, 64, 78, 100, 124, 125, 126, 127, 128, 129, 130, 137, 143, 191, 192, 254, 255,
    ];
    assert.deepEqual(await passedOn(tool, codes), codes);
  });

  it('death by a signal is death by the same signal', async () => {
    const deadly = (Object.keys(constants.signals) as NodeJS.Signals[]).filter(
      name => !/^SIG(CHLD|CONT|STOP|TSTP|TTIN|TTOU|URG|WINCH|IO|POLL|PWR|INFO|IOT|UNUSED)$/.test(name),
    );
    assert.ok(deadly.length > 15);
    for (const signal of deadly) {
      const { signal: died, code } = await tool.run(sh(`kill -${constants.signals[signal]} $$`));
      assert.equal(died, signal, `${signal}: code ${code}`);
    }
  });

  it('signals are forwarded, and a program that traps them decides itself how it ends', async () => {
    for (const [signal, code] of [
      ['SIGTERM', 7],
      ['SIGINT', 8],
      ['SIGHUP', 9],
      ['SIGUSR1', 10],
      ['SIGUSR2', 11],
    ] as const) {
      const script = `trap 'echo caught; exit ${code}' ${signal.slice(3)}; echo ready; while :; do sleep 0.05; done`;
      const { child, done } = tool.start(sh(script));
      await once(child.stdout!, 'data');
      child.kill(signal);
      const { code: ended, stdout } = await done;
      assert.equal(ended, code, signal);
      assert.equal(stdout, 'ready\ncaught\n');
    }
  });

  it('a program that is not there is 127, one that can’t be run is 126, and none at all is 2', async () => {
    fails(await tool.run(['run', '--', 'no-such-program']), 127, /no program "no-such-program" in PATH/);
    const file = join(tool.home, 'text');
    writeFileSync(file, 'x');
    fails(await tool.run(['run', '--', file]), 126, /can’t be started \(EACCES\)/);
    fails(await tool.run(['run']), 2, /write the program after --/);
    fails(await tool.run(['run', '--prot', '--', 'true']), 2, /--prot/);
  });

  it('what follows -- belongs to the program, --help included', async () => {
    assert.equal(
      (await tool.run(['run', '--', 'echo', '--help', '-h', '--', '$X'])).stdout,
      '--help -h -- $X\n',
    );
  });

  it('files that the program makes have the mode that they would have without us', async () => {
    await tool.run(sh('umask 022; exec true'));
    const { stdout } = await execute(
      'sh',
      ['-c', 'umask 022; "$0" "$1" run -- sh -c umask', process.execPath, binary],
      {
        env: tool.environment(),
      },
    );
    assert.match(stdout, /^0*22\n$/);
  });

  it('a reader that goes away ends the program as a pipe does', async () => {
    const script = `"$0" "$1" run -- sh -c 'yes; echo not reached >&2' | head -1; exit "\${PIPESTATUS[0]}"`;
    const done = execute('bash', ['-c', script, process.execPath, binary], { env: tool.environment() });
    const { stdout, stderr } = await done;
    assert.equal(stdout, 'y\n');
    assert.ok(stderr.length < 100, stderr);
  });
});

describe('at a terminal', () => {
  /** Python has pseudo-terminals; it types, and prints what the terminal showed. */
  const typist = `
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
shown = b''
typed = 0
while True:
    try:
        chunk = os.read(fd, 1024)
    except OSError:
        break
    if not chunk: break
    shown += chunk
    if shown.count(b'ready') > typed:
        typed += 1
        os.write(fd, b'\\x03')
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(status))
`;

  it('the terminal is kept, and Ctrl-C reaches the program once each time', async t => {
    const python = await execute('python3', ['--version']).catch(() => null);
    if (python === null) return t.skip('python3 is not installed');
    const program = `
      let times = 0, round = 0, waiting = false;
      process.on('SIGINT', () => { times += 1; if (!waiting) { waiting = true; setTimeout(next, 300); } });
      const next = () => {
        waiting = false;
        round += 1;
        if (round < 3) return console.log('ready');
        console.log('times=' + times);
        process.exit(42);
      };
      setInterval(() => {}, 1000);
      console.log('tty=' + process.stdout.isTTY + process.stdin.isTTY, 'value=' + process.env.DATABASE_URL, 'ready');`;
    const args = ['-c', typist, process.execPath, binary, 'run', '--', process.execPath, '-e', program];
    const done = await execute('python3', args, { env: tool.environment() }).catch(error => error);
    assert.equal(done.code, 42, done.stderr);
    assert.match(done.stdout, /tty=truetrue/);
    assert.match(done.stdout, /times=3\r?\n/);
    assert.ok(done.stdout.includes(`value=${value}`), 'nothing is masked on a terminal');
  });
});

describe('the environment', () => {
  it('the secrets are added, and win over what is set, unless --preserve', async () => {
    const env = { DATABASE_URL: 'mine', OTHER: 'kept' };
    const plain = await seen([], env);
    assert.equal(plain.DATABASE_URL, value);
    assert.equal(plain.OTHER, 'kept');
    assert.equal(plain.NODE_COMPILE_CACHE, undefined, 'nothing of ours is added');
    const preserved = await seen(['--preserve'], env);
    assert.equal(preserved.DATABASE_URL, 'mine');
    assert.equal(preserved.API_TOKEN, 'correct horse battery');
  });

  it('--only, --prefix and --pristine', async () => {
    const only = await seen(['--only', 'API_TOKEN']);
    assert.equal(only.DATABASE_URL, undefined);
    assert.equal(only.API_TOKEN, 'correct horse battery');
    assert.equal((await seen(['--prefix', 'APP_'])).APP_API_TOKEN, 'correct horse battery');
    assert.deepEqual(await seen(['--pristine']), { DATABASE_URL: value, API_TOKEN: 'correct horse battery' });
    fails(await tool.run(sh('true', '--only', 'NOTHING')), 1, /no active secret "NOTHING"/);
  });

  it('--strict refuses to replace what is set to something else', async () => {
    const strict = ['--strict', '--only', 'DATABASE_URL'];
    const replaced = await tool.run(sh('true', ...strict), { env: { DATABASE_URL: 'mine' } });
    fails(replaced, 1, /^strongroom: DATABASE_URL is already set to something else\n$/);
    assert.equal((await tool.run(sh('true', ...strict), { env: { DATABASE_URL: value } })).code, 0);
  });

  it('a project file names what it wants, and what it is called', async () => {
    const cwd = join(tool.home, 'project');
    mkdirSync(cwd);
    const project = { vault: 'app', names: ['API_TOKEN'], map: { DB: 'DATABASE_URL' } };
    writeFileSync(join(cwd, '.strongroom.json'), JSON.stringify(project));
    const { API_TOKEN, DB, DATABASE_URL } = await seen([], {}, cwd);
    assert.deepEqual([API_TOKEN, DB, DATABASE_URL], ['correct horse battery', value, undefined]);
  });

  it('--strict passes on declared names alone: by --only, or by the project file', async () => {
    fails(
      await tool.run(sh('true', '--strict')),
      2,
      /--strict requires the expected names: --only, or names in/,
    );
    const { API_TOKEN, DATABASE_URL } = await seen(['--strict', '--only', 'API_TOKEN']);
    assert.deepEqual([API_TOKEN, DATABASE_URL], ['correct horse battery', undefined]);
    const cwd = join(tool.home, 'declared');
    mkdirSync(cwd);
    writeFileSync(join(cwd, '.strongroom.json'), JSON.stringify({ names: ['API_TOKEN'] }));
    assert.equal((await seen(['--strict'], {}, cwd)).DATABASE_URL, undefined);
    writeFileSync(join(cwd, '.strongroom.json'), JSON.stringify({ vault: 'app' }));
    fails(await tool.run(sh('true', '--strict'), { cwd }), 2, /--strict requires the expected names/);
  });

  it('--variables sets plain values, and what references of the form sr://vault/NAME stand for', async () => {
    const file = join(tool.home, 'with-references.env');
    writeFileSync(file, `PORT=8080\nDB='sr://app/DATABASE_URL'\nTOKEN=sr://self/API%5FTOKEN\n`);
    const { PORT, DB, TOKEN } = await seen(['--variables', file]);
    assert.deepEqual([PORT, DB, TOKEN], ['8080', value, 'correct horse battery']);
    writeFileSync(file, 'DB=sr://app/NOTHING\n');
    fails(await tool.run(sh('true', '--variables', file)), 1, /no active secret "NOTHING"/);
    writeFileSync(file, 'DB=sr://elsewhere/DATABASE_URL\n');
    fails(await tool.run(sh('true', '--variables', file)), 1, /belongs to another vault/);
    writeFileSync(file, 'DB=sr://app/DATABASE_URL\n');
    const preserved = await seen(['--variables', file, '--preserve', '--strict', '--only', 'API_TOKEN']);
    assert.equal(preserved.DB, value);
    const missing = await tool.run(sh('true', '--variables', join(tool.home, 'none')));
    fails(missing, 1, /the file can’t be read \(ENOENT\)/);
    fails(await tool.run(sh('true', '--env-file', file)), 2, /--env-file is now --variables/);
  });

  it('names that would change what is run are refused, and allowed where that is said', async () => {
    const other = await startTool({ LD_AUDIT: '/tmp/evil.so' });
    fails(
      await other.run(sh('true')),
      1,
      /^strongroom: LD_AUDIT changes what is run, .*--allow-unsafe-names/,
    );
    assert.equal((await other.run(sh('true', '--only', 'LD_AUDIT', '--prefix', 'X_'))).code, 0);
    await other.put('LD_AUDIT', '');
    assert.equal((await other.run(sh('true', '--allow-unsafe-names'))).code, 0);
    await other.stop();
    const file = join(tool.home, 'unsafe.env');
    for (const name of ['NODE_OPTIONS', 'PATH', 'BASH_ENV', 'PYTHONSTARTUP', 'GIT_SSH_COMMAND', 'DYLD_X']) {
      writeFileSync(file, `${name}=sr://app/API_TOKEN\n`);
      fails(await tool.run(sh('true', '--variables', file)), 1, new RegExp(`${name} changes what is run`));
    }
  });

  it('what is no name of a variable is left out and said; with --strict it is refused', async () => {
    const other = await startTool({ 'db password': 'secret one', GOOD: 'secret two' });
    const done = await other.run(sh('env | grep -c -e GOOD -e password'));
    assert.equal(done.stdout, '1\n');
    assert.match(done.stderr, /^strongroom: left out "db password": [^\n]*\n$/);
    const strict = ['--strict', '--only', 'db password'];
    fails(await other.run(sh('true', ...strict)), 1, /"db password" can’t be the name/);
    await other.stop();
  });
});

describe('our own key', () => {
  interface Way {
    readonly env: Record<string, string | undefined>;
    readonly keys: readonly string[];
    readonly flags?: readonly string[];
  }

  /** Each way that the command can be given a credential, and what it must not show then. */
  async function ways(): Promise<Record<string, Way>> {
    const made = await tool.admin(['identities', 'create', 'own', '--method', 'secret_id', '--vault', 'app']);
    const secret = (await tool.admin(['identities', 'secret-id', 'own'])).stdout.trim();
    const file = join(tool.home, 'own-secret-id');
    writeFileSync(file, secret);
    const XDG_CONFIG_HOME = join(tool.home, 'own-config');
    mkdirSync(join(XDG_CONFIG_HOME, 'strongroom'), { recursive: true });
    const stored = {
      current: 'own',
      profiles: { own: { url: tool.service.url, access_key: tool.accessKey } },
    };
    writeFileSync(join(XDG_CONFIG_HOME, 'strongroom/profiles.json'), JSON.stringify(stored), { mode: 0o600 });
    const none = { STRONGROOM_ACCESS_KEY: undefined };
    const role = { ...none, STRONGROOM_ROLE_ID: made.stdout.trim() };
    const { accessKey } = tool;
    const { key: apiKey } = tool.service;
    return {
      'an access key': { env: {}, keys: [accessKey] },
      'an API key': {
        env: { ...none, STRONGROOM_API_KEY: apiKey },
        keys: [apiKey],
        flags: ['--vault', 'app'],
      },
      both: { env: { STRONGROOM_API_KEY: apiKey, strongroom_api_key: apiKey }, keys: [accessKey, apiKey] },
      'a secret id': { env: { ...role, STRONGROOM_SECRET_ID: secret }, keys: [secret] },
      'a secret id in a file': { env: { ...role, STRONGROOM_SECRET_ID_FILE: file }, keys: [] },
      'a profile': {
        env: { ...none, STRONGROOM_URL: undefined, STRONGROOM_PROFILE: 'own', XDG_CONFIG_HOME },
        keys: [accessKey],
      },
    };
  }

  it('is not given to the program, in whatever way we got it, and is masked like a secret where it shows up', async () => {
    for (const [way, { env, keys, flags = [] }] of Object.entries(await ways())) {
      const { stdout, code, stderr } = await tool.run(sh('env', '--no-mask', ...flags), { env });
      assert.equal(code, 0, `${way}: ${stderr}`);
      assert.match(stdout, /^DATABASE_URL=/m, way);
      assert.doesNotMatch(stdout, /STRONGROOM_|sr_(vault|api|login)_/i, way);
      for (const key of keys) {
        const shown = await tool.run(['run', ...flags, '--', 'echo', key], { env });
        assert.match(shown.stdout, /^\[secret STRONGROOM_\w+\]\n$/, way);
        const redacted = await tool.run(['redact', ...flags], { env, input: `at ${key}!` });
        assert.match(redacted.stdout, /^at \[secret STRONGROOM_\w+\]!$/, way);
      }
    }
  });
});

describe('masking', () => {
  it('a value is masked as JSON writes it, and line by line', async () => {
    const quoted = 'say "hello" to \\ all';
    const lines = 'first line of it\nsecond line of it';
    const other = await startTool({ QUOTED: quoted, LINES: lines });
    const program = `console.log(JSON.stringify(process.env.QUOTED)); console.log('> ' + process.env.LINES.split('\\n').join('\\n> '))`;
    const { stdout } = await other.run(['run', '--', process.execPath, '-e', program]);
    assert.equal(stdout, '"[secret QUOTED]"\n> [secret LINES]\n> [secret LINES]\n');
    await other.stop();
  });

  it('10,000 lines pass byte for byte, but for the values', async () => {
    const program = `
      const lines = [];
      for (let at = 0; at < 10000; at += 1) lines.push(at % 3 === 0 ? at + ' ' + process.env.DATABASE_URL + ' é☃' : 'line ' + at + ' postgres://app:hunter \\r');
      process.stdout.write(lines.join('\\n'));`;
    const run = (...flags: string[]) => tool.run(['run', ...flags, '--', process.execPath, '-e', program]);
    const [masked, plain] = await Promise.all([run(), run('--no-mask')]);
    assert.ok(plain.stdout.includes(value));
    assert.ok(!masked.stdout.includes('hunter2'));
    assert.equal(masked.stdout, plain.stdout.replaceAll(value, '[secret DATABASE_URL]'));
  });

  it('a value that is written byte by byte, or to standard error, is masked too', async () => {
    const program = `
      const write = (text, at = 0) => at < text.length && process.stderr.write(text[at], () => setImmediate(write, text, at + 1));
      write('<' + process.env.API_TOKEN + '>' + process.env.API_TOKEN.slice(0, 8));`;
    const { stderr } = await tool.run(['run', '--', process.execPath, '-e', program]);
    assert.equal(stderr, '<[secret API_TOKEN]>correct ');
  });

  it('binary output is untouched', async () => {
    const program =
      'process.stdout.write(Buffer.from(Array.from({ length: 300000 }, (_, at) => (at * 7) % 256)))';
    const { bytes } = await tool.run(['run', '--', process.execPath, '-e', program]);
    const expected = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7) % 256));
    assert.ok(bytes.equals(expected));
  });
});

describe('--watch', () => {
  it('restarts the program when a value changes, and ends when the program does', async () => {
    const other = await startTool({ COLOUR: 'the first one' });
    const script =
      'trap "exit 0" TERM; echo "$COLOUR" | tr a-z A-Z; [ "$COLOUR" = "the last one" ] && exit 5; while :; do sleep 0.05; done';
    const { child, done } = other.start(sh(script, '--watch', '--watch-interval', '1'));
    await once(child.stdout!, 'data');
    await other.put('COLOUR', 'the last one');
    const { code, stdout, stderr } = await done;
    assert.equal(code, 5);
    assert.equal(stdout, 'THE FIRST ONE\nTHE LAST ONE\n');
    assert.match(stderr, /a value has changed: restarting/);
    await other.stop();
  });
});

describe('--offline', () => {
  it('uses what was read last while the service is away: sealed, bound to address, vault and key', async () => {
    const other = await startTool({ TOKEN: 'kept for later' });
    const print = (...flags: string[]) => sh('echo $TOKEN | tr a-z A-Z', ...flags);
    const folder = join(other.home, '.cache', 'strongroom', 'offline');
    assert.equal((await other.run(print('--no-cache'))).code, 0);
    assert.ok(!existsSync(folder));
    assert.equal((await other.run(print())).stdout, 'KEPT FOR LATER\n');
    const [name] = readdirSync(folder);
    const file = join(folder, name!);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    const kept = readFileSync(file, 'utf8');
    assert.ok(!Buffer.from(kept, 'base64').includes('kept for later') && !kept.includes('TOKEN'));

    const { url } = other.service;
    await other.service.stop();
    const env = { STRONGROOM_URL: url };
    const away = await other.run(print('--offline'), { env });
    assert.equal(away.stdout, 'KEPT FOR LATER\n');
    assert.match(away.stderr, /can’t reach .*; using the values of 20/);
    fails(await other.run(print(), { env }), 1, /can’t reach/);
    const elsewhere = { STRONGROOM_URL: 'http://127.0.0.1:1' };
    fails(await other.run(print('--offline'), { env: elsewhere }), 1, /nothing is stored/);
    fails(await other.run(print('--offline', '--vault', 'b'), { env }), 1, /nothing is stored/);
    const key = { ...env, STRONGROOM_ACCESS_KEY: tool.accessKey };
    fails(await other.run(print('--offline'), { env: key }), 1, /nothing is stored/);

    const bytes = Buffer.from(kept, 'base64');
    bytes[70]! ^= 1;
    writeFileSync(file, bytes.toString('base64'));
    fails(await other.run(print('--offline'), { env }), 1, /were altered, and are not used/);
    await other.stop();
  });

  it('a refusal is no reason to use it, and has it forgotten, also while a program runs', async () => {
    const other = await startTool({ TOKEN: 'kept for later' });
    const folder = join(other.home, '.cache', 'strongroom', 'offline');
    await other.run(sh('true'));
    assert.equal(readdirSync(folder).length, 1);
    const { body } = await other.service.call('GET', '/v1/access-keys');
    const path = `/v1/access-keys/${body.data[0].id}`;
    assert.equal((await other.service.call('PUT', path, { names_only: true })).status, 200);
    fails(await other.run(sh('true', '--offline')), 1, /may only read names/);
    assert.deepEqual(readdirSync(folder), [], 'what the key may no longer read');
    assert.equal((await other.service.call('PUT', path, { names_only: false })).status, 200);
    await eventually('the key may read values again', async () => (await other.run(sh('true'))).code === 0);
    assert.equal(readdirSync(folder).length, 1);
    const watching = other.start(sh('sleep 60', '--watch', '--watch-interval', '1'));
    await other.service.call('DELETE', path);
    await eventually(
      'the kept copy of a revoked key is removed',
      async () => readdirSync(folder).length === 0,
    );
    watching.child.kill('SIGTERM');
    await watching.done;
    await eventually(
      'nothing is left to start from',
      async () => (await other.run(sh('true', '--offline'))).code === 1,
    );
    assert.deepEqual(readdirSync(folder), []);
    await other.stop();
  });
});
