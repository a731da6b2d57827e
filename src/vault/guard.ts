/**
 * The guarded door. Every change and every reveal goes through one of these calls, which both decide and
 * write the audit entry: a change is stored with its entry or not at all, a value is opened after its entry
 * is durable. Refusals are written down too. What lies in a vault that a caller is not given looks to him
 * like what does not exist.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller, Origin } from '../access/caller.ts';
import { type Action, allows, holds } from '../access/policy.ts';
import { Failure } from '../contract/errors.ts';
import { type AuditEntry, logText } from '../logs/entries.ts';
import { type Change, ChangeRefused, type Ledger } from '../logs/ledger.ts';
import type { Statement } from '../store/engine.ts';

/** What an action is done to. */
export interface Subject {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly vaultId?: string | undefined;
}

export interface SubjectChange extends Subject {
  /** The revision that its row has once this is done. */
  readonly revision: number;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Where it differs from what is done to the others. */
  readonly verb?: string;
}

export interface GuardedChange {
  readonly subjects: readonly [SubjectChange, ...SubjectChange[]];
  readonly statements: readonly Statement[];
  readonly touches?: readonly string[];
  /** The member that must be unique, where it is not the name. */
  readonly unique?: string;
}

export interface DeploymentChange {
  readonly subject: Subject;
  readonly details: Readonly<Record<string, unknown>>;
  readonly statements: readonly Statement[];
  readonly touches: readonly string[];
}

export interface Guard {
  /** Refuses whoever may not do this at all. Says nothing yet about a particular target. */
  admit(caller: Caller, action: Action, verb?: string): Promise<void>;
  /** Whether the vault is among those that the caller is given. */
  sees(caller: Caller, vaultId: string): boolean;
  change(caller: Caller, action: Action, verb: string, change: GuardedChange): Promise<string>;
  /** What a person does to his own account: who he is, is all the permission that it takes. */
  own(caller: Caller, verb: string, change: GuardedChange): Promise<string>;
  /** What the operator does to the deployment as a whole: written down once for each whom he acts for. */
  operate(operators: readonly Caller[], verb: string, change: DeploymentChange): Promise<void>;
  /** Somebody failed to prove who he is. Names the one whom he claimed to be, where there is such a one. */
  unproven(origin: Origin, verb: string, claimed: Claimed | null): Promise<void>;
  /** `open` runs once the entry is durable. */
  reveal<T>(caller: Caller, action: Action, verb: string, subject: Subject, open: () => T): Promise<T>;
}

export interface Claimed {
  readonly organizationId: string;
  readonly subject: Subject;
}

export function guardWith(ledger: Ledger): Guard {
  async function deny(caller: Caller, action: Action, subject: Subject | null): Promise<never> {
    await ledger.commit([entryOf(caller, action, 'denied', subject, null, {})]);
    throw new Failure('FORBIDDEN');
  }

  async function decide(caller: Caller, action: Action, subject: Subject): Promise<void> {
    const target = { organizationId: caller.organizationId, vaultId: subject.vaultId };
    if (!allows(caller, action, target)) await deny(caller, action, subject);
  }

  async function commit(entries: readonly AuditEntry[], change: Change, unique = 'name'): Promise<string> {
    try {
      return await ledger.commit(entries, change);
    } catch (error) {
      throw error instanceof ChangeRefused ? conflict(error, unique) : error;
    }
  }

  async function store(caller: Caller, verb: string, change: GuardedChange): Promise<string> {
    const { subjects, statements, touches = [], unique } = change;
    const entries = subjects.map(subject =>
      entryOf(caller, subject.verb ?? verb, 'allowed', subject, subject.revision, subject.details ?? {}),
    );
    return commit(entries, { statements, touches }, unique);
  }

  return {
    admit: async (caller, action) => {
      if (!holds(caller, action)) await deny(caller, action, null);
    },

    sees: (caller, vaultId) => caller.vaultIds === null || caller.vaultIds.includes(vaultId),

    change: async (caller, action, verb, change) => {
      for (const subject of change.subjects) await decide(caller, action, subject);
      return store(caller, verb, change);
    },

    own: store,

    operate: async (operators, verb, { subject, details, ...change }) => {
      const entries = operators.map(operator => entryOf(operator, verb, 'allowed', subject, null, details));
      await commit(entries, change);
    },

    unproven: async (origin, verb, claimed) => {
      const nobody = { kind: 'nobody', id: 'nobody', name: '' } as const;
      const by = { ...nobody, organizationId: claimed?.organizationId ?? '', origin };
      await ledger.commit([entryOf(by, verb, 'denied', claimed?.subject ?? null, null, {})]);
    },

    reveal: async (caller, action, verb, subject, open) => {
      await decide(caller, action, subject);
      await ledger.commit([entryOf(caller, verb, 'allowed', subject, null, {})]);
      return open();
    },
  };
}

/** Somebody else changed the same record between our read and our write: read again, and try again. */
export class StaleChange extends Failure {
  constructor() {
    super('CONFLICT', { message: 'The record was changed by someone else meanwhile' });
  }
}

const attempts = 12;
/** The winner's change may still be on its way to the disk, so a loser that reads again at once loses again. */
const longestPause = 10;

export async function retryingStale<T>(change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof StaleChange) || attempt === attempts) throw error;
      await sleep(Math.random() * longestPause * attempt);
    }
  }
}

function conflict({ refusal }: ChangeRefused, field: string): Failure {
  if (refusal === 'stale') return new StaleChange();
  return new Failure('CONFLICT', { field, reason: 'is already in use' });
}

function entryOf(
  caller: Omit<Caller, 'kind' | 'role' | 'scopes' | 'vaultIds'> & { readonly kind: string },
  action: string,
  outcome: AuditEntry['outcome'],
  subject: Subject | null,
  revision: number | null,
  details: Readonly<Record<string, unknown>>,
): AuditEntry {
  return {
    organization_id: caller.organizationId || null, // Of none: the deployment's own.
    actor: { kind: caller.kind, id: caller.id, name: logText(caller.name) },
    action,
    outcome,
    subject: subject && { type: subject.type, id: subject.id, name: logText(subject.name) },
    revision,
    vault_id: subject?.vaultId ?? null,
    ip_address: caller.origin.address,
    user_agent: logText(caller.origin.userAgent),
    request_id: caller.origin.requestId,
    details,
  };
}
