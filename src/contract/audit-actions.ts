/**
 * The actions of the audit log, and what each does to its subject. Every change is recorded under one of these
 * actions. A refusal for lack of a permission is recorded under the permission; a refusal after a revocation is
 * recorded under the route if it has no action of its own. An action can't exist without an effect: backups, the
 * verifier, copies of the log and the dashboard use this table and keep no lists of their own.
 */

/** What an action does to its subject. A denied action only refuses. */
const effects = {
  creates: { withdraws: false, description: 'the subject is new, or someone gained access' },
  changes: { withdraws: false, description: 'its content changed; permissions did not' },
  /** Permissions were granted or withdrawn. The entry doesn't say which, so it counts as a withdrawal. */
  regrants: {
    withdraws: true,
    description: 'someone’s permissions, or how they prove their identity, changed',
  },
  spends: { withdraws: true, description: 'one of a limited number of uses was spent' },
  revokes: { withdraws: true, description: 'the credential is no longer valid; it stays listed' },
  removes: { withdraws: true, description: 'it is gone permanently' },
  trashes: { withdraws: true, description: 'it was deleted, and can be restored' },
  restores: { withdraws: false, description: 'it was restored from the trash' },
  reverts: { withdraws: false, description: 'an earlier value is current again' },
  exposes: { withdraws: false, description: 'someone was shown a value, or a copy of the log' },
  uses: { withdraws: false, description: 'it was used and did not change' },
  refuses: { withdraws: false, description: 'someone was refused' },
  maintains: { withdraws: false, description: 'the service or its operator did maintenance' },
} as const;
type AuditEffect = keyof typeof effects;
export const auditEffects = Object.keys(effects) as [AuditEffect, ...AuditEffect[]];

const table = {
  'access-key.created': 'creates',
  'access-key.revoked': 'revokes',
  'access-key.updated': 'regrants',
  'access-key.used': 'spends',
  'account.code_used': 'spends',
  'account.codes_begun': 'changes',
  'account.codes_enabled': 'regrants',
  'account.codes_removed': 'regrants',
  'account.codes_rewrapped': 'maintains',
  'account.created': 'creates',
  'account.identity_bound': 'creates',
  'account.mail_chosen': 'changes',
  'account.opened': 'creates',
  'account.passkey_added': 'creates',
  'account.passkey_removed': 'regrants',
  'account.password_changed': 'regrants',
  'account.proof_refused': 'refuses',
  'account.reset': 'regrants',
  'acme-account.created': 'creates',
  'acme-account.deactivated': 'revokes',
  'acme-account.updated': 'regrants',
  'acme-order.created': 'creates',
  'acme-order.finished': 'spends',
  'acme.refused': 'refuses',
  'api-key.created': 'creates',
  'api-key.revoked': 'revokes',
  'api-key.updated': 'regrants',
  'approval.approved': 'creates',
  'approval.cancelled': 'regrants',
  'approval.refused': 'regrants',
  'approval.requested': 'creates',
  'approval.used': 'spends',
  'audit-logs.exported': 'exposes',
  'authority.created': 'creates',
  'authority.deleted': 'removes',
  'authority.updated': 'regrants',
  'backup.restored': 'maintains',
  'certificate.created': 'creates',
  'certificate.deleted': 'trashes',
  'certificate.purged': 'removes',
  'certificate.restored': 'restores',
  'certificate.rolled_back': 'reverts',
  'certificate.updated': 'changes',
  'device-login.approved': 'creates',
  'device-login.denied': 'regrants',
  'device-login.refused': 'refuses',
  'group.created': 'creates',
  'group.deleted': 'removes',
  'group.updated': 'regrants',
  'identity.created': 'creates',
  'identity.deleted': 'removes',
  'identity.login_refused': 'refuses',
  'identity.updated': 'regrants',
  'invitation.refused': 'refuses',
  'issued-certificate.created': 'creates',
  'issued-certificate.revoked': 'revokes',
  'issuer.created': 'creates',
  'issuer.deleted': 'removes',
  'issuer.ended': 'trashes',
  'issuer.tested': 'uses',
  'issuer.updated': 'regrants',
  'key.created': 'creates',
  'key.deleted': 'trashes',
  'key.purged': 'removes',
  'key.restored': 'restores',
  'key.revealed': 'exposes',
  'key.rolled_back': 'reverts',
  'key.rotated': 'changes',
  'key.signed_certificate': 'uses',
  'key.signed_request': 'uses',
  'key.ssh_restored': 'regrants',
  'key.ssh_revoked': 'regrants',
  'key.ssh_updated': 'regrants',
  'key.updated': 'changes',
  'key.used': 'uses',
  'keyring.root_key_changed': 'regrants',
  'keyring.slot_added': 'creates',
  'keyring.slot_removed': 'regrants',
  'keyring.slots_tested': 'maintains',
  'keyring.term_started': 'maintains',
  'keyring.terms_retired': 'regrants',
  'lease.created': 'creates',
  'lease.disabled': 'changes',
  'lease.ended': 'revokes',
  'lease.issued': 'changes',
  'lease.renewed': 'changes',
  'lease.revoked': 'revokes',
  'log.clock_accepted': 'maintains',
  'log.restore_accepted': 'maintains',
  'log.timeline_continued': 'maintains',
  'member.invited': 'regrants',
  'member.joined': 'spends',
  'member.recovered': 'regrants',
  'member.removed': 'removes',
  'member.updated': 'regrants',
  'oauth-grant.approved': 'creates',
  'oauth-grant.denied': 'refuses',
  'oauth-grant.ended': 'removes',
  'oauth-grant.exchanged': 'creates',
  'oauth-grant.refreshed': 'spends',
  'oauth-grant.refused': 'refuses',
  'organization.created': 'creates',
  'organization.plan_changed': 'changes',
  'organization.setup_refused': 'refuses',
  'organization.updated': 'regrants',
  'passkey.counted': 'uses',
  'passkey.created': 'creates',
  'passkey.removed': 'removes',
  'profile.bound': 'creates',
  'profile.created': 'creates',
  'profile.deleted': 'removes',
  'profile.updated': 'regrants',
  'proposal.bypassed': 'spends',
  'proposal.confirmed': 'spends',
  'proposal.created': 'creates',
  'proposal.expired': 'changes',
  'proposal.rejected': 'regrants',
  'proposal.revealed': 'exposes',
  'public-token.created': 'creates',
  'public-token.revoked': 'revokes',
  'public-token.updated': 'regrants',
  'request-logs.exported': 'exposes',
  'role-request.approved': 'changes',
  'role-request.created': 'creates',
  'role-request.refused': 'changes',
  'role-request.withdrawn': 'changes',
  'run.created': 'creates',
  'run.ended': 'revokes',
  'run.settled': 'changes',
  'run.used': 'spends',
  'rotation.abandoned': 'changes',
  'rotation.ended': 'changes',
  'rotation.prepared': 'changes',
  'rotation.started': 'creates',
  'secret-id.created': 'creates',
  'secret-id.revoked': 'revokes',
  'secret-id.updated': 'regrants',
  'secret-id.used': 'spends',
  'secret.code_shown': 'uses',
  'secret.copied': 'exposes',
  'secret.created': 'creates',
  'secret.deleted': 'trashes',
  'secret.purged': 'removes',
  'secret.restored': 'restores',
  'secret.revealed': 'exposes',
  'secret.rolled_back': 'reverts',
  'secret.rotated': 'changes',
  'secret.updated': 'changes',
  'secrets.compared': 'uses',
  'session.ended': 'removes',
  'session.proven': 'changes',
  'session.refused': 'refuses',
  'session.renewed': 'changes',
  'session.started': 'creates',
  'stage.created': 'creates',
  'stage.deleted': 'removes',
  'stage.updated': 'changes',
  'use-rule.created': 'creates',
  'use-rule.deleted': 'removes',
  'use-rule.updated': 'regrants',
  'vault.compared': 'uses',
  'vault.created': 'creates',
  'vault.deleted': 'trashes',
  'vault.key_rewrapped': 'maintains',
  'vault.purged': 'removes',
  'vault.restored': 'restores',
  'vault.updated': 'regrants',
  'webhook.created': 'creates',
  'webhook.deleted': 'removes',
  'webhook.disabled': 'regrants',
  'webhook.redelivered': 'uses',
  'webhook.secret_rewrapped': 'maintains',
  'webhook.secret_rotated': 'regrants',
  'webhook.tested': 'uses',
  'webhook.updated': 'regrants',
} as const satisfies Readonly<Record<string, AuditEffect>>;

/** Actions of the service on its own logs. Their entries belong to no organization. */
const ownTable = {
  'audit_logs.archived': 'maintains',
  'audit_logs.revision_carried': 'maintains',
  'request_logs.pruned': 'maintains',
} as const satisfies Readonly<Record<string, AuditEffect>>;

export type AuditAction = keyof typeof table;
export type OwnAction = keyof typeof ownTable;
export const auditActions = Object.keys(table) as AuditAction[];

/** The actions that have one of these effects. */
export type ActionThat<Effect extends AuditEffect> = {
  [Action in AuditAction]: (typeof table)[Action] extends Effect ? Action : never;
}[AuditAction];

interface Entry {
  readonly action: string;
  readonly outcome: 'allowed' | 'denied';
}

const known = new Map<string, AuditEffect>(Object.entries({ ...table, ...ownTable }));

/** Null for an action that this version doesn't know: a newer version wrote the entry. */
export function effectOf({ action, outcome }: Entry): AuditEffect | null {
  return outcome === 'denied' ? 'refuses' : (known.get(action) ?? null);
}

export function hasEffect<Effect extends AuditEffect>(
  action: string,
  ...wanted: readonly Effect[]
): action is ActionThat<Effect> {
  return wanted.some(effect => effect === known.get(action));
}

/** Whether the action takes something away from someone, or may have done so. Undoing it would give that back. */
export function mayWithdraw(action: string): boolean {
  const effect = known.get(action);
  return effect !== undefined && effects[effect].withdraws;
}

/** The effects as a list, for the documentation. */
export const effectDescription = Object.entries(effects)
  .map(([effect, { description }]) => `\`${effect}\`: ${description}`)
  .join('; ');
