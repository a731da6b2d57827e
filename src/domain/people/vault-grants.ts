/** Roles in single vaults, granted to members and groups: which vaults they name, and how they are stored. */
import { invalid } from '../../contract/errors.ts';
import { type ChangedGrant, mostGrants, type WantedGrant } from '../../contract/members.ts';
import { type GrantedVault, storedGrant } from '../credentials/member-rights.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Records } from '../resources/records.ts';
import { notFoundIn } from '../resources/subject.ts';

/** Sorted by vault, so that equal grants are stored identically; the role without an end comes first. */
export function grantsText(grants: readonly GrantedVault[]): string {
  const placeOf = ({ vault_id, until }: GrantedVault) => `${vault_id} ${until ?? ''}`;
  const inOrder = grants.toSorted((one, another) => (placeOf(one) < placeOf(another) ? -1 : 1));
  return JSON.stringify(inOrder.map(storedGrant));
}

interface GrantsBody {
  readonly grants?: WantedGrant[] | undefined;
  readonly change_grants?: ChangedGrant[] | undefined;
}

/** The grants after applying a body: a new list, or changes to the existing one. */
export function grantsAfter(
  before: readonly GrantedVault[],
  { grants, change_grants }: GrantsBody,
  now: number,
): readonly GrantedVault[] {
  if (change_grants === undefined) {
    const wanted = grants?.map(grantedVault) ?? before;
    checkEnds('grants', wanted, before, now);
    return wanted;
  }
  const changed = new Set(change_grants.map(({ vault_id }) => vault_id));
  const given = change_grants.flatMap(({ role, ...rest }) =>
    role === 'none' ? [] : grantedVault({ role, ...rest }),
  );
  checkEnds('change_grants', given, before, now);
  const after = [...before.filter(({ vault_id }) => !changed.has(vault_id)), ...given];
  if (after.length > mostGrants)
    throw invalid('change_grants', `must leave at most ${mostGrants} entries in grants`);
  return after;
}

/** A role that ends replaces another that ends in the same vault. */
export function withEnd(
  before: readonly GrantedVault[],
  wanted: GrantedVault,
  now: number,
): readonly GrantedVault[] {
  const kept = before.filter(one => one.vault_id === wanted.vault_id && one.until === null);
  return grantsAfter(before, { change_grants: [...kept, wanted] }, now);
}

function grantedVault({ vault_id, role, until = null }: WantedGrant): GrantedVault {
  return { vault_id, role, until };
}

function checkEnds(
  field: string,
  grants: readonly GrantedVault[],
  before: readonly GrantedVault[],
  now: number,
): void {
  const isKept = (one: GrantedVault) =>
    before.some(({ vault_id, until }) => vault_id === one.vault_id && until === one.until);
  if (grants.some(one => one.until !== null && one.until <= now && !isKept(one)))
    throw invalid(field, 'must have an until in the future, or none');
}

/** Refuses vaults that don't exist; vaults that were named before may have been deleted since. */
export async function checkVaults(
  records: Records,
  permit: Permit,
  grants: readonly GrantedVault[],
  before: readonly GrantedVault[] = [],
): Promise<void> {
  const known = new Set(before.map(({ vault_id }) => vault_id));
  const missing = notFoundIn('grants', 'must name vaults by their ids');
  for (const { vault_id } of grants)
    if (!known.has(vault_id)) await records.find(permit, 'vault', vault_id).catch(missing);
}
