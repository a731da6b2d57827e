/** `set`, `rm`, `history`, `rollback`, `diff`, `vaults`, `access-keys`, `use` and `use-rules`, against a real service. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Browser, password } from './people.ts';
import { binary, type Done, startTool, type Tool } from './tool.ts';
import { startUpstream, type Upstream } from './uses-world.ts';

const execute = promisify(execFile);
const nasty = 'line one\nline "two" \'three\' $HOME `x` \\n \\ # = é 😀\ttab  ';
let tool: Tool;
before(async () => {
  tool = await startTool({ KEPT: 'unchanged' });
});
after(() => tool.stop());

function fails({ code, stdout, stderr }: Done, expected: number, what: RegExp): void {
  assert.equal(code, expected, stderr);
  assert.match(stderr, what);
  assert.match(stderr, /^strongroom: [^\n]+\n$/, 'one line');
  assert.equal(stdout, '');
}

const value = async (name: string) => (await tool.run(['get', name, '--no-newline'])).stdout;

describe('set', () => {
  it('takes a value from standard input without its last newline, and from a file as it is', async () => {
    const done = await tool.admin(['set', 'FROM_INPUT'], { input: `${nasty}\n` });
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stderr, /^strongroom: FROM_INPUT is now version 1\n$/m);
    assert.equal(await value('FROM_INPUT'), nasty);
    const file = join(tool.home, 'value');
    writeFileSync(file, `${nasty}\n`);
    assert.equal((await tool.admin(['set', 'FROM_FILE', `@${file}`])).code, 0);
    assert.equal(await value('FROM_FILE'), `${nasty}\n`);
    assert.match((await tool.admin(['set', 'FROM_INPUT', '-'], { input: 'two' })).stderr, /version 2/);
    assert.equal(await value('FROM_INPUT'), 'two');
  });

  it('generates a value and does not print it', async () => {
    const done = await tool.admin(['set', 'MADE', '--generate', '--length', '40', '--json']);
    assert.equal(JSON.parse(done.stdout).version, 1);
    const made = await value('MADE');
    assert.match(made, /^[A-Za-z0-9]{40}$/);
    assert.ok(!`${done.stdout}${done.stderr}`.includes(made));
    fails(
      await tool.admin(['set', 'MADE', 'x', '--generate']),
      2,
      /--generate can’t be combined with a value/,
    );
  });

  it('warns of a value in an argument, without repeating it', async () => {
    for (const args of [['ARGUED', 'hunter2'], ['ARGUED=hunter2']]) {
      const { code, stderr } = await tool.admin(['set', ...args]);
      assert.equal(code, 0);
      assert.match(stderr, /visible to other users/);
      assert.ok(!stderr.includes('hunter2'));
    }
    assert.equal(await value('ARGUED'), 'hunter2');
  });

  it('asks at a terminal, and shows nothing of what is typed', async t => {
    if ((await execute('python3', ['--version']).catch(() => null)) === null) return t.skip('no python3');
    const typist = `
import os, pty, sys
pid, fd = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
shown = b''
while True:
    try: chunk = os.read(fd, 1024)
    except OSError: break
    if not chunk: break
    shown += chunk
    if b'Value of' in shown and b'typed' not in shown and len(shown) < 40:
        os.write(fd, b'sesamX\\x7fe\\r'); shown += b' ' * 40
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;
    const env = tool.environment({ STRONGROOM_ACCESS_KEY: undefined, STRONGROOM_API_KEY: tool.service.key });
    const { stdout } = await execute('python3', ['-c', typist, process.execPath, binary, 'set', 'TYPED'], {
      env,
    });
    assert.match(stdout, /Value of TYPED/);
    assert.ok(!stdout.includes('sesa'));
    assert.equal(await value('TYPED'), 'sesame');
  });

  it('refuses what is not text, what is too long, and an access key', async () => {
    fails(await tool.admin(['set', 'BINARY'], { input: Buffer.from([0xff, 0xfe, 0]) }), 1, /is not UTF-8/);
    fails(await tool.admin(['set', 'LONG'], { input: 'x'.repeat(65_537) }), 1, /value must be at most 65536/);
    fails(await tool.run(['set', 'X'], { input: 'x' }), 2, /STRONGROOM_API_KEY is required/);
    fails(await tool.admin(['set', 'X', `@${join(tool.home, 'none')}`]), 1, /can’t be read \(ENOENT\)/);
  });
});

describe('history, rollback and rm', () => {
  it('shows versions without values, goes back to one, and deletes', async () => {
    for (const input of ['first value', 'second value']) await tool.admin(['set', 'TURNED'], { input });
    const { stdout } = await tool.admin(['history', 'TURNED']);
    assert.match(stdout, /^2 {2}20\S+Z {2}\S+ {2}current\n1 {2}20\S+Z {2}\S+\n$/);
    assert.equal(JSON.parse((await tool.admin(['history', 'TURNED', '--json'])).stdout).length, 2);
    const rolled = await tool.admin(['rollback', 'TURNED', '1']);
    assert.equal(rolled.stderr, 'strongroom: TURNED is now version 3, with the value of version 1\n');
    assert.equal(await value('TURNED'), 'first value');
    fails(await tool.admin(['rollback', 'TURNED', '9']), 1, /not found|version/);
    fails(await tool.admin(['rollback', 'TURNED', 'x']), 2, /a version is required/);
    const manager = await tool.service.call('POST', '/v1/api-keys', { name: 'manager', role: 'admin' });
    fails(
      await tool.admin(['rollback', 'TURNED', '2'], { env: { STRONGROOM_API_KEY: manager.body.token } }),
      1,
      /access keys could then read what you may not read yourself: this requires the permission secrets:reveal/,
    );
    fails(await tool.admin(['rm', 'TURNED', 'NOTHING']), 1, /no active secret "NOTHING"/);
    assert.equal(await value('TURNED'), 'first value', 'nothing goes unless all are there');
    fails(await tool.admin(['rm', 'TURNED', '--purge']), 2, /add --yes/);
    const many = (count: number) => Array.from({ length: count }, (_, at) => `N${at}`);
    fails(await tool.admin(['rm', ...many(1_000)]), 1, /no active secret/);
    fails(await tool.admin(['rm', ...many(1_001)]), 2, /at most 1000 arguments/);
    assert.equal((await tool.admin(['rm', 'TURNED'])).code, 0);
    fails(await tool.run(['get', 'TURNED']), 1, /no active secret/);
    await tool.admin(['set', 'TURNED'], { input: 'again' });
    assert.equal((await tool.admin(['rm', 'TURNED', '--purge', '--yes', '--json'])).code, 0);
  });
});

describe('diff', () => {
  it('compares vaults and files by name and value, and prints no value', async () => {
    const other = (await tool.service.call('POST', '/v1/vaults', { name: 'other' })).body.id;
    const put = (name: string, text: string) =>
      tool.service.call('POST', '/v1/secrets', { vault_id: other, name, value: text });
    await put('KEPT', 'something else');
    await put('NEW', 'new value');
    const third = (await tool.service.call('POST', '/v1/vaults', { name: 'third' })).body.id;
    await tool.service.call('POST', '/v1/secrets', { vault_id: third, name: 'KEPT', value: 'unchanged' });
    const vaults = await tool.admin(['diff', 'third', 'other']);
    assert.equal(vaults.stdout, '~ KEPT\n+ NEW\n', vaults.stderr);
    const off = { vault_id: other, name: 'OFF', value: 'kept', enabled: false };
    await tool.service.call('POST', '/v1/secrets', off);
    assert.equal((await tool.admin(['diff', 'third', 'other'])).stdout, '~ KEPT\n+ NEW\n! OFF\n');
    const file = join(tool.home, 'a.env');
    writeFileSync(file, 'KEPT="unchanged"\nGONE=1\n');
    assert.equal((await tool.admin(['diff', file, 'third'])).stdout, '- GONE\n');
    const done = await tool.admin(['diff', file, '--vault', 'other', '--json', '--exit-code']);
    assert.deepEqual(JSON.parse(done.stdout), {
      removed: ['NEW'],
      added: ['GONE'],
      changed: ['KEPT'],
      inactive: [],
    });
    assert.equal(done.code, 1);
    assert.equal((await tool.admin(['diff', 'third', 'third', '--exit-code'])).code, 0);
    fails(await tool.admin(['diff', 'nowhere', 'third']), 1, /no vault with this name/);
    fails(await tool.admin(['diff']), 2, /a vault or a file to compare with is required/);
  });
});

describe('stages', () => {
  it('are created, compared, renamed in and deleted by their names', async () => {
    const made = await tool.admin(['stages', 'create', 'shop', 'third', 'other']);
    assert.equal(made.code, 0, made.stderr);
    fails(await tool.admin(['stages', 'create', 'alone', 'third']), 2, /two or more vaults/);
    fails(await tool.admin(['stages', 'show', 'nothing']), 1, /there is no stage "nothing"/);
    assert.equal((await tool.admin(['stages', 'list'])).stdout, 'shop  third, other\n');
    const show = async (...flags: string[]) =>
      (await tool.admin(['stages', 'show', 'shop', ...flags])).stdout
        .replace(/ +/g, ' ')
        .replace(/ \d+[smhd]\b/g, '');
    const rows = 'KEPT different different\nNEW missing present\nOFF missing disabled\n';
    assert.equal(await show(), `NAME third other\n${rows}`);
    const { id } = (await tool.service.call('GET', '/v1/vaults?q=third')).body.data[0];
    await tool.service.call('POST', '/v1/secrets', { vault_id: id, name: 'ONLY', value: 'x' });
    const all = await tool.admin(['stages', 'show', 'shop']);
    assert.match(all.stderr, /1 secret missing in other/);
    const json = JSON.parse((await tool.admin(['stages', 'show', 'shop', '--json'])).stdout);
    assert.deepEqual([json.missing, json.rows.length], [1, 4]);
    const renamed = await tool.admin(['stages', 'rename', 'shop', 'KEPT', 'STAYED']);
    assert.equal(renamed.code, 0, renamed.stderr);
    fails(await tool.admin(['stages', 'rename', 'shop', 'KEPT', 'STAYED']), 2, /no vault of the stage/);
    fails(await tool.admin(['stages', 'rename', 'shop', 'KEPT']), 2, /old and the new name/);
    const differs = await tool.admin(['diff', '--stage', 'shop', '--exit-code']);
    assert.deepEqual([differs.code, /STAYED +different/.test(differs.stdout)], [1, true], differs.stderr);
    fails(await tool.admin(['diff', 'third', '--stage', 'shop']), 2, /takes no further argument/);
    assert.equal((await tool.admin(['stages', 'delete', 'shop'])).code, 0);
    assert.equal((await tool.admin(['stages', 'list'])).stdout, '');
    await tool
      .admin(['stages', 'create', 'same', 'third', 'third'])
      .then(twice => assert.notEqual(twice.code, 0));
  });
});

describe('use and use-rules', () => {
  const token = 'ghp_7Qx2mZr9Lk4Tn8VbcW1sYd6Hf3Jg';
  const admin = (args: readonly string[], input = '') =>
    tool.admin(args, { input, env: { STRONGROOM_VAULT: 'app' } });
  let upstream: Upstream;
  let agent: Record<string, string>;
  before(async () => {
    upstream = await startUpstream();
    await tool.put('UPSTREAM_TOKEN', token);
    const key = { vault_id: tool.vaultId, name: 'agent', names_only: true, may_use: true };
    agent = { STRONGROOM_ACCESS_KEY: (await tool.service.call('POST', '/v1/access-keys', key)).body.token };
  });
  after(() => upstream.close());

  it('rules are written from presets, flags and files, checked, updated and deleted', async () => {
    assert.match((await admin(['use-rules', 'presets'])).stdout, /^github +api\.github\.com +\/repos/);
    const add = ['use-rules', 'add', 'issues', '--secret', 'UPSTREAM_TOKEN', '--preset', 'github'];
    const open = await admin(add);
    assert.equal(open.code, 2);
    assert.match(open.stderr, /--path is required, such as \/repos\/OWNER/);
    const added = await admin([...add, '--path', '/repos/acme/**', '--approval', 'never']);
    assert.equal(added.code, 0, added.stderr);
    const listed = await admin(['use-rules', 'list']);
    assert.match(listed.stdout, /^issues +\S+ +never +GET,\S+ api\.github\.com \/repos\/acme\/\*\*\n$/);
    const check = ['use-rules', 'check', 'UPSTREAM_TOKEN'];
    const allowed = await admin([...check, 'https://api.github.com/repos/acme/shop']);
    assert.equal(allowed.stdout, `allowed by the rule ${added.stdout}`);
    const strange = await admin([...check, 'https://example.com/repos/acme/shop']);
    assert.deepEqual([strange.code, strange.stdout], [1, '']);
    assert.match(strange.stderr, /not allowed by issues: url is not among the hosts of the rule/);
    const input = JSON.stringify({ response_headers: ['etag'] });
    const edit = ['use-rules', 'edit', 'issues', '--file', '-', '--place', 'header:x-token:Token ', '--json'];
    const edited = JSON.parse((await admin(edit, input)).stdout);
    assert.deepEqual(edited.response_headers, ['etag']);
    assert.deepEqual(edited.place, { type: 'header', name: 'x-token', prefix: 'Token ' });
    assert.equal((await admin(['use-rules', 'delete', 'issues'])).code, 0);
    assert.equal((await admin(['use-rules', 'delete', 'issues'])).code, 1);
  });

  it('a rule of a key has its operations, algorithms and the shape of tokens', async () => {
    const key = { vault_id: tool.vaultId, name: 'SIGNER', generate: { key_type: 'EC', curve: 'P-256' } };
    assert.equal((await tool.service.call('POST', '/v1/keys', key)).status, 200);
    const shape = ['--jwt-issuer', 'agents', '--jwt-audience', 'payments'];
    const how = ['--key', 'SIGNER', '--operation', 'sign', '--algorithm', 'ES256', ...shape, '--json'];
    const added = await admin(['use-rules', 'add', 'tokens', ...how]);
    assert.equal(added.code, 0, added.stderr);
    const { operations, algorithms, jwt } = JSON.parse(added.stdout);
    const expected = { issuer: 'agents', audiences: ['payments'], longest_lifetime: 600 };
    assert.deepEqual(
      { operations, algorithms, jwt },
      { operations: ['sign'], algorithms: ['ES256'], jwt: expected },
    );
  });

  it('a call is made with the secret, and what comes back is printed without it', async () => {
    const host = ['--host', upstream.url, '--path', '/echo,/own/**', '--method', 'GET,POST'];
    const rule = ['use-rules', 'add', 'calls', '--secret', 'UPSTREAM_TOKEN', ...host, '--place', 'bearer'];
    assert.equal((await admin([...rule, '--approval', 'never'])).code, 0);
    const use = (args: readonly string[], input = '') =>
      tool.run(['use', 'UPSTREAM_TOKEN', ...args], { env: agent, input });
    const echoed = await use([`${upstream.url}/echo`, '--header', 'accept: text/plain, */*']);
    assert.deepEqual([echoed.code, echoed.stdout], [0, 'it is: [redacted] .']);
    assert.match(echoed.stderr, /status 200\nstrongroom: content-type: text\/plain\n/);
    assert.equal(upstream.requests.at(-1)!.headers.accept, 'text/plain, */*');
    assert.equal(upstream.requests.at(-1)!.headers.authorization, `Bearer ${token}`);
    upstream.answer = (_request, body, response) => response.writeHead(404).end(body);
    const posted = await use([`${upstream.url}/own/it`, '--body', '-', '--json'], 'a body\n');
    assert.equal(posted.code, 1, 'a status from 400 up');
    assert.equal(upstream.requests.at(-1)!.body, 'a body\n');
    assert.equal(JSON.parse(posted.stdout).status, 404);
    const dry = await use([`${upstream.url}/other`, '--dry-run']);
    assert.deepEqual([dry.code, dry.stdout], [1, '']);
    assert.match(dry.stderr, /not allowed by calls: url matches no path of the rule/);
    assert.ok(!(echoed.stderr + posted.stdout + posted.stderr + dry.stderr).includes(token));
  });

  it('one that waits for an approval names the page, and can wait for the person', async () => {
    await admin(['use-rules', 'edit', 'calls', '--approval', 'always']);
    const call = ['use', 'UPSTREAM_TOKEN', `${upstream.url}/echo`];
    const waiting = await tool.run(call, { env: agent });
    assert.equal(waiting.code, 1);
    const [, id] = /approve this call: http\S+\/approvals\/(\S+)\n/.exec(waiting.stderr)!;
    const patient = tool.start([...call, '--wait'], { env: agent });
    const { body } = await tool.service.call('POST', '/v1/members', { email: 'a@b.example', role: 'editor' });
    const person = new Browser(tool.service.url);
    await person.post('/auth/invitation/accept', { token: body.token, password });
    assert.equal((await person.post(`/auth/approvals/${id}/approve`, {})).status, 200);
    const { code, stdout } = await patient.done;
    assert.deepEqual([code, stdout], [0, 'it is: [redacted] .']);
    const key = await admin(['use', 'UPSTREAM_TOKEN', `${upstream.url}/echo`]);
    assert.match(key.stderr, /STRONGROOM_ACCESS_KEY is required/);
  });
});

describe('vaults and access-keys', () => {
  it('a vault is created and listed, and an access key for it reads what it was restricted to, until it is revoked', async () => {
    const created = await tool.admin(['vaults', 'create', 'fresh', '--description', 'for a try']);
    assert.equal(created.code, 0, created.stderr);
    const [, id] = /^fresh +(\S+)$/m.exec((await tool.admin(['vaults', 'list'])).stdout)!;
    assert.equal(created.stdout, `${id}\n`);
    for (const name of ['DB_URL', 'OTHER'])
      await tool.admin(['set', name, '--vault', 'fresh'], { input: 'postgres://fresh' });

    const restricted = ['--vault', 'fresh', '--only', 'DB_*', '--days', '30'];
    const { stdout, stderr } = await tool.admin(['access-keys', 'create', 'web', ...restricted]);
    assert.match(stdout, /^sr_vault_\w+\n$/, 'the access key, and nothing else');
    assert.match(stderr, /web may read the vault fresh; the access key is not shown again/);
    const env = { STRONGROOM_ACCESS_KEY: stdout.trim() };
    assert.equal((await tool.run(['list'], { env })).stdout, 'DB_URL\n');
    const listed = await tool.admin(['access-keys', 'list', '--vault', 'fresh']);
    assert.match(listed.stdout, /^web +\S+ +expires 2\S+ +(never used|last used 2\S+)\n$/);

    await tool.admin(['access-keys', 'create', 'web', '--vault', 'fresh', '--names-only', '--may-use']);
    fails(
      await tool.admin(['access-keys', 'revoke', 'web', '--vault', 'fresh']),
      1,
      /2 access keys are called "web"/,
    );
    const all = JSON.parse((await tool.admin(['access-keys', 'list', '--vault', 'fresh', '--json'])).stdout);
    assert.deepEqual(
      all.map((key: { names_only: boolean; may_use: boolean }) => [key.names_only, key.may_use]),
      [
        [true, true],
        [false, false],
      ],
    );
    const revoked = await tool.admin(['access-keys', 'revoke', all[1].id, '--vault', 'fresh']);
    assert.match(revoked.stderr, /revoked web/);
    fails(await tool.run(['list'], { env }), 1, /the key is not accepted/);
  });

  it('says in one line what is missing: a name, a vault, an API key', async () => {
    fails(await tool.admin(['vaults', 'create']), 2, /a name for the vault is required/);
    fails(await tool.admin(['vaults', 'create', 'other']), 1, /name is already in use/);
    fails(await tool.admin(['access-keys', 'create']), 2, /a name for the access key is required/);
    fails(await tool.admin(['access-keys', 'create', 'x']), 2, /--vault is required/);
    fails(
      await tool.admin(['access-keys', 'revoke', 'x', '--vault', 'other']),
      1,
      /there is no access key "x"/,
    );
    fails(await tool.run(['vaults', 'list']), 2, /STRONGROOM_API_KEY is required/);
  });
});
