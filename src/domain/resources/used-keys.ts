/**
 * Operations with keys for callers of the general API who may use them (`keys:use`). Each request is in the audit log,
 * with the algorithms, versions and sizes, before the key is opened.
 */
import { Failure, invalid } from '../../contract/errors.ts';
import type { KeyOperationAnswer, WorkCall } from '../../contract/key-operations.ts';
import type { KeyOperation } from '../../contract/use-names.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { keyOperationsWith, toldOf } from './key-operations.ts';
import { stateAt } from './lifecycle.ts';
import type { Records } from './records.ts';
import { subjectOf } from './subject.ts';

export type UsedKeys = ReturnType<typeof usedKeysWith>;

export function usedKeysWith(parts: Parts, records: Records) {
  const { guard, store, stamps, now } = parts;
  const operations = keyOperationsWith(parts, records);

  return {
    async operate(
      permit: Permit<'keys:use'>,
      id: string,
      operation: KeyOperation,
      call: WorkCall,
    ): Promise<KeyOperationAnswer> {
      const row = await records.find(permit, 'key', id);
      if (stateAt(row, now()) !== 'active') throw invalid('id', 'is the id of a key that is not active');
      const stored = await store.resources.withValue(row.vault_id, row.id);
      if (stored === undefined) throw new Failure('NOT_FOUND');
      const verified = stamps.resource.believe(stored);
      const plan = operations.plan(verified, operation, call);
      const vault = await records.vaultOf(row);
      const { caller } = permit;
      const lane = { organization: caller.organizationId, key: caller.id };
      const subject = { ...subjectOf<'keys:use'>(row), details: { operation: toldOf(plan) } };
      const carryOut = () => operations.carryOut(plan, verified, vault, lane);
      const { answer } = await (
        await guard.reveal(permit, 'key.used', [subject], () => ({ made: carryOut() }))
      ).made;
      return answer;
    },
  };
}
