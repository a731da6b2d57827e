/**
 * Finds resources by vault and name, for callers that don't know ids. What a caller may not find is not found, and
 * another organization's counts as none.
 */
import type { ResourceKind } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { TimedTurns } from '../kernel/fair-turns.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Allowed } from '../kernel/subjects.ts';
import { stateAt } from './lifecycle.ts';
import type { Records } from './records.ts';
import { stretchesWith } from './stretches.ts';

export interface NamedPlace {
  readonly vaultId: string;
  readonly name: string;
}

export function namedLookupWith(
  { store, stamps, guard, now }: Parts,
  records: Records,
  kind: Exclude<ResourceKind, 'certificate'>,
) {
  const stretches = stretchesWith({ store });
  const fairTurns = new TimedTurns();

  async function lookUp<A extends Action>(
    permit: Permit<A>,
    { vaultId, name }: NamedPlace,
    find = store.resources.byName,
  ): Promise<Allowed<ResourceRow, A> | null> {
    const row = isId(vaultId) ? await find(vaultId, kind, name) : undefined;
    // Another organization's resource counts as none, also where that isn't an error.
    const found = await guard.found(permit, row, row?.vault_id).catch(noneIfNotFound);
    return found && stamps.resource.believe(found);
  }

  async function active<A extends Action>(permit: Permit<A>, place: NamedPlace) {
    const row = await lookUp(permit, place);
    if (row === null || stateAt(row, now()) !== 'active') throw new Failure('NOT_FOUND');
    return row;
  }

  async function activeNames(
    permit: Permit<'secrets:read'> | Permit<'keys:read'>,
    vaultId: string,
  ): Promise<string[]> {
    await records.openVault(permit, vaultId);
    const { id: key, organizationId: organization } = permit.caller;
    return fairTurns.do({ organization, key }, async turns => {
      const names: string[] = [];
      const first = await stretches.read(vaultId, kind);
      for await (const stored of stretches.rowsFrom(first, vaultId, kind, turns)) {
        const row = stamps.resource.check(stored);
        if (stateAt(row, now()) === 'active') names.push(row.name);
      }
      return names;
    });
  }

  return { lookUp, active, activeNames };
}

function noneIfNotFound(error: unknown): null {
  if (error instanceof Failure && error.code === 'NOT_FOUND') return null;
  throw error;
}
