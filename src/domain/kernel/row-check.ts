/**
 * Checks whether a stored row is as it was written, for verification of all rows: its stamp must be valid, and data
 * that it repeats from itself or another row must match. Nothing is decrypted for it.
 */
import type { Stamp } from '../../base/bytes.ts';
import type { IsSound } from '../../logs/row-verification.ts';
import type { StampedRow, StampedTable } from '../../store/integrity/stamped-rows.ts';
import type { DueDelivery } from '../../store/records/deliveries.ts';
import type { EventFacts, Stamps } from './stamps.ts';

type Check = (row: never) => unknown;

export function rowCheckWith(stamps: Stamps): IsSound {
  const checks: Readonly<Record<StampedTable, Check>> = {
    organizations: stamps.organization.vouched,
    members: stamps.member.vouched,
    member_groups: stamps.memberGroup.vouched,
    accounts: stamps.account.vouched,
    passkeys: stamps.passkey.vouched,
    sessions: stamps.session.vouched,
    resources: stamps.resource.vouched,
    stages: stamps.stage.vouched,
    credentials: stamps.credential.vouched,
    identities: stamps.identity.vouched,
    webhooks: stamps.webhook.vouched,
    use_rules: stamps.useRule.vouched,
    approvals: stamps.approval.vouched,
    proposals: stamps.proposal.vouched,
    issuers: stamps.issuer.vouched,
    leases: stamps.lease.vouched,
    authorities: stamps.authority.vouched,
    profiles: stamps.profile.vouched,
    issued_certificates: stamps.issuedCertificate.vouched,
    runs: stamps.run.vouched,
    acme_accounts: stamps.acmeAccount.vouched,
    acme_orders: stamps.acmeOrder.vouched,
    rotations: stamps.rotation.vouched,
    versions: stamps.believeVersion,
    events: stamps.believeEvent,
    deliveries: (row: DueDelivery) => stamps.believeEvent(eventIn(row)),
    mcp_sessions: stamps.toolSession.vouched,
    lock_outs: stamps.lockOut.vouched,
    device_logins: stamps.deviceLogin.vouched,
    oauth_grants: stamps.oauthGrant.vouched,
    role_requests: stamps.roleRequest.vouched,
  };
  return ({ table, row }) => {
    try {
      checks[table](row as never);
      return isFoundByItsName(row);
    } catch {
      return false;
    }
  };
}

/** The columns of a name. Its search form is derived from the name, which is stamped. */
export function named(name: string) {
  return { name, name_search: name.toLowerCase() };
}

function isFoundByItsName({ name, name_search }: StampedRow): boolean {
  return name_search === undefined || name_search === named(String(name)).name_search;
}

/** The event's facts as the delivery repeats them. The event's own stamp is valid only if they are the same. */
export function eventIn(delivery: DueDelivery): EventFacts & { readonly stamp: Stamp } {
  return {
    id: delivery.event_id,
    organization_id: delivery.organization_id,
    vault_id: delivery.vault_id,
    resource_id: delivery.resource_id,
    type: delivery.event,
    payload: delivery.payload,
    created_at: delivery.event_created_at,
    stamp: delivery.event_stamp,
  };
}
