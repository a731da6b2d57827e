/** One-time codes of secrets: given to whoever reads the value, recorded like it, and never with the seed. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { onEngines } from './at-once.ts';
import { type Json, unique } from './document.ts';
import { callService, type Service, startService } from './harness.ts';

const seed = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const address = (more = '') => `otpauth://totp/Acme:ada?secret=${seed}${more}`;

onEngines('one-time codes of secrets', engine => {
  let service: Service;
  let vaultId: string;
  let token: string;

  before(async () => {
    service = await startService({ engine });
    vaultId = (await ok('POST', '/v1/vaults', { name: 'codes' })).id;
    token = (await ok('POST', '/v1/access-keys', { vault_id: vaultId, name: 'reader' })).token;
    // RFC 6238: at 20,000,000,000 seconds the code of this seed is 65353130.
    service.clock.standAt(20_000_000_000_000);
  });
  after(() => service.stop());

  async function ok(method: string, path: string, body?: unknown): Promise<Json> {
    const answer = await service.call(method, path, body);
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    return answer.body;
  }
  const make = (value: string) =>
    ok('POST', '/v1/secrets', { vault_id: vaultId, name: unique('CODE'), value });
  const read = (query: string, key = token, headers = {}) =>
    callService(service.url, 'GET', `/api/v1/vaults/${vaultId}?${query}`, undefined, key, headers);

  it('are given by name, with the seconds left, and anew with the next period', async () => {
    const { name } = await make(address('&digits=8'));
    const first = await read(`name=${name}&as=otp`);
    assert.equal(first.status, 200, first.text);
    assert.deepEqual(first.body, { code: '65353130', expires_in: 10 });
    const etag = first.headers.get('etag')!;
    assert.equal((await read(`name=${name}&as=otp`, token, { 'if-none-match': etag })).status, 304);
    service.clock.pass(3_000);
    assert.deepEqual((await read(`name=${name}&as=otp`)).body, { code: '65353130', expires_in: 7 });
    service.clock.pass(7_000);
    const next = (await read(`name=${name}&as=otp`, token, { 'if-none-match': etag })).body;
    assert.equal(next.expires_in, 30);
    assert.notEqual(next.code, '65353130');
    service.clock.pass(20_000);
  });

  it('are recorded like a read, with what was given', async () => {
    const { name, id } = await make(address());
    await read(`name=${name}&as=otp`);
    const { data } = await ok('GET', `/v1/request-logs?vault_id=${vaultId}&limit=1`);
    assert.deepEqual([data[0].requested, data[0].status], [`secret=code ${name}`, 200]);
    const { code } = await ok('POST', `/v1/secrets/${id}/code`);
    assert.match(code, /^\d{6}$/);
    const [entry] = (await ok('GET', `/v1/audit-logs?subject_id=${id}`)).data;
    assert.equal(entry.action, 'secret.code_shown');
    assert.equal(JSON.stringify([data[0], entry]).includes(seed), false);
  });

  it('are of the value as it is now', async () => {
    const secret = await make(address());
    const before = (await read(`name=${secret.name}&as=otp`)).body.code;
    await ok('PUT', `/v1/secrets/${secret.id}`, { value: address().replace(seed, 'GEZDGNBVGY3TQOJQ') });
    const changed = (await read(`name=${secret.name}&as=otp`)).body.code;
    assert.notEqual(changed, before);
    assert.equal((await ok('POST', `/v1/secrets/${secret.id}/code`)).code, changed);
    await ok('PUT', `/v1/secrets/${secret.id}`, { enabled: false });
    assert.equal((await read(`name=${secret.name}&as=otp`)).status, 404);
  });

  it('are refused for another value, with the reason and without the value', async () => {
    for (const value of [
      'hunter2-hunter2',
      address('&digits=9'),
      address('&algorithm=MD5'),
      'otpauth://hotp/x',
    ]) {
      const secret = await make(value);
      const { status, body, text } = await read(`name=${secret.name}&as=otp`);
      assert.equal(status, 400, text);
      assert.deepEqual(Object.keys(body), ['message']);
      assert.match(body.message, /^as can’t be otp: (the|algorithm)/);
      const shown = await service.call('POST', `/v1/secrets/${secret.id}/code`);
      assert.deepEqual([shown.status, shown.body.error.details.field], [400, 'value'], shown.text);
      for (const part of [seed, 'hunter2']) assert.equal(`${text} ${shown.text}`.includes(part), false);
      assert.equal((await read(`name=${secret.name}`)).body.value, value);
    }
    const { name, id } = await make(address());
    for (const query of [
      'as=otp',
      `resource=${id}&as=otp`,
      `name=${name}&as=totp`,
      `name=${name}&as=otp&as=otp`,
    ]) {
      const { status, body } = await read(query);
      assert.equal(status, 400, query);
      assert.match(body.message, /^as /, query);
    }
    assert.equal((await read('name=NOBODY&as=otp')).status, 404);
  });

  it('take what reading the value takes', async () => {
    const { name, id } = await make(address());
    const key = async (body: object) =>
      (await ok('POST', '/v1/access-keys', { vault_id: vaultId, name: unique('key'), ...body })).token;
    const status = async (body: object) => (await read(`name=${name}&as=otp`, await key(body))).status;
    assert.equal(await status({ names: [name] }), 200);
    assert.equal(await status({ names: ['OTHER'] }), 404);
    assert.equal(await status({ kinds: ['key'] }), 404);
    assert.equal(await status({ names_only: true }), 403);
    assert.equal(await status({ names_only: true, may_use: true }), 403);
    assert.equal((await read(`name=${name}&as=otp`, 'sr_vault_none')).status, 401);
    const viewer = await ok('POST', '/v1/api-keys', { name: unique('viewer'), role: 'viewer' });
    assert.equal((await service.call('POST', `/v1/secrets/${id}/code`, undefined, viewer.token)).status, 403);
  });
});
