/**
 * Rules for changes that outlast their caller: whatever sends, grants or reads after them. Nothing may last longer
 * than what created it, unless a person proved their identity for it. So each action of the audit log either grants
 * something, and then each change states for how long, or grants nothing, for a reason listed here. A new action
 * doesn't compile until it is classified.
 */
import { type Caller, isProven, makersOf } from '../../access/caller.ts';
import { endOfAll, outlives } from '../../access/policy.ts';
import type { ActionThat, AuditAction } from '../../contract/audit-actions.ts';
import type { Permit } from './permits.ts';

/** How long the access that a change grants remains valid. */
export type Lasts =
  /** It grants nothing new: a rename, or something taken away. */
  | 'as before'
  /** Until a person ends it. */
  | 'without end'
  /** Until this time, or indefinitely if null, and no longer than each of these API keys. */
  | { readonly until: number | null; readonly madeWith: readonly string[] };

const gives = [
  'access-key.created',
  'access-key.updated',
  'api-key.created',
  'api-key.updated',
  'approval.approved',
  'authority.created',
  'authority.updated',
  'group.created',
  'group.updated',
  'identity.created',
  'identity.updated',
  'issuer.created',
  'issuer.updated',
  'key.ssh_restored',
  'key.ssh_updated',
  'member.invited',
  'member.updated',
  'oauth-grant.approved',
  'profile.bound',
  'profile.created',
  'profile.updated',
  'public-token.created',
  'public-token.updated',
  'run.created',
  'secret-id.created',
  'secret-id.updated',
  'secret.created',
  'secret.rolled_back',
  'secret.updated',
  'use-rule.created',
  'use-rule.updated',
  'vault.created',
  'vault.updated',
  'webhook.created',
  'webhook.secret_rotated',
  'webhook.updated',
] as const satisfies readonly AuditAction[];

/** Why the other actions grant nothing that lasts. */
const givesNothing = {
  'takes something away': [
    'account.codes_removed',
    'account.passkey_removed',
    'approval.cancelled',
    'approval.refused',
    'device-login.denied',
    'key.ssh_revoked',
    'lease.disabled',
    'proposal.rejected',
    'role-request.refused',
    'role-request.withdrawn',
    'webhook.disabled',
  ],
  'is a resource, which others are given access to': [
    'certificate.created',
    'certificate.restored',
    'certificate.rolled_back',
    'certificate.updated',
    'key.created',
    'key.restored',
    'key.rolled_back',
    'key.rotated',
    'key.updated',
    'organization.created',
    'organization.plan_changed',
    'organization.updated',
    'secret.restored',
    'stage.created',
    'stage.updated',
    'vault.restored',
  ],
  'ends with the access key that it was issued to': [
    'acme-account.created',
    'acme-account.updated',
    'acme-order.created',
    'lease.created',
    'lease.issued',
    'lease.renewed',
  ],
  'follows the plan of a secret, which was set by a change of that': [
    'rotation.abandoned',
    'rotation.ended',
    'rotation.prepared',
    'rotation.started',
    'secret.rotated',
  ],
  'ends with what requested it, or within 90 days, and can be revoked': ['issued-certificate.created'],
  'says what a person is told': ['account.mail_chosen'],
  'is done once, and over': [
    'approval.requested',
    'proposal.created',
    'proposal.expired',
    'role-request.created',
    'run.settled',
  ],
  'is how a person signs in, which `sign-in/proofs.ts` protects': [
    'account.codes_begun',
    'account.codes_enabled',
    'account.identity_bound',
    'account.opened',
    'account.passkey_added',
    'account.password_changed',
    'device-login.approved',
    'passkey.created',
    'session.proven',
    'session.renewed',
    'session.started',
  ],
  'goes with what gives it': [
    'account.created',
    'account.reset',
    'oauth-grant.exchanged',
    'role-request.approved',
  ],
  'is the operator’s, or the service’s own': [
    'keyring.root_key_changed',
    'keyring.slot_added',
    'keyring.slot_removed',
    'keyring.terms_retired',
    'member.recovered',
  ],
} as const satisfies Readonly<Record<string, readonly AuditAction[]>>;

/** Actions that take away, show, refuse or maintain grant nothing; the others must be classified. */
type Undecided = Exclude<
  ActionThat<'creates' | 'changes' | 'regrants' | 'restores' | 'reverts'>,
  (typeof gives)[number] | (typeof givesNothing)[keyof typeof givesNothing][number]
>;
/** Doesn't compile while an action is unclassified; the error names it. */
export const everyActionIsDecided: [Undecided] extends [never] ? true : Undecided = true;

const giving: ReadonlySet<string> = new Set(gives);

/** The reason why the caller may not leave this behind; null if they may. */
export function refusalToLeave(
  caller: Caller,
  verb: AuditAction,
  lasts: Lasts | undefined,
  now: number,
): 'PROOF_REQUIRED' | 'FORBIDDEN' | null {
  if (!giving.has(verb) || lasts === 'as before') return null;
  if (lasts === undefined) throw new Error(`${verb} does not say for how long`);
  const isLogin = caller.proof.provenAt !== undefined;
  if (isLogin && isProven(caller, now)) return null;
  if (makersOf(caller).length === 0) return isLogin ? 'PROOF_REQUIRED' : null;
  if (endsWith(caller, lasts)) return null;
  return isLogin ? 'PROOF_REQUIRED' : 'FORBIDDEN';
}

/** Whether a change in a vault grants something that lasts longer than the role there that permits it. */
export function outlastsRole(
  { caller, action }: Pick<Permit, 'caller' | 'action'>,
  verb: AuditAction,
  vaultId: string | undefined,
  lasts: Lasts | undefined,
): boolean {
  if (vaultId === undefined || !giving.has(verb) || lasts === 'as before' || lasts === undefined)
    return false;
  const end = endOfAll(caller, [action], vaultId);
  return outlives({ until: end }, lasts === 'without end' ? null : lasts.until);
}

function endsWith(caller: Caller, lasts: Exclude<Lasts, 'as before'>): boolean {
  if (lasts === 'without end') return false;
  return lasts.madeWith.includes(caller.id) && !outlives(caller, lasts.until);
}
