/**
 * Keys addressed by vault and name, for callers that don't know ids. Each call corresponds to one by id, with the same
 * permission, audit entry and event; keys that a caller may not find are not found.
 */
import type { Caller } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { KeyOperationAnswer, WorkCall } from '../../contract/key-operations.ts';
import type { KeySpecification } from '../../contract/resources.ts';
import type { KeyOperation } from '../../contract/use-names.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { keyAttributes } from './key-attributes.ts';
import { type KeyVersions, keyVersionsOf } from './key-versions.ts';
import type { Keys } from './keys.ts';
import { type NamedPlace, namedLookupWith } from './named-lookup.ts';
import type { Records } from './records.ts';
import type { UsedKeys } from './used-keys.ts';

interface NewKey {
  readonly generate: KeySpecification;
  readonly exportable: boolean;
}

export type NamedKeys = ReturnType<typeof namedKeysWith>;

export function namedKeysWith(
  parts: Parts,
  records: Records,
  keys: Pick<Keys, 'create' | 'rotate' | 'update' | 'remove'>,
  usedKeys: UsedKeys,
) {
  const { guard } = parts;
  const { lookUp, active, activeNames } = namedLookupWith(parts, records, 'key');

  async function idOf(permit: Permit<'keys:write'>, place: NamedPlace): Promise<string> {
    const row = await lookUp(permit, place);
    if (row === null) throw new Failure('NOT_FOUND');
    return row.id;
  }

  return {
    async operate(
      caller: Caller,
      place: NamedPlace,
      operation: KeyOperation,
      call: WorkCall,
    ): Promise<KeyOperationAnswer> {
      const permit = await guard.admit(caller, 'keys:use');
      const { id } = await active(permit, place);
      return usedKeys.operate(permit, id, operation, call);
    },

    async facts(caller: Caller, place: NamedPlace): Promise<KeyVersions> {
      return keyVersionsOf(await active(await guard.admit(caller, 'keys:read'), place), records);
    },

    async names(caller: Caller, vaultId: string): Promise<string[]> {
      return activeNames(await guard.admit(caller, 'keys:read'), vaultId);
    },

    /** A key of this name and type is left as it is; of another type, it is in the way. Returns whether it is new. */
    async create(caller: Caller, { vaultId, name }: NamedPlace, key: NewKey): Promise<boolean> {
      const permit = await guard.admit(caller, 'keys:write');
      const before = await lookUp(permit, { vaultId, name });
      if (before === null) {
        await keys.create(permit, { vault_id: vaultId, name, ...key, tags: {} });
        return true;
      }
      const { key_type, key_size, curve } = keyAttributes(before);
      const there: Partial<Record<string, unknown>> = { key_type, key_size, curve };
      if (Object.entries(key.generate).every(([field, value]) => there[field] === value)) return false;
      throw new Failure('CONFLICT', { message: 'there is a key of this name and another type' });
    },

    async rotate(caller: Caller, place: NamedPlace): Promise<void> {
      const permit = await guard.admit(caller, 'keys:write');
      await keys.rotate(permit, await idOf(permit, place), {});
    },

    async setMinVersion(caller: Caller, place: NamedPlace, min_version: number): Promise<void> {
      const permit = await guard.admit(caller, 'keys:write');
      await keys.update(permit, await idOf(permit, place), { min_version });
    },

    async remove(caller: Caller, place: NamedPlace): Promise<void> {
      const permit = await guard.admit(caller, 'keys:write');
      await keys.remove(permit, await idOf(permit, place), false);
    },
  };
}
