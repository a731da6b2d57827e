/** Issuers of short-lived credentials, and the leases that they gave. */
import { deletion, listOf } from '../../contract/common.ts';
import * as issuers from '../../contract/issuers.ts';
import type { Domain } from '../../domain/domain.ts';
import { collectionRoutes } from './collection.ts';
import { deletedAfter, type Permissions, type Route, route } from './route.ts';

export function issuerRoutes(domain: Domain): Route<Permissions>[] {
  const { looksAlike, leases } = domain;
  const { remove, ...service } = domain.issuers;
  const collection = collectionRoutes(looksAlike, {
    name: 'issuers',
    one: 'an issuer of short-lived credentials',
    item: issuers.issuer,
    query: issuers.issuerQuery,
    create: issuers.issuerCreate,
    update: issuers.issuerUpdate,
    // What an issuer creates is as good as a secret.
    gives: { all: ['issuers:write', 'secrets:reveal'] },
    service: { ...service, remove: (permit, id) => remove(permit, id, false) },
  });
  return [
    ...collection.filter(({ method }) => method !== 'DELETE'),
    route('DELETE /v1/issuers/{id}', {
      operationId: 'deleteIssuer',
      summary: 'Delete an issuer; one with leases only with revoke=true, once they are gone',
      needs: { all: ['issuers:write'] },
      query: issuers.issuerDeleteQuery,
      answer: deletion,
      handle: ({ permits: [permit], id, query }) => deletedAfter(id, remove(permit, id, query.revoke)),
    }),
    route('POST /v1/issuers/{id}/check', {
      operationId: 'checkIssuer',
      summary: 'Try an issuer’s connection, and list what its user lacks, with the statements that fix it',
      needs: { all: ['issuers:write'] },
      answer: issuers.issuerCheck,
      handle: ({ permits: [permit], id }) => service.check(permit, id),
    }),
    route('GET /v1/leases', {
      operationId: 'listLeases',
      summary: 'List credentials that were issued, newest first',
      needs: { all: ['leases:read'] },
      query: issuers.leaseQuery,
      answer: listOf(issuers.lease),
      handle: ({ permits: [permit], query }) => leases.list(permit, query),
    }),
    route('GET /v1/leases/{id}', {
      operationId: 'getLease',
      summary: 'Get a lease, without its password, which is not stored',
      needs: { all: ['leases:read'] },
      answer: issuers.lease,
      handle: ({ permits: [permit], id }) => leases.get(permit, id),
    }),
    route('POST /v1/leases/{id}/renew', {
      operationId: 'renewLease',
      summary: 'Renew a lease, at most until it ends',
      needs: { all: ['leases:write'] },
      body: issuers.leaseRenew,
      bodyOptional: true,
      answer: issuers.lease,
      handle: ({ permits: [permit], id, body }) => leases.renew(permit, id, body),
    }),
    route('POST /v1/leases/{id}/revoke', {
      operationId: 'revokeLease',
      summary: 'Revoke a lease: its credential is removed soon after, however long that takes',
      needs: { all: ['leases:write'] },
      answer: issuers.lease,
      handle: ({ permits: [permit], id }) => leases.revoke(permit, id),
    }),
  ];
}
