/**
 * `/auth`: signing in and out, set-up, invitations, and what members change about their own accounts. Answers
 * have the shapes of the general API. A session's token goes out in one cookie, and nowhere else.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Origin } from '../access/caller.ts';
import * as auth from '../contract/auth.ts';
import { check } from '../contract/check.ts';
import { Failure } from '../contract/errors.ts';
import { isId } from '../contract/id.ts';
import type { Site } from '../vault/accounts/passkeys.ts';
import { longestSession, type SignedInAs } from '../vault/accounts/sessions.ts';
import {
  checkOwnPage,
  clearedSession,
  clearIfOver,
  cookieOf,
  sessionCookie,
  setCookie,
  takesPasskeys,
} from './browser.ts';
import type { AppParts } from './parts.ts';
import { originOf } from './request.ts';
import { mountSignOn } from './sign-on.ts';

interface Call<Body> {
  readonly body: Body;
  readonly id: string;
  readonly origin: Origin;
  readonly site: Site;
  readonly token: string | null;
  /** Null on routes that are for everyone. */
  readonly as: SignedInAs | null;
}

interface AuthRoute {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body: z.ZodType | null;
  /** Only for whoever is signed in, to what is his own. */
  readonly own?: true;
  handle(call: Call<never>, reply: FastifyReply): Promise<unknown>;
}

declare module 'fastify' {
  interface FastifyRequest {
    signedInAs: SignedInAs | null;
  }
}

export function mountAuth(app: FastifyInstance, parts: AppParts): void {
  const routes = [...signInRoutes(parts), ...joinRoutes(parts), ...ownRoutes(parts)];
  app.register(async scope => {
    scope.decorateRequest('signedInAs', null);
    for (const route of routes) {
      scope.route({
        method: route.method,
        url: route.path.replace('{id}', ':id'),
        onRequest: (request, reply) => admit(parts, route, request, reply),
        handler: (request, reply) => run(parts, route, request, reply),
      });
    }
    if (parts.singleSignOn !== null) mountSignOn(scope, parts, parts.singleSignOn);
  });
}

/** Before the body is read: does it come from our pages, and may its sender go on at all. */
async function admit(
  parts: AppParts,
  route: AuthRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { origin, site, token } = callOf(parts, request);
  checkOwnPage(request.raw, site, token !== null);
  const { accounts } = parts.domain;
  if (route.own) request.signedInAs = await clearIfOver(reply, accounts.sessions.require(token, origin));
  else if (request.method !== 'GET') accounts.checkAddress(origin);
}

function callOf({ addressOf, siteOf }: AppParts, request: FastifyRequest): Call<undefined> {
  const { id = '' } = request.params as { id?: string };
  if (id !== '' && !isId(id)) throw new Failure('NOT_FOUND');
  return {
    body: undefined,
    id,
    origin: originOf(request.raw, request.id, addressOf),
    site: siteOf(request.raw),
    token: cookieOf(request.raw, sessionCookie),
    as: request.signedInAs,
  };
}

async function run(parts: AppParts, route: AuthRoute, request: FastifyRequest, reply: FastifyReply) {
  const call = callOf(parts, request);
  const body = route.body === null ? undefined : check(route.body, request.body ?? {});
  return route.handle({ ...call, body: body as never }, reply);
}

async function stateOf(parts: AppParts, call: Call<unknown>, as: SignedInAs | null): Promise<auth.AuthState> {
  const { accounts } = parts.domain;
  return {
    setup_required: await accounts.joining.setupRequired(),
    signed_in: as && (await accounts.describe(as)),
    methods: {
      password: true,
      passkey: takesPasskeys(call.site),
      oidc: parts.singleSignOn && { name: parts.singleSignOn.name },
    },
    version: parts.version,
    base_url: call.site.origin,
  };
}

async function welcome(parts: AppParts, call: Call<unknown>, reply: FastifyReply, token: string) {
  reply.header('set-cookie', setCookie(sessionCookie, token, longestSession, 'Strict'));
  return stateOf(parts, call, await parts.domain.accounts.sessions.find(token, call.origin));
}

function signInRoutes(parts: AppParts): AuthRoute[] {
  const { signIn, sessions } = parts.domain.accounts;
  return [
    {
      method: 'GET',
      path: '/auth/state',
      body: null,
      handle: async (call, reply) => {
        const as = await sessions.find(call.token, call.origin);
        if (as === null && call.token !== null) reply.header('set-cookie', clearedSession);
        return stateOf(parts, call, as);
      },
    },
    {
      method: 'POST',
      path: '/auth/password',
      body: auth.passwordBody,
      handle: async (call: Call<auth.PasswordBody>, reply) =>
        welcome(parts, call, reply, await signIn.byPassword(call.body, call.origin)),
    },
    {
      method: 'POST',
      path: '/auth/passkey/options',
      body: auth.emptyBody,
      handle: ({ site }) => signIn.requestOptions(site),
    },
    {
      method: 'POST',
      path: '/auth/passkey',
      body: auth.passkeyBody,
      handle: async (call: Call<{ credential: auth.PasskeyCredential }>, reply) => {
        const { site, body, origin } = call;
        return welcome(parts, call, reply, await signIn.byPasskey(site, body.credential, origin));
      },
    },
    {
      method: 'POST',
      path: '/auth/sign-out',
      body: auth.emptyBody,
      handle: async (call, reply) => {
        const as = await sessions.find(call.token, call.origin);
        if (as !== null) await sessions.end(as, as.session.id);
        reply.header('set-cookie', clearedSession);
        return {};
      },
    },
  ];
}

function joinRoutes(parts: AppParts): AuthRoute[] {
  const { joining } = parts.domain.accounts;
  return [
    {
      method: 'POST',
      path: '/auth/setup',
      body: auth.setupBody,
      handle: async (call: Call<auth.SetupBody>, reply) =>
        welcome(parts, call, reply, await joining.setUp(call.site, call.body, call.origin)),
    },
    {
      method: 'POST',
      path: '/auth/setup/options',
      body: auth.setupOptionsBody,
      handle: ({ site, body, origin }: Call<{ token: string; email: string }>) =>
        joining.setupOptions(site, body.token, body.email, origin),
    },
    {
      method: 'POST',
      path: '/auth/invitation',
      body: auth.invitationBody,
      handle: ({ body, origin }: Call<{ token: string }>) => joining.invitation(body.token, origin),
    },
    {
      method: 'POST',
      path: '/auth/invitation/options',
      body: auth.invitationBody,
      handle: ({ site, body, origin }: Call<{ token: string }>) =>
        joining.invitationOptions(site, body.token, origin),
    },
    {
      method: 'POST',
      path: '/auth/invitation/accept',
      body: auth.acceptBody,
      handle: async (call: Call<auth.AcceptBody>, reply) =>
        welcome(parts, call, reply, await joining.accept(call.site, call.body, call.origin)),
    },
  ];
}

function ownRoutes(parts: AppParts): AuthRoute[] {
  const { factors, sessions } = parts.domain.accounts;
  const own = <Body>(
    method: AuthRoute['method'],
    path: string,
    body: z.ZodType | null,
    handle: (as: SignedInAs, call: Call<Body>) => Promise<unknown>,
  ): AuthRoute => ({
    method,
    path,
    body,
    own: true,
    handle: call => handle(call.as!, call as Call<Body>),
  });
  return [
    own('GET', '/auth/sessions', null, async as => ({ data: await sessions.list(as) })),
    own('DELETE', '/auth/sessions/{id}', null, async (as, { id }) => {
      await sessions.end(as, id);
      return { id, deleted: true };
    }),
    own<auth.PasswordChangeBody>(
      'POST',
      '/auth/password/change',
      auth.passwordChangeBody,
      async (as, { body }) => {
        await factors.changePassword(as, body);
        return {};
      },
    ),
    own('GET', '/auth/passkeys', null, async as => ({ data: await factors.passkeys(as) })),
    own('POST', '/auth/passkeys/options', auth.emptyBody, (as, { site }) => factors.passkeyOptions(as, site)),
    own<{ name: string; credential: auth.PasskeyCredential }>(
      'POST',
      '/auth/passkeys',
      auth.passkeyAddBody,
      (as, { site, body }) => factors.addPasskey(as, site, body.name, body.credential),
    ),
    own('DELETE', '/auth/passkeys/{id}', null, async (as, { id }) => {
      await factors.removePasskey(as, id);
      return { id, deleted: true };
    }),
    own('POST', '/auth/totp/begin', auth.emptyBody, as => factors.beginCodes(as)),
    own<{ code: string }>('POST', '/auth/totp', auth.codeBody, (as, { body }) =>
      factors.confirmCodes(as, body.code),
    ),
    own<{ password?: string; code?: string }>(
      'POST',
      '/auth/totp/remove',
      auth.totpRemoveBody,
      async (as, { body }) => {
        await factors.removeCodes(as, body);
        return {};
      },
    ),
  ];
}
