/** Proposals that nobody decided in time. Each is ended once, with an event, and loses the values that it contained. */
import type { Caller } from '../../access/caller.ts';
import type { Audited } from '../../store/integrity/audited.ts';
import type { ProposalRow } from '../../store/records/proposals.ts';
import { StaleChange } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Allowed } from '../kernel/subjects.ts';
import type { Records } from './records.ts';
import { openContent, proposalSubject, sealContent } from './review.ts';

export function expiredProposalsWith({ store, stamps, guard, now }: Parts, records: Records) {
  async function end(caller: Caller, found: ProposalRow & Audited): Promise<void> {
    const permit = await guard.admit(caller, 'proposals:write');
    const row = stamps.proposal.believe<Allowed<ProposalRow, 'proposals:write'>>(
      await guard.found(permit, found, found.vault_id),
    );
    const { sealer } = await records.vaultById(row.organization_id, row.vault_id);
    const content = { ...openContent(sealer, row), writes: null };
    const sealed = sealContent(sealer, { id: row.id, revision: row.revision + 1 }, content);
    const after = stamps.proposal.revise(row, { state: 'expired', content: sealed }, now());
    await guard.change(permit, 'proposal.expired', {
      subjects: [proposalSubject(after, content.shown)],
      statements: [
        store.proposals.update(after),
        records.review.eventStatement('proposal.expired', after, content.shown[0]!),
      ],
      touches: [row.id],
    });
  }

  /** Ends those that expired before then; returns how many were found. */
  return async (
    callerIn: (organizationId: string) => Caller,
    before: number,
    most: number,
  ): Promise<number> => {
    const found = await store.proposals.expired(before, most);
    for (const one of found) {
      await end(callerIn(one.organization_id), one).catch(error => {
        // Another replica ended it first.
        if (!(error instanceof StaleChange)) throw error;
      });
    }
    return found.length;
  };
}
