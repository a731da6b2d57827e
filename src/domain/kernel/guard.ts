/**
 * The guarded door. Every change and every reveal goes through one of these calls, which both decide and
 * write the audit entry: a change is stored with its entry or not at all, a value is opened after its entry
 * is durable. Both depend on the caller's authority at that moment: the unit that is stored is refused once it
 * was withdrawn. Nobody leaves behind what outlasts them, unless they proved who they are (`lasting.ts`). Refusals are written down too. Looking something up takes a permit for what is to be done with it, so
 * that found means allowed: what lies in a vault that a caller is not given looks to them like what does not exist.
 */

import type { Caller, Origin } from '../../access/caller.ts';
import { type Action, allows, holds, seeing, vaultsAllowing } from '../../access/policy.ts';
import type { AuditAction, OwnAction } from '../../contract/audit-actions.ts';
import { Failure } from '../../contract/errors.ts';
import type { AuditEntry } from '../../logs/entries.ts';
import { type Change, ChangeRefused, type Ledger } from '../../logs/ledger.ts';
import { carriedAction } from '../../logs/logged-link.ts';
import type { Statement } from '../../store/engine/engine.ts';
import { type Actor, entriesOf, entryOf, itself } from './audit-entries.ts';
import { refusalToLeave } from './lasting.ts';
import { StaleChange } from './stale-changes.ts';
import type {
  Allowed,
  Claimed,
  DeploymentChange,
  GuardedChange,
  OwnChange,
  Revealed,
  Subject,
  SubjectChange,
} from './subjects.ts';

/** Whether a caller may still act: see `domain/authority.ts`. */
export interface Authority {
  /** What a unit in the caller's name depends on; nothing where no row says who the caller is. */
  conditions(caller: Caller): Statement[];
  /** Whether it ended by itself. */
  isOver(caller: Caller): boolean;
  /** The caller as the store has it now; null where it is another, or may do other things than before. */
  renewed(caller: Caller): Promise<Caller | null>;
}

/** What changes something. */
export type ChangeAction = Extract<Action, `${string}:write`>;
/** What shows a value; or has the service use it, which is how a stored key signs a certificate. */
export type RevealAction = Extract<Action, `${string}:reveal`> | 'certificates:write';

/** The guard's word that this caller may do this: it is asked for once, and whatever is found or done takes it. */
export interface Permit<A extends Action = Action> {
  readonly [issued]: true;
  readonly caller: Caller;
  readonly action: A;
  /** Where: in these vaults; null for all of them, and for the organization as a whole. */
  readonly vaults: readonly string[] | null;
}
declare const issued: unique symbol;

export interface Guard {
  /** Refuses whoever may do this nowhere. Where others are named, the permit is good where all of them are held. */
  admit<A extends Action>(caller: Caller, action: A, ...others: readonly Action[]): Promise<Permit<A>>;
  /**
   * What was looked up for whoever has this permit, in the vault that it lies in; without a vault it is the whole
   * organization's. What they may not see, and what is another organization's, is not found; what they may see and do
   * nothing of the kind with is refused.
   */
  found<A extends Action, Row extends Owned>(
    permit: Permit<A>,
    row: Row | undefined,
    vaultId?: string | null,
  ): Promise<Allowed<Row, A>>;
  /**
   * Refuses whoever would give, or gain, what they could not read themselves: what is shown takes these permissions,
   * in each of these vaults, or in the organization as a whole.
   */
  mayShow(
    caller: Caller,
    shown: readonly Action[],
    vaultIds?: readonly string[],
    because?: string,
  ): Promise<void>;
  change<A extends ChangeAction>(
    permit: Permit<A>,
    verb: AuditAction,
    change: GuardedChange<NoInfer<A>>,
  ): Promise<string>;
  /** What a person does to their own account: who they are, is all the permission that it takes. */
  own(caller: Caller, verb: AuditAction, change: GuardedChange): Promise<string>;
  /** What an access key changes of itself by being used, and what an identity is given at its login. */
  used(key: Actor, verb: AuditAction, change: GuardedChange): Promise<string>;
  /** What the operator does to the deployment as a whole: written down once for each whom they act for. */
  operate(
    operators: readonly [Caller, ...Caller[]],
    verb: AuditAction,
    change: DeploymentChange,
  ): Promise<void>;
  /** What the service does to its own logs by their age: nobody asks for it, and it is no organization's. */
  maintain(verb: OwnAction, change: OwnChange): Promise<'done' | 'refused'>;
  /** A failed authentication. Names the account that was claimed, if it exists. */
  unproven(origin: Origin, verb: AuditAction, claimed: Claimed | null, reason?: string): Promise<void>;
  /** `open` runs once the entry is durable. */
  reveal<T, A extends RevealAction>(
    permit: Permit<A>,
    verb: AuditAction,
    subject: Revealed<NoInfer<A>>,
    open: () => T,
  ): Promise<T>;
  /** The same of many, with an entry for each: all of them are durable before any is opened. */
  revealAll<T, A extends RevealAction>(
    permit: Permit<A>,
    verb: AuditAction,
    subjects: readonly [Revealed<NoInfer<A>>, ...Revealed<NoInfer<A>>[]],
    open: () => T,
  ): Promise<T>;
  /** For what is done with a permit and stores nothing: refuses whoever may not do it any more, as the store has it now. */
  confirm(permit: Permit): Promise<void>;
  /** What is sent bit by bit: each stretch of it asks again whether the caller may have it. Throws where not. */
  during<T>(permit: Permit, verb: AuditAction, entries: AsyncIterable<T>): Watched<T>;
  /** Writes down that somebody asked for this too often, and is refused. */
  limited(caller: Caller, verb: AuditAction, subject: Subject): Promise<void>;
  /** Writes down that somebody asked whose authority was withdrawn meanwhile. */
  withdrawn(caller: Caller, verb: string): Promise<void>;
}

/** What belongs to an organization. */
interface Owned {
  /** Null for what is the deployment's own, which is found for nobody. */
  readonly organization_id: string | null;
}

declare const watched: unique symbol;
/** Entries that only the guard hands out. */
export type Watched<T> = AsyncIterable<T> & { readonly [watched]: true };

/** What is done in a caller's name. */
interface Deed extends Change {
  readonly verb: AuditAction;
  /** Where it is refused, this is what it was to be done to. */
  readonly subject: Subject;
  readonly entries: (by: Caller) => readonly AuditEntry[];
  readonly unique?: string | undefined;
}

/** How often rows that changed without changing the caller's authority are read anew. */
const renewals = 5;
/** In entries, and in milliseconds. */
const stretch = 500;
const longestStretch = 1_000;

export interface GuardParts {
  readonly ledger: Ledger;
  readonly authority: Authority;
  readonly now: () => number;
}

export function guardWith({ ledger, authority, now }: GuardParts): Guard {
  async function deny(caller: Caller, action: Action, subject: Subject | null, why = {}): Promise<never> {
    await ledger.refusals.denial(entryOf(caller, action, 'denied', subject, null, {}));
    throw new Failure('FORBIDDEN', why);
  }

  /** What is done in a vault that the caller is not given, or to the whole organization by whoever is given some. */
  async function checkReach(permit: Permit, subject: Subject): Promise<void> {
    if (!isGood(permit, subject.vaultId)) await deny(permit.caller, permit.action, subject);
  }

  async function noteDenied(caller: Caller, verb: string, subject: Subject | null, reason: string) {
    await ledger.refusals.denial(entryOf(caller, verb, 'denied', subject, null, { reason }));
  }

  const noteWithdrawn = (caller: Caller, verb: string, subject: Subject | null): Promise<void> =>
    noteDenied(caller, verb, subject, 'authority withdrawn');

  /** A caller that is over is refused for that. */
  async function checkLasting(caller: Caller, verb: AuditAction, subject: SubjectChange<Action>) {
    const refusal = authority.isOver(caller) ? null : refusalToLeave(caller, verb, subject.lasts, now());
    if (refusal === 'PROOF_REQUIRED') throw new Failure(refusal);
    if (refusal === null) return;
    await noteDenied(caller, verb, subject, 'outlasts its maker');
    throw new Failure(refusal, {
      message:
        'An API key that expires can’t give what outlasts it: use one without an expiration date, or sign in',
    });
  }

  /** Stored only while what proved the caller is as it was: the store itself looks, in the same unit. */
  async function attempt(by: Caller, { entries, statements, touches }: Deed): Promise<string> {
    if (authority.isOver(by)) throw new ChangeRefused('unauthorized');
    const all = [...authority.conditions(by), ...statements];
    return ledger.commit(entries(by), all.length === 0 ? null : { statements: all, touches });
  }

  async function commit(caller: Caller, deed: Deed): Promise<string> {
    let by: Caller | null = caller;
    for (let turn = 0; by !== null && turn < renewals; turn++) {
      try {
        return await attempt(by, deed);
      } catch (error) {
        if (!(error instanceof ChangeRefused)) throw error;
        if (error.refusal !== 'unauthorized') throw conflict(error, deed.unique);
        by = await authority.renewed(by);
      }
    }
    await noteWithdrawn(caller, deed.verb, deed.subject);
    throw new Failure('UNAUTHORIZED');
  }

  async function store<A extends Action>(
    caller: Caller,
    verb: AuditAction,
    change: GuardedChange<A>,
  ): Promise<string> {
    const { subjects, statements, touches = [], unique } = change;
    for (const subject of subjects) await checkLasting(caller, subject.verb ?? verb, subject);
    const entries = (by: Caller) => entriesOf(by, verb, subjects);
    return commit(caller, { verb, subject: subjects[0], entries, statements, touches, unique });
  }

  async function reveal<T, A extends RevealAction>(
    permit: Permit<A>,
    verb: AuditAction,
    subjects: readonly [Revealed<A>, ...Revealed<A>[]],
    open: () => T,
  ): Promise<T> {
    for (const subject of subjects) await checkReach(permit, subject);
    const entries = (by: Caller) =>
      subjects.map(subject => entryOf(by, verb, 'allowed', subject, null, subject.details));
    await commit(permit.caller, { verb, subject: subjects[0], entries, statements: [], touches: [] });
    return open();
  }

  async function confirm(caller: Caller, verb: string): Promise<void> {
    if ((await authority.renewed(caller)) !== null) return;
    await noteWithdrawn(caller, verb, null);
    throw new Failure('UNAUTHORIZED');
  }

  async function* watch<T>(caller: Caller, verb: AuditAction, entries: AsyncIterable<T>): AsyncIterable<T> {
    let sent = 0;
    let judged = now();
    for await (const entry of entries) {
      if (sent++ % stretch === 0 || now() - judged >= longestStretch) {
        judged = now();
        await confirm(caller, verb);
      }
      yield entry;
    }
  }

  return {
    admit: async (caller, action, ...others) => {
      const vaults = vaultsAllowing(caller, action, ...others);
      if (vaults?.length === 0)
        await deny(caller, [action, ...others].find(one => !holds(caller, one)) ?? action, null);
      return { caller, action, vaults } as Permit<typeof action>;
    },

    found: async (permit, row, vaultId) => {
      const { caller, action } = permit;
      if (row === undefined || row.organization_id !== caller.organizationId) throw new Failure('NOT_FOUND');
      const place = vaultId ?? undefined;
      if (isGood(permit, place)) return row as Allowed<typeof row, never>;
      if (!allows(caller, seeing(action), place)) throw new Failure('NOT_FOUND');
      return deny(caller, action, null);
    },

    mayShow: async (
      caller,
      shown,
      vaultIds,
      because = 'Nobody gives what they could not read themselves',
    ) => {
      const isHeld = (action: Action) =>
        vaultIds?.every(id => allows(caller, action, id)) ?? allows(caller, action);
      const missing = shown.find(action => !isHeld(action));
      if (missing === undefined) return;
      await deny(caller, missing, null, { message: `${because}: that takes the permission ${missing}` });
    },

    change: async (permit, verb, change) => {
      for (const subject of change.subjects) await checkReach(permit, subject);
      return store(permit.caller, verb, change);
    },

    own: store,

    used: (key, verb, { subjects, statements, touches = [] }) =>
      ledger.commit(entriesOf(key, verb, subjects), { statements, touches }).catch(error => {
        throw error instanceof ChangeRefused ? conflict(error) : error;
      }),

    operate: async (operators, verb, { subject, details, ...change }) => {
      const entries = operators.map(operator => entryOf(operator, verb, 'allowed', subject, null, details));
      await commit(operators[0], { verb, subject, entries: () => entries, ...change });
    },

    maintain: async (verb, { details, statements, carried = [] }) => {
      const entries = [
        ...carried.map(one =>
          entryOf(itself, carriedAction, 'allowed', one, one.revision, one.details ?? {}),
        ),
        entryOf(itself, verb, 'allowed', null, null, details),
      ];
      try {
        await ledger.commit(entries, { statements, touches: [] });
        return 'done';
      } catch (error) {
        if (error instanceof ChangeRefused) return 'refused'; // Another replica was first.
        throw error;
      }
    },

    unproven: async (origin, verb, claimed, reason) => {
      const nobody = { kind: 'nobody', id: 'nobody', name: '' } as const;
      const by = { ...nobody, organizationId: claimed?.organizationId ?? '', origin };
      const details = reason === undefined ? {} : { reason };
      await ledger.commit([entryOf(by, verb, 'denied', claimed?.subject ?? null, null, details)]);
    },

    reveal: (permit, verb, subject, open) => reveal(permit, verb, [subject], open),

    revealAll: reveal,

    confirm: ({ caller, action }) => confirm(caller, action),

    during: ({ caller }, verb, entries) => watch(caller, verb, entries) as Watched<never>,

    limited: (caller, verb, subject) => noteDenied(caller, verb, subject, 'rate limit'),

    withdrawn: (caller, verb) => noteWithdrawn(caller, verb, null),
  };
}

/** The vaults that a list shows: of the one that is asked for, or of all, those that the permit is good in. */
export function vaultsAsked({ vaults }: Permit, asked: string | undefined): readonly string[] | undefined {
  if (asked === undefined) return vaults ?? undefined;
  return vaults === null || vaults.includes(asked) ? [asked] : [];
}

/** Whether a permit is good in a vault; without one, for the organization as a whole. */
function isGood({ vaults }: Permit, vaultId: string | undefined): boolean {
  return vaults === null || (vaultId !== undefined && vaults.includes(vaultId));
}

function conflict({ refusal }: ChangeRefused, field = 'name'): Failure {
  if (refusal === 'stale') return new StaleChange();
  if (refusal === 'ownerless') {
    return new Failure('CONFLICT', {
      message: 'The last owner can’t be removed or given another role; add another owner first',
    });
  }
  return new Failure('CONFLICT', { field, reason: 'is already in use' });
}
