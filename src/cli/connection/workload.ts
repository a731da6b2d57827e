/**
 * Login of a machine without a stored key: finds the proof of its identity in the environment, and exchanges it for an
 * access key. A secret id or token in the environment comes first, then GitHub Actions, then the token file of
 * Kubernetes. The access key is only kept in memory.
 */
import { existsSync, readFileSync } from 'node:fs';
import { isThisMachine } from '../../base/this-machine.ts';
import type { Environment } from '../../service/settings/options.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { ask, askJson, jsonOf, refusalOf } from './remote.ts';
import { isId } from './secret.ts';

export interface Workload {
  readonly identityId: string;
  /** The source of the proof, for display. */
  readonly source: string;
  /** Requested for each login, because tokens are short-lived. */
  proof(): Promise<{ readonly jwt: string } | { readonly secret_id: string }>;
}

const defaultAudience = 'strongroom';
const defaultTokenFile = '/var/run/secrets/strongroom/token';

/** Null if the environment names no identity. */
export function workloadIn(environment: Environment): Workload | null {
  const { STRONGROOM_ROLE_ID: role } = environment;
  const secret = secretIn(environment);
  if (role && secret)
    return { identityId: idIn('STRONGROOM_ROLE_ID', role), source: 'its secret id', proof: secret };
  if (role || secret)
    throw new UsageError(
      'STRONGROOM_ROLE_ID and STRONGROOM_SECRET_ID (or STRONGROOM_SECRET_ID_FILE) require each other',
    );
  const named = environment.STRONGROOM_IDENTITY;
  if (!named) return null;
  return { identityId: idIn('STRONGROOM_IDENTITY', named), ...tokenIn(environment) };
}

function secretIn(environment: Environment): Workload['proof'] | null {
  const { STRONGROOM_SECRET_ID: secret, STRONGROOM_SECRET_ID_FILE: file } = environment;
  if (secret) return async () => ({ secret_id: secret.trim() });
  return file ? async () => ({ secret_id: contentOf(file) }) : null;
}

function idIn(variable: string, text: string): string {
  const id = text.trim().toLowerCase();
  if (!isId(id)) throw new UsageError(`${variable} must be the id of an identity`);
  return id;
}

function tokenIn(environment: Environment): Omit<Workload, 'identityId'> {
  const { STRONGROOM_ID_TOKEN: token, STRONGROOM_TOKEN_FILE: file } = environment;
  if (token) return { source: 'the token of its job', proof: async () => ({ jwt: token.trim() }) };
  if (file) return { source: 'the token in a file', proof: async () => ({ jwt: contentOf(file) }) };
  if (environment.ACTIONS_ID_TOKEN_REQUEST_URL)
    return { source: 'GitHub Actions', proof: async () => ({ jwt: await actionsToken(environment) }) };
  if (existsSync(defaultTokenFile))
    return { source: 'Kubernetes', proof: async () => ({ jwt: contentOf(defaultTokenFile) }) };
  throw new UsageError(
    'STRONGROOM_IDENTITY is set, but there is no token: in GitHub Actions, give the job id-token: write; elsewhere, set STRONGROOM_TOKEN_FILE or STRONGROOM_ID_TOKEN',
  );
}

/** Read each time, because the token in it is replaced before it expires. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new Refusal(
      `the file with the token or secret id can’t be read (${(error as NodeJS.ErrnoException).code})`,
    );
  }
}

async function actionsToken(environment: Environment): Promise<string> {
  const { ACTIONS_ID_TOKEN_REQUEST_URL, ACTIONS_ID_TOKEN_REQUEST_TOKEN: key } = environment;
  const url = URL.parse(ACTIONS_ID_TOKEN_REQUEST_URL!);
  if (url === null || (url.protocol !== 'https:' && !isThisMachine(url.hostname)) || !key)
    throw new UsageError(
      'ACTIONS_ID_TOKEN_REQUEST_URL and ACTIONS_ID_TOKEN_REQUEST_TOKEN are not what GitHub sets',
    );
  url.searchParams.set('audience', environment.STRONGROOM_AUDIENCE || defaultAudience);
  const { value } = await askJson<{ value?: unknown }>(url.origin, { path: url.pathname + url.search, key });
  if (typeof value !== 'string')
    throw new Refusal('GitHub did not return a token: does the job have id-token: write?');
  return value;
}

/** Returns an access key for the vault with this id, or otherwise for the identity's first vault. */
export async function logIn(
  url: string,
  { identityId, proof }: Workload,
  vault: string | null,
): Promise<string> {
  const chosen = vault !== null && isId(vault) ? { vault_id: vault.toLowerCase() } : {};
  const body = { identity_id: identityId, ...(await proof()), ...chosen };
  const answer = await ask(url, { method: 'POST', path: '/api/v1/login', key: null, body });
  if (answer.status === 401)
    throw new Refusal(
      'the service refused the login of this machine: the audit log says which condition failed',
    );
  if (answer.status !== 200) throw refusalOf(url, answer);
  return (jsonOf(url, answer) as { token: string }).token;
}
