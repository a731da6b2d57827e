/** `strongroom certificates watch`, against a real service: what it writes, with which modes, and when it runs a command. */
import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from './harness.ts';
import { type Done, startTool, type Tool } from './tool.ts';

describe('strongroom certificates watch', () => {
  let tool: Tool;
  let folder: string;
  const path = (name: string) => join(folder, name);
  const content = (name: string) => readFileSync(path(name), 'utf8');
  const modeOf = (name: string) => (statSync(path(name)).mode & 0o777).toString(8);
  const runs = () => content('runs').split('\n').length - 1;

  before(async () => {
    tool = await startTool({});
    folder = join(tool.home, 'tls');
    mkdirSync(folder);
    writeFileSync(path('runs'), '');
  });
  after(() => tool.stop());

  async function ok(method: string, at: string, body?: object) {
    const answer = await tool.service.call(method, at, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  }
  const issuing = (days: number) => ({ self_signed: { subject: 'CN=web', days } });
  async function certificate(name: string) {
    const vault_id = tool.vaultId;
    const generate = { key_type: 'EC', curve: 'P-256' };
    const key = await ok('POST', '/v1/keys', { vault_id, name, generate });
    const body = { vault_id, name, key_id: key.id, ...issuing(10) };
    return { id: (await ok('POST', '/v1/certificates', body)).id as string, keyId: key.id as string };
  }
  const ran = `env | grep -c STRONGROOM >> ${'$'}RUNS; true`;
  const watching = (...flags: string[]) => ['certificates', 'watch', ...flags];
  const files = () => ['--cert', path('web.pem'), '--key', path('web.key')];
  const env = () => ({ RUNS: path('runs') });
  const once = (flags: string[]) => tool.run(watching(...flags, '--once', '--exec', ran), { env: env() });
  function fails({ code, stderr }: Done, expected: number, what: RegExp): void {
    assert.equal(code, expected, stderr);
    assert.match(stderr, what);
  }

  it('writes what belongs together, the key for its owner only, and runs the command only after a change', async () => {
    const { id, keyId } = await certificate('web');
    const first = await once(['web', ...files()]);
    assert.equal(first.code, 0, first.stderr);
    const leaf = new X509Certificate(content('web.pem'));
    assert.ok(leaf.checkPrivateKey(createPrivateKey(content('web.key'))));
    assert.deepEqual([modeOf('web.pem'), modeOf('web.key'), runs()], ['644', '600', 1]);
    assert.equal(content('runs'), '0\n', 'without our credentials');
    assert.equal((await once(['web', ...files()])).code, 0);
    assert.equal(runs(), 1);

    await ok('PUT', `/v1/certificates/${id}`, issuing(20));
    assert.equal((await once(['web', ...files()])).code, 0);
    const renewed = new X509Certificate(content('web.pem'));
    assert.deepEqual([renewed.validTo === leaf.validTo, runs()], [false, 2]);

    await ok('POST', `/v1/keys/${keyId}/rotate`);
    fails(await once(['web', ...files()]), 1, /does not belong to the certificate/);
    assert.ok(renewed.checkPrivateKey(createPrivateKey(content('web.key'))), 'left as it was');
    await ok('PUT', `/v1/certificates/${id}`, issuing(30));
    const byAdmin = watching('web', ...files(), '--once', '--exec', ran, '--vault', 'app');
    assert.equal((await tool.admin(byAdmin, { env: env() })).code, 0);
    assert.ok(new X509Certificate(content('web.pem')).checkPrivateKey(createPrivateKey(content('web.key'))));
    assert.equal(runs(), 3);
    assert.deepEqual(readdirSync(folder).sort(), ['runs', 'web.key', 'web.pem'], 'nothing left aside');
  });

  it('writes one file with both, a chain by itself, and files for each of several', async () => {
    await certificate('one/../two');
    await certificate('three');
    const both = path('{name}.all');
    const done = await once(['one/../two', 'three', '--cert', both, '--key', both]);
    assert.equal(done.code, 0, done.stderr);
    const [one, three] = ['one%2F..%2Ftwo.all', 'three.all'];
    assert.match(content(one), /^-----BEGIN CERTIFICATE-----[\s\S]*-----BEGIN PRIVATE KEY-----/);
    assert.deepEqual([modeOf(one), modeOf(three)], ['600', '600']);
    const chained = await once(['three', '--cert', path('c'), '--key', path('k'), '--chain', path('chain')]);
    assert.deepEqual([chained.code, content('chain')], [0, '']);
  });

  it('says what is missing, and writes nothing', async () => {
    fails(await once(['web']), 2, /--cert and --key are required/);
    fails(await once(['web', 'three', ...files()]), 2, /must contain \{name\}/);
    fails(await once(['nothing', ...files()]), 1, /there is no certificate "nothing"/);
    fails(await once(['web', ...files(), '--key-name', 'three']), 1, /does not belong/);
    fails(await once(['web', ...files(), '--chain', path('web.pem')]), 2, /a file of its own/);
    const vault_id = tool.vaultId;
    const token = (await ok('POST', '/v1/access-keys', { vault_id, name: 'names', names_only: true })).token;
    const names = { env: { ...env(), STRONGROOM_ACCESS_KEY: token } };
    const refused = await tool.run(watching('web', '--cert', path('x'), '--key', path('y'), '--once'), names);
    assert.equal(refused.code, 1, refused.stderr);
    assert.ok(!readdirSync(folder).some(name => ['x', 'y'].includes(name)));
  });

  it('follows new versions, runs a command that failed again, and goes on without the service', async t => {
    const { id } = await certificate('followed');
    const script = `echo ran >> ${path('tries')}; test -e ${path('ready')}`;
    const flags = ['--cert', path('f.pem'), '--key', path('f.key'), '--interval', '1', '--exec', script];
    const { child, done } = tool.start(watching('followed', ...flags));
    t.after(() => child.kill('SIGKILL'));
    let said = '';
    child.stderr!.on('data', chunk => {
      said += chunk;
    });
    await eventually('it runs the command again', async () => readTries() >= 2);
    writeFileSync(path('ready'), '');
    await eventually('it says so', async () => said.includes('up to date again'));
    const [before, tries] = [content('f.pem'), readTries()];
    await ok('PUT', `/v1/certificates/${id}`, issuing(40));
    await eventually(
      'it writes the new version',
      async () => content('f.pem') !== before && readTries() > tries,
    );
    const logged = await ok('GET', `/v1/request-logs?vault_id=${tool.vaultId}&limit=100`);
    const revealed = logged.data.filter(
      ({ requested, access_key_id }: { requested: string; access_key_id: string }) =>
        requested === 'key=private followed' && access_key_id !== null,
    );
    assert.equal(revealed.length, 2, 'the private key is read once for each version');
    rmSync(path('f.key'));
    await tool.service.stop();
    await eventually('it says that the service is away', async () => /can’t reach|can’t serve/.test(said));
    assert.equal(child.exitCode, null);
    child.kill('SIGTERM');
    assert.equal((await done).signal, 'SIGTERM');
  });

  function readTries(): number {
    try {
      return content('tries').split('\n').length - 1;
    } catch {
      return 0;
    }
  }
});
