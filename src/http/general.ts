/** The route table of the general API. */
import { z } from 'zod';
import * as access from '../contract/access.ts';
import { check } from '../contract/check.ts';
import type { PageQuery } from '../contract/common.ts';
import { listOf, searchQuery } from '../contract/common.ts';
import * as logs from '../contract/logs.ts';
import * as overview from '../contract/overview.ts';
import * as resource from '../contract/resources.ts';
import type { Domain } from '../vault/domain.ts';
import { bulkSecrets } from './bulk.ts';
import { collectionRoutes } from './collection.ts';
import { exportRequestLog } from './log-export.ts';
import type { Route } from './route.ts';
import { webhookRoutes } from './webhook-routes.ts';

const resourceReads = ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'] as const;
const resourceWrites = ['vaults:write', 'secrets:write', 'keys:write', 'certificates:write'] as const;

const updateOf = {
  vault: resource.vaultUpdate,
  secret: resource.secretUpdate,
  key: resource.keyUpdate,
  certificate: resource.certificateUpdate,
} as const;

export function generalRoutes(domain: Domain): Route[] {
  return [
    ...resourceRoutes(domain),
    ...collectionRoutes({
      name: 'vaults',
      one: 'a vault',
      schemas: {
        item: resource.vault,
        query: resource.resourceQuery,
        create: resource.vaultCreate,
        update: resource.vaultUpdate,
      },
      service: domain.vaults,
      trash: true,
    }),
    ...secretRoutes(domain),
    ...keyRoutes(domain),
    ...certificateRoutes(domain),
    ...accessRoutes(domain),
    ...webhookRoutes(domain),
    ...logRoutes(domain),
    ...overviewRoutes(domain),
  ];
}

function resourceRoutes({ resources }: Domain): Route[] {
  return [
    ...collectionRoutes({
      name: 'resources',
      one: 'a resource of any type',
      schemas: {
        item: resource.genericResource,
        query: resource.mixedQuery,
        create: resource.resourceCreate,
        update: resource.resourceUpdate,
      },
      reads: { all: resourceReads },
      writes: { anyOf: resourceWrites },
      service: {
        ...resources,
        create: (caller, { type = 'vault', ...body }: resource.ResourceCreate) =>
          resources.create(caller, { type, body }),
        update: (caller, id, body) => resources.update(caller, id, type => check(updateOf[type], body)),
      },
      trash: true,
    }),
    {
      method: 'POST',
      path: '/v1/resources/{id}/restore',
      tag: 'resources',
      summary: 'Take a deleted resource out of the trash',
      needs: { anyOf: resourceWrites },
      answer: resource.genericResource,
      handle: ({ caller, id }) => resources.restore(caller, id),
    },
  ];
}

function secretRoutes({ secrets }: Domain): Route[] {
  return [
    ...collectionRoutes({
      name: 'secrets',
      one: 'a secret',
      schemas: {
        item: resource.secret,
        query: resource.resourceQuery,
        create: resource.secretCreate,
        update: resource.secretUpdate,
      },
      service: secrets,
      trash: true,
    }),
    {
      method: 'POST',
      path: '/v1/secrets/bulk',
      tag: 'secrets',
      summary: 'Create and change up to 100 secrets, each judged by itself',
      needs: { all: ['secrets:write'] },
      body: resource.bulkRequest,
      bodyDocumented: resource.bulkDocumented,
      answer: resource.bulkAnswer,
      handle: ({ caller, body }) => bulkSecrets(secrets, caller, (body as { items: unknown[] }).items),
    },
    {
      method: 'POST',
      path: '/v1/secrets/{id}/reveal',
      tag: 'secrets',
      summary: 'Read a secret’s value; it is written down before it is answered',
      needs: { all: ['secrets:reveal'] },
      body: resource.secretReveal,
      bodyOptional: true,
      answer: resource.revealedSecret,
      handle: ({ caller, id, body }) => secrets.reveal(caller, id, (body as { version?: number }).version),
    },
    {
      method: 'GET',
      path: '/v1/secrets/{id}/versions',
      tag: 'secrets',
      summary: 'List a secret’s versions, newest first',
      needs: { all: ['secrets:read'] },
      query: resource.versionQuery,
      answer: listOf(resource.version),
      handle: ({ caller, id, query }) => secrets.versions(caller, id, query as PageQuery),
    },
    {
      method: 'POST',
      path: '/v1/secrets/{id}/rollback',
      tag: 'secrets',
      summary: 'Make an earlier version’s value the current one, as a new version',
      needs: { all: ['secrets:write'] },
      body: resource.rollback,
      answer: resource.secret,
      handle: ({ caller, id, body }) => secrets.rollback(caller, id, (body as { version: number }).version),
    },
  ];
}

function keyRoutes({ keys, certificates }: Domain): Route[] {
  return [
    ...collectionRoutes({
      name: 'keys',
      one: 'a key',
      schemas: {
        item: resource.key,
        query: resource.resourceQuery,
        create: resource.keyCreate,
        update: resource.keyUpdate,
      },
      service: keys,
      trash: true,
    }),
    {
      method: 'POST',
      path: '/v1/keys/{id}/reveal',
      tag: 'keys',
      summary: 'Read a key’s PEM; it is written down before it is answered',
      needs: { all: ['keys:reveal'] },
      answer: resource.revealedKey,
      handle: ({ caller, id }) => keys.reveal(caller, id),
    },
    {
      method: 'POST',
      path: '/v1/keys/{id}/rotate',
      tag: 'keys',
      summary: 'Give a key new material, as a new version',
      needs: { all: ['keys:write'] },
      body: resource.keyRotate,
      bodyOptional: true,
      answer: resource.key,
      handle: ({ caller, id, body }) => keys.rotate(caller, id, body),
    },
    {
      method: 'GET',
      path: '/v1/keys/{id}/versions',
      tag: 'keys',
      summary: 'List a key’s versions, newest first',
      needs: { all: ['keys:read'] },
      query: resource.versionQuery,
      answer: listOf(resource.version),
      handle: ({ caller, id, query }) => keys.versions(caller, id, query as PageQuery),
    },
    {
      method: 'POST',
      path: '/v1/keys/{id}/signing-request',
      tag: 'keys',
      summary: 'Make a certificate signing request with a stored key',
      needs: { all: ['certificates:write'] },
      body: resource.signingRequest,
      answer: resource.signingRequestAnswer,
      handle: ({ caller, id, body }) => {
        const { subject, sans = [] } = body as z.output<typeof resource.signingRequest>;
        return certificates.requestFor(caller, id, subject, sans);
      },
    },
  ];
}

function certificateRoutes({ certificates }: Domain): Route[] {
  return collectionRoutes({
    name: 'certificates',
    one: 'a certificate',
    schemas: {
      item: resource.certificate,
      query: resource.resourceQuery,
      create: resource.certificateCreate,
      update: resource.certificateUpdate,
    },
    service: certificates,
    trash: true,
  });
}

function accessRoutes({ accessKeys, publicTokens, apiKeys, members, organizations }: Domain): Route[] {
  return [
    ...collectionRoutes({
      name: 'access-keys',
      one: 'a vault access key',
      schemas: {
        item: access.accessKey,
        query: access.accessKeyQuery,
        create: access.accessKeyCreate,
        update: access.accessKeyUpdate,
      },
      service: accessKeys,
    }),
    ...collectionRoutes({
      name: 'public-tokens',
      one: 'a public token',
      schemas: {
        item: access.publicToken,
        query: access.publicTokenQuery,
        create: access.publicTokenCreate,
        update: access.publicTokenUpdate,
      },
      service: publicTokens,
    }),
    ...collectionRoutes({
      name: 'api-keys',
      one: 'an API key',
      schemas: {
        item: access.apiKey,
        query: searchQuery,
        create: access.apiKeyCreate,
        update: access.apiKeyUpdate,
      },
      service: apiKeys,
    }),
    ...collectionRoutes({
      name: 'members',
      one: 'a member',
      schemas: {
        item: access.member,
        query: searchQuery,
        create: access.memberCreate,
        update: access.memberUpdate,
      },
      service: members,
    }),
    {
      method: 'POST',
      path: '/v1/members/{id}/invitation',
      tag: 'members',
      summary: 'Make a new invitation; the member is signed out and proves himself anew by it',
      needs: { all: ['members:write'] },
      answer: access.member,
      handle: ({ caller, id }) => members.invite(caller, id),
    },
    {
      method: 'GET',
      path: '/v1/organization',
      tag: 'organization',
      summary: 'Get the organization that the key belongs to',
      needs: { all: ['organization:read'] },
      answer: access.organization,
      handle: ({ caller }) => organizations.get(caller),
    },
    {
      method: 'PUT',
      path: '/v1/organization',
      tag: 'organization',
      summary: 'Rename the organization',
      needs: { all: ['organization:write'] },
      body: access.organizationUpdate,
      answer: access.organization,
      handle: ({ caller, body }) => organizations.rename(caller, (body as { name?: string }).name),
    },
  ];
}

function overviewRoutes({ overviews }: Domain): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/overview',
      tag: 'overview',
      summary: 'What is read, what expires and what nobody uses, at a glance',
      needs: { all: ['organization:read'] },
      answer: overview.overview,
      handle: ({ caller }) => overviews.overview(caller),
    },
    {
      method: 'GET',
      path: '/v1/about',
      tag: 'overview',
      summary: 'What runs here: version, engine, root key provider and the log’s public key',
      needs: { all: ['organization:read'] },
      answer: overview.about,
      handle: ({ caller }) => overviews.about(caller),
    },
  ];
}

function logRoutes({ logs: service, logCheck }: Domain): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/request-logs',
      tag: 'request-logs',
      summary: 'List vault requests, newest first',
      needs: { all: ['logs:read'] },
      query: logs.requestLogQuery,
      answer: listOf(logs.requestLog),
      handle: ({ caller, query }) => service.requests(caller, query),
    },
    {
      method: 'GET',
      path: '/v1/request-logs/export',
      tag: 'request-logs',
      summary: 'Export vault requests as a stream of JSON Lines or CSV',
      needs: { all: ['logs:read'] },
      query: logs.requestLogExport,
      answer: z.string().meta({ example: '{"id":"0199a3c4-7f00-7abc-8def-0123456789ab","success":true}\n' }),
      answerTypes: ['application/jsonl', 'text/csv'],
      handle: async ({ caller, query, reply }) => {
        const { format, ...filter } = query as z.output<typeof logs.requestLogExport>;
        return exportRequestLog(reply, format, await service.exportRequests(caller, filter));
      },
    },
    {
      method: 'GET',
      path: '/v1/request-logs/{id}',
      tag: 'request-logs',
      summary: 'Get one entry of the request log',
      needs: { all: ['logs:read'] },
      answer: logs.requestLog,
      handle: ({ caller, id }) => service.request(caller, id),
    },
    {
      method: 'GET',
      path: '/v1/audit-logs',
      tag: 'audit-logs',
      summary: 'List changes, reveals and refusals, newest first',
      needs: { all: ['logs:read'] },
      query: logs.auditLogQuery,
      answer: listOf(logs.auditLog),
      handle: ({ caller, query }) => service.audits(caller, query),
    },
    {
      method: 'GET',
      path: '/v1/audit-logs/verification',
      tag: 'audit-logs',
      summary: 'Prove that no entry of the logs was edited, removed or cut off',
      needs: { all: ['logs:read'] },
      answer: logs.logVerification,
      handle: ({ caller }) => logCheck(caller),
    },
    {
      method: 'GET',
      path: '/v1/audit-logs/{id}',
      tag: 'audit-logs',
      summary: 'Get one entry of the audit log',
      needs: { all: ['logs:read'] },
      answer: logs.auditLog,
      handle: ({ caller, id }) => service.audit(caller, id),
    },
  ];
}
