/** Roles in single vaults, granted to members and groups: which vaults they name, and how they are stored. */
import { invalid } from '../../contract/errors.ts';
import { type ChangedGrant, mostGrants, type VaultGrant } from '../../contract/members.ts';
import type { Permit } from '../kernel/guard.ts';
import type { Records } from '../resources/records.ts';
import { notFoundIn } from '../resources/subject.ts';

/** Sorted by vault, so that equal grants are stored identically. */
export function grantsText(grants: readonly VaultGrant[]): string {
  const inOrder = grants.toSorted((one, another) => (one.vault_id < another.vault_id ? -1 : 1));
  return JSON.stringify(inOrder.map(({ vault_id, role }) => ({ vault_id, role })));
}

/** The grants after applying a body: a new list, or changes to the existing one. */
export function grantsAfter(
  before: readonly VaultGrant[],
  {
    grants,
    change_grants,
  }: { grants?: VaultGrant[] | undefined; change_grants?: ChangedGrant[] | undefined },
): readonly VaultGrant[] {
  if (change_grants === undefined) return grants ?? before;
  const changed = new Map<string, VaultGrant>(before.map(grant => [grant.vault_id, grant]));
  for (const { vault_id, role } of change_grants) {
    if (role === 'none') changed.delete(vault_id);
    else changed.set(vault_id, { vault_id, role });
  }
  if (changed.size > mostGrants)
    throw invalid('change_grants', `must leave at most ${mostGrants} entries in grants`);
  return [...changed.values()];
}

/** Refuses vaults that don't exist; vaults that were named before may have been deleted since. */
export async function checkVaults(
  records: Records,
  permit: Permit,
  grants: readonly VaultGrant[],
  before: readonly VaultGrant[] = [],
): Promise<void> {
  const known = new Set(before.map(({ vault_id }) => vault_id));
  const missing = notFoundIn('grants', 'must name vaults by their ids');
  for (const { vault_id } of grants)
    if (!known.has(vault_id)) await records.find(permit, 'vault', vault_id).catch(missing);
}
