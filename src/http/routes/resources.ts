/** Vaults, secrets, keys and certificates, in their own collections and as resources of any type. */
import { check } from '../../contract/check.ts';
import { listOf } from '../../contract/common.ts';
import * as resource from '../../contract/resources.ts';
import type { Domain } from '../../domain/domain.ts';
import type { Keys } from '../../domain/resources/keys.ts';
import type { Secrets } from '../../domain/resources/secrets.ts';
import { bulkSecrets, givenNames } from './bulk.ts';
import { collectionRoutes, warn } from './collection.ts';
import { manySecretRoutes } from './many-secrets.ts';
import { type Permissions, type Route, route } from './route.ts';

const resourceReads = ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'] as const;
const resourceWrites = ['vaults:write', 'secrets:write', 'keys:write', 'certificates:write'] as const;

const updateOf = {
  vault: resource.vaultUpdate,
  secret: resource.secretUpdate,
  key: resource.keyUpdate,
  certificate: resource.certificateUpdate,
} as const;

export function resourceRoutes(domain: Domain): Route<Permissions>[] {
  return [
    ...mixedRoutes(domain),
    ...collectionRoutes({
      name: 'vaults',
      one: 'a vault',
      schemas: {
        item: resource.vault,
        created: resource.vault,
        query: resource.resourceQuery,
        create: resource.vaultCreate,
        update: resource.vaultUpdate,
      },
      service: domain.vaults,
      looksAlike: domain.looksAlike,
      trash: true,
    }),
    route({
      method: 'GET',
      path: '/v1/vaults/counts',
      operationId: 'countVaults',
      tag: 'vaults',
      summary: 'Count the resources in vaults',
      needs: { all: ['vaults:read'] },
      query: resource.vaultCountsQuery,
      answer: resource.vaultCounts,
      handle: ({ caller, query }) => domain.vaults.counts(caller, query.vault_ids),
    }),
    ...secretRoutes(domain),
    ...manySecretRoutes(domain),
    ...keyRoutes(domain),
    ...certificateRoutes(domain),
  ];
}

function mixedRoutes({ resources, looksAlike }: Domain): Route<Permissions>[] {
  return [
    ...collectionRoutes({
      name: 'resources',
      one: 'a resource of any type',
      schemas: {
        item: resource.genericResource,
        created: resource.genericResource,
        query: resource.mixedQuery,
        create: resource.resourceCreate,
        update: resource.resourceUpdate,
      },
      changes: Object.values(updateOf),
      reads: { all: resourceReads },
      writes: { anyOf: resourceWrites },
      listNeeds: ({ type }) => ({ all: type === undefined ? resourceReads : [`${type}s:read`] }),
      createNeeds: ({ type = 'vault' }) => ({ all: [`${type}s:write`] }),
      service: {
        ...resources,
        create: (caller, { type = 'vault', ...body }) => resources.create(caller, { type, body }),
        update: (caller, id, body) => resources.update(caller, id, type => check(updateOf[type], body)),
      },
      looksAlike,
      trash: true,
    }),
    route({
      method: 'POST',
      path: '/v1/resources/{id}/restore',
      operationId: 'restoreResource',
      tag: 'resources',
      summary: 'Restore a deleted resource from the trash',
      needs: { anyOf: resourceWrites },
      answer: resource.genericResource,
      handle: ({ caller, id }) => resources.restore(caller, id),
    }),
  ];
}

function secretRoutes({ secrets, looksAlike }: Domain): Route<Permissions>[] {
  return [
    ...collectionRoutes({
      name: 'secrets',
      one: 'a secret',
      schemas: {
        item: resource.secret,
        created: resource.secret,
        query: resource.resourceQuery,
        create: resource.secretCreate,
        update: resource.secretUpdate,
      },
      service: secrets,
      looksAlike,
      trash: true,
    }),
    route({
      method: 'POST',
      path: '/v1/secrets/bulk',
      operationId: 'writeSecrets',
      tag: 'secrets',
      summary: 'Create or update up to 100 secrets, each with its own outcome',
      needs: { all: ['secrets:write'] },
      body: resource.bulkRequest,
      bodyDocumented: resource.bulkDocumented,
      answer: resource.bulkAnswer,
      handle: async ({ caller, body, askedAt, reply }) => {
        const answer = await bulkSecrets(secrets, caller, body.items, askedAt);
        warn(reply, await looksAlike(caller, 'secrets', givenNames(body.items, answer)));
        return answer;
      },
    }),
    route({
      method: 'POST',
      path: '/v1/secrets/{id}/reveal',
      operationId: 'revealSecret',
      tag: 'secrets',
      summary: 'Reveal a secret’s value; recorded in the audit log before it is returned',
      needs: { all: ['secrets:reveal'] },
      body: resource.secretReveal,
      bodyOptional: true,
      answer: resource.revealedSecret,
      handle: ({ caller, id, body }) => secrets.reveal(caller, id, body.version),
    }),
    versionsRoute('secrets', 'a secret’s', 'listSecretVersions', secrets),
    route({
      method: 'POST',
      path: '/v1/secrets/{id}/rollback',
      operationId: 'rollbackSecret',
      tag: 'secrets',
      summary: 'Roll back to an earlier version’s value, as a new version',
      needs: { all: ['secrets:write'] },
      body: resource.rollback,
      answer: resource.secret,
      handle: ({ caller, id, body }) => secrets.rollback(caller, id, body.version),
    }),
  ];
}

function keyRoutes({ keys, certificates, looksAlike }: Domain): Route<Permissions>[] {
  return [
    ...collectionRoutes({
      name: 'keys',
      one: 'a key',
      schemas: {
        item: resource.key,
        created: resource.key,
        query: resource.resourceQuery,
        create: resource.keyCreate,
        update: resource.keyUpdate,
      },
      service: keys,
      looksAlike,
      trash: true,
    }),
    route({
      method: 'POST',
      path: '/v1/keys/{id}/reveal',
      operationId: 'revealKey',
      tag: 'keys',
      summary: 'Reveal a key’s PEM; recorded in the audit log before it is returned',
      needs: { all: ['keys:reveal'] },
      answer: resource.revealedKey,
      handle: ({ caller, id }) => keys.reveal(caller, id),
    }),
    route({
      method: 'POST',
      path: '/v1/keys/{id}/rotate',
      operationId: 'rotateKey',
      tag: 'keys',
      summary: 'Rotate a key: new key material, as a new version',
      needs: { all: ['keys:write'] },
      body: resource.keyRotate,
      bodyOptional: true,
      answer: resource.key,
      handle: ({ caller, id, body }) => keys.rotate(caller, id, body),
    }),
    versionsRoute('keys', 'a key’s', 'listKeyVersions', keys),
    route({
      method: 'POST',
      path: '/v1/keys/{id}/signing-request',
      operationId: 'createSigningRequest',
      tag: 'keys',
      summary: 'Create a certificate signing request with a stored key',
      needs: { all: ['certificates:write', 'keys:read'] },
      body: resource.signingRequest,
      answer: resource.signingRequestAnswer,
      handle: ({ caller, id, body: { subject, sans = [] } }) =>
        certificates.requestFor(caller, id, subject, sans),
    }),
  ];
}

function certificateRoutes({ certificates, looksAlike }: Domain): Route<Permissions>[] {
  return collectionRoutes({
    name: 'certificates',
    one: 'a certificate',
    schemas: {
      item: resource.certificate,
      created: resource.certificate,
      query: resource.resourceQuery,
      create: resource.certificateCreate,
      update: resource.certificateUpdate,
    },
    service: certificates,
    looksAlike,
    trash: true,
  });
}

function versionsRoute(
  name: 'secrets' | 'keys',
  whose: string,
  operationId: string,
  { versions }: Pick<Secrets | Keys, 'versions'>,
): Route<Permissions> {
  return route({
    method: 'GET',
    path: `/v1/${name}/{id}/versions`,
    operationId,
    tag: name,
    summary: `List ${whose} versions, newest first`,
    needs: { all: [`${name}:read`] },
    query: resource.versionQuery,
    answer: listOf(resource.version),
    handle: ({ caller, id, query }) => versions(caller, id, query),
  });
}
