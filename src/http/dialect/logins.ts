/**
 * `auth/{mount}/login`: a machine proves that it is an identity, and gets an access key for a while. Who is believed is
 * decided by the domain's logins; this translates. A role is an identity's id. However a login fails, the answer of its
 * method is the same.
 */
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import type { LoginRequest, Logins } from '../../domain/identities/logins.ts';
import { type DialectAnswer, type DialectCall, objectIn } from './calls.ts';
import { authForm } from './forms.ts';

/** A login that failed: in Vault's words, and with its statuses. */
export class LoginRefused extends Failure {}

/** Elsewhere, what is sent tells. */
const tokenMounts: ReadonlySet<string> = new Set(['jwt', 'kubernetes']);

const nobody = '00000000-0000-7000-8000-000000000000';

type Sent = Readonly<Record<string, unknown>>;

export async function loginCall(
  { body, origin }: DialectCall,
  mount: string,
  logins: Logins,
): Promise<DialectAnswer> {
  const sent = objectIn(body);
  const isSecretId = mount === 'approle' || (!tokenMounts.has(mount) && 'role_id' in sent);
  try {
    const { accessKey, identity } = await logins.login(isSecretId ? bySecretId(sent) : byToken(sent), origin);
    const { token, id, name, created_at, expiration_date, max_uses: maxUses } = accessKey;
    const facts = { id, name, expiresAt: Date.parse(expiration_date!), maxUses, isChild: false };
    const auth = authForm(token, facts, Date.parse(created_at), { role_name: identity.name });
    return { status: 200, auth: JSON.stringify(auth) };
  } catch (error) {
    throw isRefusal(error) ? refusalOf(mount, isSecretId) : error;
  }
}

function bySecretId({ role_id, secret_id }: Sent): LoginRequest {
  return { identityId: identityIn(role_id), proof: { method: 'secret_id', secretId: text(secret_id) } };
}

function byToken({ role, jwt }: Sent): LoginRequest {
  return { identityId: identityIn(role), proof: { method: 'jwt', jwt: text(jwt) } };
}

/** What is no id is looked up like one that never was. */
function identityIn(value: unknown): string {
  return isId(text(value)) ? text(value) : nobody;
}

/** What is missing is as wrong as what is wrong. */
function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isRefusal(error: unknown): boolean {
  return error instanceof Failure && (error.code === 'UNAUTHORIZED' || error.code === 'NOT_FOUND');
}

function refusalOf(mount: string, isSecretId: boolean): Failure {
  if (isSecretId) return new LoginRefused('INVALID_REQUEST', { message: 'invalid role or secret ID' });
  if (mount === 'kubernetes') return new LoginRefused('FORBIDDEN');
  return new LoginRefused('INVALID_REQUEST', { message: 'error validating token' });
}
