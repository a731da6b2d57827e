/**
 * Repeats the revocations and removals that happened after a backup. Every action that revokes or removes something
 * must be listed here, or this does not compile: it is repeated by the id of its subject, or left to an operator's
 * review.
 */
import type { Caller } from '../../access/caller.ts';
import type { LostChanges, Withdrawal } from '../../backup/lost-changes.ts';
import { type ActionThat, hasEffect } from '../../contract/audit-actions.ts';
import { Failure } from '../../contract/errors.ts';
import type { Strongroom } from '../../service/opening/open.ts';
import { operatorOf } from './operator.ts';

type Domain = Strongroom['domain'];
type Again = (domain: Domain, operator: Caller, id: string) => Promise<void>;

const ways: Readonly<Record<ActionThat<'revokes' | 'removes' | 'trashes'>, Again | null>> = {
  'access-key.revoked': (domain, operator, id) => domain.accessKeys.remove(operator, id, false),
  'api-key.revoked': (domain, operator, id) => domain.apiKeys.remove(operator, id, false),
  'certificate.deleted': (domain, operator, id) => domain.certificates.remove(operator, id, false),
  'certificate.purged': (domain, operator, id) => domain.certificates.remove(operator, id, true),
  'group.deleted': (domain, operator, id) => domain.groups.remove(operator, id, false),
  'identity.deleted': (domain, operator, id) => domain.identities.remove(operator, id, false),
  'key.deleted': (domain, operator, id) => domain.keys.remove(operator, id, false),
  'key.purged': (domain, operator, id) => domain.keys.remove(operator, id, true),
  'member.removed': (domain, operator, id) => domain.members.remove(operator, id, false),
  'oauth-grant.ended': (domain, operator, id) => domain.oauth.grants.endBy(operator, id),
  // It may be the person's only way to sign in.
  'passkey.removed': null,
  'public-token.revoked': (domain, operator, id) => domain.publicTokens.remove(operator, id, false),
  'secret-id.revoked': (domain, operator, id) => domain.secretIds.remove(operator, id, false),
  'secret.deleted': (domain, operator, id) => domain.secrets.remove(operator, id, false),
  'secret.purged': (domain, operator, id) => domain.secrets.remove(operator, id, true),
  'session.ended': (domain, operator, id) => domain.accounts.sessions.endBy(operator, id),
  'use-rule.deleted': (domain, operator, id) => domain.useRules.remove(operator, id, false),
  'vault.deleted': (domain, operator, id) => domain.vaults.remove(operator, id, false),
  'vault.purged': (domain, operator, id) => domain.vaults.remove(operator, id, true),
  'webhook.deleted': (domain, operator, id) => domain.webhooks.remove(operator, id, false),
};

const wayOf = (action: string): Again | null =>
  hasEffect(action, 'revokes', 'removes', 'trashes') ? ways[action] : null;

/** Separates the changes that can be repeated automatically from those that an operator has to review. */
export function sorted({ withdrawn }: LostChanges) {
  const isRepeatable = ({ action, id, organizationId }: Withdrawal) =>
    wayOf(action) !== null && id !== null && organizationId !== null;
  const { true: repeatable = [], false: byHand = [] } = Object.groupBy(
    withdrawn,
    one => `${isRepeatable(one)}`,
  );
  return { repeatable, byHand };
}

export interface Repeated {
  readonly done: readonly Withdrawal[];
  readonly failed: readonly (Withdrawal & { readonly reason: string })[];
}

/** A missing subject is fine: it was also created after the backup, or removed with another one. */
export async function withdrawAgain(
  { domain, newId }: Strongroom,
  again: readonly Withdrawal[],
): Promise<Repeated> {
  const done: Withdrawal[] = [];
  const failed: Repeated['failed'][number][] = [];
  for (const one of again) {
    try {
      await wayOf(one.action)!(domain, operatorOf(one.organizationId!, newId), one.id!);
      done.push(one);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (error.code !== 'NOT_FOUND') failed.push({ ...one, reason: error.message });
    }
  }
  return { done, failed };
}
