/**
 * Makes a client sign in, if the operator turned OAuth on. A call without any key is refused with a status that starts
 * the client's sign-in, and so is a call for which a key from OAuth lacks the scope. Keys in headers and arguments are
 * checked as usual. If signing in is required, every request without a key is refused, including the first, unless it
 * has the bare form or a key among its arguments: clients that sign in send neither.
 */
import type { IncomingMessage } from 'node:http';
import type { Reader } from '../access/caller.ts';
import { firstScope, missingScope, useScope } from '../access/oauth-scopes.ts';
import type { OAuthScope } from '../contract/names.ts';
import type { Selection, VaultRequest } from '../domain/reads/vault-request.ts';
import { isRecord, RpcError } from './messages.ts';
import { serverError } from './protocol-constants.ts';

/** The contents of `WWW-Authenticate`. */
export interface Challenge {
  readonly error: 'invalid_token' | 'insufficient_scope' | null;
  readonly scope: OAuthScope;
}

/** OAuth, as the HTTP surface provides it. */
export interface SignIn {
  readonly mode: 'offered' | 'required';
  /** Null if the service has no address to name as the issuer. */
  readonly challengeOf: (request: IncomingMessage, challenge: Challenge) => string | null;
}

export class SignInRequired extends RpcError {
  readonly challenge: Challenge;

  constructor(status: 401 | 403, challenge: Challenge) {
    super(status, serverError, status === 401 ? 'Unauthorized: sign in, or send an access key' : 'Forbidden');
    this.challenge = challenge;
  }
}

/** The challenge for a key that is not valid. */
export const invalidKey: Challenge = { error: 'invalid_token', scope: firstScope };

export function noKey(): SignInRequired {
  return new SignInRequired(401, { error: null, scope: firstScope });
}

/** The scope that a key from OAuth lacks for this request; null if it lacks none, or is not from OAuth. */
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

/** Whether a key that is restricted to names may have this selection. */
function isOnlyNames(selection: Selection & { of: 'kind' | 'item' }): boolean {
  const { of, kind, fields } = selection;
  if (of === 'item') return kind === 'secret' && fields === 'metadata';
  return fields === 'names' || (kind !== 'secret' && fields !== 'value');
}

/** Whether a call has a key or a public token among its arguments. */
export function bringsKey({ method, params }: Partial<Record<'method' | 'params', unknown>>): boolean {
  const given = method === 'tools/call' && isRecord(params) ? params.arguments : undefined;
  return isRecord(given) && ['vault', 'credentials', 'code'].some(name => given[name] !== undefined);
}
