/**
 * Sessions of the dashboard: in the store, so that they outlive a restart and are shared by replicas. One ends
 * after 12 hours without use, after 7 days in any case, when it is ended by hand, when its member is removed,
 * and when the member's way of proving himself changes (its epoch is then over). Of its token only a keyed
 * digest is stored. The role is looked up each time, never carried by the session.
 */
import type { Caller, Origin } from '../../access/caller.ts';
import { mintToken, parseToken } from '../../access/token.ts';
import type { Session } from '../../contract/auth.ts';
import { Failure } from '../../contract/errors.ts';
import { iso } from '../../contract/text.ts';
import { equalBytes } from '../../keyring/keyring.ts';
import { logText } from '../../logs/entries.ts';
import type { SessionRow } from '../../store/accounts.ts';
import type { Statement } from '../../store/engine.ts';
import type { SubjectChange } from '../guard.ts';
import { Kept } from '../kept.ts';
import type { Parts } from '../parts.ts';
import type { LockOut } from './lock-out.ts';
import { callerOf, type People, type Person } from './people.ts';

export const longestSession = 7 * 24 * 3_600_000;
const longestIdle = 12 * 3_600_000;
/** The time of use is written down this often, which is enough for what it decides. */
const noteEvery = 60_000;
const mostSessions = 20;
const mostKept = 10_000;

/** Who is signed in, and by which session. */
export interface SignedInAs {
  readonly caller: Caller;
  readonly person: Person;
  readonly session: SessionRow;
}

/** What is stored in the same step as a new session. */
export interface Along {
  readonly subjects?: readonly SubjectChange[];
  readonly statements?: readonly Statement[];
  readonly touches?: readonly string[];
}

export interface Sessions {
  /** The new session's token. */
  start(person: Person, method: string, origin: Origin, along?: Along): Promise<string>;
  /** Refuses whoever isn't signed in. */
  require(token: string | null, origin: Origin): Promise<SignedInAs>;
  find(token: string | null, origin: Origin): Promise<SignedInAs | null>;
  list(as: SignedInAs): Promise<Session[]>;
  end(as: SignedInAs, id: string): Promise<void>;
  /** Carries this session into the next epoch; all others stay behind. */
  renew(as: SignedInAs, epoch: number): { subject: SubjectChange; statements: Statement[] };
}

interface Live {
  readonly row: SessionRow;
  usedAt: number;
}

export function sessionsWith(
  { store, keyring, stamps, guard, now, newId }: Parts,
  people: People,
  lockOut: LockOut,
): Sessions {
  const kept = new Kept<Live>(store, mostKept);
  const nobody = keyring.tokenDigest(mintToken('session', '00000000-0000-7000-8000-000000000000'));

  async function load(id: string): Promise<Live | undefined> {
    const row = await store.accounts.session(id);
    return row && { row: stamps.session.believe(row), usedAt: row.used_at };
  }

  /** What looks idle here may have been used at another replica, so that is looked up. */
  async function live(id: string): Promise<Live | undefined> {
    const known = kept.get(id);
    return known !== undefined && !isOver(known) ? known : kept.load(id, () => load(id));
  }

  function isOver({ row, usedAt }: Live): boolean {
    return now() >= row.created_at + longestSession || now() >= usedAt + longestIdle;
  }

  function noteUse(session: Live): void {
    if (now() - session.usedAt < noteEvery) return;
    session.usedAt = now();
    store.accounts.noteSessionUse(session.row.id, session.usedAt).catch(() => {
      // The next use notes it again; a store that is away shows itself elsewhere.
    });
  }

  async function find(token: string | null, origin: Origin): Promise<SignedInAs | null> {
    const parsed = token === null ? null : parseToken(token);
    const session = parsed?.kind === 'session' ? await live(parsed.id) : undefined;
    const proven = equalBytes(keyring.tokenDigest(token ?? ''), session?.row.digest ?? nobody);
    if (session === undefined || !proven || isOver(session)) return null;
    const person = await people.byMember(session.row.member_id);
    if (person === undefined || !isOf(session.row, person)) return null;
    noteUse(session);
    return { caller: callerOf(person, origin), person, session: session.row };
  }

  function newRow({ member, account }: Person, method: string, origin: Origin, token: string, id: string) {
    const time = now();
    return stamps.session.stamp({
      id,
      organization_id: member.organization_id,
      member_id: member.id,
      digest: keyring.tokenDigest(token),
      epoch: account.epoch,
      method,
      ip_address: origin.address,
      user_agent: logText(origin.userAgent),
      created_at: time,
      updated_at: time,
      revision: 1,
      used_at: time,
    });
  }

  /** The oldest give way to a new one. */
  async function surplus(person: Person): Promise<SessionRow[]> {
    return (await store.accounts.sessionsOf(person.member.id))
      .slice(mostSessions - 1)
      .map(stamps.session.believe);
  }

  return {
    find,

    require: async (token, origin) => {
      const found = await find(token, origin);
      if (found !== null) return found;
      lockOut.failed(origin);
      throw new Failure('UNAUTHORIZED');
    },

    start: async (person, method, origin, { subjects = [], statements = [], touches = [] } = {}) => {
      const id = newId();
      const token = mintToken('session', id);
      const row = newRow(person, method, origin, token, id);
      const old = await surplus(person);
      await guard.own(callerOf(person, origin), 'session.started', {
        subjects: [
          { ...subjectOf(row, person), details: { method } },
          ...subjects,
          ...old.map(session => ended(session, person)),
        ],
        statements: [
          ...statements,
          store.accounts.removeSessionsBefore(now() - longestSession),
          ...old.map(store.accounts.dropSession),
          store.accounts.insertSession(row),
        ],
        touches: [...touches, ...old.map(session => session.id)],
      });
      return token;
    },

    list: async ({ person, session: current }) => {
      const rows = (await store.accounts.sessionsOf(person.member.id)).map(stamps.session.believe);
      return rows
        .filter(row => isOf(row, person) && !isOver({ row, usedAt: row.used_at }))
        .map(row => present(row, row.id === current.id));
    },

    end: async ({ person, caller }, id) => {
      const row = await store.accounts.session(id);
      if (row === undefined || row.member_id !== person.member.id) throw new Failure('NOT_FOUND');
      const believed = stamps.session.believe(row);
      await guard.own(caller, 'session.ended', {
        subjects: [ended(believed, person)],
        statements: [store.accounts.removeSession(believed)],
        touches: [id],
      });
    },

    renew: ({ session, person }, epoch) => {
      const row = stamps.session.revise(session, { epoch }, now());
      return {
        subject: { ...subjectOf(row, person), verb: 'session.renewed' },
        statements: [
          store.accounts.updateSession(row),
          store.accounts.removeOtherSessions(person.member.id, row.id),
        ],
      };
    },
  };
}

function isOf(row: SessionRow, { member, account }: Person): boolean {
  return row.member_id === member.id && row.epoch === account.epoch && member.state === 'active';
}

function subjectOf(row: SessionRow, { member }: Person): SubjectChange {
  return { type: 'session', id: row.id, name: member.email, revision: row.revision };
}

/** The row goes, and its next revision is in the audit log: put back, it isn't believed. */
function ended(row: SessionRow, person: Person): SubjectChange {
  return { ...subjectOf(row, person), revision: row.revision + 1, verb: 'session.ended' };
}

function present(row: SessionRow, current: boolean): Session {
  return {
    id: row.id,
    created_at: iso(row.created_at),
    used_at: iso(row.used_at),
    ip_address: row.ip_address,
    user_agent: row.user_agent,
    current,
  };
}
