/**
 * Judges the authorization request with which a client sends a person's browser. If the client or its redirect URI is
 * unknown, only the person sees the error; any other error is returned to the client, with the issuer's name. PKCE
 * with S256 is required, and a named resource must be the tool endpoint. Nothing of a request is stored: the person's
 * consent contains the request again, and it is judged again.
 */
import { granted, scopesIn } from '../../access/oauth-scopes.ts';
import { invalid } from '../../contract/errors.ts';
import type { OAuthScope } from '../../contract/names.ts';
import { OAuthError } from '../../contract/oauth.ts';
import { type OAuthClient, type OAuthClients, takesRedirect } from './clients.ts';
import { redirection } from './redirects.ts';

export interface AuthorizationRequest {
  readonly client: OAuthClient;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly resource: string;
  readonly scopes: readonly OAuthScope[];
  returnTo(told: Readonly<Record<string, string>>): string;
}

/** A valid request, or the redirect that reports the client's error. */
export type Judged =
  | AuthorizationRequest
  | (Pick<AuthorizationRequest, 'client' | 'redirectUri' | 'scopes'> & {
      readonly refusal: string;
    });

const challengeForm = /^[\w-]{43}$/;
const longestState = 2_048;

export function authorizationRequestsWith(clients: OAuthClients) {
  return async (query: string, issuer: string): Promise<Judged> => {
    const sent = new URLSearchParams(query);
    const client = await clients.find(single(sent, 'client_id') ?? '');
    if (client === null) throw invalid('client_id', 'is not a known client');
    const redirectUri = single(sent, 'redirect_uri') ?? '';
    if (!takesRedirect(client, redirectUri))
      throw invalid('redirect_uri', 'is not one of the client’s redirect URIs');
    const state = sent.getAll('state').length === 1 ? sent.get('state') : null;
    const returnTo = (told: Readonly<Record<string, string>>) =>
      redirection(redirectUri, { ...told, state, iss: issuer });
    const scopes = granted(scopesIn(single(sent, 'scope') ?? ''));
    try {
      const { challenge, resource } = checked(sent, issuer);
      return { client, redirectUri, challenge, resource, scopes, returnTo };
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const refusal = returnTo({ error: error.error, error_description: error.message });
      return { client, redirectUri, scopes, refusal };
    }
  };
}

function checked(sent: URLSearchParams, issuer: string) {
  const doubled = [...new Set(sent.keys())].some(name => name !== 'resource' && sent.getAll(name).length > 1);
  if (doubled) throw new OAuthError('invalid_request', 'a parameter is given twice');
  if (sent.has('request')) throw new OAuthError('request_not_supported', 'request is not supported');
  if (sent.has('request_uri'))
    throw new OAuthError('request_uri_not_supported', 'request_uri is not supported');
  if (sent.get('response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'response_type must be code');
  if ((sent.get('response_mode') ?? 'query') !== 'query')
    throw new OAuthError('invalid_request', 'response_mode must be query');
  if ((sent.get('state') ?? '').length > longestState)
    throw new OAuthError('invalid_request', 'state is too long');
  if (sent.get('code_challenge_method') !== 'S256')
    throw new OAuthError('invalid_request', 'code_challenge_method must be S256');
  const challenge = sent.get('code_challenge') ?? '';
  if (!challengeForm.test(challenge))
    throw new OAuthError('invalid_request', 'code_challenge must be a SHA-256 hash in base64url');
  if (sent.get('prompt') === 'none') throw new OAuthError('consent_required', 'the person must consent');
  return { challenge, resource: resourceIn(sent.getAll('resource'), issuer) };
}

export function resourceOf(issuer: string): string {
  return `${issuer}/mcp`;
}

/** A named resource must be the tool endpoint; a query and a trailing slash make no difference. */
export function resourceIn(named: readonly string[], issuer: string): string {
  const own = resourceOf(issuer);
  const isOwn = (text: string) => {
    const url = URL.parse(text);
    if (url === null || text.includes('#') || url.username !== '') return false;
    return `${url.origin}${url.pathname.replace(/\/$/, '')}` === own;
  };
  if (!named.every(isOwn)) throw new OAuthError('invalid_target', 'resource must be the tool endpoint');
  return own;
}

function single(sent: URLSearchParams, name: string): string | null {
  const all = sent.getAll(name);
  return all.length === 1 ? all[0]! : null;
}
