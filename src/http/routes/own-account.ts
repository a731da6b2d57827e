/** A signed-in person's own account: sessions, password, passkeys and one-time codes. */
import * as auth from '../../contract/auth.ts';
import { deletion } from '../../contract/common.ts';
import { mailChoices, mailChoicesBody } from '../../contract/mail.ts';
import type { Accounts } from '../../domain/accounts.ts';
import { type AuthNeed, deletedAfter, doneAfter, type Route, route } from './route.ts';

export function ownAccountRoutes({ sessions, factors, proofs, mailSettings }: Accounts): Route<AuthNeed>[] {
  return [
    route('GET /auth/sessions', {
      operationId: 'listSessions',
      summary: 'List your sessions',
      needs: 'session',
      answer: auth.sessionList,
      handle: async ({ as }) => ({ data: await sessions.list(as) }),
    }),
    route('DELETE /auth/sessions/{id}', {
      operationId: 'endSession',
      summary: 'End one of your sessions',
      needs: 'session',
      answer: deletion,
      handle: ({ as, id }) => deletedAfter(id, sessions.end(as, id)),
    }),
    route('GET /auth/mail', {
      operationId: 'getMailChoices',
      summary: 'Get what you are told by mail',
      needs: 'session',
      answer: mailChoices,
      handle: ({ as }) => mailSettings.get(as),
    }),
    route('PUT /auth/mail', {
      operationId: 'setMailChoices',
      summary: 'Choose what you are told by mail',
      needs: 'session',
      body: mailChoicesBody,
      answer: mailChoices,
      handle: ({ as, body }) => mailSettings.set(as, body),
    }),
    route('POST /auth/proof/options', {
      operationId: 'getProofPasskeyOptions',
      summary: 'Get the options for confirming your identity with a passkey',
      needs: 'session',
      answer: auth.passkeyOptions,
      handle: ({ as, site }) => proofs.options(as, site),
    }),
    route('POST /auth/proof', {
      operationId: 'proveIdentity',
      summary: 'Confirm your identity; for five minutes, you can then change how you sign in',
      needs: 'session',
      body: auth.wholeProofBody,
      answer: auth.done,
      handle: ({ as, site, body }) => doneAfter(proofs.prove(as, site, body)),
    }),
    route('POST /auth/password/change', {
      operationId: 'changePassword',
      summary: 'Change your password, or set the first one',
      needs: 'session',
      body: auth.passwordChangeBody,
      answer: auth.done,
      handle: ({ as, body }) => doneAfter(factors.changePassword(as, body)),
    }),
    route('GET /auth/passkeys', {
      operationId: 'listPasskeys',
      summary: 'List your passkeys',
      needs: 'session',
      answer: auth.passkeyList,
      handle: async ({ as }) => ({ data: await factors.passkeys(as) }),
    }),
    route('POST /auth/passkeys/options', {
      operationId: 'getNewPasskeyOptions',
      summary: 'Get the options for creating a passkey',
      needs: 'session',
      answer: auth.passkeyOptions,
      handle: ({ as, site }) => factors.passkeyOptions(as, site),
    }),
    route('POST /auth/passkeys', {
      operationId: 'addPasskey',
      summary: 'Add a passkey',
      needs: 'session',
      body: auth.passkeyAddBody,
      answer: auth.passkeyRecord,
      handle: ({ as, site, body }) => factors.addPasskey(as, site, body.name, body.credential),
    }),
    route('DELETE /auth/passkeys/{id}', {
      operationId: 'removePasskey',
      summary: 'Remove a passkey',
      needs: 'session',
      answer: deletion,
      handle: ({ as, id }) => deletedAfter(id, factors.removePasskey(as, id)),
    }),
    route('POST /auth/totp/begin', {
      operationId: 'beginOneTimeCodes',
      summary: 'Get the secret for an authenticator app',
      needs: 'session',
      answer: auth.oneTimeCodeSecret,
      handle: ({ as }) => factors.beginCodes(as),
    }),
    route('POST /auth/totp', {
      operationId: 'confirmOneTimeCodes',
      summary: 'Turn on one-time codes, and get the recovery codes, which are shown once',
      needs: 'session',
      body: auth.codeBody,
      answer: auth.recoveryCodes,
      handle: ({ as, body }) => factors.confirmCodes(as, body.code),
    }),
    route('POST /auth/totp/remove', {
      operationId: 'removeOneTimeCodes',
      summary: 'Turn off one-time codes',
      needs: 'session',
      body: auth.totpRemoveBody,
      answer: auth.done,
      handle: ({ as, body }) => doneAfter(factors.removeCodes(as, body)),
    }),
  ];
}
