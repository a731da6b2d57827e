/** How a resource is named where something is done to it, and which permission that takes. */
import type { Action } from '../access/policy.ts';
import { Failure } from '../contract/errors.ts';
import type { ResourceType } from '../contract/resources.ts';
import type { ResourceRow } from '../store/resources.ts';
import type { SubjectChange } from './guard.ts';

export function actionOn(type: ResourceType, verb: 'read' | 'write'): Action {
  return `${type}s:${verb}`;
}

export function subjectOf(row: ResourceRow): SubjectChange {
  return { type: row.type, id: row.id, name: row.name, vaultId: row.vault_id, revision: row.revision };
}

/** For an id in a body: what it names is missing, which is the body's fault. Other failures stay what they are. */
export function notFoundAs(failure: Failure): (error: unknown) => never {
  return error => {
    throw error instanceof Failure && error.code === 'NOT_FOUND' ? failure : error;
  };
}
