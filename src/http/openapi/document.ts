/**
 * Builds the OpenAPI document from the routes and from the schemas that check the requests, so that it matches what
 * the service does. Named schemas become components; each operation has an example of its request and its response.
 */
import { z } from 'zod';
import { errorBody, health } from '../../contract/common.ts';
import { bypassQuery, proposalMade } from '../../contract/proposals.ts';
import { bulkAnswer } from '../../contract/resources.ts';
import { renamedInStage } from '../../contract/stages.ts';
import { isReviewable, takesBypass } from '../routes/reviewed-writes.ts';
import type { RouteDescription } from '../routes/route.ts';
import { authNeeds, errorAnswers, limitHeaders, refersTo, securitySchemes, tags } from './fragments.ts';
import { keyOperationPaths } from './key-operations.ts';
import { Components, type Json, queryParameters } from './schemas.ts';
import { operationsOfUse } from './uses.ts';
import { publicKeyOperation, vaultOperation, refusals as vaultRefusals } from './vault.ts';
import { webhookOperations } from './webhooks.ts';

export function openApiDocument(routes: readonly RouteDescription[], version: string): Json {
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
        'Vaults of secrets, keys and certificates. Programs use an API key, the dashboard its session, and vault reads an access key.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }, { session: [] }],
    tags: tags(routes),
    paths: {
      '/api/v1/vaults/{vault_id}': { get: vaultOperation(components) },
      ...operationsOfUse(components),
      ...keyOperationPaths(components),
      '/api/v1/public-key': { get: publicKeyOperation(components) },
      ...paths,
      '/v1/health': { get: healthOperation(components) },
    },
    webhooks: webhookOperations(components),
    components: {
      schemas: components.schemas,
      responses: errorAnswers,
      headers: limitHeaders,
      securitySchemes,
    },
  };
}

function operation(route: RouteDescription, components: Components): Json {
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: `Requires ${needed(route)}.`,
    ...security(route),
    parameters: [
      ...pathParameters(route),
      ...queryParameters(route.query, components),
      ...(takesBypass(route) ? queryParameters(bypassQuery, components) : []),
    ],
    ...requestBody(route, components),
    responses: { ...success(route, components), ...refusals(route, components) },
  };
}

function needed({ needs }: RouteDescription): string {
  if (typeof needs === 'string') return authNeeds[needs].text;
  const [scopes, joint] =
    'anyOf' in needs ? [needs.anyOf, ' or '] : ['all' in needs ? needs.all : needs.together, ' and '];
  return `the permission ${scopes.map(scope => `\`${scope}\``).join(joint)}`;
}

function security({ needs }: RouteDescription): Json {
  return typeof needs === 'string' ? { security: authNeeds[needs].security } : {};
}

function pathParameters({ path }: RouteDescription): Json[] {
  if (!path.includes('{id}')) return [];
  return [{ name: 'id', in: 'path', required: true, schema: refersTo('schemas', 'Id') }];
}

function requestBody(route: RouteDescription, components: Components): Json {
  const shown = route.bodyDocumented ?? route.body;
  if (shown === undefined) return {};
  const content = { 'application/json': media(shown, components) };
  return { requestBody: { required: route.bodyOptional !== true, content } };
}

function success(route: RouteDescription, components: Components): Json {
  const types = route.answerTypes ?? ['application/json'];
  if (types.length === 0) return { 302: { description: 'The browser is redirected' } };
  const content = Object.fromEntries(types.map(type => [type, media(route.answer, components)]));
  return { 200: { description: 'Success', ...limits(route), content }, ...proposed(route, components) };
}

/** Answers that name the proposals beside what was done. */
const ofMany: readonly (z.ZodType | undefined)[] = [bulkAnswer, renamedInStage];

/** What a vault with review answers. Requests with many items say it for each of them. */
function proposed(route: RouteDescription, components: Components): Json {
  if (!isReviewable(route)) return {};
  const answer = ofMany.find(one => one === route.answer) ?? proposalMade;
  const content = { 'application/json': media(answer, components) };
  return {
    202: { description: 'Nothing was written yet: the vault demands review', ...limits(route), content },
  };
}

/** Requests from browsers don't count against a plan. */
function limits({ needs }: RouteDescription): Json {
  if (typeof needs === 'string') return {};
  const names = Object.keys(limitHeaders);
  return { headers: Object.fromEntries(names.map(name => [name, refersTo('headers', name)])) };
}

function media(schema: z.ZodType, components: Components): Json {
  return { schema: components.schemaOf(schema), example: exampleOf(schema) };
}

/** The schema's own example; for a list, a list with the example of its item. */
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

function refusals({ path, body, errors }: RouteDescription, components: Components): Json {
  if (errors === 'message') return vaultRefusals(components, messageCodes);
  const names = ['400', '401', '403', '429', '500', '503'];
  if (path.includes('{id}') || body !== undefined) names.push('404');
  return Object.fromEntries(names.map(name => [name, refersTo('responses', name)]));
}

const messageCodes = {
  INVALID_REQUEST: 'The body is not valid',
  UNAUTHORIZED: 'The proof is missing or not valid; the response is always the same',
  FORBIDDEN: 'The request came from a page of another site',
  RATE_LIMITED: 'Too many requests',
  INTERNAL_ERROR: 'Something went wrong on the server',
  UNAVAILABLE: 'The service is starting, stopping or overloaded',
} as const;

function healthOperation(components: Components): Json {
  return {
    operationId: 'getHealth',
    tags: ['health'],
    summary: 'Get the health and version of the service',
    description: 'Requires no API key.',
    security: [],
    responses: {
      200: { description: 'Success', content: { 'application/json': media(health, components) } },
      503: refersTo('responses', '503'),
    },
  };
}
