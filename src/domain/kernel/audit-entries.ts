/** Builds the entries of the audit log: who did what to which subject. Only the guard writes them. */
import type { Caller } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { KeyNarrowing } from '../../contract/restrictions.ts';
import { type AuditEntry, logText } from '../../logs/entries.ts';
import type { Subject, SubjectChange } from './subjects.ts';

export type Actor = Pick<Caller, 'id' | 'name' | 'organizationId' | 'origin'> & {
  readonly kind: string;
  /** For an access key: the restrictions that its holder added. */
  readonly narrowing?: KeyNarrowing | null;
};

/** The service itself, when it maintains its logs. */
export const itself: Actor = {
  kind: 'service',
  id: 'retention',
  name: 'retention',
  organizationId: '',
  origin: { address: '', userAgent: '', requestId: '' },
};

export function entriesOf<A extends Action>(
  by: Actor,
  verb: AuditAction,
  subjects: readonly SubjectChange<A>[],
): AuditEntry[] {
  return subjects.map(subject =>
    entryOf(by, subject.verb ?? verb, 'allowed', subject, subject.revision, subject.details ?? {}),
  );
}

export function entryOf(
  by: Actor,
  action: string,
  outcome: AuditEntry['outcome'],
  subject: Subject | null,
  revision: number | null,
  details: Readonly<Record<string, unknown>>,
): AuditEntry {
  return {
    organization_id: by.organizationId || null, // Null for entries of the deployment.
    actor: { kind: by.kind, id: by.id, name: logText(by.name) },
    action,
    outcome,
    subject: subject && { type: subject.type, id: subject.id, name: logText(subject.name) },
    revision,
    vault_id: subject?.vaultId ?? null,
    ip_address: by.origin.address,
    user_agent: logText(by.origin.userAgent),
    request_id: by.origin.requestId,
    details: by.narrowing ? { ...details, narrowing: by.narrowing.id } : details,
  };
}
