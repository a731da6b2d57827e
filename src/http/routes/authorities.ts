/** Certificate authorities, their profiles, and the certificates that they issued. */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import * as authorities from '../../contract/authorities.ts';
import { listOf } from '../../contract/common.ts';
import * as certificates from '../../contract/issued-certificates.ts';
import type { Domain } from '../../domain/domain.ts';
import { collectionRoutes } from './collection.ts';
import { type Permissions, type Route, route } from './route.ts';

const pemType = 'application/x-pem-file';
const chainType = 'application/pem-certificate-chain';
const listType = 'application/pkix-crl';
const chain = z.string().meta({ example: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n' });
const list = z
  .string()
  .meta({ format: 'binary', example: '-----BEGIN X509 CRL-----\n…\n-----END X509 CRL-----\n' });

export function authorityRoutes(domain: Domain): Route<Permissions>[] {
  const { looksAlike, issuedCertificates: issued, revocationLists } = domain;
  return [
    ...collectionRoutes(looksAlike, {
      name: 'authorities',
      one: 'a certificate authority',
      item: authorities.authority,
      query: authorities.authorityQuery,
      create: authorities.authorityCreate,
      update: authorities.authorityUpdate,
      gives: { all: ['authorities:write', 'keys:use'] },
      service: domain.authorities,
    }),
    route('GET /v1/authorities/{id}/chain', {
      operationId: 'getAuthorityChain',
      summary: 'Get the certificate of an authority and those above it, as PEM, for clients to trust',
      needs: { all: ['authorities:read'] },
      answer: chain,
      answerTypes: [chainType],
      handle: async ({ permits: [permit], id, reply }) =>
        sent(reply, chainType, await domain.authorities.chain(permit, id)),
    }),
    route('GET /v1/authorities/{id}/crl', {
      operationId: 'getRevocationList',
      summary:
        'Get the revocation list (CRL) of an authority; DER, or PEM if Accept prefers application/x-pem-file',
      needs: { all: ['authorities:read'] },
      answer: list,
      answerTypes: [listType, pemType],
      handle: async ({ permits: [permit], id, reply }) => {
        const { der, pem } = await revocationLists.get(permit, id);
        const isPem = acceptsPem(reply.request.headers.accept);
        return isPem ? sent(reply, pemType, pem) : sent(reply, listType, der);
      },
    }),
    ...collectionRoutes(looksAlike, {
      name: 'profiles',
      one: 'a profile for certificates',
      item: authorities.profile,
      query: authorities.profileQuery,
      create: authorities.profileCreate,
      update: authorities.profileUpdate,
      gives: { all: ['profiles:write', 'keys:use'] },
      service: domain.profiles,
    }),
    route('POST /v1/profiles/{id}/issue', {
      operationId: 'issueCertificate',
      summary:
        'Issue a certificate, for a signing request or for names; a private key that is created is shown once',
      needs: { together: ['issued-certificates:write', 'keys:use'] },
      body: certificates.certificateIssue,
      answer: certificates.newCertificate,
      handle: ({ permits: [permit], id, body }) => issued.issue(permit, id, body),
    }),
    route('POST /v1/profiles/{id}/acme-binding', {
      operationId: 'bindAcmeClient',
      summary: 'Get what an ACME client needs to register an account, bound to an access key',
      needs: { together: ['issued-certificates:write', 'keys:use', 'access-keys:write'] },
      body: authorities.acmeBind,
      answer: authorities.acmeBinding,
      handle: ({ permits: [permit], id, body }) => domain.acme.accounts.bind(permit, id, body.access_key_id),
    }),
    route('GET /v1/issued-certificates', {
      operationId: 'listIssuedCertificates',
      summary: 'List certificates that were issued, newest first',
      needs: { all: ['issued-certificates:read'] },
      query: certificates.issuedQuery,
      answer: listOf(certificates.issuedCertificate),
      handle: ({ permits: [permit], query }) => issued.list(permit, query),
    }),
    route('GET /v1/issued-certificates/{id}', {
      operationId: 'getIssuedCertificate',
      summary: 'Get a certificate that was issued',
      needs: { all: ['issued-certificates:read'] },
      answer: certificates.issuedCertificate,
      handle: ({ permits: [permit], id }) => issued.get(permit, id),
    }),
    route('POST /v1/issued-certificates/{id}/revoke', {
      operationId: 'revokeCertificate',
      summary: 'Revoke a certificate: it is in the revocation list from then on',
      needs: { all: ['issued-certificates:write'] },
      body: certificates.certificateRevoke,
      bodyOptional: true,
      answer: certificates.issuedCertificate,
      handle: ({ permits: [permit], id, body }) => issued.revoke(permit, id, body),
    }),
  ];
}

function sent(reply: FastifyReply, type: string, body: string | Buffer): FastifyReply {
  return reply.header('content-type', type).send(body);
}

function acceptsPem(accept: string | undefined): boolean {
  return accept !== undefined && /pem/i.test(accept) && !accept.includes(listType);
}
