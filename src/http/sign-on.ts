/** The way to the issuer and back. Whatever goes wrong there ends on the sign-in page, which says so. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure, statusOf } from '../contract/errors.ts';
import { longestSession } from '../vault/accounts/sessions.ts';
import type { SingleSignOn } from '../vault/accounts/single-sign-on.ts';
import { cookieOf, sessionCookie, setCookie, signOnCookie } from './browser.ts';
import type { AppParts } from './parts.ts';
import { originOf } from './request.ts';

const signOnLifetime = 10 * 60_000;

export function mountSignOn(app: FastifyInstance, parts: AppParts, singleSignOn: SingleSignOn): void {
  const { accounts } = parts.domain;
  const noCookie = setCookie(signOnCookie, '', 0, 'Lax');

  function toSignIn(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    if (!(error instanceof Failure)) throw error;
    if (statusOf[error.code] >= 500) parts.onError(error.cause ?? error, request.id);
    return reply.header('set-cookie', noCookie).redirect(`/sign-in?error=${error.code}`);
  }

  app.get('/auth/oidc/start', async (request, reply) => {
    try {
      const callback = `${parts.siteOf(request.raw).origin}/auth/oidc/callback`;
      const { url, kept } = await singleSignOn.start(callback);
      return reply.header('set-cookie', setCookie(signOnCookie, kept, signOnLifetime, 'Lax')).redirect(url);
    } catch (error) {
      return toSignIn(error, request, reply);
    }
  });

  app.get('/auth/oidc/callback', async (request, reply) => {
    try {
      const origin = originOf(request.raw, request.id, parts.addressOf);
      const returned = new URL(request.url, parts.siteOf(request.raw).origin);
      const email = await singleSignOn.finish(returned, cookieOf(request.raw, signOnCookie));
      const token = await accounts.signIn.byVerifiedEmail(email, origin);
      const session = setCookie(sessionCookie, token, longestSession, 'Strict');
      return reply.header('set-cookie', [noCookie, session]).redirect('/');
    } catch (error) {
      return toSignIn(error, request, reply);
    }
  });
}
