/**
 * The ACME server (RFC 8555, RFC 9773): a directory for each profile that is switched on. Every answer has a new nonce,
 * and every refusal is a problem document that says why. What accounts are refused is also in the audit log.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AcmeProblem } from '../../contract/acme.ts';
import type { Failure } from '../../contract/errors.ts';
import { iso } from '../../contract/text.ts';
import type { Received } from '../../domain/authorities/acme-requests.ts';
import { failureHeaders, failureOf } from '../listener/errors.ts';
import { hasUnreadBody, originOf } from '../listener/request.ts';
import type { UnauthenticatedBodies } from '../listener/unauthenticated-bodies.ts';
import type { AppParts } from '../surface/surface-parts.ts';
import { shownAccount, shownAuthorization, shownOrder } from './shown.ts';

const largestBody = 128 * 1024;
const signedType = 'application/jose+json';
const problemType = 'application/problem+json';
/** In seconds: how often clients ask for renewal information. */
const askAgainAfter = 6 * 3_600;

interface Call {
  readonly received: Received;
  readonly base: string;
  readonly reply: FastifyReply;
  readonly id: string;
}

export function mountAcme(app: FastifyInstance, parts: AppParts, strangers: UnauthenticatedBodies): void {
  const { requests, accounts, orders } = parts.domain.acme;
  const profileIn = ({ params }: FastifyRequest) =>
    requests.profileOf((params as { profile: string }).profile);

  function originAt({ raw }: FastifyRequest): string {
    const site = parts.siteOf(raw);
    if (site === null)
      throw new AcmeProblem('unauthorized', 'this is not one of the service’s own addresses (--public-url)');
    return site.origin;
  }

  const baseOf = (request: FastifyRequest): string =>
    `${originAt(request)}/acme/${(request.params as { profile: string }).profile}`;

  async function receive(request: FastifyRequest): Promise<Received> {
    const profile = await profileIn(request);
    const url = `${originAt(request)}${request.raw.url}`;
    const origin = originOf(request.raw, request.id, parts.addressOf);
    return requests.receive(profile, { body: request.body, url, base: baseOf(request), origin });
  }

  app.register(async scope => {
    scope.removeContentTypeParser('application/json');
    scope.addContentTypeParser(signedType, { parseAs: 'string' }, (_request, body, done) => {
      try {
        done(null, JSON.parse(body as string));
      } catch {
        done(new AcmeProblem('malformed', 'the body must be JSON'));
      }
    });
    scope.setErrorHandler((error, request, reply) => answerProblem(parts, error, request, reply));
    scope.addHook('onRequest', async request => {
      if (request.method !== 'POST') return;
      strangers.admit(request.raw, originOf(request.raw, request.id, parts.addressOf).address, largestBody);
    });
    scope.addHook('onError', async ({ raw }, _reply, error) => {
      if (error instanceof AcmeProblem && error.type === 'malformed') strangers.garbled(raw);
    });
    scope.addHook('onSend', async (request, reply) => {
      reply.header('replay-nonce', requests.newNonce());
      if (parts.siteOf(request.raw) !== null)
        reply.header('link', [link(baseOf(request), 'directory', 'index'), ...linksOf(reply)]);
    });

    const root = '/acme/:profile';
    const post = (path: string, handle: (call: Call) => Promise<unknown>) =>
      scope.post(`${root}/${path}`, { bodyLimit: largestBody }, async (request, reply) => {
        const received = await receive(request);
        const { id = '' } = request.params as { id?: string };
        const refused = async (error: unknown) => {
          if (error instanceof AcmeProblem) await orders.noteRefusal(received, error);
          throw error;
        };
        return (await handle({ received, base: baseOf(request), reply, id }).catch(refused)) ?? reply;
      });

    scope.get(`${root}/directory`, async request => {
      await profileIn(request);
      const base = baseOf(request);
      return {
        newNonce: `${base}/new-nonce`,
        newAccount: `${base}/new-account`,
        newOrder: `${base}/new-order`,
        revokeCert: `${base}/revoke-cert`,
        keyChange: `${base}/key-change`,
        renewalInfo: `${base}/renewal-info`,
        meta: { externalAccountRequired: true },
      };
    });
    scope.get(`${root}/new-nonce`, async (request, reply) => {
      await profileIn(request);
      return reply.code(request.method === 'HEAD' ? 200 : 204).send();
    });
    scope.get(`${root}/renewal-info/*`, async (request, reply) => {
      const named = (request.params as Record<string, string>)['*'] ?? '';
      const { start, end } = await orders.renewalWindow(await profileIn(request), named);
      reply.header('retry-after', String(askAgainAfter));
      return { suggestedWindow: { start: iso(start), end: iso(end) } };
    });

    post('new-account', async ({ received, base, reply }) => {
      if (received.account !== null) throw new AcmeProblem('malformed', 'the protected header must have jwk');
      const { row, isNew } = await accounts.create(received);
      reply.header('location', `${base}/account/${row.id}`);
      return reply.code(isNew ? 201 : 200).send(shownAccount(row, base));
    });
    post('account/:id', async ({ received, base, id, reply }) => {
      if (received.account?.id !== id) throw new AcmeProblem('unauthorized', 'the account is another one');
      return reply.send(shownAccount(await accounts.update(received), base));
    });
    post('account/:id/orders', async ({ received, id, reply }) => {
      if (received.account?.id !== id) throw new AcmeProblem('unauthorized', 'the account is another one');
      return reply.send({ orders: [] });
    });
    post('key-change', async ({ received, base, reply }) =>
      reply.send(shownAccount(await accounts.changeKey(received, base), base)),
    );
    post('new-order', async ({ received, base, reply }) => {
      const order = await orders.create(received);
      reply.header('location', `${base}/order/${order.id}`);
      return reply.code(201).send(shownOrder(order, base, await orders.renewalName(received, order)));
    });
    post('order/:id', async ({ received, base, id, reply }) => {
      const order = await orders.find(received, id);
      return reply.send(shownOrder(order, base, await orders.renewalName(received, order)));
    });
    post('authz/:id', async ({ received, id, reply }) => {
      const [orderId = '', at = ''] = id.split('.');
      return reply.send(shownAuthorization(await orders.find(received, orderId), Number(at)));
    });
    post('order/:id/finalize', async ({ received, base, id, reply }) => {
      const order = await orders.finalize(received, id);
      reply.header('location', `${base}/order/${order.id}`);
      return reply.send(shownOrder(order, base, await orders.renewalName(received, order)));
    });
    post('cert/:id', async ({ received, id, reply }) =>
      reply
        .header('content-type', 'application/pem-certificate-chain')
        .send(await orders.certificate(received, id)),
    );
    post('revoke-cert', async ({ received, reply }) => {
      await orders.revoke(received);
      return reply.code(200).send();
    });
  });
}

function link(base: string, path: string, relation: string): string {
  return `<${base}/${path}>;rel="${relation}"`;
}

function linksOf(reply: FastifyReply): string[] {
  const held = reply.getHeader('link');
  return held === undefined ? [] : [String(held)];
}

function answerProblem(parts: AppParts, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (hasUnreadBody(request.raw)) reply.header('connection', 'close');
  const problem = error instanceof AcmeProblem ? error : problemFor(parts, error, request, reply);
  reply.code(problem.status).headers(problem.headers).header('content-type', problemType);
  reply.send(Buffer.from(JSON.stringify(problem.body()), 'utf8')); // A string would get a charset.
}

function problemFor(
  parts: AppParts,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): AcmeProblem {
  const failure = failureOf(error);
  reply.headers(failureHeaders(failure));
  const known = problems[failure.code];
  if (known !== undefined) return known(failure);
  parts.onError(failure.cause ?? failure, request.id);
  const status = failure.code === 'UNAVAILABLE' ? 503 : 500;
  return new AcmeProblem('serverInternal', 'something went wrong on the server; try again later', { status });
}

const problems: Readonly<Record<string, (failure: Failure) => AcmeProblem>> = {
  NOT_FOUND: () => new AcmeProblem('malformed', 'there is nothing at this address', { status: 404 }),
  INVALID_REQUEST: ({ field, reason }) =>
    new AcmeProblem(
      'malformed',
      field === 'content-type' ? `the content type must be ${signedType}` : `${field} ${reason}`.trim(),
    ),
  CONFLICT: ({ message }) => new AcmeProblem('malformed', message, { status: 409 }),
  RATE_LIMITED: ({ message }) => new AcmeProblem('rateLimited', message),
};
