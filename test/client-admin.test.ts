/** The client of the general API: it has every operation of the document, and calls it as the document says. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { apiSource } from '../scripts/client-api.ts';
import { type Admin, admin, each, type StrongroomError } from '../src/client/client.ts';
import { codeIs } from './client-world.ts';
import { Document } from './document.ts';
import { type Service, startService } from './harness.ts';

describe('the admin client', () => {
  let service: Service;
  let api: Admin;

  before(async () => {
    service = await startService();
    api = admin({ url: service.url, key: service.key });
  });
  after(() => service.stop());

  it('is what the service’s document says; `npm run client:api` writes it anew', async () => {
    const { value } = await Document.of(service);
    const written = await readFile(new URL('../src/client/api.ts', import.meta.url), 'utf8');
    assert.equal(written, apiSource(value));
  });

  it('has a method for each operation under /v1', async () => {
    const operations = (await Document.of(service)).operations();
    assert.deepEqual(Object.keys(api).sort(), operations.map(({ value }) => value.operationId).sort());
    assert.ok(operations.length > 60);
  });

  it('creates, changes, lists and deletes', async () => {
    const vault = await api.createVault({ body: { name: 'production', tags: { team: 'payments' } } });
    const secret = await api.createSecret({ body: { vault_id: vault.id, name: 'TOKEN', value: 'one' } });
    await api.updateSecret({ id: secret.id, body: { value: 'two' } });
    const revealed: string = (await api.revealSecret({ id: secret.id, body: {} })).value;
    assert.equal(revealed, 'two');
    const { data, pagination } = await api.listSecrets({
      query: { vault_id: vault.id, limit: 1, q: undefined as never },
    });
    assert.deepEqual([data[0]!.version, pagination.total], [2, 1]);
    assert.equal((await api.getHealth()).status, 'ok');
    assert.match(await api.exportAuditLogs({ query: { format: 'csv' } }), /^id,/);
    assert.equal((await api.deleteSecret({ id: secret.id })).deleted, true);
  });

  it('walks through every page of a list, and leaves out what is created meanwhile', async () => {
    const { id } = await api.createVault({ body: { name: 'long' } });
    const writes = Array.from({ length: 205 }, (_, index) => ({
      vault_id: id,
      name: `S${index}`,
      value: 'x',
    }));
    for (let at = 0; at < writes.length; at += 100) {
      await api.writeSecrets({ body: { items: writes.slice(at, at + 100) } });
    }
    const seen: string[] = [];
    for await (const { name } of each(api.listSecrets, { query: { vault_id: id } })) {
      if (seen.length === 50) await api.createSecret({ body: { vault_id: id, name: 'LATE', value: 'x' } });
      seen.push(name);
    }
    assert.deepEqual(seen.sort(), writes.map(({ name }) => name).sort());
    const namesIn = async (list: AsyncIterable<{ readonly name: string }>) => {
      const names: string[] = [];
      for await (const { name } of list) names.push(name);
      return names.sort();
    };
    const found = await namesIn(each(api.listSecrets, { query: { vault_id: id, q: 'S20' } }));
    assert.deepEqual(found, ['S20', 'S200', 'S201', 'S202', 'S203', 'S204']);
    const byFilter = await namesIn(each(api.listSecrets, { vault_id: id, q: 'S20' }));
    assert.deepEqual(byFilter, found, 'the filter alone works too');
    // @ts-expect-error: a parameter that the operation doesn't have
    each(api.listSecrets, { query: { vualt_id: id } });
  });

  it('throws with the service’s code and field, and takes no empty id for a whole collection', async () => {
    await api.createVault({ body: { name: 'taken' } });
    await assert.rejects(api.createVault({ body: { name: 'taken' } }), codeIs('CONFLICT'));
    await assert.rejects(api.createVault({ body: {} as never }), (error: StrongroomError) => {
      assert.deepEqual([error.code, error.status], ['INVALID_REQUEST', 400]);
      assert.equal(error.message, 'The request is not valid: name is required');
      return true;
    });
    for (const id of ['', '.', '..', undefined as never]) {
      await assert.rejects(api.deleteVault({ id }), codeIs('INVALID_OPTIONS'));
    }
    await assert.rejects(api.getVault({ id: '../secrets?q=x' }), codeIs('INVALID_REQUEST'));
    const stranger = admin({ url: service.url, key: 'sr_api_unknown' });
    await assert.rejects(stranger.listVaults(), codeIs('UNAUTHORIZED'));
  });
});
