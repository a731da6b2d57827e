/** `GET /api/v1/vaults/{vault_id}`: turns a request into a vault read, and its outcome into bytes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { vaultReadQuery } from '../contract/vault-read.ts';
import type { Selection } from '../vault/answers.ts';
import type { Outcome } from '../vault/read.ts';
import type { AppParts } from './app.ts';
import { check } from './check.ts';
import { failureHeaders, messageBody } from './errors.ts';
import { bearerToken, originOf } from './request.ts';

const route = '/api/v1/vaults/{vault_id}';

export function mountVaultRead(app: FastifyInstance, parts: AppParts): void {
  app.get('/api/v1/vaults/:id', async (request, reply) => {
    const outcome = await parts.domain.vaultReads.request({
      token: bearerToken(request.headers.authorization),
      vaultId: (request.params as { id: string }).id,
      origin: originOf(request.raw, request.id, parts.addressOf),
      route,
      method: 'GET',
      tool: null,
      ifNoneMatch: request.headers['if-none-match'],
      selection: () => selectionOf(request),
    });
    return answer(outcome, parts, request, reply);
  });
}

function selectionOf(request: FastifyRequest): Selection {
  const { secrets, include = '', resource = null } = check(vaultReadQuery, request.query);
  return {
    namesOnly: secrets === 'names',
    keys: include.includes('keys'),
    certificates: include.includes('certificates'),
    resource,
  };
}

function answer(
  outcome: Outcome,
  parts: AppParts,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.header('strongroom-receipt', outcome.receipt);
  if ('failure' in outcome) {
    const { failure, status } = outcome;
    if (status >= 500) parts.onError(failure.cause ?? failure, request.id);
    return reply.code(status).headers(failureHeaders(failure)).send(messageBody(failure));
  }
  if ('etag' in outcome) return reply.code(304).header('etag', outcome.etag).send();
  const { body, contentType, etag } = outcome.answer;
  reply.header('content-type', contentType);
  if (contentType.startsWith('application/json')) reply.header('etag', etag);
  else reply.header('cache-control', 'no-store, no-cache, must-revalidate').header('pragma', 'no-cache');
  return reply.send(body);
}
