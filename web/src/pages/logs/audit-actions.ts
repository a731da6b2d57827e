/** The choices of the audit log's action filter. A refused action is recorded under the permission that was missing. */
import { auditActions } from '../../../../src/contract/audit-actions.ts';

/** Includes the chosen action from the address, even if it is not in the list. */
export function actionsWith(chosen: string): readonly (readonly [string, string])[] {
  const known: readonly string[] = auditActions;
  const all = chosen === '' || known.includes(chosen) ? known : [chosen, ...known];
  return [['', 'Any'], ...all.map(action => [action, action] as const)];
}
