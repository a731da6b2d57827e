/**
 * Sign-in with a browser (RFC 8628): shows a code and polls, no faster than the service allows, until the person has
 * decided. If the service is unavailable, it keeps polling until the code expires.
 */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import packageJson from '../../../package.json' with { type: 'json' };
import type { DeviceLogin, DeviceToken } from '../../contract/device-login.ts';
import { type Environment, socketIn } from '../../service/settings/options.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { Away, askJson, RefusedRequest } from '../connection/remote.ts';
import { browse } from '../terminal/browser.ts';
import { note, printable } from '../terminal/terminal.ts';

const second = 1_000;
/** The seconds that a client adds to its interval when it is asked to slow down. */
const slower = 5;
const over = 'the code has expired: run strongroom login again';

/** Returns the API key that the person approved. With an environment, opens a browser if there is one. */
export async function signInAtBrowser(url: string, environment: Environment | null): Promise<string> {
  if (socketIn(url) !== null)
    throw new UsageError(
      '--url must be a web address to sign in with a browser; with a Unix socket, use --with-key',
    );
  const body = { client: `strongroom/${packageJson.version}`, host: hostname().slice(0, 64) };
  const begun = await askJson<DeviceLogin>(url, { method: 'POST', path: '/auth/device', key: null, body });
  checkPage(url, begun);
  const opened = environment !== null && browse(begun.verification_uri_complete, environment);
  const code = printable(begun.user_code);
  if (opened) note(`check in the browser that the code is ${code}, or open ${begun.verification_uri}`);
  else note(`open ${begun.verification_uri_complete} in a browser, or enter the code ${code} there`);
  return decided(url, begun);
}

/** The page is opened on this machine, so it must belong to the service itself. */
function checkPage(url: string, { verification_uri, verification_uri_complete }: DeviceLogin): void {
  const { origin } = new URL(url);
  const isOwn = (page: string) => URL.parse(page)?.origin === origin && printable(page) === page;
  if (isOwn(verification_uri) && isOwn(verification_uri_complete)) return;
  throw new Refusal(`${url} uses another address for signing in: use that address`);
}

async function decided(url: string, { device_code, expires_in, interval }: DeviceLogin): Promise<string> {
  const end = Date.now() + expires_in * second;
  for (let wait = interval; Date.now() < end; ) {
    await sleep(Math.max(1, wait) * second);
    const { status, api_key } = await polled(url, device_code);
    if (api_key !== null) return api_key.token;
    if (status === 'denied') throw new Refusal('the sign-in was refused in the dashboard');
    if (status === 'expired') break;
    if (status === 'slow_down') wait += slower;
  }
  throw new Refusal(over);
}

async function polled(url: string, device_code: string): Promise<DeviceToken> {
  try {
    const body = { device_code };
    return await askJson<DeviceToken>(url, { method: 'POST', path: '/auth/device/token', key: null, body });
  } catch (error) {
    if (error instanceof Away) return { status: 'pending', interval: 0, api_key: null };
    throw error instanceof RefusedRequest && error.status === 401 ? new Refusal(over) : error;
  }
}

/** Ends a sign-in at the service. Returns false if that failed; a sign-in that has already ended is fine. */
export async function endSignIn(url: string, token: string): Promise<boolean> {
  try {
    await askJson(url, { method: 'POST', path: '/auth/device/revoke', key: null, body: { token } });
    return true;
  } catch (error) {
    return error instanceof RefusedRequest && error.status === 401;
  }
}
