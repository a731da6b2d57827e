/** A client that signs in by OAuth, step by step, and a person who consents at their browser. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { type Answer, callService, type EngineName } from './harness.ts';
import { type Browser, type EmptyService, setUp, startEmpty } from './people.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Json = any;

export const known = 'https://claude.ai/oauth/claude-code-client-metadata';
export const callback = 'http://127.0.0.1:41234/callback';

export interface OAuthWorld {
  readonly service: EmptyService;
  readonly owner: Browser;
  readonly vaultId: string;
  readonly keyId: string;
}

export async function startOAuth(engine: EngineName, flags: readonly string[]): Promise<OAuthWorld> {
  const service = await startEmpty(engine, flags);
  const owner = await setUp(service);
  const made = async (path: string, body: unknown) => {
    const answer = await owner.post(path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.id as string;
  };
  const vaultId = await made('/v1/vaults', { name: 'production' });
  await made('/v1/secrets', { vault_id: vaultId, name: 'TOKEN', value: 'hunter2' });
  const generate = { key_type: 'EC', curve: 'P-256' };
  const keyId = await made('/v1/keys', { vault_id: vaultId, name: 'signing', generate });
  return { service, owner, vaultId, keyId };
}

export interface Asked {
  readonly query: string;
  readonly verifier: string;
}

/** What a client sends a browser with; null leaves a parameter out. */
export function asking(url: string, more: Readonly<Record<string, string | null>> = {}): Asked {
  const verifier = randomBytes(32).toString('base64url');
  const all = {
    response_type: 'code',
    client_id: known,
    redirect_uri: callback,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'of the client',
    scope: 'secrets:read',
    resource: `${url}/mcp`,
    ...more,
  };
  const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null);
  return { query: `?${new URLSearchParams(given)}`, verifier };
}

/** The parameters that the client gets back. */
export async function consent(
  by: Browser,
  { query }: Pick<Asked, 'query'>,
  given: Json,
): Promise<URLSearchParams> {
  const approve = () =>
    by.post('/auth/oauth/approve', { request: query, scopes: ['secrets:read'], ...given });
  const first = await approve();
  // As the dashboard does, where the last proof is too old for what lasts.
  const isAsked = first.body.error?.code === 'PROOF_REQUIRED' && (await by.prove()).status === 200;
  const answer = isAsked ? await approve() : first;
  assert.equal(answer.status, 200, answer.text);
  return new URL(answer.body.redirect_to).searchParams;
}

/** POSTs a form to one of the endpoints of OAuth. */
export function form(url: string, path: string, fields: Json): Promise<Answer> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined) as [string, string][];
  return callService(url, 'POST', path, new URLSearchParams(given).toString(), null, {
    'content-type': 'application/x-www-form-urlencoded',
  });
}

export function exchange(
  url: string,
  code: string | null,
  verifier: string,
  more: Json = {},
): Promise<Answer> {
  return form(url, '/oauth/token', {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    client_id: known,
    redirect_uri: callback,
    resource: `${url}/mcp`,
    ...more,
  });
}

export function refresh(url: string, refresh_token: string, more: Json = {}): Promise<Answer> {
  return form(url, '/oauth/token', { grant_type: 'refresh_token', refresh_token, client_id: known, ...more });
}

/** The tokens that come of a whole sign-in. */
export async function signedIn(
  { service, owner, vaultId }: Pick<OAuthWorld, 'service' | 'owner' | 'vaultId'>,
  given: Json = {},
  by = owner,
): Promise<Json> {
  const asked = asking(service.url);
  const told = await consent(by, asked, { vault_id: vaultId, ...given });
  const answer = await exchange(service.url, told.get('code'), asked.verifier);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}
