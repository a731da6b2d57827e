/** Stores a token returned by a call as a new version of a secret in the same vault, and shows it to no one. */
import { Failure } from '../../contract/errors.ts';
import type { UseAnswer } from '../../contract/uses.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { OpenVault } from '../resources/sealing.ts';
import { kindOf } from '../resources/templates.ts';
import type { Deed, UseParts } from './recorded-uses.ts';
import type { CallRule } from './rule-records.ts';

export function mintingWith({ store, stamps, guard, records }: UseParts) {
  async function isHeld(before: { readonly id: string }, { row, sealer }: OpenVault, value: string) {
    const found = await store.resources.withValue(row.id, before.id);
    const held = found && stamps.resource.believe(found);
    if (held === undefined || kindOf(held) === 'template') return false;
    return records.openValue(held, sealer, held.value) === value;
  }

  return {
    store: (
      { reader, origin }: Deed,
      { store: target }: CallRule,
      vault: OpenVault,
      value: string,
    ): Promise<UseAnswer['stored']> =>
      retryingStale(async () => {
        const found = await store.resources.byId(reader.organizationId, target!.secret_id);
        const before = found && stamps.resource.believe(found);
        const isThere = before?.type === 'secret' && before.deleted_at === null;
        if (!isThere || before.vault_id !== reader.vaultId) throw new Failure('NOT_FOUND');
        // A new version with the same value would lift the suspensions that apply to the old one.
        if (await isHeld(before, vault, value)) return { secret_id: before.id, version: before.version };
        const write = records.revisionOf<never>(reader, before, vault, { value });
        await guard.used({ ...reader, origin }, 'secret.updated', {
          subjects: [write.subject],
          statements: records.statementsOf([write]),
          touches: [before.vault_id],
        });
        return { secret_id: before.id, version: write.row.version };
      }),
  };
}
