/** Sign-in for the command line: requesting and polling, the person's decision, and the resulting API keys. */
import { done } from '../../contract/auth.ts';
import { deletion } from '../../contract/common.ts';
import * as device from '../../contract/device-login.ts';
import type { Accounts } from '../../domain/accounts.ts';
import { type AuthNeed, deletedAfter, doneAfter, type Route, route } from './route.ts';

/** The page where people enter the code. */
const page = '/device';

export function deviceLoginRoutes({ deviceLogins, loginKeys }: Accounts): Route<AuthNeed>[] {
  return [
    route('POST /auth/device', {
      operationId: 'beginDeviceLogin',
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
    route('POST /auth/device/token', {
      operationId: 'pollDeviceLogin',
      summary: 'Get the API key once the person has approved the sign-in',
      needs: 'nothing',
      body: device.deviceCodeBody,
      answer: device.deviceToken,
      handle: ({ body, origin }) => deviceLogins.poll(body.device_code, origin),
    }),
    route('POST /auth/device/revoke', {
      operationId: 'endDeviceLogin',
      summary: 'Sign out a command line: revoke the API key in the body',
      needs: 'nothing',
      body: device.loginKeyBody,
      answer: done,
      handle: ({ body, origin }) => doneAfter(loginKeys.revokeItself(body.token, origin)),
    }),
    route('POST /auth/device/request', {
      operationId: 'getDeviceRequest',
      summary: 'Get a pending sign-in by its code',
      needs: 'session',
      body: device.userCodeBody,
      answer: device.deviceRequest,
      handle: ({ as, body }) => deviceLogins.find(as, body.user_code),
    }),
    route('POST /auth/device/approve', {
      operationId: 'approveDeviceLogin',
      summary: 'Approve a command line’s sign-in, with your own role or a lesser one',
      needs: 'session',
      body: device.approvalBody,
      answer: done,
      handle: ({ as, body }) => doneAfter(deviceLogins.approve(as, body)),
    }),
    route('POST /auth/device/deny', {
      operationId: 'denyDeviceLogin',
      summary: 'Refuse a command line’s sign-in',
      needs: 'session',
      body: device.userCodeBody,
      answer: done,
      handle: ({ as, body }) => doneAfter(deviceLogins.deny(as, body.user_code)),
    }),
    route('GET /auth/device/keys', {
      operationId: 'listDeviceLogins',
      summary: 'List your CLI sign-ins',
      needs: 'session',
      answer: device.loginKeyList,
      handle: async ({ as }) => ({ data: await loginKeys.list(as) }),
    }),
    route('DELETE /auth/device/keys/{id}', {
      operationId: 'revokeDeviceLogin',
      summary: 'Revoke one of your CLI sign-ins',
      needs: 'session',
      answer: deletion,
      handle: ({ as, id }) => deletedAfter(id, loginKeys.revoke(as, id)),
    }),
  ];
}
