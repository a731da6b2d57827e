/** A signed-in person's own account: sessions, password, passkeys and one-time codes. */
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
      summary: 'List your sessions',
      answer: auth.sessionList,
      handle: async ({ as }) => ({ data: await sessions.list(as) }),
    }),
    route({
      ...own,
      method: 'DELETE',
      path: '/auth/sessions/{id}',
      operationId: 'endSession',
      summary: 'End one of your sessions',
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
      summary: 'Get the options for confirming your identity with a passkey',
      answer: auth.passkeyOptions,
      handle: ({ as, site }) => proofs.options(as, site),
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/proof',
      operationId: 'proveIdentity',
      summary: 'Confirm your identity; for five minutes, you can then change how you sign in',
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
      summary: 'Change your password, or set the first one',
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
      summary: 'List your passkeys',
      answer: auth.passkeyList,
      handle: async ({ as }) => ({ data: await factors.passkeys(as) }),
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/passkeys/options',
      operationId: 'getNewPasskeyOptions',
      summary: 'Get the options for creating a passkey',
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
      summary: 'Turn on one-time codes, and get the recovery codes, which are shown once',
      body: auth.codeBody,
      answer: auth.recoveryCodes,
      handle: ({ as, body }) => factors.confirmCodes(as, body.code),
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/totp/remove',
      operationId: 'removeOneTimeCodes',
      summary: 'Turn off one-time codes',
      body: auth.totpRemoveBody,
      answer: auth.done,
      handle: async ({ as, body }) => {
        await factors.removeCodes(as, body);
        return {};
      },
    }),
  ];
}
