/**
 * The OpenAPI document, made from the routes and from the schemas that check the requests: what it says is what
 * the service does. Schemas with a name of their own become components; each operation shows an example of
 * what to send and of what comes back.
 */
import { z } from 'zod';
import { errorBody, health } from '../contract/common.ts';
import { errorAnswers, limitHeaders, refersTo, securitySchemes, tags } from './openapi-parts.ts';
import { Components, type Json, queryParameters } from './openapi-schemas.ts';
import { vaultOperation } from './openapi-vault.ts';
import type { Route } from './route.ts';

export function openApiDocument(routes: readonly Route[], version: string): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operation(route, components);
  }
  components.schemaOf(errorBody);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Strongroom',
      version,
      description:
        'Vaults of secrets, keys and certificates. Every request but the health check needs a key.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    tags: tags(routes),
    paths: {
      '/v1/health': { get: healthOperation(components) },
      ...paths,
      '/api/v1/vaults/{vault_id}': { get: vaultOperation(components) },
    },
    components: {
      schemas: components.schemas,
      responses: errorAnswers,
      headers: limitHeaders,
      securitySchemes,
    },
  };
}

function operation(route: Route, components: Components): Json {
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.summary,
    description: `Needs ${needed(route)}.`,
    parameters: [...pathParameters(route), ...queryParameters(route.query, components)],
    ...requestBody(route, components),
    responses: { 200: success(route, components), ...refusals(route) },
  };
}

/** `GET /v1/keys/{id}/versions` becomes `getKeysByIdVersions`. */
function operationId({ method, path }: Route): string {
  const words = path.replace('/v1/', '').replace('{id}', 'by-id').split(/[/-]/);
  return method.toLowerCase() + words.map(word => word[0]!.toUpperCase() + word.slice(1)).join('');
}

function needed({ needs }: Route): string {
  const [scopes, joint] = 'all' in needs ? [needs.all, ' and '] : [needs.anyOf, ' or '];
  return `the permission ${scopes.map(scope => `\`${scope}\``).join(joint)}`;
}

function pathParameters({ path }: Route): Json[] {
  if (!path.includes('{id}')) return [];
  return [{ name: 'id', in: 'path', required: true, schema: refersTo('schemas', 'Id') }];
}

function requestBody(route: Route, components: Components): Json {
  const shown = route.bodyDocumented ?? route.body;
  if (shown === undefined) return {};
  const content = { 'application/json': media(shown, components) };
  return { requestBody: { required: route.bodyOptional !== true, content } };
}

function success(route: Route, components: Components): Json {
  const types = route.answerTypes ?? ['application/json'];
  return {
    description: 'Success',
    headers: Object.fromEntries(Object.keys(limitHeaders).map(name => [name, refersTo('headers', name)])),
    content: Object.fromEntries(types.map(type => [type, media(route.answer, components)])),
  };
}

function media(schema: z.ZodType, components: Components): Json {
  return { schema: components.schemaOf(schema), example: exampleOf(schema) };
}

/** A schema's own example; a list's is a list of its item's. */
function exampleOf(schema: z.ZodType): unknown {
  const own = z.globalRegistry.get(schema)?.example;
  if (own !== undefined || !(schema instanceof z.ZodObject)) return own;
  return Object.fromEntries(
    Object.entries(schema.shape).map(([name, member]) => [name, exampleOfMember(member as z.ZodType)]),
  );
}

function exampleOfMember(member: z.ZodType): unknown {
  return member instanceof z.ZodArray ? [exampleOf(member.element as z.ZodType)] : exampleOf(member);
}

function refusals({ path, body }: Route): Json {
  const names = ['400', '401', '403', '429', '500', '503'];
  if (path.includes('{id}') || body !== undefined) names.push('404');
  return Object.fromEntries(names.map(name => [name, refersTo('responses', name)]));
}

function healthOperation(components: Components): Json {
  return {
    operationId: 'getHealth',
    tags: ['health'],
    summary: 'Whether the service works, and its version',
    description: 'Needs no key.',
    security: [],
    responses: {
      200: { description: 'Success', content: { 'application/json': media(health, components) } },
      503: refersTo('responses', '503'),
    },
  };
}
