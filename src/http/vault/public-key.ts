/**
 * `GET /api/v1/public-key`, on the bare server next to the vault endpoint: returns the public key of a public token, as
 * PEM, and nothing else. Every request is recorded before it is answered, including refused ones.
 */
import { Failure } from '../../contract/errors.ts';
import type { AnswerEncoding } from '../../domain/reads/vault-request.ts';
import { bearerToken, faultOf, hasUnreadBody, isRead } from '../listener/request.ts';
import type { HandleRequest } from '../listener/server.ts';
import type { ReadingSurfaceParts } from '../surface/surface-parts.ts';
import { answeringWith, factsOf, refusingWith, writingWith } from './answers.ts';

const publicKeyRoute = '/api/v1/public-key';

const asPem: AnswerEncoding = {
  name: 'public-key',
  encode: body => Buffer.from((JSON.parse(body.toString('utf8')) as { pem: string }).pem, 'utf8'),
};

export function publicKeyHandler(parts: ReadingSurfaceParts): HandleRequest {
  const { vaultReads } = parts.domain;
  const write = writingWith(parts);
  const answerWith = answeringWith(parts, 'vault_read', {
    answer: (response, result) => {
      if (result.status === 304) throw new Error('unexpected 304: no digest was sent');
      write(response, result, 200, 'application/x-pem-file', result.body);
    },
    refuse: refusingWith(parts),
  });

  return (request, response) => {
    if (!isPublicKey(request.url!)) return false;
    const started = performance.now();
    if (hasUnreadBody(request)) response.shouldKeepAlive = false;
    const facts = factsOf(parts, request, publicKeyRoute, bearerToken(request.headers.authorization));
    const fault = faultOf(request) ?? (isRead(request.method) ? null : new Failure('NOT_FOUND'));
    const reading =
      fault === null
        ? vaultReads.read({ ...facts, by: 'public-token', encoding: asPem })
        : vaultReads.refuse(facts, fault);
    answerWith(response, reading, started);
    return true;
  };
}

function isPublicKey(url: string): boolean {
  return url.startsWith(publicKeyRoute) && /^(?:\/?$|\/?\?)/.test(url.slice(publicKeyRoute.length));
}
