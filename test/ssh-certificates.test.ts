/** SSH certificates signed by stored keys, at both endpoints: bounds, log, revocation and what servers fetch. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { sshKeyOf, sshLineOf } from '../src/material/ssh/public-key.ts';
import { callService, enginesInTurn, type Service, startService } from './harness.ts';
import { isSignedBy, readCertificate } from './ssh-reader.ts';

const { publicKey } = generateKeyPairSync('ed25519', {
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const line = sshLineOf(sshKeyOf(publicKey)!, 'ada@laptop');
const profile = {
  types: ['user', 'host'],
  principals: ['deploy', 'web-*'],
  max_valid_for: 7_200,
  extensions: ['permit-pty', 'permit-port-forwarding'],
  critical_options: { source_address: ['10.0.0.0/8'] },
};
const asked = { public_key: line, type: 'user', principals: ['deploy'] };

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`SSH certificates, on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let number = 0;

    before(async () => {
      service = await startService({ engine });
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'servers' })).body.id;
    });
    after(() => service.stop());

    async function ok(method: string, path: string, body?: object, token?: string) {
      const answer = await service.call(method, path, body, ...(token === undefined ? [] : [token]));
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    }
    async function key(generate: object = { key_type: 'OKP', curve: 'Ed25519' }, said: object = {}) {
      const name = `ca ${++number}`;
      return ok('POST', '/v1/keys', { vault_id: vaultId, name, generate, exportable: false, ...said });
    }
    async function authority(ssh: object = profile, generate?: object) {
      const { id } = await key(generate);
      return ok('PUT', `/v1/keys/${id}`, { ssh });
    }
    async function accessKey(said: object): Promise<string> {
      const body = { vault_id: vaultId, name: 'deployer', kinds: ['key'], names_only: true, ...said };
      return (await ok('POST', '/v1/access-keys', body)).token;
    }
    const certify = (id: string, body: object) =>
      service.call('POST', `/v1/keys/${id}/ssh-certificate`, body);
    const certifyAs = (token: string, named: string, body: object = asked) =>
      callService(
        service.url,
        'POST',
        `/api/v1/vaults/self/keys/${encodeURIComponent(named)}/ssh-certificate`,
        body,
        token,
      );
    async function refused(id: string, said: object, field: string) {
      const { status, body, text } = await certify(id, { ...asked, ...said });
      assert.deepEqual([status, body.error?.details?.field], [400, field], text);
    }
    const krl = async (id: string) => {
      const answer = await fetch(`${service.url}/v1/keys/${id}/krl`, {
        headers: { authorization: `Bearer ${service.key}` },
      });
      assert.equal(answer.headers.get('content-type'), 'application/octet-stream');
      return Buffer.from(await answer.arrayBuffer());
    };

    it('are signed by every type of key that SSH knows, and say what was asked', async () => {
      const kinds = [
        { key_type: 'OKP', curve: 'Ed25519' },
        { key_type: 'EC', curve: 'P-256' },
        { key_type: 'EC', curve: 'P-384' },
        { key_type: 'EC', curve: 'P-521' },
        { key_type: 'RSA', key_size: 2048 },
      ];
      for (const generate of kinds) {
        const { id, public_pem, operations } = await authority(profile, generate);
        assert.equal('sign' in operations, false, 'nothing but certificates');
        const { body } = await certify(id, { ...asked, valid_for: 60, key_id: 'ada on laptop' });
        const read = readCertificate(body.certificate.trim());
        assert.ok(isSignedBy(public_pem, read), generate.key_type);
        assert.deepEqual(
          [read.type, read.serial, read.keyId, read.principals, read.options, read.extensions],
          [
            'user',
            body.serial,
            'ada on laptop',
            ['deploy'],
            { 'source-address': '10.0.0.0/8' },
            { 'permit-port-forwarding': '', 'permit-pty': '' },
          ],
        );
        assert.equal(read.validBefore - read.validAfter, 120);
        assert.equal(Date.parse(body.valid_before), read.validBefore * 1_000);
      }
    });

    it('stay within the profile of the key', async () => {
      const { id } = await authority();
      await refused(id, { principals: [] }, 'principals');
      await refused(id, { principals: ['deploy', 'root'] }, 'principals');
      await refused(id, { principals: ['web-*'] }, 'principals.0');
      const together = (length: number) => [
        ...Array(3).fill('web-'.padEnd(100, 'x')),
        'web-'.padEnd(length - 303, 'x'),
      ];
      await refused(id, { principals: together(401) }, 'principals');
      assert.equal((await certify(id, { ...asked, principals: together(400) })).status, 200);
      const usual = readCertificate((await certify(id, asked)).body.certificate.trim());
      assert.equal(usual.validBefore - usual.validAfter, 3_660, 'an hour, and a minute for slow clocks');
      await refused(id, { valid_for: 7_201 }, 'valid_for');
      await refused(id, { extensions: ['permit-X11-forwarding'] }, 'extensions');
      await refused(id, { critical_options: { source_address: ['0.0.0.0/0'] } }, 'critical_options');
      await refused(id, { critical_options: { source_address: ['10.0.0.0/33'] } }, 'critical_options');
      await refused(id, { type: 'host', extensions: ['permit-pty'] }, 'extensions');
      await refused(id, { type: 'host', critical_options: { force_command: 'x' } }, 'critical_options');
      await refused(id, { public_key: 'ssh-dss AAAA' }, 'public_key');
      await refused(id, { key_id: 'two\nlines' }, 'key_id');
      const { body } = await certify(id, {
        ...asked,
        principals: ['web-1', 'web-1'],
        extensions: [],
        critical_options: { force_command: 'uptime', verify_required: true },
      });
      const read = readCertificate(body.certificate.trim());
      assert.deepEqual(read.principals, ['web-1']);
      assert.deepEqual(read.extensions, {});
      assert.deepEqual(read.options, {
        'force-command': 'uptime',
        'source-address': '10.0.0.0/8',
        'verify-required': '',
      });
      const host = (await certify(id, { ...asked, type: 'host' })).body;
      const readHost = readCertificate(host.certificate.trim());
      assert.deepEqual([readHost.type, readHost.options, readHost.extensions], ['host', {}, {}]);

      const { id: users } = await authority({ ...profile, types: ['user'], max_valid_for: 60 });
      await refused(users, { type: 'host' }, 'type');
      const short = (await certify(users, asked)).body;
      assert.ok(Date.parse(short.valid_before) <= Date.now() + 60_000);
    });

    it('need a profile, which only a suitable key that never leaves has', async () => {
      const plain = await key();
      await refused(plain.id, {}, 'key');
      const set = (id: string, ssh: unknown) => service.call('PUT', `/v1/keys/${id}`, { ssh });
      for (const generate of [
        { key_type: 'OKP', curve: 'X25519' },
        { key_type: 'AES' },
        { key_type: 'EC', curve: 'secp256k1' },
      ])
        assert.equal((await set((await key(generate)).id, profile)).body.error.details.field, 'ssh');
      const { id: leaving } = await key(undefined, { exportable: true });
      assert.match((await set(leaving, profile)).body.error.details.reason, /not exportable/);
      for (const wrong of [
        { ...profile, principals: [] },
        { ...profile, types: [] },
        { ...profile, max_valid_for: 367 * 86_400 },
        { ...profile, extensions: ['login@github.com'] },
        { ...profile, critical_options: { source_address: ['nowhere'] } },
      ])
        assert.equal((await set(plain.id, wrong)).status, 400);
      const { id } = await authority();
      assert.equal((await ok('GET', `/v1/keys/${id}`)).ssh.max_valid_for, 7_200);
      assert.equal((await ok('PUT', `/v1/keys/${id}`, { ssh: null })).ssh, null);
      await refused(id, {}, 'key');
    });

    it('are the only thing that such a key signs', async () => {
      const { id, name } = await authority();
      const value = Buffer.from('bytes').toString('base64url');
      assert.equal((await service.call('POST', `/v1/keys/${id}/sign`, { value })).status, 400);
      const token = await accessKey({ operations: ['sign', 'ssh-certificate'], may_use: true });
      const sign = await callService(
        service.url,
        'POST',
        `/api/v1/vaults/self/keys/${encodeURIComponent(name)}/sign`,
        { value },
        token,
      );
      assert.equal(sign.status, 400, sign.text);
      const rule = {
        key_id: id,
        name: 'signs',
        operations: ['sign'],
        algorithms: ['EdDSA'],
        approval: 'never',
      };
      await ok('POST', '/v1/use-rules', rule);
      const call = { key: name, alg: 'EdDSA', message: value };
      const used = await callService(service.url, 'POST', '/api/v1/vaults/self/keys/sign', call, token);
      assert.match(used.body.message, /SSH certificates only/);
    });

    it('are given to access keys whose operations name them, and recorded in full first', async () => {
      const { name } = await authority();
      const without = await accessKey({ operations: ['sign'] });
      assert.equal((await certifyAs(without, name)).status, 403);
      const until = new Date(Date.now() + 600_000).toISOString();
      const token = await accessKey({
        operations: ['ssh-certificate'],
        names: [name],
        expiration_date: until,
      });
      const long = Array.from({ length: 16 }, (_, at) => `web-${'x'.repeat(18)}${at}`);
      const { status, body, text } = await certifyAs(token, name, {
        ...asked,
        principals: long,
        valid_for: 7_200,
      });
      assert.equal(status, 200, text);
      assert.ok(Date.parse(body.valid_before) <= Date.parse(until), 'ends with the access key');
      assert.match(body.key_id, /^access-key /);
      const { data } = await ok('GET', `/v1/request-logs?vault_id=${vaultId}&limit=1`);
      const told = `ssh=user serial=${body.serial} until=${body.valid_before.slice(0, 19)}Z id="${body.key_id}" for=${long.join(',')} ${name}`;
      assert.equal(data[0].requested, told);
      assert.equal((await certifyAs(token, 'another key')).status, 404);
      assert.equal((await certifyAs(token, name, { ...asked, principals: [] })).status, 400);
    });

    it('are in the audit log with serial, key id and principals, under the permission to use keys', async () => {
      const { id } = await authority();
      const { body } = await certify(id, asked);
      const { data } = await ok('GET', '/v1/audit-logs?action=key.used&limit=1');
      assert.match(data[0].details.operation, new RegExp(`serial=${body.serial} .*for=deploy$`));
      const viewer = (await ok('POST', '/v1/api-keys', { name: 'viewer', role: 'viewer' })).token;
      const writer = (await ok('POST', '/v1/api-keys', { name: 'writer', role: 'writer' })).token;
      const as = async (token: string, method: string, path: string, said?: object) =>
        (await service.call(method, `/v1/keys/${id}${path}`, said, token)).status;
      assert.equal(await as(viewer, 'POST', '/ssh-certificate', asked), 403);
      assert.equal(await as(writer, 'POST', '/ssh-certificate', asked), 403);
      assert.equal(await as(writer, 'PUT', '', { ssh: { ...profile, principals: ['*'] } }), 403);
      assert.equal(await as(viewer, 'POST', '/ssh-revocations', { serials: ['1'] }), 403);
      assert.equal(await as(viewer, 'GET', '/krl'), 200);
      const soon = new Date(Date.now() + 300_000).toISOString();
      const ending = (
        await ok('POST', '/v1/api-keys', { name: 'ends', role: 'editor', expiration_date: soon })
      ).token;
      const given = await service.call('POST', `/v1/keys/${id}/ssh-certificate`, asked, ending);
      assert.ok(Date.parse(given.body.valid_before) <= Date.parse(soon), 'ends with the API key');
      const wider = { ...profile, principals: ['*'] };
      assert.equal(await as(ending, 'PUT', '', { ssh: wider }), 403, 'a profile would outlast it');
    });

    it('are revoked by serial, key id and key; that can be undone, and shows in the list', async () => {
      const { id } = await authority();
      const revoke = (said: object) => service.call('POST', `/v1/keys/${id}/ssh-revocations`, said);
      const empty = await krl(id);
      assert.equal(empty.subarray(0, 7).toString(), 'SSHKRL\n');
      const { body } = await revoke({ serials: ['77', '77'], key_ids: ['ada'], public_keys: [line] });
      assert.deepEqual(
        body.items.map(({ by }: { by: string }) => by),
        ['serial', 'key_id', 'public_key'],
      );
      const full = await krl(id);
      assert.ok(full.length > empty.length && full.includes('ada'));
      assert.deepEqual(await krl(id), full, 'the same bytes each time');
      const again = await revoke({ serials: ['77'] });
      assert.deepEqual(again.body.items.length, 3);
      const undone = await revoke({ key_ids: ['ada'], public_keys: [body.items[2].value], undo: true });
      assert.deepEqual(
        undone.body.items.map(({ value }: { value: string }) => value),
        ['77'],
      );
      assert.deepEqual((await ok('GET', `/v1/keys/${id}/ssh-revocations`)).items, undone.body.items);
      for (const wrong of [
        {},
        { serials: ['0'] },
        { serials: ['18446744073709551616'] },
        { key_ids: [''] },
        { public_keys: ['x'] },
      ])
        assert.equal((await revoke(wrong)).status, 400, JSON.stringify(wrong));
      const many = (from: number) => ({ serials: Array.from({ length: 100 }, (_, at) => String(from + at)) });
      for (const from of [1_000, 2_000, 3_000, 4_000]) assert.equal((await revoke(many(from))).status, 200);
      assert.equal((await revoke(many(5_000))).body.error.code, 'CONFLICT');
      const { id: plain } = await key();
      for (const path of ['krl', 'ssh-revocations', 'ssh-public-key'])
        assert.equal((await service.call('GET', `/v1/keys/${plain}/${path}`)).status, 400);
    });

    it('keep their profile and revocations when the key is rotated; an ended version is revoked as a whole', async () => {
      const { id } = await authority();
      const lines = async () =>
        (await service.call('GET', `/v1/keys/${id}/ssh-public-key`)).text.trim().split('\n');
      const [first] = await lines();
      await ok('POST', `/v1/keys/${id}/ssh-revocations`, { serials: ['5'] });
      const aes = await service.call('POST', `/v1/keys/${id}/rotate`, {
        generate: { key_type: 'OKP', curve: 'X25519' },
      });
      assert.equal(aes.status, 400, 'it could not sign');
      const { ssh, version } = await ok('POST', `/v1/keys/${id}/rotate`);
      assert.deepEqual([ssh.principals, version], [profile.principals, 2]);
      assert.equal((await ok('GET', `/v1/keys/${id}/ssh-revocations`)).items.length, 1);
      const both = await lines();
      assert.deepEqual([both.length, both[1]], [2, first]);
      const certificate = (await certify(id, asked)).body;
      assert.equal(certificate.version, 2);
      const blob = Buffer.from(first!.split(' ')[1]!, 'base64');
      const before = await krl(id);
      await ok('PUT', `/v1/keys/${id}`, { min_version: 2 });
      assert.deepEqual(await lines(), [both[0]]);
      const after = await krl(id);
      assert.ok(before.includes(blob) && after.includes(blob));
      assert.equal(after.at(-blob.length - 4 - 5), 2, 'as a revoked key, in a section of its own');
    });
  });
}
