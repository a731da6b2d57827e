import assert from 'node:assert/strict';
import { constants, createPublicKey, publicEncrypt, verify } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { importSPKI, jwtVerify } from 'jose';
import { callService, enginesInTurn, type Service, startService } from './harness.ts';
import { modernCall } from './mcp-world.ts';

const message = Buffer.from('what is signed').toString('base64url');
const kinds = [
  ['ES256', { key_type: 'EC', curve: 'P-256' }],
  ['ES384', { key_type: 'EC', curve: 'P-384' }],
  ['EdDSA', { key_type: 'OKP', curve: 'Ed25519' }],
  ['PS256', { key_type: 'RSA', key_size: 2048 }],
] as const;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`keys that are used and never leave, on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let agent: string;

    before(async () => {
      service = await startService({ engine });
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'keys' })).body.id;
      const key = { vault_id: vaultId, name: 'agent', kinds: ['key'], names_only: true, may_use: true };
      agent = (await service.call('POST', '/v1/access-keys', key)).body.token;
    });
    after(() => service.stop());

    async function make(name: string, generate: object, rule: object) {
      const wanted = { vault_id: vaultId, name, generate, exportable: false };
      const { body: key } = await service.call('POST', '/v1/keys', wanted);
      const given = { key_id: key.id, name: 'for the agent', approval: 'never', ...rule };
      const made = await service.call('POST', '/v1/use-rules', given);
      assert.equal(made.status, 200, made.text);
      return key as { id: string; public_pem: string };
    }
    const call = (operation: string, body: object, token: string | null = agent) =>
      callService(service.url, 'POST', `/api/v1/vaults/self/keys/${operation}`, body, token);

    it('sign and verify by the algorithms of JOSE', async () => {
      for (const [alg, generate] of kinds) {
        const operations = ['sign', 'verify'];
        const { id } = await make(`key ${alg}`, generate, { operations, algorithms: [alg] });
        const { body, text } = await call('sign', { key: `key ${alg}`, alg, message });
        assert.deepEqual([body.kid, body.alg, body.token], [id, alg, null], text);
        const check = { key: id, alg, message, signature: body.signature };
        assert.equal((await call('verify', check)).body.valid, true, alg);
        const other = { ...check, message: Buffer.from('another').toString('base64url') };
        assert.equal((await call('verify', other)).body.valid, false, alg);
      }
    });

    it('sign tokens of the shape that a rule demands, and nothing else', async () => {
      const jwt = { issuer: 'agents', audiences: ['payments'], longest_lifetime: 600 };
      const rule = { operations: ['sign'], algorithms: ['ES256'], jwt };
      const { id, public_pem } = await make('tokens', { key_type: 'EC', curve: 'P-256' }, rule);
      const iat = Math.floor(Date.now() / 1000);
      const good = { iss: 'agents', aud: 'payments', sub: 'agent', iat, exp: iat + 600 };
      const signed = await call('sign', { key: 'tokens', alg: 'ES256', claims: good });
      const { payload, protectedHeader } = await jwtVerify(
        signed.body.token,
        await importSPKI(public_pem, 'ES256'),
        { issuer: 'agents', audience: 'payments' },
      );
      assert.deepEqual([payload.sub, protectedHeader.kid, protectedHeader.typ], ['agent', id, 'JWT']);
      const bad = [
        { ...good, iss: 'others' },
        { ...good, aud: 'admin' },
        { ...good, aud: ['payments', 'admin'] },
        { ...good, aud: [] },
        { ...good, exp: iat + 601 },
        { ...good, iat: iat + 3_600, exp: iat + 3_700 },
        { ...good, exp: undefined },
        { ...good, iat: undefined },
        { ...good, exp: String(iat + 10) },
      ];
      for (const claims of bad) {
        const refused = await call('sign', { key: 'tokens', alg: 'ES256', claims });
        assert.equal(refused.status, 400, JSON.stringify(claims));
      }
      const bytes = await call('sign', { key: 'tokens', alg: 'ES256', message });
      assert.equal(bytes.body.message, 'claims is required: the rule signs only JSON Web Tokens');
    });

    it('decrypt what was encrypted to them', async () => {
      const rule = { operations: ['decrypt'], algorithms: ['RSA-OAEP-256'] };
      const { public_pem } = await make('unwrapping', { key_type: 'RSA', key_size: 2048 }, rule);
      const sealed = publicEncrypt(
        { key: public_pem, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' },
        Buffer.from('for the agent'),
      );
      const asked = { key: 'unwrapping', alg: 'RSA-OAEP-256', ciphertext: sealed.toString('base64url') };
      const { body } = await call('decrypt', asked);
      assert.equal(Buffer.from(body.plaintext, 'base64url').toString(), 'for the agent');
      assert.equal((await call('decrypt', { ...asked, ciphertext: message })).status, 400);
    });

    it('do only what a rule allows, for those who may use', async () => {
      const rule = { operations: ['verify'], algorithms: ['ES256'] };
      await make('checking', { key_type: 'EC', curve: 'P-256' }, rule);
      const asked = { key: 'checking', alg: 'ES256', message };
      assert.equal((await call('sign', asked)).status, 403);
      assert.equal((await call('sign', { ...asked, alg: 'ES384' })).status, 403);
      assert.equal((await call('sign', { ...asked, key: 'unknown' })).status, 404);
      assert.equal((await call('sign', asked, null)).status, 401);
      const reader = await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'reader' });
      assert.equal((await call('sign', asked, reader.body.token)).status, 403);
    });

    it('whoever writes a rule of a key must be allowed to read it', async () => {
      const { id } = await make(
        'guarded',
        { key_type: 'EC', curve: 'P-256' },
        { operations: ['sign'], algorithms: ['ES256'] },
      );
      const scopes = ['use-rules:write', 'use-rules:read', 'secrets:reveal', 'keys:read'];
      const { token } = (
        await service.call('POST', '/v1/api-keys', { name: 'no keys', role: 'owner', scopes })
      ).body;
      const wanted = { key_id: id, name: 'theirs', operations: ['sign'], algorithms: ['ES256'] };
      assert.equal((await service.call('POST', '/v1/use-rules', wanted, token)).status, 403);
    });

    it('are asked by tools too, wait for an approval where the rule says so, and are logged before and after', async () => {
      const rule = { operations: ['sign'], algorithms: ['ES256'], approval: 'writes' };
      await make('careful', { key_type: 'EC', curve: 'P-256' }, rule);
      const waiting = await modernCall(
        service.url,
        'keys.sign',
        { key: 'careful', alg: 'ES256', message },
        { key: agent },
      );
      const { isError, structuredContent } = waiting.body.result;
      assert.equal(isError, true);
      const { body: shown } = await service.call('GET', `/v1/approvals/${structuredContent.approval.id}`);
      assert.deepEqual([shown.request.tool, shown.request.body], ['keys.sign', 'what is signed']);
      const open = { operations: ['sign'], algorithms: ['ES256'] };
      const { public_pem } = await make('open', { key_type: 'EC', curve: 'P-256' }, open);
      const answer = await modernCall(
        service.url,
        'keys_sign',
        { key: 'open', alg: 'ES256', message },
        { key: agent },
      );
      const signature = Buffer.from(answer.body.result.structuredContent.signature, 'base64url');
      const key = { key: createPublicKey(public_pem), dsaEncoding: 'ieee-p1363' } as const;
      assert.ok(verify('sha256', Buffer.from(message, 'base64url'), key, signature));
      const { body: logs } = await service.call('GET', '/v1/request-logs?limit=2');
      const [done, begun] = logs.data;
      assert.match(begun.requested, /^key=sign ES256 call=[\w-]{43} open$/);
      assert.match(done.requested, /^key=signed ES256 call=[\w-]{43} open$/);
      assert.deepEqual([begun.status, done.status, done.tool], [102, 200, 'keys.sign']);
    });
  });
}
