/** Signing a command line in: what it asks and polls, what its person decides, and the API keys that came of it. */

import { done } from '../../contract/auth.ts';
import { deletion, deletionOf } from '../../contract/common.ts';
import * as device from '../../contract/device-login.ts';
import type { Accounts } from '../../domain/accounts.ts';
import { type AuthNeed, type Route, route } from './route.ts';

const own = { tag: 'auth', needs: 'session' } as const;

/** Where people enter the code. */
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
      summary: 'Ask to be signed in by a person at a browser',
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
      summary: 'Get the API key once the person has allowed it',
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
      summary: 'Sign a command line out: revoke its API key, by that key',
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
      summary: 'Get who asks to be signed in, by the code that they show',
      body: device.userCodeBody,
      answer: device.deviceRequest,
      handle: ({ as, body }) => deviceLogins.find(as, body.user_code),
    }),
    route({
      ...own,
      method: 'POST',
      path: '/auth/device/approve',
      operationId: 'approveDeviceLogin',
      summary: 'Sign a command line in, with one’s own role or a lesser one',
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
      summary: 'Refuse to sign a command line in',
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
      summary: 'List the API keys by which one is signed in at command lines',
      answer: device.loginKeyList,
      handle: async ({ as }) => ({ data: await loginKeys.list(as) }),
    }),
    route({
      ...own,
      method: 'DELETE',
      path: '/auth/device/keys/{id}',
      operationId: 'revokeDeviceLogin',
      summary: 'Sign one of one’s own command lines out',
      answer: deletion,
      handle: async ({ as, id }) => {
        await loginKeys.revoke(as, id);
        return deletionOf(id);
      },
    }),
  ];
}
