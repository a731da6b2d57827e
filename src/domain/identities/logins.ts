/**
 * Logins: a machine proves that it is an identity, and is issued an access key for one of the identity's vaults that
 * lives for minutes. The key is like any other: it is listed, restricted, revoked and logged in the same way. It is
 * stored in one transaction with what the proof used up, and only if the identity is unchanged since it was judged.
 * All refusals look the same from outside and count against the address; the condition that failed is in the audit
 * log.
 */
import { addressSet } from '../../access/address.ts';
import type { Origin } from '../../access/caller.ts';
import { mintToken } from '../../access/token.ts';
import { Failure } from '../../contract/errors.ts';
import { isShownText } from '../../contract/text.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { IdentityRow } from '../../store/records/identities.ts';
import type { Authenticator } from '../credentials/authentication.ts';
import type { Restrictions } from '../credentials/credential.ts';
import { accessKeyEvent, newCredentialWith, subjectOf } from '../credentials/credential-changes.ts';
import { presentAccessKey } from '../credentials/credential-records.ts';
import { retryingStale, StaleChange } from '../kernel/conflict-retries.ts';
import { MinuteCounter } from '../kernel/minute-counter.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Granted, grantedIn } from './identity-records.ts';
import type { Issuers } from './issuers.ts';
import { type LoginProof, ProofRefused, type Proven, proofsWith } from './proofs.ts';

export interface LoginRequest {
  readonly identityId: string;
  readonly proof: LoginProof;
  /** One of the identity's vaults; the first by default. */
  readonly vaultId?: string | undefined;
}

export type Logins = ReturnType<typeof loginsWith>;

export interface LoginParts extends Parts {
  readonly attempts: MinuteCounter;
  readonly issuers: Issuers;
  readonly authenticate: Pick<Authenticator, 'areMakersGood'>;
}

/** Access keys issued to one identity per minute. */
const mostLogins = 1_200;
const longestName = 255;

export function loginsWith(parts: LoginParts) {
  const { store, stamps, guard, attempts, issuers, authenticate, now, newId } = parts;
  const prove = proofsWith(parts, issuers);
  const newRow = newCredentialWith(parts);
  const given = new MinuteCounter(now, mostLogins);

  async function find(id: string): Promise<IdentityRow | undefined> {
    const row = await store.identities.anywhere(id);
    return row && stamps.identity.believe(row);
  }

  async function vaultFor(identity: IdentityRow, asked: string | undefined): Promise<string> {
    const { vault_ids } = grantedIn(identity);
    const id = vault_ids.find(one => asked === undefined || one === asked);
    if (id === undefined) throw new ProofRefused('the vault is not one of the identity’s');
    const row = await store.resources.byId(identity.organization_id, id);
    if (row === undefined || row.deleted_at !== null) throw new ProofRefused('the vault was deleted');
    return id;
  }

  function checkConditions(identity: IdentityRow, { address }: Origin): void {
    const { cidrs } = grantedIn(identity);
    if (identity.expiration_date !== null && now() >= identity.expiration_date)
      throw new ProofRefused('the identity has expired');
    if (cidrs && !addressSet(cidrs)(address))
      throw new ProofRefused('the address is outside the identity’s networks');
  }

  async function keyFor(identity: IdentityRow, granted: Granted, vaultId: string, proven: Proven) {
    const { vault_ids: _, written_by: __, ...restrictions } = granted;
    const { subject, secretId: secret_id } = proven;
    const narrowing = secret_id === undefined ? restrictions : { ...restrictions, secret_id };
    const id = newId();
    const token = mintToken('vault', id);
    const maker = { id: identity.id, organizationId: identity.organization_id };
    const time = now();
    const end = time + identity.lifetime * 1_000;
    const wanted = {
      name: nameOf(identity, subject),
      vaultId,
      narrowing,
      expirationDate: Math.min(end, identity.expiration_date ?? end),
      maxUses: identity.max_uses,
      identity,
    };
    return { row: await newRow('vault', maker, id, token, wanted, time), token };
  }

  async function keep(identity: IdentityRow, row: CredentialRow, proven: Proven, origin: Origin) {
    const { id, name, organization_id: organizationId } = identity;
    const { subjects = [], statements = [], touches = [], details } = proven;
    await guard.used({ kind: 'identity', id, name, organizationId, origin }, 'access-key.created', {
      subjects: [{ ...subjectOf(row, row.kind), details }, ...subjects],
      statements: [
        store.identities.loggedIn(identity, now()),
        ...statements,
        store.credentials.insert(row),
        accessKeyEvent(parts, 'access_key.created', row),
      ],
      touches,
    });
  }

  async function admit({ proof, vaultId }: LoginRequest, identity: IdentityRow | undefined, origin: Origin) {
    const proven = await prove(identity, proof);
    checkConditions(identity!, origin);
    const granted = { ...grantedIn(identity!), ...boundBoth(grantedIn(identity!), proven) };
    if (!(await authenticate.areMakersGood(granted, origin)))
      throw new ProofRefused('the API key that created the identity or the secret id is no longer valid');
    const vault = await vaultFor(identity!, vaultId);
    const { row, token } = await keyFor(identity!, granted, vault, proven);
    // A valid proof can be used again and again, so the number of keys is limited.
    given.take(identity!.id);
    await keep(identity!, row, proven, origin).catch(error => {
      const isUsed = error instanceof Failure && error.code === 'CONFLICT' && !(error instanceof StaleChange);
      throw isUsed ? new ProofRefused('jti: the token was used before') : error;
    });
    const { id, name } = identity!;
    /** In seconds. */
    const lifetime = Math.floor((row.expiration_date! - row.created_at) / 1_000);
    return { accessKey: { ...presentAccessKey(row), token }, identity: { id, name }, lifetime };
  }

  async function refuse(identity: IdentityRow | undefined, reason: string, origin: Origin): Promise<never> {
    const wait = attempts.blockedFor(origin.address);
    attempts.add(origin.address);
    if (wait > 0) throw new Failure('RATE_LIMITED', { retryAfter: wait });
    await guard.unproven(origin, 'identity.login_refused', identity ? claimedOf(identity) : null, reason);
    throw new Failure('UNAUTHORIZED');
  }

  async function attempt(request: LoginRequest, origin: Origin) {
    const identity = await find(request.identityId);
    try {
      return await admit(request, identity, origin);
    } catch (error) {
      if (error instanceof ProofRefused) return refuse(identity, error.message, origin);
      throw error;
    }
  }

  return {
    /** Throws UNAUTHORIZED for every refusal, or RATE_LIMITED after too many. */
    login: (request: LoginRequest, origin: Origin) =>
      attempts.lookUp(origin.address, () => retryingStale(() => attempt(request, origin))),
  };
}

/** The access key ends with what the identity was created with, and with what the secret id was created with. */
function boundBoth(
  { made_with: one = [] }: Restrictions,
  { madeWith = [] }: Proven,
): Pick<Restrictions, 'made_with'> {
  const made_with = [...new Set([...one, ...madeWith])];
  return made_with.length === 0 ? {} : { made_with };
}

function claimedOf({ organization_id, id, name }: IdentityRow) {
  return { organizationId: organization_id, subject: { type: 'identity', id, name } };
}

/** Shows which machine has which key. An issuer's subject can contain characters that names must not. */
function nameOf({ name }: IdentityRow, subject: string): string {
  const whole = `${name}: ${subject}`;
  return isShownText(subject) && [...whole].length <= longestName ? whole : name;
}
