/** The OpenAPI document of a route: made from the same values as the route itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { openApiDocument } from '../src/http/openapi/document.ts';
import { Components, type Json, queryParameters } from '../src/http/openapi/schemas.ts';
import { operationsOfUse } from '../src/http/openapi/uses.ts';
import type { RouteDescription } from '../src/http/routes/route.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document is looked into at any depth
type Any = any;
const plain: RouteDescription = {
  method: 'GET',
  path: '/v1/plain',
  operationId: 'getPlain',
  tag: 'plain',
  summary: 'Get it',
  needs: { all: ['vaults:read'] },
  answer: z.object({ a: z.string() }),
};
const documentOf = (...routes: RouteDescription[]): Any => openApiDocument(routes, '1.2.3');
const operationOf = (more: Partial<RouteDescription>): Any => {
  const route = { ...plain, ...more };
  return documentOf(route).paths[route.path][route.method.toLowerCase()];
};
const refusals = ['400', '401', '403', '429', '500', '503'];
const statusesOf = (operation: Any) => Object.keys(operation.responses);

describe('the document of a route', () => {
  it('has all methods of a path, and what every document has', () => {
    const { paths, info, components } = documentOf(plain, {
      ...plain,
      method: 'POST',
      operationId: 'makePlain',
    });
    assert.deepEqual(Object.keys(paths['/v1/plain']), ['get', 'post']);
    assert.equal(info.version, '1.2.3');
    assert.ok('Error' in components.schemas);
    assert.ok(paths['/v1/health'].get && paths['/api/v1/vaults/{vault_id}'].get);
  });

  const needs: [needs: RouteDescription['needs'], description: string][] = [
    [{ all: ['vaults:read'] }, 'Requires the permission `vaults:read`.'],
    [{ all: ['vaults:read', 'secrets:read'] }, 'Requires the permission `vaults:read` and `secrets:read`.'],
    [{ anyOf: ['vaults:read', 'secrets:read'] }, 'Requires the permission `vaults:read` or `secrets:read`.'],
  ];
  for (const [need, description] of needs)
    it(`says: ${description}`, () => {
      const operation = operationOf({ needs: need });
      assert.deepEqual([operation.description, 'security' in operation], [description, false]);
      assert.ok(Object.keys(operation.responses[200].headers).length > 0);
    });

  it('of /auth says how to be let in there, and of no plan', () => {
    const open = operationOf({ needs: 'nothing' });
    const session = operationOf({ needs: 'session' });
    assert.notEqual(open.description, session.description);
    assert.doesNotMatch(session.description, /permission/);
    assert.deepEqual([open.security, session.security], [[], [{ session: [] }]]);
    assert.equal('headers' in open.responses[200], false);
  });

  it('names the id of its path, and what is not found', () => {
    const one = operationOf({ path: '/v1/plain/{id}' });
    assert.deepEqual(one.parameters, [
      { name: 'id', in: 'path', required: true, schema: { $ref: '#/components/schemas/Id' } },
    ]);
    assert.deepEqual(statusesOf(one).sort(), ['200', ...refusals, '404'].sort());
    assert.deepEqual(operationOf({}).parameters, []);
    assert.deepEqual(statusesOf(operationOf({})).sort(), ['200', ...refusals]);
    assert.deepEqual(
      statusesOf(operationOf({ body: z.object({}) })).sort(),
      ['200', ...refusals, '404'].sort(),
    );
    assert.deepEqual(one.responses[404], { $ref: '#/components/responses/404' });
  });

  it('shows the body that it takes, with an example', () => {
    const body = z.object({ name: z.string() }).meta({ example: { name: 'x' } });
    const taken = operationOf({ body }).requestBody;
    assert.deepEqual([taken.required, taken.content['application/json'].example], [true, { name: 'x' }]);
    assert.equal(operationOf({ body, bodyOptional: true }).requestBody.required, false);
    assert.equal('requestBody' in operationOf({}), false);
    const documented = operationOf({ body, bodyDocumented: z.object({ other: z.int() }) }).requestBody
      .content['application/json'].schema;
    assert.deepEqual(Object.keys(documented.properties), ['other']);
  });

  it('shows the answer that it gives, or that it sends a browser on', () => {
    assert.deepEqual(Object.keys(operationOf({}).responses[200].content), ['application/json']);
    const typed = operationOf({ answerTypes: ['text/csv', 'application/jsonl'] });
    assert.deepEqual(Object.keys(typed.responses[200].content), ['text/csv', 'application/jsonl']);
    const redirect = operationOf({ answerTypes: [] });
    assert.deepEqual(
      [redirect.responses[302], 200 in redirect.responses],
      [{ description: 'The browser is redirected' }, false],
    );
  });

  const item = z.object({ a: z.string() }).meta({ example: { a: 'item' } });
  const examples: [answer: z.ZodType, example: unknown][] = [
    [item, { a: 'item' }],
    [
      z.object({ data: z.array(item), next: item, bare: z.string() }),
      { data: [{ a: 'item' }], next: { a: 'item' }, bare: undefined },
    ],
    [z.string().meta({ example: 'text' }), 'text'],
    [z.string(), undefined],
    [z.object({ data: item }).meta({ example: 'its own' }), 'its own'],
  ];
  for (const [at, [answer, example]] of examples.entries())
    it(`shows the example of answer ${at}`, () =>
      assert.deepEqual(operationOf({ answer }).responses[200].content['application/json'].example, example));

  it('has errors in the form of its endpoint', () => {
    const responses = operationOf({ errors: 'message' }).responses;
    assert.deepEqual(Object.keys(responses).sort(), ['200', ...refusals].sort());
    assert.ok('content' in responses[401] && !('$ref' in responses[401]));
    assert.deepEqual(operationOf({}).responses[401], { $ref: '#/components/responses/401' });
  });
});

describe('a schema in the document', () => {
  const named = (description: string) => z.object({ a: z.string() }).meta({ id: 'Thing', description });

  it('is a component where it has a name, and stands in place where it has none', () => {
    const components = new Components();
    const { type: _type, ...inline } = components.schemaOf(z.object({ thing: named('one') })) as Record<
      string,
      Json
    >;
    assert.deepEqual(inline.properties, { thing: { $ref: '#/components/schemas/Thing' } });
    assert.deepEqual(Object.keys(components.schemas), ['Thing']);
    components.schemaOf(z.array(z.string()));
    assert.deepEqual(Object.keys(components.schemas), ['Thing']);
  });

  it('is the only one of its name', () => {
    const components = new Components();
    const one = named('one');
    components.schemaOf(one);
    components.schemaOf(one);
    z.globalRegistry.remove(one);
    const other = named('other');
    assert.throws(() => components.schemaOf(other), /^Error: two schemas are called Thing$/);
    z.globalRegistry.remove(other);
  });

  it('keeps its bounds but for those of the machine, and its example in a list', () => {
    const components = new Components();
    const of = (schema: z.ZodType) => components.schemaOf(schema) as Any;
    assert.deepEqual([of(z.int()).minimum, of(z.int()).maximum], [undefined, undefined]);
    assert.deepEqual([of(z.int().min(1).max(9)).minimum, of(z.int().min(1).max(9)).maximum], [1, 9]);
    const shown = of(z.string().meta({ example: 'a' }));
    assert.deepEqual([shown.examples, 'example' in shown], [['a'], false]);
    assert.equal('examples' in of(z.string()), false);
  });

  it('of a query is its parameters', () => {
    const query = z.strictObject({
      page: z.int().meta({ description: 'Which page.' }).optional(),
      q: z.string(),
    });
    assert.deepEqual(
      queryParameters(query, new Components()).map(({ schema: _schema, ...rest }) => rest),
      [
        { name: 'page', in: 'query', required: false, description: 'Which page.' },
        { name: 'q', in: 'query', required: true },
      ],
    );
    assert.deepEqual(
      queryParameters(z.object({ a: z.string().optional() }), new Components())[0]!.required,
      false,
    );
    assert.deepEqual(queryParameters(undefined, new Components()), []);
    assert.deepEqual(queryParameters(z.any(), new Components()), []);
  });
});

describe('the uses of secrets and keys', () => {
  it('answer by one schema each, or by any of several', () => {
    const components = new Components();
    const uses = operationsOfUse(components) as Record<
      string,
      { post: { responses: Record<string, unknown> } }
    >;
    const several = Object.entries(uses)
      .filter(([, { post }]) => JSON.stringify(post.responses[200]).includes('"anyOf"'))
      .map(([path]) => path.split('/').at(-1));
    assert.deepEqual(several, ['use']);
  });
});
