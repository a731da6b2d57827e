/**
 * Single sign-on: redirects to the issuer and handles the return. A failure leads to the sign-in page without details;
 * the operator's log has the cause. If the person has to choose a membership, a cookie keeps their identity until then.
 */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Origin } from '../../access/caller.ts';
import * as auth from '../../contract/auth.ts';
import { Failure, statusOf } from '../../contract/errors.ts';
import { longestSession } from '../../domain/sessions/dashboard-sessions.ts';
import type { SingleSignOn } from '../../domain/sign-in/single-sign-on.ts';
import { sessionCookie, setCookie, signOnCookie } from '../listener/browser.ts';
import type { AppParts } from '../surface/surface-parts.ts';
import { type AuthNeed, type Route, route } from './route.ts';

const signOnLifetime = 10 * 60_000;
const noCookie = setCookie(signOnCookie, '', 0, 'Lax');
const keptCookie = (kept: string) => setCookie(signOnCookie, kept, signOnLifetime, 'Lax');
const cookies = (token: string) => [noCookie, setCookie(sessionCookie, token, longestSession, 'Strict')];

/** These routes always redirect the browser: their handlers have no answer of their own. */
const redirects = { answer: z.never(), answerTypes: [] } as const;

export function signOnRoutes(parts: AppParts, singleSignOn: SingleSignOn): Route<AuthNeed>[] {
  return [...issuerRoutes(parts, singleSignOn), ...choiceRoutes(parts, singleSignOn)];
}

function issuerRoutes(parts: AppParts, singleSignOn: SingleSignOn): Route<AuthNeed>[] {
  const { sessions, identities, proofs, checkAddress } = parts.domain.accounts;
  const { report, read } = refusalsOf(parts);

  function toSignIn(error: unknown, { requestId }: Origin, reply: FastifyReply): FastifyReply {
    const { code } = report(error, requestId);
    return reply.header('set-cookie', noCookie).redirect(`/sign-in?error=${code}`);
  }

  return [
    route('GET /auth/oidc/start', {
      operationId: 'startSingleSignOn',
      summary: 'Send the browser to the issuer',
      needs: 'nothing',
      query: auth.signOnStart,
      ...redirects,
      handle: async ({ query, token, origin, site, reply }) => {
        try {
          const as = query.prove === undefined ? null : await sessions.require(token, origin);
          const callback = `${site.origin}/auth/oidc/callback`;
          const { url, kept } = await singleSignOn.start(callback, as?.session.id ?? null);
          return reply.header('set-cookie', keptCookie(kept)).redirect(url);
        } catch (error) {
          return toSignIn(error, origin, reply);
        }
      },
    }),
    route('GET /auth/oidc/callback', {
      operationId: 'finishSingleSignOn',
      summary: 'Complete the sign-in when the issuer sends the browser back',
      needs: 'nothing',
      query: auth.signOnCallback,
      ...redirects,
      handle: async ({ url, cookie, origin, site, reply }) => {
        try {
          checkAddress(origin); // Requests to the issuer are expensive.
          const returned = new URL(url, site.origin);
          const finish = () => singleSignOn.finish(returned, cookie(signOnCookie));
          const { identity, proves } = await read(origin, finish);
          if (proves !== null) {
            await proofs.proveByIdentity(proves, identity, origin);
            return reply.header('set-cookie', noCookie).redirect('/settings/security');
          }
          const token = await identities.enter(identity, origin);
          if (token !== null) return reply.header('set-cookie', cookies(token)).redirect('/');
          const kept = keptCookie(singleSignOn.keep(await identities.brief(identity)));
          return reply.header('set-cookie', kept).redirect('/sign-in/choose');
        } catch (error) {
          return toSignIn(error, origin, reply);
        }
      },
    }),
  ];
}

function choiceRoutes(parts: AppParts, singleSignOn: SingleSignOn): Route<AuthNeed>[] {
  const { identities } = parts.domain.accounts;
  const { report, read } = refusalsOf(parts);
  return [
    route('GET /auth/oidc/choices', {
      operationId: 'listSignInChoices',
      summary: 'List the memberships that the person can sign in with',
      needs: 'identity',
      answer: auth.choiceList,
      handle: async ({ cookie, origin }) => {
        try {
          const { identity } = await read(origin, () => singleSignOn.kept(cookie(signOnCookie)));
          return { data: await identities.choices(identity, origin) };
        } catch (error) {
          throw report(error, origin.requestId);
        }
      },
    }),
    route('POST /auth/oidc/choose', {
      operationId: 'chooseMembership',
      summary: 'Sign in with one of these memberships',
      needs: 'identity',
      body: auth.chooseBody,
      answer: auth.done,
      handle: async ({ body, cookie, origin, reply }) => {
        try {
          const kept = await read(origin, () => singleSignOn.kept(cookie(signOnCookie)));
          reply.header('set-cookie', cookies(await identities.choose(kept, body.member_id, origin)));
          return {};
        } catch (error) {
          throw report(error, origin.requestId);
        }
      },
    }),
  ];
}

function refusalsOf({ domain, onError }: AppParts) {
  const { identities, checkAddress } = domain.accounts;
  return {
    report(error: unknown, requestId: string): Failure {
      if (!(error instanceof Failure)) throw error;
      if (statusOf[error.code] >= 500 || error.code === 'UNAUTHORIZED') {
        onError(error.cause ?? error, requestId);
      }
      return error;
    },

    /** Reads the returned identity. A refusal is recorded, unless the address has failed too often. */
    async read<T>(from: Origin, opened: () => T | Promise<T>): Promise<T> {
      try {
        return await opened();
      } catch (error) {
        if (!(error instanceof Failure) || error.code !== 'UNAUTHORIZED') throw error;
        checkAddress(from);
        await identities.unanswered(from, (error.cause as Error).message);
        throw error;
      }
    },
  };
}
