/** Every command in a folder that a stranger wrote: nothing of it is run, and nothing is sent where it says. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { commands } from '../src/cli/commands.ts';
import { commandFile } from './built-command.ts';
import { atTheLatest } from './ending.ts';
import { type HostileFolder, startHostileFolder } from './hostile-folder.ts';
import { collect } from './tool.ts';

const key = 'sr_vault_0000000000000000000000000000000000000000000';
const apiKey = 'sr_api_0000000000000000000000000000000000000000000';
let folder: HostileFolder;
let home: string;
before(async () => {
  folder = await startHostileFolder();
  home = mkdtempSync(join(tmpdir(), 'strongroom-home-'));
});
after(async () => {
  await folder.stop();
  rmSync(home, { recursive: true });
});

/** As a shell starts it, with the folder's programs nowhere in the path. */
function start(args: readonly string[], env: Record<string, string>): ChildProcess {
  const child = spawn(commandFile(), args, {
    cwd: folder.path,
    env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: home, ...env },
  });
  const ended = atTheLatest(() => child.kill('SIGKILL'));
  child.on('close', ended);
  child.stdin!.on('error', () => {}).end('a value');
  // What serves has come far enough.
  child.stdout!.on('data', chunk => /listening on/.test(chunk) && child.kill('SIGTERM'));
  return child;
}

/** With a word for each argument that its usage names. */
async function lineOf(name: string): Promise<string[]> {
  const { usage, options } = (await commands[name]!()).command;
  const rest = usage.slice(name.length).replace(/\[[^\]]*\]|\.\.\./g, '');
  const words = rest.split(/\s+/).filter(word => /^[A-Z]/.test(word));
  const place = 'data' in options ? ['--data', join(home, 'data')] : [];
  const port = 'port' in options ? ['--port', '0'] : [];
  if (name === 'run') return ['run', '--', 'true'];
  return [...name.split(' '), ...words.map((word, at) => `${word}-${at}`), ...place, ...port];
}

/** Where a credential can come from without an address beside it. */
const credentials: Readonly<Record<string, Record<string, string>>> = {
  keys: { STRONGROOM_ACCESS_KEY: key, STRONGROOM_API_KEY: apiKey },
  'a secret id': {
    STRONGROOM_ROLE_ID: '0199a3c4-7f00-7abc-8def-0123456789ab',
    STRONGROOM_SECRET_ID: 'sr_login_x',
  },
};

async function inTurn<T>(all: readonly T[], atOnce: number, each: (one: T) => Promise<void>): Promise<void> {
  const left = [...all];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let one = left.shift(); one !== undefined; one = left.shift()) await each(one);
    }),
  );
}

/** The commands beside the service's data, and those that reach it by its address. */
async function atTheData(isAtTheData: boolean): Promise<string[]> {
  const names = Object.keys(commands);
  const options = await Promise.all(names.map(async name => (await commands[name]!()).command.options));
  return names.filter((_, at) => 'data' in options[at]! === isAtTheData);
}

describe('in a folder that a stranger wrote', () => {
  // They use no credential of a person or a program, so one walk with all of them at once tells as much as one with each.
  it('no command of the service runs anything of it, or sends any credential anywhere', async () => {
    const names = await atTheData(true);
    assert.ok(names.includes('serve') && names.includes('backup'));
    await inTurn(names, 3, async name => {
      await collect(start(await lineOf(name), Object.assign({}, ...Object.values(credentials))));
      assert.deepEqual(folder.caught(), [], name);
    });
  });

  for (const [what, env] of Object.entries(credentials))
    it(`no other command runs anything of it, or sends ${what} anywhere`, async () => {
      const said = new Map<string, string>();
      await inTurn(await atTheData(false), 3, async name => {
        const { stderr } = await collect(start(await lineOf(name), env));
        said.set(name, stderr);
        assert.deepEqual(folder.caught(), [], name);
      });
      const { stdout } = await collect(start(['doctor', '--client'], env));
      assert.deepEqual(folder.caught(), []);
      assert.match(stdout, /^failed +address .*but there is no profile/m);
      // It was the project file that was refused, and not the line before it.
      for (const name of [
        'run',
        'get',
        'list',
        'export',
        'set',
        'find',
        'readers',
        'log',
        'ls',
        'restore',
        'init',
        'mine set',
        'keys list',
        'certificates list',
        'inject',
        'redact',
        'use-rules list',
        'members list',
        'whoami',
      ])
        assert.match(
          said.get(name)!,
          /\.strongroom\.json names http:\/\/127\.0\.0\.1:\d+, but there is no profile/,
          name,
        );
    });

  it('no completion does, whatever stands before the cursor', async () => {
    const loaded = await Promise.all(
      Object.entries(commands).map(async ([name, load]) => ({ name, ...(await load()).command })),
    );
    const words = loaded.flatMap(({ name, options }) => {
      const flags = ['vault', 'only'].filter(flag => flag in options);
      return [[], ...flags.map(flag => [`--${flag}`])].map(before => [...name.split(' '), ...before, '']);
    });
    assert.ok(words.length > 90);
    await inTurn(words, 3, async line => {
      const { stdout, code } = await collect(start(['complete', '--', ...line], credentials.keys!));
      assert.equal(code, 0);
      assert.doesNotMatch(stdout, /sr_/);
      assert.deepEqual(folder.caught(), [], line.join(' '));
    });
  });

  it('a profile of the person is used at its own address alone', async () => {
    const config = join(home, '.config', 'strongroom');
    mkdirSync(config, { recursive: true });
    const stored = { current: 'a', profiles: { a: { url: 'http://127.0.0.1:1', access_key: key } } };
    writeFileSync(join(config, 'profiles.json'), JSON.stringify(stored), { mode: 0o600 });
    await inTurn(['run', 'get', 'list', 'export', 'open', 'login', 'whoami'], 3, async name => {
      await collect(start(await lineOf(name), {}));
      assert.deepEqual(folder.caught(), [], name);
    });
  });
});
