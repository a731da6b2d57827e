/**
 * The guard. Every change and every reveal goes through one of these calls, which both decide and write the audit
 * entry: a change is stored with its entry or not at all, and a value is decrypted only after its entry is durable.
 * Both depend on the caller's authority at that moment: a transaction is refused once the authority has been
 * withdrawn. A caller can't create anything that outlasts their own access unless they proved their identity
 * (`lasting.ts`). Refusals are recorded too. Looking something up requires a permit for the intended action, so that
 * a row that was found may be used for it: a resource in a vault that the caller has no access to looks like one that
 * doesn't exist.
 */
import type { Caller, Origin } from '../../access/caller.ts';
import {
  type Action,
  allows,
  allowsUntil,
  common,
  holds,
  resourceKinds,
  seeing,
  vaultsAllowing,
} from '../../access/policy.ts';
import type { AuditAction, OwnAction } from '../../contract/audit-actions.ts';
import { Failure } from '../../contract/errors.ts';
import type { AuditEntry } from '../../logs/entries.ts';
import { type Change, ChangeRefused, type Ledger } from '../../logs/ledger.ts';
import { carriedAction } from '../../logs/logged-link.ts';
import type { Statement } from '../../store/engine/engine.ts';
import { type Actor, entriesOf, entryOf, itself } from './audit-entries.ts';
import { StaleChange } from './conflict-retries.ts';
import { outlastsRole, refusalToLeave } from './lasting.ts';
import { covers, type Permit } from './permits.ts';
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

export type { Actor };

/** Who did something earlier that is to be done now. */
export interface Author {
  readonly kind: 'member' | 'api-key' | 'access-key';
  readonly id: string;
  /** For an access key: the name of the secret that it used. */
  readonly uses?: string;
  /** For an access key: the name of the issuer whose credential it holds. */
  readonly holds?: string;
  /** For an access key: the name of the profile by which it gets certificates. */
  readonly certifies?: string;
}

/** Checks whether a caller may still act: see `domain/authority.ts`. */
export interface Authority {
  /** The conditions that a transaction in the caller's name depends on; empty if no row proves who the caller is. */
  conditions(caller: Caller, unless?: 'stale'): Statement[];
  isOver(caller: Caller): boolean;
  /** The caller as stored now; null if it is no longer valid or its permissions changed. */
  renewed(caller: Caller): Promise<Caller | null>;
  /** The caller who once was this one, with the permissions that they have now; null if they have none any more. */
  again(author: Author, origin: Origin): Promise<Caller | null>;
}

export type ChangeAction = Extract<Action, `${string}:write`>;
/**
 * Actions that reveal a value, or make the service use it, as when a stored key signs a certificate. Those of a proposal
 * are revealed only to callers who may reveal each of them.
 */
type RevealAction =
  | Extract<Action, `${string}:reveal`>
  | 'keys:use'
  | 'certificates:write'
  | 'proposals:read';

export type Guard = ReturnType<typeof guardWith>;

interface Owned {
  /** Null for rows of the deployment, which no caller can find. */
  readonly organization_id: string | null;
}

interface Showing {
  /** The first part of the error message. */
  readonly because?: string;
  /** Until when it is shown, or without end if null; omitted if it is checked again whenever it is shown. */
  readonly until?: number | null;
}

const endsEarlier = 'Your role in this vault ends before that; what you grant can’t last longer';

declare const watched: unique symbol;
/** Entries that only the guard can return. */
export type Watched<T> = AsyncIterable<T> & { readonly [watched]: true };

interface Deed extends Change {
  readonly verb: AuditAction;
  /** The subject that a refusal names. */
  readonly subject: Subject;
  readonly entries: (by: Caller) => readonly AuditEntry[];
  readonly unique?: string | undefined;
}

const contentTypes: ReadonlySet<string> = new Set(resourceKinds);
/** How often to retry with fresh rows if they changed without changing the caller's authority. */
const renewals = 5;
/** In entries, and in milliseconds. */
const stretch = 500;
const longestStretch = 1_000;

export function guardWith({
  ledger,
  authority,
  now,
}: {
  ledger: Ledger;
  authority: Authority;
  now: () => number;
}) {
  async function deny(caller: Caller, action: Action, subject: Subject | null, why = {}): Promise<never> {
    await ledger.refusals.denial(entryOf(caller, action, 'denied', subject, null, {}));
    throw new Failure('FORBIDDEN', why);
  }

  /** Refuses an action in a vault, or on the organization as a whole, that the permit doesn't cover. */
  async function checkReach(permit: Permit, subject: Subject): Promise<void> {
    if (!covers(permit, subject.vaultId)) await deny(permit.caller, permit.action, subject);
  }

  async function noteDenied(caller: Caller, verb: string, subject: Subject | null, reason: string) {
    await ledger.refusals.denial(entryOf(caller, verb, 'denied', subject, null, { reason }));
  }

  const noteWithdrawn = (caller: Caller, verb: string, subject: Subject | null): Promise<void> =>
    noteDenied(caller, verb, subject, 'authority withdrawn');

  /** A caller that has expired is refused for that reason instead. */
  async function checkLasting(caller: Caller, verb: AuditAction, subject: SubjectChange<Action>) {
    const refusal = authority.isOver(caller) ? null : refusalToLeave(caller, verb, subject.lasts, now());
    if (refusal === 'PROOF_REQUIRED') throw new Failure(refusal);
    if (refusal === null) return;
    await noteDenied(caller, verb, subject, 'outlasts its creator');
    throw new Failure(refusal, {
      message:
        'An API key that expires can’t grant access that outlasts it: use one without an expiration date, or sign in',
    });
  }

  /** What is granted with a role in a vault that ends lasts no longer than that role. */
  async function checkRoleEnd(permit: Permit, verb: AuditAction, subject: SubjectChange<Action>) {
    const { vaultId, lasts } = subject;
    if (authority.isOver(permit.caller)) return;
    if (!outlastsRole(permit, subject.verb ?? verb, vaultId, lasts)) return;
    await noteDenied(permit.caller, verb, subject, 'outlasts a role');
    throw new Failure('FORBIDDEN', { message: endsEarlier });
  }

  /** Stored only if the rows that prove the caller are unchanged; the store checks it in the same transaction. */
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

  async function store<A extends Action>(caller: Caller, verb: AuditAction, change: GuardedChange<A>) {
    const { touches = [], unique } = change;
    const { subjects, statements } = withReview(change);
    for (const subject of subjects) await checkLasting(caller, subject.verb ?? verb, subject);
    const entries = (by: Caller) => entriesOf(by, verb, subjects);
    return commit(caller, { verb, subject: subjects[0], entries, statements, touches, unique });
  }

  /**
   * Each subject gets an entry, and all entries are durable before `open` runs. `contained` is what the subjects
   * contain of others, whose vaults permit that, and needs no permission of the caller.
   */
  async function reveal<T, A extends RevealAction>(
    permit: Permit<A>,
    verb: AuditAction,
    subjects: readonly [Revealed<NoInfer<A>>, ...Revealed<NoInfer<A>>[]],
    open: () => T,
    contained: readonly Revealed<never>[] = [],
  ): Promise<T> {
    for (const subject of subjects) await checkReach(permit, subject);
    const entries = (by: Caller) =>
      [...subjects, ...contained].map(subject =>
        entryOf(by, verb, 'allowed', subject, null, subject.details),
      );
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

  /** Refuses a caller who may do this nowhere. With further actions, the permit applies where all are held. */
  async function admit<A extends Action>(caller: Caller, action: A, ...others: readonly Action[]) {
    const vaults = vaultsAllowing(caller, action, ...others);
    if (vaults?.length === 0)
      await deny(caller, [action, ...others].find(one => !holds(caller, one)) ?? action, null);
    return { caller, action, vaults } as Permit<A>;
  }

  return {
    admit,

    /** Like `admit`, for the first of these actions that the caller may do. */
    admitAny: <A extends Action>(caller: Caller, actions: readonly [A, ...A[]]): Promise<Permit<A>> =>
      admit(caller, actions.find(action => holds(caller, action)) ?? actions[0]),

    /** Narrows a permit to the vaults to which the other one applies too. Refuses if there are none. */
    within: async <A extends Action>(permit: Permit<A>, other: Permit): Promise<Permit<A>> => {
      const vaults = common(permit.vaults, other.vaults);
      if (vaults?.length === 0) await deny(permit.caller, permit.action, null);
      return { ...permit, vaults };
    },

    /**
     * Checks a row that was looked up, in the vault that contains it; without a vault it belongs to the whole
     * organization. Throws NOT_FOUND for rows that the caller may not see and for rows of other organizations, and
     * FORBIDDEN for rows that the caller may see but not use for this action.
     */
    found: async <A extends Action, Row extends Owned>(
      permit: Permit<A>,
      row: Row | undefined,
      vaultId?: string | null,
    ): Promise<Allowed<Row, A>> => {
      const { caller, action } = permit;
      if (row === undefined || row.organization_id !== caller.organizationId) throw new Failure('NOT_FOUND');
      const place = vaultId ?? undefined;
      if (covers(permit, place)) return row as Allowed<typeof row, never>;
      if (!allows(caller, seeing(action), place)) throw new Failure('NOT_FOUND');
      return deny(caller, action, null);
    },

    /**
     * Refuses a caller who would grant or gain access to values that they could not read themselves. Showing them
     * requires these permissions in each of these vaults, or in the organization as a whole.
     */
    mayShow: async (
      caller: Caller,
      shown: readonly Action[],
      vaultIds?: readonly string[],
      { because = 'You can’t grant access that you don’t have', until }: Showing = {},
    ): Promise<void> => {
      const isHeld = (action: Action, id?: string) =>
        allows(caller, action, id) && (until === undefined || allowsUntil(caller, action, until, id));
      const isMissing = (action: Action) => !(vaultIds?.every(id => isHeld(action, id)) ?? isHeld(action));
      const missing = shown.find(isMissing);
      if (missing === undefined) return;
      const isShort = vaultIds?.every(id => allows(caller, missing, id)) ?? allows(caller, missing);
      const message = isShort ? endsEarlier : `${because}: this requires the permission ${missing}`;
      await deny(caller, missing, null, { message });
    },

    change: async <A extends ChangeAction>(
      permit: Permit<A>,
      verb: AuditAction,
      change: GuardedChange<NoInfer<A>>,
    ): Promise<string> => {
      for (const subject of change.subjects) {
        await checkReach(permit, subject);
        await checkRoleEnd(permit, verb, subject);
      }
      return store(permit.caller, verb, change);
    },

    /** A change of a person to their own account, which requires no permission beyond being that person. */
    own: (caller: Caller, verb: AuditAction, change: GuardedChange) => store(caller, verb, change),

    /** A change that an access key causes by being used, or that an identity's login causes. */
    used: (key: Actor, verb: AuditAction, change: GuardedChange): Promise<string> => {
      const { subjects, statements } = withReview(change);
      const { touches = [] } = change;
      return ledger.commit(entriesOf(key, verb, subjects), { statements, touches }).catch(error => {
        throw error instanceof ChangeRefused ? conflict(error) : error;
      });
    },

    /** A change of the operator to the whole deployment. It gets one entry for each organization that they act for. */
    operate: async (
      operators: readonly [Caller, ...Caller[]],
      verb: AuditAction,
      { subject, details, ...change }: DeploymentChange,
    ): Promise<void> => {
      const entries = operators.map(operator => entryOf(operator, verb, 'allowed', subject, null, details));
      await commit(operators[0], { verb, subject, entries: () => entries, ...change });
    },

    /** The service's own maintenance of its logs. It has no caller and belongs to no organization. */
    maintain: async (verb: OwnAction, { details, statements, carried = [] }: OwnChange) => {
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

    /** Records a failed authentication. Names the claimed account if it exists. */
    unproven: async (origin: Origin, verb: AuditAction, claimed: Claimed | null, reason?: string) => {
      const nobody = { kind: 'nobody', id: 'nobody', name: '' } as const;
      const by = { ...nobody, organizationId: claimed?.organizationId ?? '', origin };
      const details = reason === undefined ? {} : { reason };
      await ledger.commit([entryOf(by, verb, 'denied', claimed?.subject ?? null, null, details)]);
    },

    reveal,

    /** For actions that store nothing: refuses a caller who may no longer do it, according to the store. */
    confirm: ({ caller, action }: Permit): Promise<void> => confirm(caller, action),

    /** For data sent in parts: checks again for each stretch that the caller may still have it, and throws if not. */
    during: <T>({ caller }: Permit, verb: AuditAction, entries: AsyncIterable<T>): Watched<T> =>
      watch(caller, verb, entries) as Watched<never>,

    /**
     * An author with the permissions that they have now, and the conditions under which they are still theirs; null if
     * they lack one of these in the vault.
     */
    standing: async (author: Author, wanted: readonly Action[], vaultId: string, origin: Origin) => {
      const by = await authority.again(author, origin);
      if (by === null || authority.isOver(by)) return null;
      const may = author.kind === 'access-key' || wanted.every(action => allows(by, action, vaultId));
      return may ? { caller: by, statements: authority.conditions(by, 'stale') } : null;
    },

    /** Records that a caller who has the permission was refused for another reason. */
    refused: ({ caller }: Permit, verb: AuditAction, subject: Subject, reason: string): Promise<void> =>
      noteDenied(caller, verb, subject, reason),

    /** Records that someone who is no caller of the general API was refused. */
    refusedActor: async (by: Actor, verb: AuditAction, subject: Subject, reason: string): Promise<void> => {
      await ledger.refusals.denial(entryOf(by, verb, 'denied', subject, null, { reason }));
    },

    /** Records that a caller exceeded a rate limit and was refused. */
    limited: (caller: Caller, verb: AuditAction, subject: Subject): Promise<void> =>
      noteDenied(caller, verb, subject, 'rate limit'),

    /** Records a request whose caller lost their authority in the meantime. */
    withdrawn: (caller: Caller, verb: string): Promise<void> => noteWithdrawn(caller, verb, null),
  };
}

/** The change with what its review adds. Throws if something that a vault contains would be changed without one. */
function withReview<A extends Action>({ subjects, statements, reviewed }: GuardedChange<A>) {
  if (reviewed === undefined && subjects.some(({ type }) => contentTypes.has(type)))
    throw new Error('a write of a resource did not pass review');
  const [first, ...others] = subjects;
  const all: GuardedChange<A>['subjects'] = [first, ...others, ...(reviewed?.subjects ?? [])];
  return { subjects: all, statements: [...(reviewed?.statements ?? []), ...statements] };
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
