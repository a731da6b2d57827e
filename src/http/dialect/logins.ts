/**
 * `auth/{mount}/login`: a machine proves its identity and gets a short-lived access key. The domain's logins verify the
 * proof; this file only translates. A role is the id of an identity. Each method has one error response for every
 * failed login.
 */
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import type { LoginRequest, Logins } from '../../domain/identities/logins.ts';
import { type DialectAnswer, type DialectCall, objectIn } from './calls.ts';
import { authForm } from './forms.ts';

/** A failed login, with Vault's messages and statuses. */
export class LoginRefused extends Failure {}

/** Mounts for tokens. On a mount other than these and `approle`, the fields that were sent decide. */
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
    const facts = { id, name, expiresAt: Date.parse(expiration_date!), maxUses };
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

/** Anything that is not an id is looked up as an id that never existed. */
function identityIn(value: unknown): string {
  return isId(text(value)) ? text(value) : nobody;
}

/** A missing field is handled like a wrong one. */
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
