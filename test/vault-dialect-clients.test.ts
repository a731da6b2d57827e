/** Clients that people use, unchanged: only their address is another. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, it } from 'node:test';
import { Client } from '@litehex/node-vault';
import HashiVault from 'hashi-vault-js';
import { onEngines } from './at-once.ts';
import { forged } from './forged.ts';
import { type Answer, type Service, startService } from './harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: its own types don't say what it answers
const nodeVault = createRequire(import.meta.url)('node-vault') as (options: object) => any;

onEngines('clients of Vault', engine => {
  let service: Service;
  let vaultId: string;
  let key: string;
  let editor: string;
  const make = async (path: string, body: object): Promise<Answer['body']> =>
    (await service.call('POST', `/v1/${path}`, body)).body;
  const endpoint = () => `${service.url}/vault`;

  before(async () => {
    service = await startService({ engine });
    vaultId = (await make('vaults', { name: 'prod' })).id;
    key = (await make('access-keys', { vault_id: vaultId, name: 'reader' })).token;
    editor = (await make('api-keys', { name: 'ci', role: 'editor', vault_ids: [vaultId] })).token;
    await make('secrets', { vault_id: vaultId, name: 'DATABASE_URL', value: 'postgres://one' });
    await make('secrets', {
      vault_id: vaultId,
      name: 'apps/web',
      value: '{"user":"app","password":"p"}',
      content_type: 'application/json',
    });
  });
  after(() => service.stop());

  it('node-vault logs in as an identity, and reads with what it was given', async () => {
    const { id: role_id } = await make('identities', {
      name: 'vm',
      method: 'secret_id',
      vault_ids: [vaultId],
    });
    const { token: secret_id } = await make('secret-ids', { identity_id: role_id });
    const vault = nodeVault({ endpoint: endpoint() });
    const { auth } = await vault.approleLogin({ role_id, secret_id });
    assert.match(auth.client_token, /^sr_vault_/);
    const asItself = nodeVault({ endpoint: endpoint(), token: auth.client_token });
    assert.deepEqual((await asItself.read('secret/data/DATABASE_URL')).data.data, {
      value: 'postgres://one',
    });
    await assert.rejects(vault.approleLogin({ role_id, secret_id: forged(secret_id) }), {
      message: 'invalid role or secret ID',
    });
  });

  it('the requests of Vault’s own command for `vault login`, `vault status` and `vault token create`', async () => {
    const headers = { 'x-vault-request': 'true', 'user-agent': 'Go-http-client/1.1' };
    const ask = (method: string, path: string, token: string | null, body?: object) =>
      service.call(method, `/vault/v1/${path}`, body, null, {
        ...headers,
        ...(token === null ? {} : { 'x-vault-token': token }),
      });
    for (const token of [key, editor]) {
      const { body } = await ask('GET', 'auth/token/lookup-self', token);
      assert.equal(body.data.id, token, 'it stores what it gets as the token');
    }
    assert.equal((await ask('GET', 'sys/seal-status', null)).body.sealed, false);
    const leader = await ask('GET', 'sys/leader', null);
    assert.deepEqual([leader.status, leader.body.ha_enabled], [200, false]);
    const created = await ask('POST', 'auth/token/create', key, { ttl: '0s', period: '0s', num_uses: 0 });
    assert.match(created.body.auth.client_token, /^sr_vault_/);
  });

  it('node-vault reads, lists, writes, looks itself up and asks for health', async () => {
    const vault = nodeVault({ endpoint: endpoint(), token: key });
    assert.deepEqual((await vault.read('secret/data/DATABASE_URL')).data.data, { value: 'postgres://one' });
    assert.deepEqual((await vault.list('secret/metadata/')).data.keys, ['DATABASE_URL', 'apps/']);
    assert.deepEqual((await vault.list('secret/metadata/apps')).data.keys, ['web']);
    const plain = nodeVault({ endpoint: endpoint(), token: key, noCustomHTTPVerbs: true });
    assert.deepEqual((await plain.list('secret/metadata/apps')).data.keys, ['web']);
    assert.equal((await vault.tokenLookupSelf()).data.display_name, 'reader');
    assert.equal((await vault.tokenRenewSelf()).auth.client_token, key);
    assert.equal((await vault.health()).sealed, false);
    assert.equal((await vault.status()).sealed, false);
    await assert.rejects(vault.read('secret/data/NOT_THERE'), { message: 'Status 404' });
    await assert.rejects(vault.write('secret/data/x', { data: {} }), { message: 'permission denied' });
    const stranger = nodeVault({ endpoint: endpoint(), token: forged(key) });
    await assert.rejects(stranger.read('secret/data/DATABASE_URL'), { message: 'permission denied' });
    const writer = nodeVault({ endpoint: endpoint(), token: editor });
    const written = await writer.write('secret/data/node-vault', { data: { a: 'b' }, options: { cas: 0 } });
    assert.equal(written.data.version, 1);
    assert.deepEqual((await vault.read('secret/data/node-vault')).data.data, { a: 'b' });
    await writer.delete('secret/data/node-vault');
    await assert.rejects(vault.read('secret/data/node-vault'));
    const child = await vault.tokenCreate({ ttl: '20m', display_name: 'child' });
    const asChild = nodeVault({ endpoint: endpoint(), token: child.auth.client_token });
    assert.equal((await asChild.read('secret/data/DATABASE_URL')).data.data.value, 'postgres://one');
    await asChild.tokenRevokeSelf();
    await assert.rejects(asChild.read('secret/data/DATABASE_URL'), { message: 'permission denied' });
  });

  it('hashi-vault-js reads, lists, writes, restores and destroys', async () => {
    const options = { baseUrl: `${endpoint()}/v1`, rootPath: 'secret', timeout: 20_000 };
    // biome-ignore lint/suspicious/noExplicitAny: its own types don't say what it answers
    const vault = new HashiVault(options) as any;
    assert.equal((await vault.healthCheck()).sealed, false);
    assert.deepEqual((await vault.readKVSecret(key, 'DATABASE_URL', undefined, 'secret')).data, {
      value: 'postgres://one',
    });
    assert.deepEqual((await vault.listKVSecrets(key, '', 'secret')).keys, ['DATABASE_URL', 'apps/']);
    assert.equal((await vault.lookupSelfToken(key)).display_name, 'reader');
    await vault.createKVSecret(editor, 'made', { a: '1' }, 'secret');
    await vault.updateKVSecret(editor, 'made', { a: '2' }, 1, 'secret');
    const read = await vault.readKVSecret(key, 'made', undefined, 'secret');
    assert.deepEqual([read.data, read.metadata.version], [{ a: '2' }, 2]);
    await vault.deleteLatestVerKVSecret(editor, 'made', 'secret');
    await assert.rejects(vault.readKVSecret(key, 'made', undefined, 'secret'));
    await vault.undeleteVersionsKVSecret(editor, 'made', [2], 'secret');
    assert.deepEqual((await vault.readKVSecret(key, 'made', undefined, 'secret')).data, { a: '2' });
    await vault.eliminateKVSecret(editor, 'made', 'secret');
    await assert.rejects(vault.readKVSecret(key, 'made', undefined, 'secret'));
    await assert.rejects(vault.readKVSecret(forged(key), 'DATABASE_URL', undefined, 'secret'), {
      isVaultError: true,
    });
  });

  it('@litehex/node-vault reads, lists, describes and writes by its own schemas', async () => {
    const vault = new Client({ endpoint: endpoint(), token: key });
    const { data } = await vault.kv2.read({ mountPath: 'secret', path: 'apps/web' });
    assert.deepEqual(data!.data.data, { user: 'app', password: 'p' });
    const listed = await vault.kv2.list({ mountPath: 'secret', path: 'apps' });
    assert.deepEqual(listed.data!.data.keys, ['web']);
    const config = await vault.kv2.readConfig({ mountPath: 'secret' });
    assert.equal(config.data!.data.max_versions, 0);
    const described = await vault.kv2.readMetadata({ mountPath: 'secret', path: 'DATABASE_URL' });
    assert.equal(described.data!.data.current_version, 1);
    const subkeys = await vault.kv2.subKeys({ mountPath: 'secret', path: 'apps/web' });
    assert.deepEqual(subkeys.data!.data.subkeys, { user: null, password: null });
    const missing = await vault.kv2.read({ mountPath: 'secret', path: 'NOT_THERE' });
    assert.equal(missing.data, undefined);
    const writer = new Client({ endpoint: endpoint(), token: editor });
    const written = await writer.kv2.write({ mountPath: 'secret', path: 'litehex', data: { a: 'b' } });
    assert.equal(written.data!.data.version, 1, String(written.error));
    assert.deepEqual((await vault.kv2.read({ mountPath: 'secret', path: 'litehex' })).data!.data.data, {
      a: 'b',
    });
  });
});
