/** Node acts on some arguments of the program that it runs. Ours never let it: not our flags, and nothing that follows them. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { commands } from '../src/cli/commands.ts';
import { commandFile } from './built-command.ts';
import { type HostileFolder, startHostileFolder } from './hostile-folder.ts';

const command = commandFile();
let folder: HostileFolder;
before(async () => {
  folder = await startHostileFolder();
});
after(() => folder.stop());

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[], more: Record<string, string> = {}): Promise<Ran> {
  const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: folder.path, ...more };
  return new Promise(resolve => {
    execFile(program, args, { cwd: folder.path, env, maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** Every option that this Node knows, by its own table: more than it lists in its help or takes from NODE_OPTIONS. */
async function optionsOfNode(): Promise<string[]> {
  const script = `const { options, aliases } = require('internal/test/binding').internalBinding('options').getCLIOptionsInfo();
    console.log(JSON.stringify([...options.keys(), ...aliases.keys()]))`;
  const { stdout } = await run(process.execPath, ['--expose-internals', '-e', script]);
  const found = [...(JSON.parse(stdout) as string[]), ...process.allowedNodeEnvironmentFlags];
  return [...new Set(found.map(name => name.replace(/[= ].*$/, '')))].filter(name => name.startsWith('--'));
}

/** With a file of either kind after each, in either way to write it. */
const withFiles = (flags: readonly string[]) =>
  [folder.variables, folder.settings].flatMap(file => flags.flatMap(flag => [`${flag}=${file}`, flag, file]));

describe('arguments that Node reads', () => {
  it('are what this test takes them to be: one that is not kept from Node runs the folder’s code', async () => {
    const options = await optionsOfNode();
    assert.ok(options.length > 200);
    for (const flag of [
      '--env-file',
      '--env-file-if-exists',
      '--experimental-config-file',
      '--watch',
      '--test',
      '--run',
    ])
      assert.ok(options.includes(flag), flag);
    const plain = join(folder.path, 'plain.mjs');
    writeFileSync(plain, '');
    for (const args of [
      [plain, `--env-file=${folder.variables}`],
      ['--', plain, '--', '--experimental-default-config-file'],
      ['--', plain, '--experimental-config-file', folder.settings],
    ]) {
      await run(process.execPath, args);
      assert.match(folder.caught().join(), /code was run/, args.join(' '));
    }
  });

  it('no flag of ours is one of them, however the command is started', async () => {
    const loaded = await Promise.all(Object.values(commands).map(load => load()));
    const flags = [...new Set(loaded.flatMap(({ command }) => Object.keys(command.options)))].map(
      name => `--${name}`,
    );
    assert.ok(flags.length > 80);
    const help = await run(process.execPath, [command, 'help', ...withFiles(flags)]);
    assert.match(help.stdout, /^Strongroom is a self-hosted vault/, help.stderr);
    assert.deepEqual(folder.caught(), []);
  });

  it('none of Node’s own does anything, before or after --, and each arrives as it was written', async () => {
    const options = await optionsOfNode();
    // One argument of the second kind hides all of them: the first kind is tried without it too.
    const plain = options.filter(name => !/^--experimental-|config-file/.test(name));
    for (const given of [options, plain].map(withFiles))
      for (const between of [[], ['--']]) {
        const help = await run(command, ['help', ...between, ...given]);
        assert.match(help.stdout, /^Strongroom is a self-hosted vault/, help.stderr);
        assert.deepEqual(folder.caught(), []);
      }
    const odd = [
      '--experimental-default-config-file',
      ':',
      '::',
      ':x',
      '',
      'a b',
      '*',
      "it's",
      '--',
      '-x',
      'line\nbreak',
    ];
    const { stderr } = await run(command, ['run', ...odd]);
    assert.match(stderr, /^strongroom: unknown flag '--experimental-default-config-file'/);
    for (const word of odd) {
      const { stderr } = await run(command, [word, '--experimental-default-config-file']);
      assert.match(stderr, /^strongroom: /);
      if (/^\w/.test(word)) assert.ok(stderr.includes(`unknown command ${JSON.stringify(word)}`), stderr);
    }
    assert.deepEqual(folder.caught(), []);
  });

  it('the program that is run gets them, and Node does not get them before it', async () => {
    const url = 'http://127.0.0.1:1';
    const env = { STRONGROOM_URL: url, STRONGROOM_ACCESS_KEY: 'sr_vault_x' };
    for (const argument of [
      '--experimental-default-config-file',
      `--experimental-config-file=${folder.settings}`,
    ]) {
      const { stderr } = await run(command, ['run', '--', 'node', argument, 'x.js'], env);
      assert.match(stderr, /can’t reach/);
      assert.deepEqual(folder.caught(), [], argument);
    }
  });

  it('by a link, as an install makes it, and by its name alone too', async () => {
    const bin = join(folder.path, 'linked');
    mkdirSync(bin);
    symlinkSync(command, join(bin, 'strongroom'));
    const PATH = `${bin}:${dirname(process.execPath)}:${process.env.PATH}`;
    for (const args of [
      ['run', '--env-file', folder.variables, '--', 'true'],
      ['help', '--experimental-default-config-file'],
    ]) {
      const { code } = await run('/bin/sh', ['-c', 'exec strongroom "$@"', 'sh', ...args], { PATH });
      assert.equal(code, args[0] === 'help' ? 0 : 2);
      assert.deepEqual(folder.caught(), []);
    }
  });
});
