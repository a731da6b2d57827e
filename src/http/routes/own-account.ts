/** What people who are signed in see and change of their own accounts: sessions, and how they prove who they are. */
import * as auth from '../../contract/auth.ts';
import { deletion, deletionOf } from '../../contract/common.ts';
import type { Accounts } from '../../domain/accounts.ts';
import { type AuthNeed, type Route, route } from './route.ts';

const own = { tag: 'auth', needs: 'session' } as const;

export function ownAccountRoutes(accounts: Accounts): Route<AuthNeed>[] {
  return [
    ...sessionRoutes(accounts),
    ...proofRoutes(accounts),
    ...passkeyRoutes(accounts),
    ...oneTimeCodeRoutes(accounts),
  ];
}

function sessionRoutes({ sessions }: Accounts): Route<AuthNeed>[] {
  return [
    route({
      ...own,
      method: 'GET',
      path: '/auth/sessions',
      operationId: 'listSessions',
      summary: 'List one’s own sessions',
      answer: auth.sessionList,
      handle: async ({ as }) => ({ data: await sessions.list(as) }),
    }),
    route({
      ...own,
      method: 'DELETE',
      path: '/auth/sessions/{id}',
      operationId: 'endSession',
      summary: 'End one of one’s own sessions',
      answer: deletion,
      handle: async ({ as, id }) => {
        await sessions.end(as, id);
        return deletionOf(id);
      },
    }),
  ];
}

function proofRoutes({ factors, proofs }: Accounts): Route<AuthNeed>[] {
  return [
    route({
      ...own,
      method: 'POST',
      path: '/auth/proof/options',
      operationId: 'getProofPasskeyOptions',
      summary: 'What a browser needs in order to prove by a passkey who is signed in',
      answer: auth.passkeyOptions,
      handle: ({ as, site }) => proofs.options(as, site),
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/proof',
      operationId: 'proveIdentity',
      summary: 'Prove once more who is signed in; changes of factors take that for five minutes',
      body: auth.wholeProofBody,
      answer: auth.done,
      handle: async ({ as, site, body }) => {
        await proofs.prove(as, site, body);
        return {};
      },
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/password/change',
      operationId: 'changePassword',
      summary: 'Change one’s own password, or set the first one',
      body: auth.passwordChangeBody,
      answer: auth.done,
      handle: async ({ as, body }) => {
        await factors.changePassword(as, body);
        return {};
      },
    }),
  ];
}

function passkeyRoutes({ factors }: Accounts): Route<AuthNeed>[] {
  return [
    route({
      ...own,
      method: 'GET',
      path: '/auth/passkeys',
      operationId: 'listPasskeys',
      summary: 'List one’s own passkeys',
      answer: auth.passkeyList,
      handle: async ({ as }) => ({ data: await factors.passkeys(as) }),
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/passkeys/options',
      operationId: 'getNewPasskeyOptions',
      summary: 'What a browser needs in order to create a passkey',
      answer: auth.passkeyOptions,
      handle: ({ as, site }) => factors.passkeyOptions(as, site),
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/passkeys',
      operationId: 'addPasskey',
      summary: 'Add a passkey',
      body: auth.passkeyAddBody,
      answer: auth.passkeyRecord,
      handle: ({ as, site, body }) => factors.addPasskey(as, site, body.name, body.credential),
    }),
    route({
      ...own,
      method: 'DELETE',
      path: '/auth/passkeys/{id}',
      operationId: 'removePasskey',
      summary: 'Remove a passkey',
      answer: deletion,
      handle: async ({ as, id }) => {
        await factors.removePasskey(as, id);
        return deletionOf(id);
      },
    }),
  ];
}

function oneTimeCodeRoutes({ factors }: Accounts): Route<AuthNeed>[] {
  return [
    route({
      ...own,
      method: 'POST',
      path: '/auth/totp/begin',
      operationId: 'beginOneTimeCodes',
      summary: 'Get the secret for an authenticator app',
      answer: auth.oneTimeCodeSecret,
      handle: ({ as }) => factors.beginCodes(as),
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/totp',
      operationId: 'confirmOneTimeCodes',
      summary: 'Ask for one-time codes from now on, and get the recovery codes once',
      body: auth.codeBody,
      answer: auth.recoveryCodes,
      handle: ({ as, body }) => factors.confirmCodes(as, body.code),
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/totp/remove',
      operationId: 'removeOneTimeCodes',
      summary: 'Ask for one-time codes no longer',
      body: auth.totpRemoveBody,
      answer: auth.done,
      handle: async ({ as, body }) => {
        await factors.removeCodes(as, body);
        return {};
      },
    }),
  ];
}
