/**
 * What an action is done to, as the guard takes it. A row that was looked up carries, in its type, the permission that
 * it was looked up with, and so does what is made of it: one that was found for reading can't be changed.
 */

import type { Action } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { Lasts } from './lasting.ts';

declare const allowed: unique symbol;

/** A row that was found with this permission. Only `guard.found` makes one. */
export type Allowed<Row, A extends Action> = Row & { readonly [allowed]: A };

/** Such a row, or one that is only being created: that one was found with none. */
export type MaybeAllowed<Row, A extends Action> = Row & { readonly [allowed]?: A };

/** What an action is done to. */
export interface Subject {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly vaultId?: string | undefined;
}

export interface SubjectChange<A extends Action = never> extends Subject {
  readonly [allowed]?: A;
  /** The revision that its row has once this is done. */
  readonly revision: number;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Where it differs from what is done to the others. */
  readonly verb?: AuditAction;
  /** Of what gives something: for how long. */
  readonly lasts?: Lasts;
}

/** What is revealed, and which version of it or how much of it. */
export interface Revealed<A extends Action> extends Subject {
  readonly [allowed]?: A;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface GuardedChange<A extends Action = never> {
  readonly subjects: readonly [SubjectChange<A>, ...SubjectChange<A>[]];
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

/** What the service does to its own logs. */
export interface OwnChange {
  readonly details: Readonly<Record<string, unknown>>;
  readonly statements: readonly Statement[];
  /** Rows whose newest revision is said again, because the entry that said it goes. */
  readonly carried?: readonly SubjectChange[];
}

/** Whom somebody claimed to be. */
export interface Claimed {
  readonly organizationId: string;
  readonly subject: Subject;
}
