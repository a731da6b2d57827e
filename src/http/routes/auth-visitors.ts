/**
 * Identifies callers of `/auth`: browsers on our own pages, of people who are signed in or have yet to sign in. Callers
 * are checked before the body is read, and again only if there is a body, once it has arrived.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { SignedInAs } from '../../domain/sessions/dashboard-sessions.ts';
import type { Site } from '../../domain/sign-in/passkeys.ts';
import { checkOwnPage, clearIfOver, cookieOf, sessionCookie, unknownAddress } from '../listener/browser.ts';
import { failureOf } from '../listener/errors.ts';
import { clientCertificateOf, isRead, originOf } from '../listener/request.ts';
import type { UnauthenticatedBodies } from '../listener/unauthenticated-bodies.ts';
import type { AppParts } from '../surface/surface-parts.ts';
import {
  type AuthNeed,
  type ByVisitor,
  type Entrance,
  provenAgain,
  type Route,
  registerRoutes,
} from './route.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The person who was signed in when the request began. */
    signedInAs: SignedInAs | null;
  }
}

/** Passwords and passkeys are short. */
const largestBody = 16 * 1024;

export function mountAuth(
  app: FastifyInstance,
  parts: AppParts,
  strangers: UnauthenticatedBodies,
  routes: readonly Route<AuthNeed>[],
): void {
  app.register(async scope => {
    scope.decorateRequest('signedInAs', null);
    registerRoutes(scope, routes, authEntrance(parts, strangers));
  });
}

function authEntrance(parts: AppParts, strangers: UnauthenticatedBodies): Entrance<AuthNeed> {
  const { accounts, guard } = parts.domain;
  const signedIn = (request: FastifyRequest, reply: FastifyReply) => {
    const { token, origin } = visitorOf(parts, request);
    return clearIfOver(reply, accounts.sessions.require(token, origin));
  };
  return {
    bodyLimit: largestBody,
    now: parts.now,

    approach: async ({ path, needs }, request, reply) => {
      const { origin, site, token } = visitorOf(parts, request);
      // Machines have no page, and reach the service by any name that their network has for it.
      if (site === nowhere && path.startsWith('/auth/')) throw unknownAddress();
      checkOwnPage(request.raw, site, token !== null || needs === 'identity');
      if (needs === 'session') request.signedInAs = await signedIn(request, reply);
      else {
        if (needs === 'proof') accounts.checkAddress(origin);
        if (!isRead(request.method)) strangers.admit(request.raw, origin.address, largestBody);
      }
    },

    enter: async ({ needs }, request, reply) => {
      const visitor = visitorOf(parts, request);
      if (needs !== 'session') return visitor;
      const prove = () => signedIn(request, reply);
      const before = request.signedInAs!;
      const as = await provenAgain(request, before, prove, verb => guard.withdrawn(before.caller, verb));
      return { ...visitor, as };
    },

    admit: async who => who,

    failed: ({ raw }, error) => {
      if (failureOf(error).code === 'INVALID_REQUEST') strangers.garbled(raw);
    },
  };
}

/** A site that matches no page's origin. */
const nowhere: Site = { origin: '', host: '' };

function visitorOf({ addressOf, siteOf }: AppParts, { raw, id }: FastifyRequest): ByVisitor {
  return {
    origin: originOf(raw, id, addressOf),
    site: siteOf(raw) ?? nowhere,
    token: cookieOf(raw, sessionCookie),
    cookie: name => cookieOf(raw, name),
    certificate: clientCertificateOf(raw),
  };
}
