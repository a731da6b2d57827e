/** `strongroom run` with files, several vaults, signals after a change and personal values, against a real service. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { secretFiles } from '../src/cli/vault/secret-files.ts';
import { type Done, startTool, type Tool } from './tool.ts';

const value = 'line one of a key\nline two of a key\n';
let tool: Tool;
before(async () => {
  tool = await startTool({ TLS_KEY: value, SHARED: 'of app', PORT: '8080' });
  const { call } = tool.service;
  const shared = (await call('POST', '/v1/vaults', { name: 'shared, for all' })).body.id;
  for (const [name, text] of Object.entries({ SHARED: 'of shared', ONLY_SHARED: 'only there' }))
    await call('POST', '/v1/secrets', { vault_id: shared, name, value: text });
});
after(() => tool.stop());

const sh = (script: string, ...flags: string[]) => ['run', '--no-mask', ...flags, '--', 'sh', '-c', script];
const both = ['--vault', 'app', '--vault', 'shared, for all'];

function fails({ code, stdout, stderr }: Done, expected: number, what: RegExp): void {
  assert.equal(code, expected, stderr);
  assert.match(stderr, what);
  assert.equal(stdout, '');
}

function succeeds({ code, stdout, stderr }: Done): string {
  assert.equal(code, 0, stderr);
  return stdout;
}

describe('a secret as a file', () => {
  it('is in a private folder, readable by its owner only, not in the environment, and gone at the end', async () => {
    const script =
      'cat "$TLS_KEY_FILE"; stat -c "%a %U" "$TLS_KEY_FILE"; stat -c %a "$(dirname "$TLS_KEY_FILE")"; echo "$TLS_KEY_FILE [$TLS_KEY] $PORT"';
    const [shown, path, rest] = /^(.*)\n(\S+) (\[.*)\n$/s
      .exec(succeeds(await tool.run(sh(script, '--file', 'TLS_KEY'))))!
      .slice(1) as [string, string, string];
    assert.ok(shown.startsWith(`${value}400 `), shown);
    assert.match(shown, /\n700$/);
    assert.equal(rest, '[] 8080');
    assert.ok(!existsSync(path));
    assert.ok(!existsSync(join(path, '..')));
    if (process.platform === 'linux' && existsSync('/dev/shm')) assert.match(path, /^\/(?:dev\/shm|run)\//);
  });

  it('is at the path that is given, which must be free, and several are possible', async () => {
    const path = join(tool.home, 'tls.key');
    const files = ['--file', 'TLS_KEY=tls.key', '--file', 'PORT'];
    const script = 'cat tls.key "$PORT_FILE"; echo; echo "$TLS_KEY_FILE"';
    assert.equal(succeeds(await tool.run(sh(script, ...files))), `${value}8080\n${path}\n`);
    assert.ok(!existsSync(path));
    writeFileSync(path, 'a file of the person');
    fails(await tool.run(sh('echo started', ...files)), 1, /tls\.key exists already/);
    assert.equal(readFileSync(path, 'utf8'), 'a file of the person');
    rmSync(path);
    fails(
      await tool.run(sh('echo started', '--file', 'TLS_KEY=no/such/tls.key')),
      1,
      /no\/such\/tls\.key can’t be used/,
    );
    fails(await tool.run(sh('echo started', '--file', 'NONE')), 1, /no active secret "NONE"/);
    for (const wrong of ['', '=x', 'TLS_KEY='])
      fails(
        await tool.run(sh('echo started', `--file=${wrong}`)),
        2,
        /--file must be of the form NAME or NAME=PATH/,
      );
  });

  it('is removed when the program or run is ended by a signal, and when the program is not found', async () => {
    const path = join(tool.home, 'signalled.key');
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      const { child, done } = tool.start(sh('echo ready; sleep 60', '--file', `TLS_KEY=${path}`));
      await new Promise(resolve => child.stdout!.once('data', resolve));
      assert.ok(existsSync(path), signal);
      child.kill(signal);
      assert.equal((await done).signal, signal);
      assert.ok(!existsSync(path), signal);
    }
    assert.equal((await tool.run(sh('kill -9 $$', '--file', `TLS_KEY=${path}`))).signal, 'SIGKILL');
    assert.ok(!existsSync(path));
    fails(await tool.run(['run', '--file', `TLS_KEY=${path}`, '--', 'no-such-program']), 127, /no program/);
    assert.ok(!existsSync(path));
  });

  it('that a killed run left in its private folder is removed by the next run, and no other is', {
    skip: process.platform === 'linux' && existsSync('/dev/shm') ? false : 'needs a folder in memory',
  }, async () => {
    const left = succeeds(
      await tool
        .run(sh('echo "$TLS_KEY_FILE"; kill -9 $PPID', '--file', 'TLS_KEY'))
        .then(done => ({ ...done, code: 0 })),
    ).trim();
    assert.ok(existsSync(left), 'nothing could remove it');
    const folder = join(left, '..');
    const pid = /-(\d+)-[^-]+$/.exec(folder)![1]!;
    const running = folder.replace(`-${pid}-`, `-${process.pid}-`);
    const elsewhere = folder.replace(/run-\d+-/, 'run-1-');
    mkdirSync(running);
    mkdirSync(elsewhere);
    succeeds(await tool.run(sh('true', '--file', 'TLS_KEY')));
    assert.deepEqual([folder, running, elsewhere].map(existsSync), [false, true, true]);
    rmSync(running, { recursive: true });
    rmSync(elsewhere, { recursive: true });
  });

  it('is masked in the output, and its variable can’t change what is run', async () => {
    const done = await tool.run(['run', '--file', 'TLS_KEY', '--', 'sh', '-c', 'cat "$TLS_KEY_FILE"']);
    assert.equal(done.stdout, '[secret TLS_KEY]');
    await tool.put('SSL_CERT', 'x');
    fails(await tool.run(sh('true', '--file', 'SSL_CERT')), 1, /SSL_CERT_FILE changes what is run/);
    assert.equal((await tool.run(sh('true', '--file', 'SSL_CERT', '--allow-unsafe-names'))).code, 0);
  });

  it('that someone else has replaced stays, and no name leaves the folder', t => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-placed-'));
    t.after(() => rmSync(folder, { recursive: true }));
    t.mock.method(process.stderr, 'write', () => true);
    const files = secretFiles({});
    const own = { name: 'A', path: join(folder, 'a'), value: '1', variable: 'A_FILE' };
    assert.deepEqual(files.put([own]), { A_FILE: own.path });
    files.put([{ ...own, value: '2' }]);
    assert.equal(readFileSync(own.path, 'utf8'), '2');
    assert.equal(statSync(own.path).mode & 0o777, 0o400);
    assert.deepEqual(readdirSync(folder), ['a']);
    rmSync(own.path);
    writeFileSync(own.path, 'theirs');
    files.put([{ ...own, value: '3' }]);
    assert.equal(readFileSync(own.path, 'utf8'), 'theirs');
    const names = ['../up', '..', '.', 'a/b'];
    const placed = names.map(name => files.put([{ name, path: null, value: name, variable: 'P' }]).P!);
    const parents = new Set(placed.map(path => path.slice(0, path.lastIndexOf('/'))));
    assert.equal(parents.size, 1);
    for (const [at, path] of placed.entries()) assert.equal(readFileSync(path, 'utf8'), names[at]);
    files.remove();
    assert.equal(readFileSync(own.path, 'utf8'), 'theirs');
    for (const path of placed) assert.ok(!existsSync(path));
    assert.ok(!existsSync([...parents][0]!));
  });
});

describe('several vaults', () => {
  it('are passed on together; a name in two of them is refused, unless it is not chosen', async () => {
    const script = 'echo "$PORT,$SHARED,$ONLY_SHARED"';
    fails(await tool.admin(sh(script, ...both)), 1, /"SHARED" is in several vaults: --override/);
    assert.equal(
      succeeds(await tool.admin(sh(script, ...both, '--only', 'PORT,ONLY_SHARED'))),
      '8080,,only there\n',
    );
    assert.equal(
      succeeds(await tool.admin(sh(script, ...both, '--override'))),
      '8080,of shared,only there\n',
    );
    const reversed = ['--vault', 'shared, for all', '--vault', 'app'];
    assert.equal(
      succeeds(await tool.admin(sh(script, ...reversed, '--override'))),
      '8080,of app,only there\n',
    );
    const lines = { STRONGROOM_VAULT: 'app\nshared, for all' };
    assert.equal(
      succeeds(await tool.admin(sh(script, '--override'), { env: lines })),
      '8080,of shared,only there\n',
    );
    fails(
      await tool.admin(sh(script, ...both, '--file', 'SHARED', '--only', 'PORT')),
      1,
      /"SHARED" is in several/,
    );
  });

  it('one that may not be read ends the run, and one name with a comma is one vault', async () => {
    fails(
      await tool.admin(sh('echo started', '--vault', 'app', '--vault', 'none')),
      1,
      /no vault with this name/,
    );
    fails(await tool.run(sh('echo started', ...both)), 1, /belongs to another vault/);
    assert.equal(succeeds(await tool.admin(sh('echo $SHARED', '--vault', 'shared, for all'))), 'of shared\n');
    fails(await tool.admin(sh('true', '--vault', 'app', '--vault', '')), 2, /--vault must not be empty/);
  });

  it('are each kept for --offline', async () => {
    const env = { XDG_CACHE_HOME: join(tool.home, 'cache') };
    succeeds(await tool.admin(sh('true', ...both, '--override'), { env }));
    const away = await tool.admin(sh('echo $PORT $ONLY_SHARED', ...both, '--override', '--offline'), {
      env: { ...env, STRONGROOM_URL: tool.service.url },
    });
    assert.equal(succeeds(away), '8080 only there\n');
    assert.equal(readdirSync(join(tool.home, 'cache/strongroom/offline')).length, 2);
  });
});

describe('after a change', () => {
  it('the program gets a signal instead of a restart, with new files and new masks', async () => {
    await tool.put('ROTATED', 'the first value');
    const script = `trap 'cat "$ROTATED_FILE"; echo; exit 0' HUP; echo "ready $$"; while :; do sleep 0.1; done`;
    const flags = ['--watch', '--watch-interval', '1', '--on-change', 'signal:HUP', '--file', 'ROTATED'];
    const { child, done } = tool.start(['run', ...flags, '--', 'sh', '-c', script]);
    await new Promise(resolve => child.stdout!.once('data', resolve));
    await tool.put('ROTATED', 'the second value');
    const { code, stdout, stderr } = await done;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^ready \d+\n\[secret ROTATED\]\n$/);
    assert.match(stderr, /a value has changed: sending SIGHUP/);
    assert.doesNotMatch(stderr, /restarting/);
  });

  it('the signal must be one that a program can handle, and needs --watch', async () => {
    for (const wrong of ['signal:KILL', 'signal:NONE', 'signal:', 'HUP', 'signal:hup'])
      fails(
        await tool.run(sh('true', '--watch', '--on-change', wrong)),
        2,
        /--on-change must be restart, or a signal/,
      );
    fails(await tool.run(sh('true', '--on-change', 'signal:HUP')), 2, /--on-change requires --watch/);
  });
});

describe('personal values', () => {
  const folder = () => join(tool.home, '.config/strongroom/personal');

  it('are set, listed and deleted on this machine only, and encrypted there', async () => {
    const before = (await tool.service.call('GET', '/v1/request-logs?limit=1')).body.pagination.total;
    const done = await tool.run(['mine', 'set', 'PORT'], { input: 'my own port\n' });
    const where = 'for runs that name no vault';
    assert.deepEqual([done.code, done.stderr], [0, `strongroom: PORT has a value of your own ${where}\n`]);
    const elsewhere = await tool.run(['mine', 'set', 'PORT', '--vault', 'other'], { input: 'x\n' });
    assert.match(elsewhere.stderr, /PORT has a value of your own in the vault other\n/);
    succeeds(await tool.run(['mine', 'rm', 'PORT', '--vault', 'other']));
    succeeds(await tool.run(['mine', 'set', 'EXTRA', '-'], { input: 'mine alone' }));
    assert.equal(succeeds(await tool.run(['mine', 'list'])), 'EXTRA\nPORT\n');
    assert.deepEqual(JSON.parse(succeeds(await tool.run(['mine', 'list', '--json']))), [
      { name: 'EXTRA' },
      { name: 'PORT' },
    ]);
    const after = (await tool.service.call('GET', '/v1/request-logs?limit=1')).body.pagination.total;
    assert.equal(after, before, 'nothing was asked of the service');
    for (const file of readdirSync(folder())) {
      assert.equal(statSync(join(folder(), file)).mode & 0o777, 0o600);
      assert.doesNotMatch(readFileSync(join(folder(), file), 'latin1'), /my own port|PORT|EXTRA/);
    }
    fails(await tool.run(['mine', 'rm', 'EXTRA', 'NONE']), 1, /you have no value for "NONE"/);
    assert.equal(succeeds(await tool.run(['mine', 'list'])), 'EXTRA\nPORT\n');
    assert.match((await tool.run(['mine', 'rm', 'EXTRA'])).stderr, /your value of EXTRA is deleted/);
    const many = Array.from({ length: 1001 }, (_, at) => `N${at}`);
    fails(await tool.run(['mine', 'rm', ...many]), 2, /takes at most 1000 arguments/);
    fails(await tool.run(['mine', 'rm', ...many.slice(1)]), 1, /you have no value/);
  });

  it('replace those of the vault with --mine alone, for the same vault alone, and are masked', async () => {
    assert.equal(succeeds(await tool.run(sh('echo $PORT'))), '8080\n');
    const mine = await tool.run(sh('echo $PORT', '--mine'));
    assert.equal(succeeds(mine), 'my own port\n');
    assert.match(mine.stderr, /using your own values of PORT/);
    assert.equal(
      succeeds(await tool.run(['run', '--mine', '--', 'sh', '-c', 'echo $PORT'])),
      '[secret PORT]\n',
    );
    assert.equal(
      succeeds(await tool.admin(sh('echo $SHARED', '--mine', '--vault', 'shared, for all'))),
      'of shared\n',
    );
    assert.equal(succeeds(await tool.run(['mine', 'list', '--vault', 'other'])), '');
    // A value of one's own settles which of two vaults counts.
    succeeds(await tool.run(['mine', 'set', 'SHARED', '--vault', 'app'], { input: 'mine' }));
    assert.equal(succeeds(await tool.admin(sh('echo $SHARED', ...both, '--mine'))), 'mine\n');
  });

  it('that were altered, or whose key others can read, are refused', async () => {
    const cwd = join(tool.home, 'altered');
    mkdirSync(cwd);
    const env = { HOME: cwd };
    succeeds(await tool.run(['mine', 'set', 'PORT'], { env, input: 'mine' }));
    const place = join(cwd, '.config/strongroom/personal');
    const key = join(place, 'key.json');
    chmodSync(key, 0o644);
    fails(await tool.run(['mine', 'list'], { env }), 1, /key\.json can be read by others/);
    chmodSync(key, 0o600);
    const sealed = join(place, readdirSync(place).find(name => name !== 'key.json')!);
    const bytes = Buffer.from(readFileSync(sealed, 'utf8'), 'base64');
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(sealed, bytes.toString('base64'));
    fails(await tool.run(sh('echo started', '--mine'), { env }), 1, /personal values were altered/);
  });

  it('keep their key in the system’s keyring, if there is one', async () => {
    const home = join(tool.home, 'with-keyring');
    const bin = join(home, 'bin');
    mkdirSync(bin, { recursive: true });
    const script = `#!/bin/sh
for last do :; done
case $1 in
  store) cat > "$HOME/kept-$last";;
  lookup) cat "$HOME/kept-$last" 2> /dev/null;;
  clear) rm -f "$HOME/kept-$last";;
esac
`;
    writeFileSync(join(bin, 'secret-tool'), script, { mode: 0o755 });
    const env = {
      HOME: home,
      PATH: `${bin}:${process.env.PATH}`,
      DBUS_SESSION_BUS_ADDRESS: 'unix:path=/none',
    };
    if (process.platform !== 'linux') return;
    succeeds(await tool.run(['mine', 'set', 'PORT'], { env, input: 'kept apart' }));
    const { keyring, key } = JSON.parse(
      readFileSync(join(home, '.config/strongroom/personal/key.json'), 'utf8'),
    );
    assert.equal(key, undefined);
    assert.ok(existsSync(join(home, `kept-${keyring}`)));
    assert.equal(succeeds(await tool.run(sh('echo $PORT', '--mine'), { env })), 'kept apart\n');
    rmSync(join(home, `kept-${keyring}`));
    fails(
      await tool.run(sh('echo started', '--mine'), { env }),
      1,
      /can’t be read: unlock the system’s keyring/,
    );
  });
});
