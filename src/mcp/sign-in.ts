/**
 * Leading a client to sign in, where the operator turned OAuth on. A call that comes with no key at all is refused by a
 * status that clients understand, and so is one that a key by OAuth has no scope for. Keys in headers and in arguments
 * are judged as ever. Where signing in is required, requests without a key are refused from the first one on, unless
 * they are of the bare form or bring a key among their arguments: no client that signs in sends those.
 */
import type { IncomingMessage } from 'node:http';
import type { Reader } from '../access/caller.ts';
import { firstScope, missingScope, useScope } from '../access/oauth-scopes.ts';
import type { OAuthScope } from '../contract/names.ts';
import type { Selection, VaultRequest } from '../domain/reads/vault-request.ts';
import { isRecord, RpcError } from './messages.ts';
import { serverError } from './protocol-constants.ts';

/** What a client is told in `WWW-Authenticate`. */
export interface Challenge {
  readonly error: 'invalid_token' | 'insufficient_scope' | null;
  readonly scope: OAuthScope;
}

/** OAuth, as the HTTP surface offers it. */
export interface SignIn {
  readonly mode: 'offered' | 'required';
  /** Null where the request does not name this service. */
  readonly challengeOf: (request: IncomingMessage, challenge: Challenge) => string | null;
}

export class SignInRequired extends RpcError {
  readonly challenge: Challenge;

  constructor(status: 401 | 403, challenge: Challenge) {
    super(status, serverError, status === 401 ? 'Unauthorized: sign in, or send an access key' : 'Forbidden');
    this.challenge = challenge;
  }
}

/** What a key is told that was sent and is not valid. */
export const invalidKey: Challenge = { error: 'invalid_token', scope: firstScope };

export function noKey(): SignInRequired {
  return new SignInRequired(401, { error: null, scope: firstScope });
}

/** What a key by OAuth lacks for this request; null where it lacks nothing, or is none. */
export function missingFor(
  request: VaultRequest,
  header: string | null,
  reader: Reader | null,
  forUse: boolean,
): OAuthScope | null {
  if (reader === null || request.by !== 'access-key' || request.token !== header) return null;
  const { selection } = request;
  if (forUse) return reader.byOAuth && !reader.mayUse ? useScope : null;
  if (!('kind' in selection)) return null;
  return missingScope(reader, selection.kind, isOnlyNames(selection));
}

/** What a key that is restricted to names is answered, instead of refused. */
function isOnlyNames(selection: Selection & { of: 'kind' | 'item' }): boolean {
  const { of, kind, fields } = selection;
  if (of === 'item') return kind === 'secret' && fields === 'metadata';
  return fields === 'names' || (kind !== 'secret' && fields !== 'value');
}

/** Whether a call brings a key, or a public token, among its arguments. */
export function bringsKey({
  method,
  params,
}: {
  readonly method?: unknown;
  readonly params?: unknown;
}): boolean {
  const given = method === 'tools/call' && isRecord(params) ? params.arguments : undefined;
  return isRecord(given) && ['vault', 'credentials', 'code'].some(name => given[name] !== undefined);
}
