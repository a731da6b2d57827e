/** Flags that name a file or a folder: one that can't be used is told in one plain sentence, by every command, and none waits for ever. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { commands } from '../src/cli/commands.ts';
import { placeOptions } from '../src/service/settings/command-options.ts';
import { type Result, run } from './command.ts';
import { makeOrganization } from './harness.ts';
import { dataRoot } from './postgres.ts';

describe('a file that a flag names and that can’t be used', () => {
  let data: string;
  before(async () => {
    data = mkdtempSync(join(dataRoot(), 'strongroom-files-'));
    await makeOrganization(['--data', data], 'Default', 'pro', 0);
  });
  after(() => rmSync(data, { recursive: true, force: true }));

  /** What a command needs beside the flag in order to get as far as the file. */
  const beside: Readonly<Record<string, readonly string[]>> = {
    serve: ['--port', '0'],
    backup: ['-', '--backup-recipient', 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p'],
    'backup verify': ['/nowhere/backup'],
    'backup restore': ['/nowhere/backup'],
    export: ['--all', '--recipient', 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p'],
    'keys create': ['name', '--vault', 'v'],
    'keys rotate': ['name', '--vault', 'v'],
    'keys public': ['name', '--vault', 'v'],
    'keys export': ['name', '--vault', 'v'],
    'certificates add': ['name', '/dev/null', '--vault', 'v'],
    'log stream': ['--to', '-', '--once'],
    'root-key rotate': [],
    'root-key add': ['shamir'],
    'root-key remove': ['0a1b2c3d'],
    run: ['--', 'true'],
    use: ['NAME', 'https://example.org/'],
    'use-rules add': ['NAME'],
    'use-rules edit': ['NAME', 'RULE'],
    'identities create': ['name', '--vault', 'v'],
    get: ['NAME'],
  };
  const environment = {
    STRONGROOM_URL: 'http://127.0.0.1:9',
    STRONGROOM_API_KEY: 'sr_api_x',
    STRONGROOM_ACCESS_KEY: 'sr_vault_x',
    HOME: '/nowhere',
  };

  function assertPlain({ code, stderr }: Result, what: string): void {
    assert.ok(code !== null, `${what} ends`);
    assert.doesNotMatch(
      stderr,
      /^strongroom: (?:\w*Error|E[A-Z]+)\b|\bE[A-Z]{3,} E[A-Z]{3,}\b|\n {4}at /m,
      what,
    );
    assert.ok(stderr.trimEnd().split('\n').length <= 2, `${what}: ${stderr}`);
  }

  async function flagsOf(name: string): Promise<string[]> {
    const { options } = (await commands[name]!()).command;
    const isOwn = (flag: string) => name === 'serve' || !(flag in placeOptions);
    return Object.entries(options)
      .filter(([flag, { value }]) => /FILE|DIR/.test(value ?? '') && isOwn(flag))
      .map(([flag]) => flag);
  }

  it('is told in one sentence, whichever command and flag it is', async () => {
    const cases: [string, string][] = [];
    for (const name of Object.keys(commands))
      for (const flag of await flagsOf(name)) cases.push([name, flag]);
    assert.ok(cases.length > 25, 'the flags are there');
    const one = async ([name, flag]: [string, string]) => {
      const { options } = (await commands[name]!()).command;
      const place = 'data' in options && flag !== 'data' ? ['--data', data] : [];
      const [first = '', ...rest] = beside[name] ?? [];
      const isLast = first === '--';
      const given = [...place, `--${flag}`, '/proc/nowhere/file'];
      const args = isLast ? [...given, first, ...rest] : [...given, ...(beside[name] ?? [])];
      const what = `${name} --${flag}`;
      assertPlain(await run([...name.split(' '), ...args], { env: environment }), what);
    };
    for (let at = 0; at < cases.length; at += 4) await Promise.all(cases.slice(at, at + 4).map(one));
  });

  it('is named with the reason: a checkpoint and an export of the log', async () => {
    const key = join(data, 'log-public-key.pem');
    writeFileSync(key, (await run(['audit', 'public-key', '--data', data])).stdout);
    for (const flag of ['checkpoint', 'file']) {
      const { code, stderr } = await run(['audit', 'verify', '--data', data, `--${flag}`, '/nowhere/x']);
      assert.equal(code, 3);
      assert.match(stderr, /: \/nowhere\/x can’t be used: there is no such file or folder\n$/, flag);
    }
  });

  it('a data folder where none can be created ends the start, as one inside a file does', async () => {
    for (const args of [['serve', '--port', '0'], ['setup'], ['restore', '/nowhere/backup']]) {
      const { code, stderr } = await run([...args, '--data', '/proc/x']);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /^strongroom: [^\n]+\n$/, 'one line');
    }
  });
});
