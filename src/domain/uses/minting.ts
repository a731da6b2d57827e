/** Stores a token returned by a call as a new version of a secret in the same vault, and shows it to no one. */
import type { Reader } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { UseAnswer } from '../../contract/uses.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Actor } from '../kernel/guard.ts';
import type { Reviewed } from '../kernel/subjects.ts';
import { noticeOf, ProposalMade } from '../resources/review.ts';
import type { OpenVault } from '../resources/sealing.ts';
import { kindOf } from '../resources/templates.ts';
import { placesOf, type Write } from '../resources/writes.ts';
import type { Deed, UseParts } from './recorded-uses.ts';
import type { CallRule } from './rule-records.ts';

export type Minted = Pick<UseAnswer, 'stored' | 'proposal'>;

export function mintingWith({ store, stamps, guard, records }: UseParts) {
  async function isHeld(before: { readonly id: string }, { row, sealer }: OpenVault, value: string) {
    const found = await store.resources.withValue(row.id, before.id);
    const held = found && stamps.resource.believe(found);
    if (held === undefined || kindOf(held) === 'template') return false;
    return records.openValue(held, sealer, held.value) === value;
  }

  /** A proposal is no failure of the call, which was made. */
  async function reviewOf(
    by: Reader & Actor,
    rule: CallRule,
    write: Write,
  ): Promise<Reviewed | ProposalMade> {
    try {
      return await records.review.passUse(by, rule, placesOf('secret.updated', [write]));
    } catch (error) {
      if (error instanceof ProposalMade) return error;
      throw error;
    }
  }

  return {
    store: ({ reader, origin }: Deed, rule: CallRule, value: string): Promise<Minted> =>
      retryingStale(async again => {
        if (again) records.forgetVault(reader.vaultId);
        const found = await store.resources.byId(reader.organizationId, rule.store!.secret_id);
        const before = found && stamps.resource.believe(found);
        const isThere = before?.type === 'secret' && before.deleted_at === null;
        if (!isThere || before.vault_id !== reader.vaultId) throw new Failure('NOT_FOUND');
        const vault = await records.vaultOf(before);
        // A new version with the same value would lift the suspensions that apply to the old one.
        if (await isHeld(before, vault, value))
          return { stored: { secret_id: before.id, version: before.version } };
        const write = records.revisionOf<never>(reader, before, vault, { value });
        const by = { ...reader, origin };
        const reviewed = await reviewOf(by, rule, write);
        if (reviewed instanceof ProposalMade) return { stored: null, proposal: noticeOf(reviewed) };
        await guard.used(by, 'secret.updated', {
          reviewed,
          subjects: [write.subject],
          statements: records.statementsOf([write]),
          touches: [before.vault_id],
        });
        return { stored: { secret_id: before.id, version: write.row.version } };
      }),
  };
}
