/** The OpenAPI document is valid, complete, and true: every operation is called, and answers as it says. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import {
  Document,
  type Json,
  makeWorld,
  type Operation,
  readVault,
  realBody,
  realPath,
  type World,
} from './document.ts';
import { engines, type Service, startService } from './harness.ts';

for (const engine of engines) {
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

    it('names the errors of every operation, in the shape that they have', async () => {
      for (const operation of document.operations()) {
        if (operation.path === '/v1/health') continue;
        for (const status of ['400', '401', '403', '429', '500', '503']) {
          assert.ok(status in operation.value.responses, `${operation.method} ${operation.path} ${status}`);
        }
        const path = operation.path.replace('{id}', world.vaultId);
        service.clock.offset += 2_000; // This many failures in one minute would be limited.
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

    it('tells the truth of the vault endpoint', async () => {
      const [operation] = document.operations('/api/');
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

function sampleOf(schema: Json, world: World): unknown {
  if (schema.$ref?.endsWith('/Id')) return world.vaultId;
  if (schema.format === 'date-time') return '2026-01-31T00:00:00Z';
  return schema.examples?.[0] ?? schema.enum?.[0] ?? schema.minimum ?? '127.0.0.1';
}
