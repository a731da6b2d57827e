/**
 * Everyone who has access to a vault, and where it comes from: their role in the organization, a role in the vault, or
 * a group. Shows no one whose role there has ended.
 */
import { roleAllows } from '../../access/policy.ts';
import type { List, SearchQuery } from '../../contract/common.ts';
import { Failure } from '../../contract/errors.ts';
import type { VaultPerson } from '../../contract/members.ts';
import { iso } from '../../contract/text.ts';
import type { MemberGroupRow } from '../../store/records/member-groups.ts';
import type { MemberRow } from '../../store/records/organizations.ts';
import { isIn, vaultGrantsIn } from '../credentials/member-rights.ts';
import { listOf } from '../kernel/collection.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Records } from '../resources/records.ts';
import type { Groups } from './groups.ts';

type Access = VaultPerson['access'];

export function vaultPeopleWith({ store, stamps, now }: Parts, records: Records, groups: Groups) {
  function accessBy(row: Pick<MemberRow, 'grants'>, vaultId: string) {
    const here = vaultGrantsIn(row, now()).filter(({ vault_id }) => vault_id === vaultId);
    return here.map(({ role, until }) => ({ role, ...(until === null ? {} : { until: iso(until) }) }));
  }

  function accessOf(member: MemberRow, vaultId: string, all: readonly MemberGroupRow[]): Access {
    const { role } = member;
    return [
      ...(roleAllows(role as never, 'vaults:read') ? [{ by: 'organization' as const, role }] : []),
      ...accessBy(member, vaultId).map(one => ({ by: 'vault' as const, ...one })),
      ...all
        .filter(group => isIn(group, member.id))
        .flatMap(group =>
          accessBy(group, vaultId).map(one => {
            const { id, name } = group;
            return { by: 'group' as const, ...one, group: { id, name } };
          }),
        ),
    ];
  }

  return async (
    permit: Permit<'members:read'>,
    seeing: Permit<'vaults:read'>,
    vaultId: string,
    query: SearchQuery,
  ): Promise<List<VaultPerson>> => {
    const { caller, vaults } = permit;
    if (vaults !== null) throw new Failure('NOT_FOUND'); // Members belong to no vault.
    await records.find(seeing, 'vault', vaultId);
    const page = { page: query.page, limit: query.limit, asOf: query.as_of };
    const filter = { q: query.q, inVault: { vaultId, now: now() } };
    const { rows, total } = await store.organizations.peoplePage(caller.organizationId, page, filter);
    const all = await groups.all(caller.organizationId);
    const people = rows.map(stamps.member.believe).map(member => ({
      id: member.id,
      email: member.email,
      state: member.state,
      access: accessOf(member, vaultId, all),
    }));
    return listOf(
      people.filter(({ access }) => access.length > 0),
      total,
      query,
    );
  };
}
