/** Sign-in for the command line: requesting and polling, the person's decision, and the resulting API keys. */

import { done } from '../../contract/auth.ts';
import { deletion, deletionOf } from '../../contract/common.ts';
import * as device from '../../contract/device-login.ts';
import type { Accounts } from '../../domain/accounts.ts';
import { type AuthNeed, type Route, route } from './route.ts';

const own = { tag: 'auth', needs: 'session' } as const;

/** The page where people enter the code. */
const page = '/device';

export function deviceLoginRoutes(accounts: Accounts): Route<AuthNeed>[] {
  return [...askingRoutes(accounts), ...decidingRoutes(accounts), ...loginKeyRoutes(accounts)];
}

function askingRoutes({ deviceLogins, loginKeys }: Accounts): Route<AuthNeed>[] {
  return [
    route({
      method: 'POST',
      path: '/auth/device',
      operationId: 'beginDeviceLogin',
      tag: 'auth',
      summary: 'Begin a sign-in that a person approves in a browser',
      needs: 'nothing',
      body: device.deviceLoginBody,
      bodyOptional: true,
      answer: device.deviceLogin,
      handle: async ({ body, origin, site }) => {
        const begun = await deviceLogins.begin(body, origin);
        const verification_uri = `${site.origin}${page}`;
        const verification_uri_complete = `${verification_uri}#${begun.user_code}`;
        return { ...begun, verification_uri, verification_uri_complete };
      },
    }),
    route({
      method: 'POST',
      path: '/auth/device/token',
      operationId: 'pollDeviceLogin',
      tag: 'auth',
      summary: 'Get the API key once the person has approved the sign-in',
      needs: 'nothing',
      body: device.deviceCodeBody,
      answer: device.deviceToken,
      handle: ({ body, origin }) => deviceLogins.poll(body.device_code, origin),
    }),
    route({
      method: 'POST',
      path: '/auth/device/revoke',
      operationId: 'endDeviceLogin',
      tag: 'auth',
      summary: 'Sign out a command line: revoke the API key in the body',
      needs: 'nothing',
      body: device.loginKeyBody,
      answer: done,
      handle: async ({ body, origin }) => {
        await loginKeys.revokeItself(body.token, origin);
        return {};
      },
    }),
  ];
}

function decidingRoutes({ deviceLogins }: Accounts): Route<AuthNeed>[] {
  return [
    route({
      ...own,
      method: 'POST',
      path: '/auth/device/request',
      operationId: 'getDeviceRequest',
      summary: 'Get a pending sign-in by its code',
      body: device.userCodeBody,
      answer: device.deviceRequest,
      handle: ({ as, body }) => deviceLogins.find(as, body.user_code),
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/device/approve',
      operationId: 'approveDeviceLogin',
      summary: 'Approve a command line’s sign-in, with your own role or a lesser one',
      body: device.approvalBody,
      answer: done,
      handle: async ({ as, body }) => {
        await deviceLogins.approve(as, body);
        return {};
      },
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/device/deny',
      operationId: 'denyDeviceLogin',
      summary: 'Refuse a command line’s sign-in',
      body: device.userCodeBody,
      answer: done,
      handle: async ({ as, body }) => {
        await deviceLogins.deny(as, body.user_code);
        return {};
      },
    }),
  ];
}

function loginKeyRoutes({ loginKeys }: Accounts): Route<AuthNeed>[] {
  return [
    route({
      ...own,
      method: 'GET',
      path: '/auth/device/keys',
      operationId: 'listDeviceLogins',
      summary: 'List your CLI sign-ins',
      answer: device.loginKeyList,
      handle: async ({ as }) => ({ data: await loginKeys.list(as) }),
    }),
    route({
      ...own,
      method: 'DELETE',
      path: '/auth/device/keys/{id}',
      operationId: 'revokeDeviceLogin',
      summary: 'Revoke one of your CLI sign-ins',
      answer: deletion,
      handle: async ({ as, id }) => {
        await loginKeys.revoke(as, id);
        return deletionOf(id);
      },
    }),
  ];
}
