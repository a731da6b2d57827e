/**
 * Dashboard sessions. They are stored, so that they survive a restart and are shared by replicas. A session ends
 * after 12 hours without use, after 7 days in any case, when someone ends it, when its member is removed, and when
 * the member changes how they prove their identity (which starts a new epoch). Only a keyed digest of its token is
 * stored. The role is looked up each time and is not part of the session.
 */
import { type Caller, type Origin, type Proof, unstored } from '../../access/caller.ts';
import { mintToken, parseToken } from '../../access/token.ts';
import type { Session } from '../../contract/auth.ts';
import { Failure } from '../../contract/errors.ts';
import { iso } from '../../contract/text.ts';
import { equalBytes } from '../../keyring/keyring.ts';
import { logText } from '../../logs/entries.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { Audited } from '../../store/integrity/audited.ts';
import type { DashboardSessionRow } from '../../store/records/accounts.ts';
import { rightsProvenBy } from '../credentials/member-rights.ts';
import type { Parts } from '../kernel/parts.ts';
import { RowCache } from '../kernel/row-cache.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import { callerOf, type People, type Person } from '../people/people.ts';
import type { LockOut } from './lock-out.ts';
import type { MailSettings } from './mail-settings.ts';

export const longestSession = 7 * 24 * 3_600_000;
const longestIdle = 12 * 3_600_000;
/** How often the time of use is stored, which is precise enough. */
const noteEvery = 60_000;
const mostSessions = 20;
const mostKept = 10_000;

export interface SignedInAs {
  readonly caller: Caller;
  readonly person: Person;
  readonly session: DashboardSessionRow;
}

/** Changes stored in the same transaction as a new session. */
export interface RelatedWrites {
  readonly subjects?: readonly SubjectChange[];
  readonly statements?: readonly Statement[];
  readonly touches?: readonly string[];
}

export type DashboardSessions = ReturnType<typeof dashboardSessionsWith>;

interface Live {
  readonly row: DashboardSessionRow;
  usedAt: number;
}

export function dashboardSessionsWith(
  { store, keyring, stamps, guard, now, newId }: Parts,
  people: People,
  lockOut: LockOut,
  mailSettings: Pick<MailSettings, 'signedIn'>,
) {
  const kept = new RowCache<Live>(store, mostKept);
  const nobody = keyring.tokenDigest(mintToken('session', '00000000-0000-7000-8000-000000000000'));

  async function load(id: string): Promise<Live | undefined> {
    const stored = await store.accounts.session(id);
    const row = stored && stamps.session.believe(stored);
    return row && { row, usedAt: row.used_at };
  }

  /** A session that looks idle here may have been used on another replica, so it is read again. */
  async function live(id: string): Promise<Live | undefined> {
    const known = kept.get(id);
    return known !== undefined && !isOver(known) ? known : kept.load(id, () => load(id));
  }

  function isOver({ row, usedAt }: Live): boolean {
    return now() >= endOf(row) || now() >= usedAt + longestIdle;
  }

  function noteUse(session: Live): void {
    if (now() - session.usedAt < noteEvery) return;
    session.usedAt = now();
    const used = stamps.session.stamp({ ...session.row, used_at: session.usedAt });
    store.accounts.noteSessionUse(used).catch(() => {
      // The next use stores it again; an unavailable store is reported elsewhere.
    });
  }

  async function find(token: string | null, origin: Origin): Promise<SignedInAs | null> {
    const sent = token ?? '';
    const parsed = parseToken(sent);
    const session = parsed?.kind === 'session' ? await live(parsed.id) : undefined;
    const proven = equalBytes(keyring.tokenDigest(sent), session?.row.digest ?? nobody);
    if (session === undefined || !proven || isOver(session)) return null;
    const person = await people.byMember(session.row.member_id);
    if (person === undefined || !isOf(session.row, person)) return null;
    noteUse(session);
    const caller = callerOf(person, origin, proofOf(session.row, person), now());
    return { caller, person, session: session.row };
  }

  function newRow({ member, account }: Person, method: string, origin: Origin, token: string, id: string) {
    const time = now();
    return stamps.session.create(time, {
      id,
      organization_id: member.organization_id,
      member_id: member.id,
      digest: keyring.tokenDigest(token),
      epoch: account.epoch,
      method,
      ip_address: origin.address,
      user_agent: logText(origin.userAgent),
      proven_at: null,
      used_at: time,
    });
  }

  /** The oldest sessions make room for a new one. */
  async function surplus(person: Person): Promise<DashboardSessionRow[]> {
    return (await store.accounts.sessionsOf(person.member.id))
      .slice(mostSessions - 1)
      .map(stamps.session.believe);
  }

  async function end(by: Caller, row: DashboardSessionRow & Audited, person: Person): Promise<void> {
    const believed = stamps.session.believe(row);
    await guard.own(by, 'session.ended', {
      subjects: [ended(believed, person)],
      statements: [store.accounts.removeSession(believed)],
      touches: [row.id],
    });
  }

  return {
    find,

    /** Refuses a caller who isn't signed in. An invalid cookie counts against its network address. */
    require: async (token: string | null, origin: Origin): Promise<SignedInAs> =>
      (await find(token, origin)) ?? lockOut.refuse(origin),

    /** The signed-in person, if a cookie was sent. An invalid cookie counts as a failure too. */
    recognise: async (token: string | null, origin: Origin): Promise<SignedInAs | null> => {
      const found = await find(token, origin);
      if (found !== null || token === null) return found;
      lockOut.check(origin);
      lockOut.failed(origin);
      return null;
    },

    /** Reads the session again, for a caller about to change it. Refuses one that has ended meanwhile. */
    again: async (id: string, origin: Origin): Promise<SignedInAs> => {
      const current = await load(id);
      const person = current && (await people.fresh(current.row.member_id));
      if (person === undefined || isOver(current!) || !isOf(current!.row, person))
        throw new Failure('UNAUTHORIZED');
      const session = current!.row;
      return { caller: callerOf(person, origin, proofOf(session, person), now()), person, session };
    },

    /** Records that the person proved their identity again, together with what the proof used up. */
    proven: async (
      { caller, person, session }: SignedInAs,
      { subjects = [], statements = [], touches = [] }: RelatedWrites,
    ): Promise<void> => {
      const row = stamps.session.revise(session, { proven_at: now() }, now());
      await guard.own(caller, 'session.proven', {
        subjects: [subjectOf(row, person), ...subjects],
        statements: [store.accounts.updateSession(row), ...statements],
        touches: [row.id, ...touches],
        unique: 'credential',
      });
    },

    /** Returns the new session's token. */
    start: async (
      person: Person,
      method: string,
      origin: Origin,
      { subjects = [], statements = [], touches = [] }: RelatedWrites,
    ): Promise<string> => {
      const id = newId();
      const token = mintToken('session', id);
      const row = newRow(person, method, origin, token, id);
      const old = await surplus(person);
      const told = await mailSettings.signedIn(person, origin);
      // The person is proven by what they sent; the functions that start a session add their own conditions for it.
      await guard.own(callerOf(person, origin, unstored, now()), 'session.started', {
        subjects: [
          { ...subjectOf(row, person), details: { method } },
          ...subjects,
          ...old.map(session => ended(session, person)),
        ],
        statements: [
          ...statements,
          ...told,
          store.accounts.removeSessionsBefore(now() - longestSession),
          ...old.map(store.accounts.dropSession),
          store.accounts.insertSession(row),
          store.conditions.proves(person.member, person.account.epoch),
        ],
        touches: [...touches, ...old.map(session => session.id)],
      });
      return token;
    },

    list: async ({ person, session: current }: SignedInAs): Promise<Session[]> => {
      const rows = (await store.accounts.sessionsOf(person.member.id)).map(stamps.session.believe);
      return rows
        .filter(row => isOf(row, person) && !isOver({ row, usedAt: row.used_at }))
        .map(row => present(row, row.id === current.id));
    },

    end: async ({ person, caller }: SignedInAs, id: string): Promise<void> => {
      const row = await store.accounts.session(id);
      if (row === undefined || row.member_id !== person.member.id) throw new Failure('NOT_FOUND');
      await end(caller, row, person);
    },

    /** Ends any person's session, for the operator. */
    endBy: async (operator: Caller, id: string): Promise<void> => {
      const row = await store.accounts.session(id);
      const person = row && (await people.byMember(row.member_id));
      if (person === undefined || row!.organization_id !== operator.organizationId)
        throw new Failure('NOT_FOUND');
      await end(operator, row!, person);
    },

    /** Moves this session to the next epoch; all others end. */
    renew: ({ session, person }: SignedInAs, epoch: number) => {
      const row = stamps.session.revise(session, { epoch, used_at: now() }, now());
      return {
        subject: { ...subjectOf(row, person), verb: 'session.renewed' as const },
        statements: [
          store.accounts.updateSession(row),
          store.accounts.removeOtherSessions(person.member.id, row.id),
        ],
      };
    },
  };
}

function endOf({ created_at }: DashboardSessionRow): number {
  return created_at + longestSession;
}

/** What a signed-in person's authority rests on. The request itself shows that the session is in use. */
export function proofOf(session: DashboardSessionRow, person: Person): Proof {
  const { account } = person;
  return {
    rows: [
      { table: 'sessions', id: session.id, revision: session.revision },
      ...rightsProvenBy(person),
      { table: 'accounts', id: account.id, revision: account.revision },
    ],
    until: endOf(session),
    provenAt: provenAt(session),
  };
}

/**
 * When the person last proved their identity, by signing in or later. The issuer may have signed them in without
 * asking for anything, so single sign-on counts only if the issuer was asked to authenticate them again.
 */
function provenAt({ proven_at, created_at, method }: DashboardSessionRow): number | null {
  return proven_at ?? (method === 'oidc' ? null : created_at);
}

export function isSignedIn(row: DashboardSessionRow, person: Person, now: number): boolean {
  return isOf(row, person) && now < endOf(row);
}

function isOf(row: DashboardSessionRow, { member, account }: Person): boolean {
  return row.member_id === member.id && row.epoch === account.epoch && member.state === 'active';
}

function subjectOf(row: DashboardSessionRow, { member }: Person): SubjectChange {
  return { type: 'session', id: row.id, name: member.email, revision: row.revision };
}

/** The row is removed, but its next revision is in the audit log: if it is put back, it isn't trusted. */
function ended(row: DashboardSessionRow, person: Person): SubjectChange {
  return { ...subjectOf(row, person), revision: row.revision + 1, verb: 'session.ended' };
}

function present(row: DashboardSessionRow, current: boolean): Session {
  return {
    id: row.id,
    created_at: iso(row.created_at),
    used_at: iso(row.used_at),
    ip_address: row.ip_address,
    user_agent: row.user_agent,
    current,
  };
}
