/**
 * Checks the address and the access key before a client is served, because clients show little of what a server reports
 * later. A problem is described in one line, which names the setting and never contains the access key.
 */
import { parseRestricted } from '../access/restricted-token.ts';
import { parseToken } from '../access/token.ts';
import { ask, type RemoteService } from './remote-service.ts';
import type { ProtocolAnswer } from './sdk-server.ts';

/** In milliseconds. Clients commonly give a server ten seconds to start. */
const patience = 8_000;

/** Matches ellipses, variables that the client did not expand, and words that stand for a key. */
const placeholder = /…|\.\.\.|\$\{?\w|\{env:|[<>]|your|x{4}|placeholder|changeme|access[-_ ]?key/i;
const exampleHost = /(^|\.)example(\.(com|net|org))?$/;

const untrusted = 'is not from a trusted authority: set NODE_EXTRA_CA_CERTS to the authority’s certificate';
const certificateProblems: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet: check the clock',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name: use the address that it names',
};

const connectionProblems: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name can’t be looked up',
  ECONNREFUSED: 'the connection was refused',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS on this port',
};

/** Null if the service accepts the access key. */
export async function problemWith(remote: RemoteService): Promise<string | null> {
  const { host, hostname } = new URL(remote.url);
  if (exampleHost.test(hostname))
    return 'STRONGROOM_URL is a placeholder: set it to the address of your service';
  const misspelt = problemWithKey(remote.accessKey);
  if (misspelt !== null) return misspelt;
  try {
    return await problemIn(await ask(remote, { method: 'server/discover', patience }), host);
  } catch (error) {
    return problemOfConnection(error as Error, host);
  }
}

function problemWithKey(accessKey: string): string | null {
  const token = parseToken(accessKey);
  if (token?.kind === 'vault' || parseRestricted(accessKey) !== null) return null;
  if (token !== null)
    return 'STRONGROOM_ACCESS_KEY must be a vault access key (sr_vault_…), not another token';
  return placeholder.test(accessKey)
    ? 'STRONGROOM_ACCESS_KEY is a placeholder: set it to a vault access key'
    : 'STRONGROOM_ACCESS_KEY is not a vault access key: it is incomplete or mistyped';
}

async function problemIn(response: Response, host: string): Promise<string | null> {
  const { status } = response;
  if (status === 401)
    return 'STRONGROOM_ACCESS_KEY was refused: the access key is unknown, revoked or expired';
  if (status === 403) return `${host} refuses requests under this name: start it with --public-url`;
  // A rate limit does not mean that the access key is refused.
  if (status === 429) return null;
  if (status >= 500) return `${host} is not ready: it answers with status ${status}`;
  if (status >= 300 && status < 400)
    return `${host} redirects to another address: set STRONGROOM_URL to that one`;
  const answer = (await response.json().catch(() => null)) as ProtocolAnswer | null;
  if (response.ok && answer?.result !== undefined) return null;
  return `${host} does not answer as a tool endpoint (status ${status}): check STRONGROOM_URL`;
}

function problemOfConnection(error: Error, host: string): string {
  const code = String((error.cause as NodeJS.ErrnoException | undefined)?.code);
  const certificate = certificateProblems[code];
  if (certificate !== undefined) return `the certificate of ${host} ${certificate}`;
  const late = `it did not answer within ${patience / 1000} seconds`;
  const reason = error.name === 'TimeoutError' ? late : (connectionProblems[code] ?? 'the connection failed');
  return `${host} can’t be reached: ${reason}`;
}
