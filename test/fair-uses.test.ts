/** No one takes more than their share of the limits that all agents have in common. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { onEngines } from './at-once.ts';
import { callService } from './harness.ts';
import { startUsesWorld } from './uses-world.ts';

onEngines('limits', engine => {
  it('of a rule count what leaves; what nobody approves counts for its own access key', async t => {
    const world = await startUsesWorld(engine);
    t.after(() => world.stop());
    const { service, upstream, vaultId } = world;
    service.clock.standInNewMinute();
    t.after(() => service.clock.run());
    const rule = await world.rule({ approval: 'writes', rate_limit: 2 });
    const url = `${upstream.url}/own/x`;
    const post = (body: string) => world.use({ rule, method: 'POST', url, body });
    const statuses = [];
    for (const body of ['1', '2', '3']) statuses.push((await post(body)).status);
    assert.deepEqual(statuses, [403, 403, 429]);
    const beside = { vault_id: vaultId, name: 'beside', may_use: true, names_only: true };
    const { token } = (await service.call('POST', '/v1/access-keys', beside)).body;
    const reads = [];
    for (let call = 0; call < 3; call++) reads.push((await world.use({ rule, url }, token)).status);
    assert.deepEqual(reads, [200, 200, 429]);
  });

  it('of a key’s rule count its third use as one too many', async t => {
    const world = await startUsesWorld(engine);
    t.after(() => world.stop());
    const { service, vaultId } = world;
    const generate = { key_type: 'EC', curve: 'P-256' };
    const { body: key } = await service.call('POST', '/v1/keys', { vault_id: vaultId, name: 'k', generate });
    const rule = {
      key_id: key.id,
      name: 'r',
      operations: ['sign'],
      algorithms: ['ES256'],
      approval: 'never',
    };
    await service.call('POST', '/v1/use-rules', { ...rule, rate_limit: 2 });
    service.clock.standInNewMinute();
    t.after(() => service.clock.run());
    const statuses = [];
    for (let call = 0; call < 3; call++) {
      const asked = { key: 'k', alg: 'ES256', message: 'aGk' };
      const path = '/api/v1/vaults/self/keys/sign';
      statuses.push((await callService(service.url, 'POST', path, asked, world.agent)).status);
    }
    assert.deepEqual(statuses, [200, 200, 429]);
  });
});

describe('calls at once', () => {
  it('are 32 of an access key, and no call of another fails for them', async t => {
    const world = await startUsesWorld('sqlite');
    t.after(() => world.stop());
    await world.rule();
    const { upstream, service, vaultId } = world;
    const held: (() => void)[] = [];
    upstream.answer = (_request, _body, response) => {
      held.push(() => response.writeHead(200, { 'content-type': 'text/plain' }).end('fine'));
      if (held.length >= 32) for (const answer of held) answer();
    };
    const all = await Promise.all(
      Array.from({ length: 33 }, () => world.use({ url: `${upstream.url}/own/x` })),
    );
    assert.equal(all.filter(({ status }) => status === 200).length, 32);
    assert.equal(all.filter(({ status }) => status === 429).length, 1);
    const beside = { vault_id: vaultId, name: 'beside', may_use: true, names_only: true };
    const { token } = (await service.call('POST', '/v1/access-keys', beside)).body;
    assert.equal((await world.use({ url: `${upstream.url}/own/x` }, token)).status, 200);
  });

  it('of another organization are signed while one signs as much as it can', async t => {
    const world = await startUsesWorld('sqlite');
    t.after(() => world.stop());
    const { service } = world;
    const pem = generateKeyPairSync('rsa', { modulusLength: 4096 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    const signer = async (owner: string) => {
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'signing' }, owner);
      const wanted = { vault_id: vault.id, name: 'k', pem };
      const { body: key, text } = await service.call('POST', '/v1/keys', wanted, owner);
      assert.ok(key.id, text);
      const rule = {
        key_id: key.id,
        name: 'r',
        operations: ['sign'],
        algorithms: ['RS256'],
        approval: 'never',
      };
      await service.call('POST', '/v1/use-rules', { ...rule, rate_limit: null }, owner);
      const agent = { vault_id: vault.id, name: 'agent', may_use: true, names_only: true };
      const keys: string[] = [];
      for (let made = 0; made < 2; made++)
        keys.push((await service.call('POST', '/v1/access-keys', agent, owner)).body.token);
      return (at: number) =>
        callService(
          service.url,
          'POST',
          '/api/v1/vaults/self/keys/sign',
          { key: 'k', alg: 'RS256', message: 'aGk' },
          keys[at % 2]!,
        );
    };
    const greedy = await signer(service.key);
    const other = await signer((await service.organization('Other')).key);
    const many = Array.from({ length: 64 }, (_, at) => greedy(at));
    const few = await Promise.all([other(0), other(1), other(0), other(1)]);
    assert.deepEqual(
      few.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    const statuses = new Set((await Promise.all(many)).map(({ status }) => status));
    assert.ok(
      [...statuses].every(status => [200, 429, 503].includes(status)),
      [...statuses].join(),
    );
  });
});
