/**
 * Vault's dialect on the management plane: reads and writes with API keys, logins, and token calls of access keys. API
 * key calls are calls of the general API, with the same plan limit, permissions, audit entries and events. A call of an
 * access key is counted and recorded like its reads, before its body is read.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import { noticeOf, ProposalMade } from '../../domain/resources/review.ts';
import { failureHeaders, failureOf } from '../listener/errors.ts';
import { parseJson } from '../listener/json.ts';
import { planLimit } from '../listener/plan-limit.ts';
import { hasUnreadBody, originOf } from '../listener/request.ts';
import type { UnauthenticatedBodies } from '../listener/unauthenticated-bodies.ts';
import { provenAgain } from '../routes/route.ts';
import type { AppParts } from '../surface/surface-parts.ts';
import { apiKeyCallsWith } from './api-key-calls.ts';
import { type DialectAnswer, type DialectCall, exactJson } from './calls.ts';
import { contentType, envelopeOf, errorsOf, identified, proposalForm, statusFor } from './forms.ts';
import { LoginRefused, loginCall } from './logins.ts';
import { isApiKey, type Target, targetOf, tokenIn, unmetHeader } from './target.ts';
import { tokenCallsWith } from './tokens.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
/** In bytes: enough for any login token, with room to spare. */
const largestStranger = 64 * 1024;

export function mountDialect(app: FastifyInstance, parts: AppParts, strangers: UnauthenticatedBodies): void {
  const { domain, now, countRequests, addressOf } = parts;
  const take = planLimit({ count: countRequests, now, limitOf: domain.organizations.limit });
  const apiKeyCalls = apiKeyCallsWith(parts);
  const tokenCalls = tokenCallsWith(parts);
  const callers = new WeakMap<FastifyRequest, Caller>();

  const proof = (request: FastifyRequest) => () =>
    domain.authenticate.apiKey(tokenIn(request.headers), originOf(request.raw, request.id, addressOf));

  /** Checks the caller before any byte of the body is read. */
  async function approach(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const asked = targetOf(request.url);
    const { address } = originOf(request.raw, request.id, addressOf);
    if (asked.of === 'login') {
      checkLogin(request);
      strangers.admit(request.raw, address, largestStranger);
      return;
    }
    if (isApiKey(tokenIn(request.headers))) {
      const caller = await proof(request)();
      callers.set(request, caller);
      await take(caller.organizationId, reply);
    } else if (asked.of === 'token') await tokenCalls.admit(callOf(request), asked.call);
    else throw new Failure('UNAUTHORIZED');
    const unmet = unmetHeader(request.headers);
    if (unmet !== null) throw unmet;
  }

  /** Checks the method before an unauthenticated body is read. */
  function checkLogin({ method }: FastifyRequest): void {
    if (method !== 'POST' && method !== 'PUT')
      throw new Failure('NOT_FOUND', { message: 'unsupported path' });
  }

  /** Whether an unauthenticated body was malformed, which counts against its sender's address. */
  function isGarbled(request: FastifyRequest, failure: Failure): boolean {
    const isStranger = targetOf(request.url).of === 'login';
    return isStranger && failure.code === 'INVALID_REQUEST' && !(failure instanceof LoginRefused);
  }

  function callOf(request: FastifyRequest): DialectCall {
    return {
      method: request.method,
      url: request.url,
      body: request.body,
      token: tokenIn(request.headers),
      origin: originOf(request.raw, request.id, addressOf),
    };
  }

  async function answerTo(request: FastifyRequest, asked: Target): Promise<DialectAnswer> {
    const call = callOf(request);
    if (asked.of === 'login') return loginCall(call, asked.mount, domain.logins);
    const before = callers.get(request);
    if (before === undefined && asked.of === 'token') return tokenCalls.answer(call, asked.call);
    const withdrawn = (verb: string) => domain.guard.withdrawn(before!, verb);
    const caller = await provenAgain(request, before!, proof(request), withdrawn);
    return apiKeyCalls(call, asked, caller);
  }

  app.register(async dialect => {
    takeAnyType(dialect);
    dialect.setErrorHandler((error, request, reply) => {
      if (error instanceof ProposalMade) {
        const proposal = noticeOf(error, parts.siteOf(request.raw)?.origin);
        return sent(reply.code(202), identified(proposalForm(proposal), request.id));
      }
      const failure = failureOf(error);
      if (statusFor(failure) >= 500) parts.onError(failure.cause ?? failure, request.id);
      if (isGarbled(request, failure)) strangers.garbled(request.raw);
      if (hasUnreadBody(request.raw)) reply.header('connection', 'close');
      reply.code(statusFor(failure)).headers(failureHeaders(failure));
      return sent(reply, Buffer.from(JSON.stringify(errorsOf(failure))));
    });
    for (const url of ['/vault', '/vault/*'])
      dialect.route({
        method: [...methods],
        url,
        onRequest: approach,
        handler: async (request, reply) => {
          const answer = await answerTo(request, targetOf(request.url));
          if (answer.status === 204) return reply.code(204).send();
          return sent(reply.code(answer.status), identified(envelopeOf(answer), request.id));
        },
      });
  });
}

/** Sends bytes, because the framework adds a charset to text. */
function sent(reply: FastifyReply, body: Buffer): FastifyReply {
  return reply.header('content-type', contentType).send(body);
}

/** Vault reads every body as JSON, whatever its content type, and most of its clients send none. */
function takeAnyType(dialect: FastifyInstance): void {
  dialect.removeAllContentTypeParsers();
  dialect.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      if (body.length > 0) parseJson(body as Buffer); // Refuses unsafe JSON.
      done(null, body.length === 0 ? undefined : exactJson(body.toString('utf8')));
    } catch (error) {
      done(error as Error);
    }
  });
}
