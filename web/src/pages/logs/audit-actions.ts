/** The actions that the audit log records, for its filter. A refused one is recorded under the permission it lacked. */
import { auditActions } from '../../../../src/contract/audit-actions.ts';

/** With one that an address names, though the list doesn’t. */
export function actionsWith(chosen: string): readonly (readonly [string, string])[] {
  const known: readonly string[] = auditActions;
  const all = chosen === '' || known.includes(chosen) ? known : [chosen, ...known];
  return [['', 'Any'], ...all.map(action => [action, action] as const)];
}
