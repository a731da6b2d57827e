/**
 * Housekeeping: empties the trash after 30 days, ends proposals that nobody decided and runs that are over, and removes old
 * counters, approvals, role requests, proposals and runs, expired access keys of identities, and ended OAuth grants.
 */
import { trustedCaller } from '../../access/caller.ts';
import type { ResourceType } from '../../contract/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import { expiredProposalsWith } from '../resources/expired-proposals.ts';
import type { Records } from '../resources/records.ts';
import { actionOn } from '../resources/subject.ts';
import { trashKept } from '../resources/trash.ts';
import { expiredRunsWith } from '../uses/expired-runs.ts';

const perStep = 50;
const mintedPerStep = 1_000;
const windowsKept = 3_600;
const approvalsKept = 7 * 24 * 60 * 60 * 1000;
const approvalsPerStep = 1_000;
const proposalsKept = 30 * 24 * 60 * 60 * 1000;
const leasesKept = 30 * 24 * 60 * 60 * 1000;
const leasesPerStep = 1_000;
/** After they expired. */
const certificatesKept = 90 * 24 * 60 * 60 * 1000;
const certificatesPerStep = 1_000;
const rotationsKept = 30 * 24 * 60 * 60 * 1000;
const proposalsPerStep = 1_000;
const runsKept = 90 * 24 * 60 * 60 * 1000;
const runsPerStep = 1_000;

interface HousekeepingParts extends Parts {
  /** A purge is permanent, so it must not be caused by a clock that jumps ahead. */
  readonly aged: () => number;
}

export function housekeepingWith(parts: HousekeepingParts, records: Records) {
  const { store, guard, now, aged, newId } = parts;
  const endProposals = expiredProposalsWith(parts, records);
  const endRuns = expiredRunsWith(parts);
  const housekeeper = (organizationId: string) =>
    trustedCaller('operator', 'housekeeping', 'housekeeping', organizationId, newId());

  return {
    /** Does one small step; returns true if more may be left. */
    step: async (): Promise<boolean> => {
      await store.limits.forget(Math.floor(now() / 1000) - windowsKept);
      const minted = await store.credentials.forgetMinted(aged(), mintedPerStep);
      const approvals = await store.approvals.forget(aged() - approvalsKept, approvalsPerStep);
      await store.roleRequests.forget(aged() - approvalsKept, approvalsPerStep);
      const proposals = await store.proposals.forget(aged() - proposalsKept, proposalsPerStep);
      const leases = await store.leases.forget(aged() - leasesKept, leasesPerStep);
      const issued = await store.issuedCertificates.forget(aged() - certificatesKept, certificatesPerStep);
      const orders = await store.acme.forget(aged() - certificatesKept, certificatesPerStep);
      const rotations = await store.rotations.forget(aged() - rotationsKept, leasesPerStep);
      await store.oauthGrants.forget(aged(), mintedPerStep);
      const old = await store.resources.deletedBefore(aged() - trashKept, perStep);
      for (const { organization_id, type, id } of old) {
        const kind = type as ResourceType;
        const permit = await guard.admit(housekeeper(organization_id), actionOn(kind, 'write'));
        await records.remove(permit, kind, id, true);
      }
      const ended = await endProposals(housekeeper, aged(), perStep);
      const over = await endRuns(housekeeper, aged(), perStep);
      const runs = await store.runs.forget(aged() - runsKept, runsPerStep);
      return (
        ended === perStep ||
        over === perStep ||
        runs === runsPerStep ||
        old.length === perStep ||
        minted === mintedPerStep ||
        approvals === approvalsPerStep ||
        proposals === proposalsPerStep ||
        leases === leasesPerStep ||
        issued === certificatesPerStep ||
        orders === certificatesPerStep ||
        rotations === leasesPerStep
      );
    },
  };
}
