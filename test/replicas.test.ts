/** Two replicas over one PostgreSQL, of which one stops hearing the other: what was revoked is refused all the same. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readConfig, serveOptions } from '../src/config.ts';
import { type Running, serve } from '../src/serve.ts';
import { callService, eventually, type Service, startService } from './harness.ts';
import { type Pooler, startPooler } from './pooler.ts';

describe('a replica that does not hear the others', () => {
  let service: Service;
  let vaultId: string;
  let pooler: Pooler;
  let behind: Running;
  const reports: string[] = [];

  before(async () => {
    service = await startService({ engine: 'postgres' });
    vaultId = (await make('vaults', { name: 'v' })).id;
    await make('secrets', { vault_id: vaultId, name: 'S', value: 'one' });
    pooler = await startPooler(service.databaseUrl!, { deaf: true });
    const flags = ['--data', service.data, '--database-url', pooler.url, '--port', '0'];
    behind = await serve(readConfig(serveOptions, flags, {}), { report: line => reports.push(line) });
  });
  after(async () => {
    await behind.stop();
    pooler.close();
    await service.stop();
  });

  const make = async (kind: string, body: unknown) => {
    const answer = await service.call('POST', `/v1/${kind}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const accessKey = (): Promise<{ id: string; token: string }> =>
    make('access-keys', { vault_id: vaultId, name: `a${Math.random()}` });
  const revoke = ({ id }: { id: string }) => service.call('DELETE', `/v1/access-keys/${id}`);
  const read = ({ token }: { token: string }) =>
    callService(behind.url, 'GET', `/api/v1/vaults/${vaultId}`, undefined, token);
  const probe = async (path: string) => callService(behind.url, 'GET', path);
  const isReady = async (expected: boolean) =>
    eventually(async () => ((await probe('/readyz')).status === 200) === expected);

  it('behind a pooler by transactions it serves, and nothing from memory; it is not ready, and says why', async () => {
    const key = await accessKey();
    for (let reads = 0; reads < 3; reads++) assert.equal((await read(key)).body.secrets[0].value, 'one');
    await revoke(key);
    assert.equal((await read(key)).status, 401, 'refused at once');
    assert.equal((await probe('/readyz')).status, 503);
    assert.equal((await probe('/v1/health')).body.status, 'degraded');
    assert.ok(
      reports.some(line => /not ready: changes by other replicas are not heard/.test(line)),
      reports.join(),
    );
  });

  it('once it hears it is ready; cut off again, what it kept is refused within moments, and stays refused', async () => {
    pooler.deaf = false;
    await isReady(true);
    assert.ok(reports.includes('ready again'));
    const [before, meanwhile, later] = [await accessKey(), await accessKey(), await accessKey()];
    for (const key of [before, meanwhile, later]) {
      for (let reads = 0; reads < 3; reads++) assert.equal((await read(key)).status, 200);
    }
    pooler.deaf = true;
    await revoke(before);
    await eventually(async () => (await read(before)).status === 401);
    await isReady(false);
    await revoke(meanwhile);
    assert.equal((await read(meanwhile)).status, 401, 'refused at once');
    await revoke(later);
    const [secret] = (await service.call('GET', `/v1/secrets?vault_id=${vaultId}`)).body.data;
    await service.call('PUT', `/v1/secrets/${secret.id}`, { value: 'two' });
    const living = await accessKey();
    pooler.deaf = false;
    await isReady(true);
    assert.equal((await read(later)).status, 401, 'what was kept before the gap is not believed after it');
    assert.equal((await read(living)).body.secrets[0].value, 'two');
  });
});
