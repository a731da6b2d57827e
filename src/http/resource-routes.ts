/** Vaults, secrets, keys and certificates, one by one and all together. */
import type { z } from 'zod';
import { check } from '../contract/check.ts';
import type { PageQuery } from '../contract/common.ts';
import { listOf } from '../contract/common.ts';
import * as resource from '../contract/resources.ts';
import type { Domain } from '../vault/domain.ts';
import { bulkSecrets } from './bulk.ts';
import { collectionRoutes } from './collection.ts';
import type { Route } from './route.ts';

const resourceReads = ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'] as const;
const resourceWrites = ['vaults:write', 'secrets:write', 'keys:write', 'certificates:write'] as const;

const updateOf = {
  vault: resource.vaultUpdate,
  secret: resource.secretUpdate,
  key: resource.keyUpdate,
  certificate: resource.certificateUpdate,
} as const;

export function resourceRoutes(domain: Domain): Route[] {
  return [
    ...mixedRoutes(domain),
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
  ];
}

function mixedRoutes({ resources }: Domain): Route[] {
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
