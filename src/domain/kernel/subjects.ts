/**
 * The subjects of actions, as the guard takes them. A row that was looked up carries in its type the permission it
 * was looked up with, and so does everything derived from it: a row found for reading can't be changed.
 */
import type { Action } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { Lasts } from './lasting.ts';

declare const allowed: unique symbol;

/** A row that was found with this permission. Only `guard.found` creates one. */
export type Allowed<Row, A extends Action> = Row & { readonly [allowed]: A };

/** Such a row, or one that is being created and therefore wasn't looked up. */
export type MaybeAllowed<Row, A extends Action> = Row & { readonly [allowed]?: A };

export interface Subject {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly vaultId?: string | undefined;
}

export interface SubjectChange<A extends Action = never> extends Subject {
  readonly [allowed]?: A;
  /** The revision of its row after the change. */
  readonly revision: number;
  readonly details?: Readonly<Record<string, unknown>>;
  /** If it differs from the verb of the whole change. */
  readonly verb?: AuditAction;
  /** How long it lasts, if the action grants something. */
  readonly lasts?: Lasts;
}

/** A subject that is revealed, with the version or the part that is shown. */
export interface Revealed<A extends Action> extends Subject {
  readonly [allowed]?: A;
  readonly details: Readonly<Record<string, unknown>>;
}

declare const passed: unique symbol;

/** Proof that a write of a resource passed the review of its vault, and what is stored with it for that. */
export interface Reviewed {
  readonly [passed]: true;
  readonly statements: readonly Statement[];
  readonly subjects: readonly SubjectChange[];
}

export interface GuardedChange<A extends Action = never> {
  readonly subjects: readonly [SubjectChange<A>, ...SubjectChange<A>[]];
  readonly statements: readonly Statement[];
  readonly touches?: readonly string[];
  /** The field that must be unique, if it isn't the name. */
  readonly unique?: string;
  /** Required for every change to what a vault contains. */
  readonly reviewed?: Reviewed;
}

export interface DeploymentChange {
  readonly subject: Subject;
  readonly details: Readonly<Record<string, unknown>>;
  readonly statements: readonly Statement[];
  readonly touches: readonly string[];
}

export interface OwnChange {
  readonly details: Readonly<Record<string, unknown>>;
  readonly statements: readonly Statement[];
  /** Rows whose newest revision is recorded again, because the entry that recorded it is being removed. */
  readonly carried?: readonly SubjectChange[];
}

export interface Claimed {
  readonly organizationId: string;
  readonly subject: Subject;
}
