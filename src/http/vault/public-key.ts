/**
 * `GET /api/v1/public-key`, on the bare server next to the vault endpoint: returns the public key of a public token, as
 * PEM, and nothing else. Every request is recorded before it is answered, including refused ones.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../../contract/errors.ts';
import type { AnswerEncoding, ReadResult, RequestFacts } from '../../domain/reads/vault-request.ts';
import { bearerToken, faultOf, hasUnreadBody, isRead, senderOf } from '../listener/request.ts';
import { headersOnEvery } from '../listener/security-headers.ts';
import type { HandleRequest } from '../listener/server.ts';
import type { ReadingSurfaceParts } from '../surface/surface-parts.ts';
import { answeringWith, refusingWith } from './answers.ts';

const publicKeyRoute = '/api/v1/public-key';

const asPem: AnswerEncoding = {
  name: 'public-key',
  encode: body => Buffer.from((JSON.parse(body.toString('utf8')) as { pem: string }).pem, 'utf8'),
};

export function publicKeyHandler(parts: ReadingSurfaceParts): HandleRequest {
  const { vaultReads } = parts.domain;
  const refuse = refusingWith(parts);
  const answerWith = answeringWith(parts, 'vault_read', { answer, refuse });
  const onEvery = headersOnEvery(parts.encrypted, headers => headers);

  function factsOf(request: IncomingMessage): RequestFacts {
    return {
      sender: senderOf(request, parts.addressOf),
      requestId: null,
      route: publicKeyRoute,
      method: request.method!,
      tool: null,
      token: bearerToken(request.headers.authorization),
      vaultId: null,
      keyId: null,
    };
  }

  function answer(response: ServerResponse, result: ReadResult): void {
    const { requestId, receipt } = result;
    if ('failure' in result) {
      refuse(response, requestId, result.failure, receipt);
      return;
    }
    if (result.status === 304) throw new Error('unexpected 304: no digest was sent');
    response
      .writeHead(200, {
        ...onEvery(response.req),
        'X-Request-Id': requestId,
        'Strongroom-Receipt': receipt,
        'Cache-Control': 'no-store',
        'Content-Type': 'application/x-pem-file',
        'Content-Length': result.body.length,
        ...(parts.draining() ? { Connection: 'close' } : {}),
      })
      .end(result.body);
  }

  return (request, response) => {
    if (!isPublicKey(request.url!)) return false;
    const started = performance.now();
    if (hasUnreadBody(request)) response.shouldKeepAlive = false;
    const facts = factsOf(request);
    const fault = faultOf(request) ?? (isRead(request.method) ? null : new Failure('NOT_FOUND'));
    const reading =
      fault === null
        ? vaultReads.read({ ...facts, by: 'public-token' }, asPem)
        : vaultReads.refuse(facts, fault);
    answerWith(response, reading, started);
    return true;
  };
}

function isPublicKey(url: string): boolean {
  return url.startsWith(publicKeyRoute) && /^(?:\/?$|\/?\?)/.test(url.slice(publicKeyRoute.length));
}
