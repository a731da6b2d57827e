/** Signing in and out, setup and invitations. A session's token is sent only in its cookie. */
import type { FastifyReply } from 'fastify';
import * as auth from '../../contract/auth.ts';
import { longestSession, type SignedInAs } from '../../domain/sessions/dashboard-sessions.ts';
import { clearedSession, clearIfOver, sessionCookie, setCookie, takesPasskeys } from '../listener/browser.ts';
import type { AppParts } from '../surface/surface-parts.ts';
import { type AuthNeed, type ByVisitor, type Route, route } from './route.ts';

async function stateOf(
  { domain, singleSignOn, version }: AppParts,
  { site }: ByVisitor,
  as: SignedInAs | null,
): Promise<auth.AuthState> {
  const { accounts } = domain;
  const setup_required = await accounts.joining.setupRequired();
  return {
    setup_required,
    nobody_joined: as === null && !setup_required && !(await accounts.joining.hasJoined()),
    signed_in: as && (await accounts.describe(as)),
    methods: {
      password: true,
      passkey: takesPasskeys(site),
      oidc: singleSignOn && { name: singleSignOn.name },
    },
    version,
    base_url: site.origin,
  };
}

type Visit = ByVisitor & { readonly reply: FastifyReply };

async function welcome(parts: AppParts, visit: Visit, token: string): Promise<auth.AuthState> {
  visit.reply.header('set-cookie', setCookie(sessionCookie, token, longestSession, 'Strict'));
  return stateOf(parts, visit, await parts.domain.accounts.sessions.find(token, visit.origin));
}

export function signInRoutes(parts: AppParts): Route<AuthNeed>[] {
  const { signIn, sessions } = parts.domain.accounts;
  return [
    route('GET /auth/state', {
      operationId: 'getAuthState',
      summary: 'Get the signed-in person, if any, and the ways to sign in',
      needs: 'nothing',
      answer: auth.authState,
      handle: async call => {
        const as = await clearIfOver(call.reply, sessions.recognise(call.token, call.origin));
        if (as === null && call.token !== null) call.reply.header('set-cookie', clearedSession);
        return stateOf(parts, call, as);
      },
    }),
    route('POST /auth/password', {
      operationId: 'signInWithPassword',
      summary: 'Sign in with an email address and a password, and a code if there is a second factor',
      needs: 'proof',
      body: auth.passwordBody,
      answer: auth.authState,
      handle: async call => welcome(parts, call, await signIn.byPassword(call.body, call.origin)),
    }),
    route('POST /auth/passkey/options', {
      operationId: 'getSignInPasskeyOptions',
      summary: 'Get the options for signing in with a passkey',
      needs: 'proof',
      answer: auth.passkeyOptions,
      handle: ({ site }) => signIn.requestOptions(site),
    }),
    route('POST /auth/passkey', {
      operationId: 'signInWithPasskey',
      summary: 'Sign in with a passkey',
      needs: 'proof',
      body: auth.passkeyBody,
      answer: auth.authState,
      handle: async call =>
        welcome(parts, call, await signIn.byPasskey(call.site, call.body.credential, call.origin)),
    }),
    route('POST /auth/sign-out', {
      operationId: 'signOut',
      summary: 'Sign out',
      needs: 'nothing',
      answer: auth.done,
      handle: async ({ token, origin, reply }) => {
        const as = await clearIfOver(reply, sessions.recognise(token, origin));
        if (as !== null) await sessions.end(as, as.session.id);
        reply.header('set-cookie', clearedSession);
        return {};
      },
    }),
  ];
}

export function joinRoutes(parts: AppParts): Route<AuthNeed>[] {
  const { joining } = parts.domain.accounts;
  return [
    route('POST /auth/setup', {
      operationId: 'setUp',
      summary: 'Create the first organization and its owner, with the setup link',
      needs: 'proof',
      body: auth.setupBody,
      answer: auth.authState,
      handle: async call => welcome(parts, call, await joining.setUp(call.site, call.body, call.origin)),
    }),
    route('POST /auth/setup/options', {
      operationId: 'getSetUpPasskeyOptions',
      summary: 'Get the options for creating the first owner’s passkey',
      needs: 'proof',
      body: auth.setupOptionsBody,
      answer: auth.passkeyOptions,
      handle: ({ site, body, origin }) => joining.setupOptions(site, body.token, body.email, origin),
    }),
    route('POST /auth/invitation', {
      operationId: 'getInvitation',
      summary: 'Get an invitation by its token',
      needs: 'proof',
      body: auth.invitationBody,
      answer: auth.invitation,
      handle: ({ body, origin }) => joining.invitation(body.token, origin),
    }),
    route('POST /auth/invitation/options', {
      operationId: 'getInvitationPasskeyOptions',
      summary: 'Get the options for creating a new member’s passkey',
      needs: 'proof',
      body: auth.invitationBody,
      answer: auth.passkeyOptions,
      handle: ({ site, body, origin }) => joining.invitationOptions(site, body.token, origin),
    }),
    route('POST /auth/invitation/accept', {
      operationId: 'acceptInvitation',
      summary: 'Accept an invitation, with a password or a passkey',
      needs: 'proof',
      body: auth.acceptBody,
      answer: auth.authState,
      handle: async call => welcome(parts, call, await joining.accept(call.site, call.body, call.origin)),
    }),
  ];
}
