/** Vaults, secrets, keys and certificates, in their own collections and as resources of any type. */

import type { z } from 'zod';
import { once } from '../../base/memo.ts';
import { check } from '../../contract/check.ts';
import { listOf } from '../../contract/common.ts';
import * as resource from '../../contract/resources.ts';
import { oneTimeCode } from '../../contract/vault-read.ts';
import type { Domain } from '../../domain/domain.ts';
import type { Collection } from '../../domain/kernel/collection.ts';
import type { SecretWrite } from '../../domain/resources/bulk-writes.ts';
import { answerOf, bulkSecrets, givenNames, statusOfBulk } from './bulk.ts';
import { collectionRoutes, warn } from './collection.ts';
import { type Permissions, type Route, route } from './route.ts';

const resourceReads = ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'] as const;
const resourceWrites = ['vaults:write', 'secrets:write', 'keys:write', 'certificates:write'] as const;

const updateOf = {
  vault: resource.vaultUpdate,
  secret: resource.secretUpdate,
  key: resource.keyUpdate,
  certificate: resource.certificateUpdate,
} as const;

type Mixed = Collection<
  `${resource.ResourceType}s`,
  resource.GenericResource,
  z.output<typeof resource.resourceCreate>,
  z.output<typeof resource.resourceUpdate>,
  resource.MixedQuery
>;

export function resourceRoutes(domain: Domain): Route<Permissions>[] {
  return [
    ...mixedRoutes(domain),
    ...collectionRoutes(domain.looksAlike, {
      name: 'vaults',
      one: 'a vault',
      item: resource.vault,
      query: resource.resourceQuery,
      create: resource.vaultCreate,
      update: resource.vaultUpdate,
      service: domain.vaults,
      trash: true,
    }),
    route('GET /v1/vaults/counts', {
      operationId: 'countVaults',
      summary: 'Count the resources in vaults',
      needs: { all: ['vaults:read'] },
      query: resource.vaultCountsQuery,
      answer: resource.vaultCounts,
      handle: ({ permits: [permit], query }) => domain.vaults.counts(permit, query.vault_ids),
    }),
    ...secretRoutes(domain),
    ...manySecretRoutes(domain),
    ...keyRoutes(domain),
    ...certificateRoutes(domain),
  ];
}

function mixedRoutes({ resources, looksAlike }: Domain): Route<Permissions>[] {
  const service: Mixed = {
    ...resources,
    create: (permit, { type = 'vault', ...body }) => resources.create(permit, { type, body }),
    update: (permit, id, body) => resources.update(permit, id, type => check(updateOf[type], body)),
  };
  return [
    ...collectionRoutes(looksAlike, {
      name: 'resources',
      one: 'a resource of any type',
      item: resource.genericResource,
      query: resource.mixedQuery,
      create: resource.resourceCreate,
      update: resource.resourceUpdate,
      changes: Object.values(updateOf),
      nouns: ['vaults', 'secrets', 'keys', 'certificates'],
      reads: { together: resourceReads },
      writes: { anyOf: resourceWrites },
      listNeeds: ({ type }) =>
        type === undefined ? { together: resourceReads } : { all: [`${type}s:read`] },
      createNeeds: ({ type = 'vault' }) => ({ all: [`${type}s:write`] }),
      service,
      trash: true,
    }),
    route('POST /v1/resources/{id}/restore', {
      operationId: 'restoreResource',
      summary: 'Restore a deleted resource from the trash',
      needs: { anyOf: resourceWrites },
      answer: resource.genericResource,
      handle: ({ permits: [permit], id }) => resources.restore(permit, id),
    }),
  ];
}

function secretRoutes({ secrets, usedBy, looksAlike, guard }: Domain): Route<Permissions>[] {
  return [
    ...collectionRoutes(looksAlike, {
      name: 'secrets',
      one: 'a secret',
      item: resource.secret,
      query: resource.resourceQuery,
      create: resource.secretCreate,
      update: resource.secretUpdate,
      service: secrets,
      trash: true,
    }),
    route('POST /v1/secrets/bulk', {
      operationId: 'writeSecrets',
      summary: 'Create or update up to 100 secrets, each with its own outcome',
      needs: { all: ['secrets:write'] },
      body: resource.bulkRequest,
      bodyDocumented: resource.bulkDocumented,
      answer: resource.bulkAnswer,
      handle: async ({ caller, permits: [permit], body, askedAt, reply, notice }) => {
        const reading = once(() => guard.admit(caller, 'secrets:read'));
        const get = async (id: string) => secrets.get(await reading(), id);
        const write = (items: readonly SecretWrite[]) => secrets.writeAll(permit, items);
        const answer = await bulkSecrets(write, get, body.items, askedAt, notice);
        reply.code(statusOfBulk(answer));
        warn(reply, await looksAlike(caller, 'secrets', givenNames(body.items, answer)));
        return answer;
      },
    }),
    route('POST /v1/secrets/{id}/reveal', {
      operationId: 'revealSecret',
      summary: 'Reveal a secret’s value; recorded in the audit log before it is returned',
      needs: { all: ['secrets:reveal'] },
      body: resource.secretReveal,
      bodyOptional: true,
      answer: resource.revealedSecret,
      handle: ({ permits: [permit], id, body }) => secrets.reveal(permit, id, body.version, body.resolve),
    }),
    route('GET /v1/secrets/{id}/references', {
      operationId: 'getSecretReferences',
      summary: 'Show what a secret refers to, and which templates contain it',
      needs: { all: ['secrets:read'] },
      answer: resource.secretLinks,
      handle: ({ permits: [permit], id }) => usedBy.of(permit, id),
    }),
    route('GET /v1/vaults/{id}/references', {
      operationId: 'getVaultReferences',
      tag: 'vaults',
      summary: 'Show which templates of other vaults refer to the secrets of a vault',
      needs: { all: ['vaults:read', 'secrets:read'] },
      answer: resource.vaultLinks,
      handle: ({ permits: [permit, reading], id }) => usedBy.ofVault(permit, reading, id),
    }),
    route('POST /v1/secrets/{id}/code', {
      operationId: 'showOneTimeCode',
      summary:
        'Show the current one-time code of a secret that is an `otpauth://totp/` address; recorded in the audit log',
      needs: { all: ['secrets:reveal'] },
      answer: oneTimeCode,
      handle: ({ permits: [permit], id }) => secrets.code(permit, id),
    }),
    route('GET /v1/secrets/{id}/versions', {
      ...versionsOf('a secret’s', 'listSecretVersions'),
      needs: { all: ['secrets:read'] },
      handle: ({ permits: [permit], id, query }) => secrets.versions(permit, id, query),
    }),
    route('POST /v1/secrets/{id}/rollback', {
      operationId: 'rollbackSecret',
      summary: 'Roll back to an earlier version’s value, as a new version',
      needs: { all: ['secrets:write'] },
      body: resource.rollback,
      answer: resource.secret,
      handle: ({ permits: [permit], id, body }) => secrets.rollback(permit, id, body.version),
    }),
  ];
}

/** Reveals, copies or compares many secrets in one request. */
function manySecretRoutes({ manySecrets, comparisons }: Domain): Route<Permissions>[] {
  return [
    route('POST /v1/secrets/reveal', {
      operationId: 'revealSecrets',
      summary: 'Reveal the values of up to 100 secrets; each is recorded in the audit log',
      needs: { all: ['secrets:reveal'] },
      body: resource.secretsReveal,
      answer: resource.revealedSecrets,
      handle: ({ permits: [permit], body }) => manySecrets.reveal(permit, body.secret_ids),
    }),
    route('POST /v1/secrets/copy', {
      operationId: 'copySecrets',
      summary: 'Copy or move up to 100 secrets to another vault, each with its own outcome',
      needs: { all: ['secrets:reveal', 'secrets:write'] },
      body: resource.secretsCopy,
      answer: resource.bulkAnswer,
      handle: async ({ permits: [revealing, writing], body, reply, notice }) => {
        const answer = answerOf(await manySecrets.copy(revealing, writing, body), notice);
        reply.code(statusOfBulk(answer));
        return answer;
      },
    }),
    route('POST /v1/secrets/compare', {
      operationId: 'compareSecrets',
      summary:
        'Compare up to 100 values with those of a vault; recorded in the audit log, up to 1,200 values per minute',
      needs: { all: ['secrets:reveal'] },
      body: resource.secretsCompare,
      answer: resource.comparedSecrets,
      handle: ({ permits: [permit], body }) => comparisons.compare(permit, body),
    }),
    route('POST /v1/vaults/compare', {
      operationId: 'compareVaults',
      summary: 'Compare the secrets of up to 8 vaults without revealing them',
      needs: { all: ['secrets:read'] },
      body: resource.vaultsCompare,
      answer: resource.comparedVaults,
      handle: ({ permits: [permit], body }) => comparisons.compareVaults(permit, body),
    }),
  ];
}

function keyRoutes({ keys, certificates, looksAlike }: Domain): Route<Permissions>[] {
  return [
    ...collectionRoutes(looksAlike, {
      name: 'keys',
      one: 'a key',
      item: resource.key,
      query: resource.resourceQuery,
      create: resource.keyCreate,
      update: resource.keyUpdate,
      service: keys,
      trash: true,
    }),
    route('POST /v1/keys/{id}/reveal', {
      operationId: 'revealKey',
      summary: 'Reveal a key’s PEM; recorded in the audit log before it is returned',
      needs: { all: ['keys:reveal'] },
      answer: resource.revealedKey,
      handle: ({ permits: [permit], id }) => keys.reveal(permit, id),
    }),
    route('POST /v1/keys/{id}/rotate', {
      operationId: 'rotateKey',
      summary: 'Rotate a key: new key material, as a new version',
      needs: { all: ['keys:write'] },
      body: resource.keyRotate,
      bodyOptional: true,
      answer: resource.key,
      handle: ({ permits: [permit], id, body }) => keys.rotate(permit, id, body),
    }),
    route('GET /v1/keys/{id}/versions', {
      ...versionsOf('a key’s', 'listKeyVersions'),
      needs: { all: ['keys:read'] },
      handle: ({ permits: [permit], id, query }) => keys.versions(permit, id, query),
    }),
    route('POST /v1/keys/{id}/signing-request', {
      operationId: 'createSigningRequest',
      summary: 'Create a certificate signing request with a stored key',
      needs: { all: ['certificates:write', 'keys:read'] },
      body: resource.signingRequest,
      answer: resource.signingRequestAnswer,
      handle: ({ permits: [permit], id, body: { subject, sans = [] } }) =>
        certificates.requestFor(permit, id, subject, sans),
    }),
  ];
}

function certificateRoutes({ certificates, looksAlike }: Domain): Route<Permissions>[] {
  return [
    ...collectionRoutes(looksAlike, {
      name: 'certificates',
      one: 'a certificate',
      item: resource.certificate,
      query: resource.resourceQuery,
      create: resource.certificateCreate,
      update: resource.certificateUpdate,
      service: certificates,
      trash: true,
    }),
    route('GET /v1/certificates/{id}/versions', {
      ...versionsOf('a certificate’s', 'listCertificateVersions'),
      needs: { all: ['certificates:read'] },
      answer: listOf(resource.certificateVersion),
      handle: ({ permits: [permit], id, query }) => certificates.versions(permit, id, query),
    }),
    route('POST /v1/certificates/{id}/rollback', {
      operationId: 'rollbackCertificate',
      summary: 'Roll back to an earlier version of a certificate and of its private key, as a new version',
      needs: { all: ['certificates:write'] },
      body: resource.rollback,
      answer: resource.certificate,
      handle: ({ permits: [permit], id, body }) => certificates.rollback(permit, id, body.version),
    }),
    route('POST /v1/certificates/{id}/signing-request', {
      operationId: 'createRenewalRequest',
      summary: 'Create a signing request with a certificate’s private key, to renew the certificate',
      needs: { all: ['certificates:write', 'keys:read'] },
      body: resource.renewalRequest,
      bodyOptional: true,
      answer: resource.signingRequestAnswer,
      handle: ({ permits: [permit], id, body }) => certificates.renewalRequest(permit, id, body),
    }),
  ];
}

function versionsOf(whose: string, operationId: string) {
  return {
    operationId,
    summary: `List ${whose} versions, newest first`,
    query: resource.versionQuery,
    answer: listOf(resource.version),
  } as const;
}
