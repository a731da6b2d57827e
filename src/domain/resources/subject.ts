/**
 * How a resource is named as the subject of an action, which permission an action requires, and which changes would
 * expose too much.
 */
import type { Caller } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import type { ResourceType } from '../../contract/resources.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Allowed, MaybeAllowed, Revealed, SubjectChange } from '../kernel/subjects.ts';

export function actionOn<T extends ResourceType, V extends 'read' | 'write'>(type: T, verb: V): `${T}s:${V}` {
  return `${type}s:${verb}`;
}

export type MayWrite<T extends ResourceType> = Permit<`${T}s:write`>;

export function subjectOf<A extends Action = never>(row: MaybeAllowed<ResourceRow, A>): SubjectChange<A> {
  return { type: row.type, id: row.id, name: row.name, vaultId: row.vault_id, revision: row.revision };
}

export function revealedOf<A extends Action>(
  row: Allowed<ResourceRow, A>,
  version = row.version,
): Revealed<A> {
  return { ...subjectOf(row), details: { version } };
}

/** For an id in a body: if it isn't found, the failure is the body's fault. Other failures are rethrown unchanged. */
export function notFoundAs(failure: () => Failure): (error: unknown) => never {
  return error => {
    throw error instanceof Failure && error.code === 'NOT_FOUND' ? failure() : error;
  };
}

/** The same for a field that names one that must exist. */
export function notFoundIn(field: string, reason: string): (error: unknown) => never {
  return notFoundAs(() => new Failure('NOT_FOUND', { field, reason }));
}

/** Refuses a change that exposes more than the caller may read. A new value is known to its writer. */
export type CheckExposure = (
  caller: Caller,
  before: ResourceRow,
  after: ResourceRow,
  value: 'same' | 'new' | 'earlier',
) => Promise<void>;
