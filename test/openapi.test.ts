/** The OpenAPI document is valid, complete, and true: every operation is called, and answers as it says. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { auditActions } from '../src/contract/audit-actions.ts';
import { eventKinds, scopeNames, testKind } from '../src/contract/names.ts';
import { exampleId } from '../src/contract/text.ts';
import { type EventKind, type EventSubject, eventOf } from '../src/domain/kernel/events.ts';
import {
  Document,
  type Json,
  makeWorld,
  type Operation,
  readVault,
  realBody,
  realPath,
  unique,
  type World,
} from './document.ts';
import { enginesInTurn, type Service, startService } from './harness.ts';

const collections = {
  Issuer: 'Issuers',
  AccessKey: 'AccessKeys',
  ApiKey: 'ApiKeys',
  Certificate: 'Certificates',
  Identity: 'Identities',
  Key: 'Keys',
  Member: 'Members',
  Group: 'Groups',
  PublicToken: 'PublicTokens',
  Resource: 'Resources',
  Secret: 'Secrets',
  SecretId: 'SecretIds',
  Stage: 'Stages',
  UseRule: 'UseRules',
  Vault: 'Vaults',
  Webhook: 'Webhooks',
};

const operationIds = [
  ...Object.entries(collections).flatMap(([one, many]) => [
    `list${many}`,
    `get${one}`,
    `create${one}`,
    `update${one}`,
    `delete${one}`,
  ]),
  'acceptInvitation',
  'addPasskey',
  'approveCall',
  'approveDeviceLogin',
  'awaitApprovals',
  'beginDeviceLogin',
  'beginOneTimeCodes',
  'changePassword',
  'changeSshRevocations',
  'checkIssuer',
  'listRuns',
  'getRun',
  'createRun',
  'endRun',
  'getLease',
  'getMailChoices',
  'listLeases',
  'renewLease',
  'revokeLease',
  'checkUse',
  'confirmOneTimeCodes',
  'createRenewalRequest',
  'createSigningRequest',
  'createSshCertificate',
  'createSshCertificateInVault',
  'decryptWithKey',
  'signWithVaultKey',
  'signWithKeyId',
  'verifyWithVaultKey',
  'verifyWithKeyId',
  'encryptWithVaultKey',
  'encryptWithKeyId',
  'decryptWithVaultKey',
  'decryptWithKeyId',
  'wrapWithVaultKey',
  'wrapWithKeyId',
  'unwrapWithVaultKey',
  'unwrapWithKeyId',
  'macWithVaultKey',
  'macWithKeyId',
  'rewrapWithVaultKey',
  'rewrapWithKeyId',
  'readKeySet',
  'readSshPublicKeys',
  'readSshRevocationList',
  'denyDeviceLogin',
  'endDeviceLogin',
  'endSession',
  'exportAuditLogs',
  'exportRequestLogs',
  'getAbout',
  'getApproval',
  'getAuditLog',
  'getAuthState',
  'getDeviceRequest',
  'getHealth',
  'getInvitation',
  'getInvitationPasskeyOptions',
  'getNewPasskeyOptions',
  'getOrganization',
  'getAttention',
  'getOverview',
  'getProofPasskeyOptions',
  'getRequestLog',
  'getSecretReferences',
  'getVaultReferences',
  'getSetUpPasskeyOptions',
  'getSignInPasskeyOptions',
  'getWebhookDelivery',
  'listApprovals',
  'listAuditLogs',
  'listDeviceLogins',
  'listKeyVersions',
  'listPasskeys',
  'listRequestLogs',
  'listCertificateVersions',
  'listSecretVersions',
  'listSessions',
  'listSshRevocations',
  'listUsePresets',
  'listVaultPeople',
  'listVaultReaders',
  'listRoleRequests',
  'listRotations',
  'listRotationsOfSecret',
  'listOwnRoleRequests',
  'requestRole',
  'withdrawRoleRequest',
  'approveRoleRequest',
  'refuseRoleRequest',
  'listWebhookDeliveries',
  'logIn',
  'pollDeviceLogin',
  'proveIdentity',
  'readVault',
  'redeliverEvent',
  'refuseCall',
  'removeOneTimeCodes',
  'removePasskey',
  'renewInvitation',
  'restoreResource',
  'revealKey',
  'revealSecret',
  'revokeDeviceLogin',
  'rollbackCertificate',
  'rollbackSecret',
  'rotateKey',
  'rotateSecret',
  'rotateWebhookSecret',
  'setMailChoices',
  'setUp',
  'showOneTimeCode',
  'signInWithPasskey',
  'signInWithPassword',
  'signOut',
  'signWithKey',
  'testWebhook',
  'updateOrganization',
  'useSecret',
  'verifyLogs',
  'verifyWithKey',
  'whoAmI',
  'writeSecrets',
  'readPublicKey',
  'revealSecrets',
  'copySecrets',
  'compareSecrets',
  'compareVaults',
  'compareStage',
  'renameInStage',
  'countRequestLogs',
  'countVaults',
  'listSecretReaders',
  'listProposals',
  'getProposal',
  'revealProposal',
  'confirmProposal',
  'rejectProposal',
  'listAuthorities',
  'getAuthority',
  'createAuthority',
  'updateAuthority',
  'deleteAuthority',
  'getAuthorityChain',
  'getRevocationList',
  'listProfiles',
  'getProfile',
  'createProfile',
  'updateProfile',
  'deleteProfile',
  'issueCertificate',
  'bindAcmeClient',
  'listIssuedCertificates',
  'getIssuedCertificate',
  'revokeCertificate',
];

/** Whether a body has a field that says when something is to end, at any depth. */
function takesExpiry(document: Document, operation: Operation): boolean {
  const names = (schema: Json): string[] => {
    const { properties = {}, items, anyOf = [], oneOf = [], allOf = [] } = document.resolve(schema) ?? {};
    const within = [...Object.values(properties), ...anyOf, ...oneOf, ...allOf, ...(items ? [items] : [])];
    return [...Object.keys(properties), ...within.flatMap(names)];
  };
  return names(document.requestSchema(operation)).some(name => /expir|ends_at|valid_until/i.test(name));
}

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the OpenAPI document on ${engine}`, () => {
    let service: Service;
    let document: Document;
    let world: World;

    before(async () => {
      service = await startService({ engine });
      document = await Document.of(service);
      world = await makeWorld(service.call);
      await readVault(service, service.call, world);
    });
    after(() => service.stop());

    it('is served without a key, is OpenAPI 3.1, and passes a public validator', async () => {
      assert.match(document.value.openapi, /^3\.1\./);
      const result = await new Validator().validate(structuredClone(document.value));
      assert.deepEqual(result.errors ?? [], []);
      assert.equal(result.valid, true);
    });

    it('shows an example of every answer, and of every body, that its own schema accepts', () => {
      for (const operation of document.operations('/')) {
        const name = `${operation.method} ${operation.path}`;
        for (const [type, value] of answerExamples(operation)) {
          assert.ok(value !== undefined, `${name} has no example`);
          assert.deepEqual(document.answerFaults(operation, 200, type, value), [], name);
        }
        if (operation.value.requestBody === undefined) continue;
        const pointer = ['paths', operation.path, operation.method.toLowerCase(), 'requestBody'];
        const example = document.requestExample(operation);
        assert.ok(example !== undefined, `${name} has no example of its body`);
        assert.deepEqual(document.faults([...pointer, 'content', 'application/json', 'schema'], example), []);
      }
    });

    it('gives every operation a name of its own, which an SDK can be made of', () => {
      const names = document.operations('/').map(({ value }) => value.operationId as string);
      assert.deepEqual(names.toSorted(), operationIds.toSorted());
      assert.equal(new Set(names).size, names.length);
    });

    it('names the schema of every body, and of every answer', () => {
      for (const operation of document.operations('/')) {
        const name = `${operation.method} ${operation.path}`;
        const body = operation.value.requestBody?.content['application/json'].schema;
        if (body !== undefined) assert.match(body.$ref ?? '', /^#\/components\/schemas\//, name);
        const { schema } = operation.value.responses['200'].content['application/json'] ?? {};
        const answers: Json[] = schema?.anyOf ?? (schema === undefined ? [] : [schema]);
        for (const answer of answers) assert.match(answer.$ref ?? '', /^#\/components\/schemas\//, name);
      }
    });

    it('requires the token in the answers that create one, and has it in no other', () => {
      const { schemas } = document.value.components;
      const created = [
        'CreatedAccessKey',
        'CreatedApiKey',
        'CreatedPublicToken',
        'CreatedRun',
        'CreatedSecretId',
        'InvitedMember',
      ];
      for (const name of created) {
        assert.ok(schemas[name].required.includes('token'), name);
      }
      assert.ok(schemas.WebhookWithSecret.required.includes('secret'));
      for (const name of ['AccessKey', 'ApiKey', 'PublicToken', 'SecretId', 'Member', 'Webhook']) {
        assert.ok(!('token' in schemas[name].properties) && !('secret' in schemas[name].properties), name);
      }
    });

    it('has a schema for each answer of a vault read', () => {
      const [operation] = document.operations('/api/v1/vaults/');
      const { schema } = operation!.value.responses['200'].content['application/json'];
      const names = ['VaultRead', 'VaultReadNames', 'VaultReadSecret', 'VaultReadMap', 'SecretCode'];
      assert.deepEqual(
        schema.anyOf,
        names.map(name => ({ $ref: `#/components/schemas/${name}` })),
      );
    });

    it('tells what every kind of event brings, as it is really sent', () => {
      const kinds = [...eventKinds, testKind] as const;
      assert.deepEqual(Object.keys(document.value.webhooks).sort(), kinds.toSorted());
      for (const kind of kinds) {
        const pointer = ['webhooks', kind, 'post', 'requestBody', 'content', 'application/json'];
        const { example } = document.value.webhooks[kind].post.requestBody.content['application/json'];
        assert.deepEqual(document.faults([...pointer, 'schema'], example), [], kind);
        const { payload } = eventOf(kind, subjectOf(kind), Date.now(), () => exampleId);
        assert.deepEqual(document.faults([...pointer, 'schema'], JSON.parse(payload)), [], kind);
      }
    });

    it('names the errors of every operation, in the shape that they have', async () => {
      for (const operation of document.operations()) {
        if (operation.path === '/v1/health') continue;
        for (const status of ['400', '401', '403', '429', '500', '503']) {
          assert.ok(status in operation.value.responses, `${operation.method} ${operation.path} ${status}`);
        }
        const path = operation.path.replace('{id}', world.vaultId);
        service.clock.pass(2_000); // This many failures in one minute would be limited.
        const refused = await service.call(operation.method, path, undefined, 'sr_api_nonsense');
        assert.equal(refused.status, 401, `${operation.method} ${operation.path}`);
        assert.deepEqual(document.answerFaults(operation, 401, 'application/json', refused.body), []);
      }
    });

    it('tells the truth of every operation: the real answers fit it', async () => {
      for (const operation of document.operations()) {
        const name = `${operation.method} ${operation.path}`;
        const path = await realPath(service.call, document, operation, world);
        const body = realBody(document.requestExample(operation), world);
        const answer = await service.call(operation.method, path, body);
        assert.equal(answer.status, 200, `${name}: ${answer.text}`);
        const type = answer.headers.get('content-type') ?? '';
        assert.deepEqual(document.answerFaults(operation, 200, type, answer.body), [], name);
      }
    });

    /** Where and as what an operation is called; of resources of every type, as one that expires. */
    async function sendable(operation: Operation): Promise<[path: string, body: Json]> {
      if (!operation.path.startsWith('/v1/resources')) {
        const path = await realPath(service.call, document, operation, world);
        return [path, realBody(document.requestExample(operation), world)];
      }
      if (operation.method === 'PUT') return [operation.path.replace('{id}', world.secretId), {}];
      return [
        operation.path,
        { type: 'secret', vault_id: world.vaultId, name: unique('any type'), value: 'x' },
      ];
    }

    it('an expiry that is past is refused by every operation that takes one', async () => {
      // Past is also what ends at this very moment.
      service.clock.stand();
      const date = new Date(service.clock.now()).toISOString();
      const taking = document.operations().filter(operation => takesExpiry(document, operation));
      assert.ok(taking.length >= 12, `${taking.length} operations`);
      for (const operation of taking) {
        const name = `${operation.method} ${operation.path}`;
        const [path, body] = await sendable(operation);
        const field = path === '/v1/runs' ? 'ends_at' : 'expiration_date';
        const isMany = Array.isArray(body.items);
        const sent = isMany ? { items: [{ ...body.items[0], [field]: date }] } : { ...body, [field]: date };
        const answer = await service.call(operation.method, path, sent);
        const { error, status } = isMany ? answer.body.results[0] : { ...answer.body, status: answer.status };
        assert.equal(status, 400, `${name}: ${answer.text}`);
        assert.deepEqual(error.details, { field, reason: 'must be in the future' }, name);
      }
      service.clock.run();
    });

    it('what has expired can be changed and sent back with its expiry', async () => {
      const field = 'expiration_date';
      const ending = { vault_id: world.vaultId, name: unique('ending'), value: 'x' };
      const soon = new Date(service.clock.now() + 1_000).toISOString();
      const { body: made } = await service.call('POST', '/v1/secrets', { ...ending, [field]: soon });
      service.clock.pass(1_000);
      const path = `/v1/secrets/${made.id}`;
      const renamed = await service.call('PUT', path, { ...made, name: unique('ended') });
      assert.equal(renamed.status, 200, renamed.text);
      const items = [{ id: made.id, name: unique('ended'), [field]: soon }];
      const many = await service.call('POST', '/v1/secrets/bulk', { items });
      assert.equal(many.body.results[0].status, 200, many.text);
      const earlier = new Date(Date.parse(soon) - 1).toISOString();
      assert.equal((await service.call('PUT', path, { [field]: earlier })).status, 400);
      await service.call('DELETE', path);
    });

    it('tells the truth of the vault endpoint', async () => {
      const [operation] = document.operations('/api/v1/vaults/');
      const { body } = await service.call('POST', '/v1/access-keys', {
        vault_id: world.vaultId,
        name: 'all',
      });
      const { data } = await service
        .call('GET', `/v1/secrets?vault_id=${world.vaultId}`)
        .then(one => one.body);
      const cases: [query: string, token: string | null, status: number][] = [
        ['', body.token, 200],
        ['?secrets=names', body.token, 200],
        ['?include=keys,certificates', body.token, 200],
        [`?resource=${data[0].id}`, body.token, 200],
        [`?resource=${world.keyId}`, body.token, 200],
        [`?name=${encodeURIComponent(data[0].name)}`, body.token, 200],
        ['?format=map', body.token, 200],
        ['?format=env', body.token, 400],
        ['?secrets=all', body.token, 400],
        ['', null, 401],
        [`?resource=${world.vaultId}`, body.token, 404],
      ];
      for (const [query, token, status] of cases) {
        const answer = await service.call('GET', `/api/v1/vaults/${world.vaultId}${query}`, undefined, token);
        assert.equal(answer.status, status, `${query}: ${answer.text}`);
        const type = answer.headers.get('content-type') ?? '';
        assert.deepEqual(document.answerFaults(operation!, status, type, answer.body), [], query);
      }
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'environment' });
      await service.call('POST', '/v1/secrets', { vault_id: vault.id, name: 'A', value: 'b' });
      const { body: key } = await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'k' });
      const env = await service.call('GET', '/api/v1/vaults/self?format=env', undefined, key.token);
      const type = env.headers.get('content-type') ?? '';
      assert.deepEqual(document.answerFaults(operation!, 200, type, env.body), []);
    });

    it('what the audit log then says was done is in the list that its filter offers', async () => {
      const listed = new Set<string>([...auditActions, ...scopeNames]);
      const seen = new Set<string>();
      for (let page = 1; ; page++) {
        const { data } = (await service.call('GET', `/v1/audit-logs?limit=100&page=${page}`)).body;
        for (const { action } of data) seen.add(action);
        if (data.length < 100) break;
      }
      assert.ok(seen.size > 40, `${seen.size} actions`);
      assert.deepEqual(
        [...seen].filter(action => !listed.has(action)),
        [],
      );
    });

    it('tells the truth of every parameter: each is taken', async () => {
      for (const operation of document.operations()) {
        for (const parameter of operation.value.parameters ?? []) {
          if (parameter.in !== 'query') continue;
          const path = await realPath(service.call, document, operation, world);
          const value = encodeURIComponent(String(sampleOf(parameter.schema, world)));
          const body = realBody(document.requestExample(operation), world);
          const answer = await service.call(operation.method, `${path}?${parameter.name}=${value}`, body);
          assert.equal(answer.status, 200, `${operation.method} ${path}?${parameter.name}: ${answer.text}`);
        }
      }
    });
  });
}

function answerExamples({ value }: Operation): [type: string, example: unknown][] {
  return Object.entries<Json>(value.responses['200'].content).flatMap(([type, media]) => {
    const examples = Object.values<Json>(media.examples ?? [{ value: media.example }]);
    return examples.map(example => [type, example.value] as [string, unknown]);
  });
}

/** What an event of this kind is about, as the service would say. */
function subjectOf(kind: EventKind): EventSubject {
  const about = { id: exampleId, name: 'x', organization_id: exampleId, vault_id: exampleId };
  if (kind.startsWith('webhook')) {
    const reason = kind === 'webhook.disabled' ? ({ reason: 'gone' } as const) : {};
    return { ...about, type: 'webhook', vault_id: null, ...reason };
  }
  if (kind === 'role.requested' || kind === 'role.decided') {
    const requested = { role: 'reader', until: new Date().toISOString() };
    const decided = kind === 'role.decided' ? { state: 'approved' } : {};
    return { ...about, type: 'role_request', requested: { ...requested, ...decided } };
  }
  if (kind.startsWith('stage')) {
    const missing = { secret: 'X', missing_in: exampleId, present_in: exampleId };
    return { ...about, type: 'stage', vault_id: null, missing };
  }
  if (kind.startsWith('approval')) return { ...about, type: 'approval' };
  if (kind.startsWith('run')) return { ...about, type: 'run' };
  if (kind.startsWith('lease')) return { ...about, type: 'lease' };
  if (kind.startsWith('proposal')) return { ...about, type: 'proposal' };
  if (kind.startsWith('access_key')) return { ...about, type: 'access_key' };
  const expires = /expir/.test(kind) ? { expirationDate: 0 } : {};
  return { ...about, type: 'secret', version: 1, ...expires };
}

function sampleOf(schema: Json, world: World): unknown {
  if (schema.$ref?.endsWith('/Id')) return world.vaultId;
  if (schema.format === 'date-time') return '2026-01-31T00:00:00Z';
  return schema.examples?.[0] ?? schema.enum?.[0] ?? schema.minimum ?? '127.0.0.1';
}
