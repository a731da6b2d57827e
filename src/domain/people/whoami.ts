/** Describes the caller: the organization, the member if there is one, and their permissions. */
import { type Caller, memberBehind } from '../../access/caller.ts';
import type { Whoami } from '../../contract/access.ts';
import { Failure } from '../../contract/errors.ts';
import { isoOrNull } from '../../contract/text.ts';
import { rolesListed } from '../credentials/member-rights.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { People } from './people.ts';

export function whoamiWith({ store, stamps, people }: Parts & { readonly people: People }) {
  async function memberOf(caller: Caller): Promise<Whoami['member']> {
    const id = memberBehind(caller);
    const person = id === null ? undefined : await people.byMember(id);
    return person === undefined ? null : { id: person.member.id, email: person.member.email };
  }

  return async ({ caller }: Permit<'organization:read'>): Promise<Whoami> => {
    const found = await store.organizations.byId(caller.organizationId);
    if (found === undefined) throw new Failure('UNAUTHORIZED');
    const { id, name } = stamps.organization.believe(found);
    return {
      kind: caller.kind as Whoami['kind'],
      id: caller.id,
      name: caller.name,
      organization: { id, name },
      member: await memberOf(caller),
      role: caller.role,
      grants: rolesListed((caller.within ?? caller).vaultRoles),
      scopes: caller.scopes as Whoami['scopes'],
      vault_ids: caller.vaultIds as Whoami['vault_ids'],
      expiration_date: isoOrNull(caller.until),
    };
  };
}
