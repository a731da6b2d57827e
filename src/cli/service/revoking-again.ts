/**
 * Repeats the revocations and removals that happened after a backup. Every action that revokes or removes something
 * must be listed here, or this does not compile: it is repeated by the id of its subject, or left to an operator's
 * review.
 */
import type { Caller } from '../../access/caller.ts';
import type { LostChanges, Withdrawal } from '../../backup/lost-changes.ts';
import { type ActionThat, hasEffect } from '../../contract/audit-actions.ts';
import { Failure } from '../../contract/errors.ts';
import type { Collection, Noun } from '../../domain/kernel/collection.ts';
import type { Strongroom } from '../../service/opening/open.ts';
import { operatorOf } from './operator.ts';

type Domain = Strongroom['domain'];
type Removable<N extends Noun> = Pick<Collection<N, unknown, never, never>, 'remove'>;
type Again = (domain: Domain, operator: Caller, id: string) => Promise<void>;

const removing =
  <N extends Noun>(noun: N, of: (domain: Domain) => Removable<N>, purge = false): Again =>
  async (domain, operator, id) =>
    of(domain).remove(await domain.guard.admit(operator, `${noun}:write`), id, purge);

const endingIssuer: Again = async (domain, operator, id) =>
  domain.issuers.remove(await domain.guard.admit(operator, 'issuers:write'), id, true);

const endingLease: Again = async (domain, operator, id) => {
  await domain.leases.revoke(await domain.guard.admit(operator, 'leases:write'), id);
};

const revokingCertificate: Again = async (domain, operator, id) => {
  const permit = await domain.guard.admit(operator, 'issued-certificates:write');
  await domain.issuedCertificates.revoke(permit, id, { reason: 'unspecified' });
};

const ways: Readonly<Record<ActionThat<'revokes' | 'removes' | 'trashes'>, Again | null>> = {
  'access-key.revoked': removing('access-keys', domain => domain.accessKeys),
  // Only its client can deactivate it; revoking its access key has the same effect.
  'acme-account.deactivated': null,
  'api-key.revoked': removing('api-keys', domain => domain.apiKeys),
  'authority.deleted': removing('authorities', domain => domain.authorities),
  'certificate.deleted': removing('certificates', domain => domain.certificates),
  'certificate.purged': removing('certificates', domain => domain.certificates, true),
  'group.deleted': removing('members', domain => domain.groups),
  'identity.deleted': removing('identities', domain => domain.identities),
  'issued-certificate.revoked': revokingCertificate,
  'issuer.deleted': endingIssuer,
  'issuer.ended': endingIssuer,
  'key.deleted': removing('keys', domain => domain.keys),
  'key.purged': removing('keys', domain => domain.keys, true),
  'lease.ended': endingLease,
  'lease.revoked': endingLease,
  'member.removed': removing('members', domain => domain.members),
  'oauth-grant.ended': (domain, operator, id) => domain.oauth.grants.endBy(operator, id),
  // It may be the person's only way to sign in.
  'passkey.removed': null,
  'profile.deleted': removing('profiles', domain => domain.profiles),
  'public-token.revoked': removing('public-tokens', domain => domain.publicTokens),
  'run.ended': async (domain, operator, id) => {
    await domain.runs.end(await domain.guard.admit(operator, 'runs:write'), id);
  },
  'secret-id.revoked': removing('identities', domain => domain.secretIds),
  'secret.deleted': removing('secrets', domain => domain.secrets),
  'secret.purged': removing('secrets', domain => domain.secrets, true),
  'session.ended': (domain, operator, id) => domain.accounts.sessions.endBy(operator, id),
  'stage.deleted': removing('vaults', domain => domain.stages),
  'use-rule.deleted': removing('use-rules', domain => domain.useRules),
  'vault.deleted': removing('vaults', domain => domain.vaults),
  'vault.purged': removing('vaults', domain => domain.vaults, true),
  'webhook.deleted': removing('webhooks', domain => domain.webhooks),
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
