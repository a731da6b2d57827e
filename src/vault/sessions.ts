/**
 * Sessions of the tool endpoint. A session routes and never authorises: every call brings a credential of its
 * own. It belongs to the first access key that was used with it, and no other key is served in it. Sessions
 * are stored, as digests, so that they outlive a restart and are known to every replica; after 24 hours without
 * use they are over. How many an address may open in a minute is bounded, for anyone may ask for one.
 */
import type { Origin } from '../access/caller.ts';
import { mintToken, parseToken } from '../access/token.ts';
import { Failure } from '../contract/errors.ts';
import type { NewId } from '../contract/id.ts';
import { equalBytes, type Keyring } from '../keyring/keyring.ts';
import type { SessionRow } from '../store/sessions.ts';
import type { Store } from '../store/store.ts';
import { Attempts } from './attempts.ts';
import { Kept } from './kept.ts';

export interface ToolSession {
  readonly id: string;
  /** The access key that it belongs to, once there is one. */
  readonly credentialId: string | null;
}

export interface ToolSessions {
  /** The new session's id, as the client will send it. What it agreed on and who it is are kept for people to see. */
  open(revision: string, client: string, origin: Origin): Promise<string>;
  /** Null where there is no such session, or none any more. */
  find(token: string, origin: Origin, connection: object): Promise<ToolSession | null>;
  /** Throws where the session belongs to another credential. */
  claim(session: ToolSession, credentialId: string): void | Promise<void>;
  end(session: ToolSession): Promise<void>;
  /** Removes what is over. Called every so often. */
  forget(): Promise<void>;
}

export interface ToolSessionParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly attempts: Attempts;
  readonly now: () => number;
  readonly newId: NewId;
}

export const sessionHeader = 'mcp-session-id';
const sessionIdle = 24 * 60 * 60 * 1000;
const noteEvery = 60_000;
const mostKept = 20_000;
const mostUnclaimed = 100_000;
const mostOpened = 600;

export function toolSessionsWith({ store, keyring, attempts, now, newId }: ToolSessionParts): ToolSessions {
  const kept = new Kept<SessionRow>(store, mostKept);
  const noted = new Map<string, number>();
  // A connection that sends the same id again has proven it before, as long as its row is kept.
  const memories = new WeakMap<object, { readonly token: string; readonly row: SessionRow }>();
  const opened = new Attempts(now, mostOpened);

  function isIdle(row: SessionRow): boolean {
    return now() - Math.max(row.used_at, noted.get(row.id) ?? 0) >= sessionIdle;
  }

  /** What is kept may not know of uses elsewhere: before a session is called idle, it is looked up again. */
  async function load(id: string): Promise<SessionRow | undefined> {
    const known = kept.get(id);
    if (known !== undefined && !isIdle(known)) return known;
    const row = await kept.load(id, () => store.sessions.byId(id));
    return row === undefined || isIdle(row) ? undefined : row;
  }

  function remembered(token: string, connection: object): SessionRow | null {
    const memory = memories.get(connection);
    if (memory === undefined || memory.token !== token) return null;
    return kept.get(memory.row.id) === memory.row && !isIdle(memory.row) ? memory.row : null;
  }

  async function prove(token: string, address: string): Promise<SessionRow | null> {
    const parsed = parseToken(token);
    if (parsed?.kind !== 'mcp') return null;
    const wait = attempts.blockedFor(address);
    if (wait > 0 && kept.get(parsed.id) === undefined) {
      throw new Failure('RATE_LIMITED', { retryAfter: wait });
    }
    const row = await load(parsed.id);
    if (row !== undefined && equalBytes(keyring.tokenDigest(token), row.digest)) return row;
    attempts.failed(address);
    return null;
  }

  /** The time of use is written once in a while: a session's life is long, and a call should cost no write. */
  function noteUse(row: SessionRow): void | Promise<void> {
    const time = now();
    if (time - Math.max(row.used_at, noted.get(row.id) ?? 0) < noteEvery) return;
    if (noted.size >= mostKept) noted.clear();
    noted.set(row.id, time);
    return store.sessions.noteUse(row.id, time);
  }

  async function claimFirst({ id }: ToolSession, credentialId: string): Promise<void> {
    if (await store.sessions.claim(id, credentialId)) return;
    const row = await store.sessions.byId(id);
    if (row?.credential_id !== credentialId) throw anothers();
  }

  return {
    async open(revision, client, { address }) {
      const wait = opened.blockedFor(address);
      if (wait > 0) throw new Failure('RATE_LIMITED', { retryAfter: wait });
      opened.failed(address);
      const id = newId();
      const token = mintToken('mcp', id);
      const time = now();
      await store.sessions.add({
        id,
        digest: keyring.tokenDigest(token),
        state: JSON.stringify({ revision, client }),
        credential_id: null,
        created_at: time,
        used_at: time,
      });
      return token;
    },

    async find(token, { address }, connection) {
      const row = remembered(token, connection) ?? (await prove(token, address));
      if (row === null) return null;
      memories.set(connection, { token, row });
      await noteUse(row);
      return { id: row.id, credentialId: row.credential_id };
    },

    claim(session, credentialId) {
      if (session.credentialId === credentialId) return;
      if (session.credentialId !== null) throw anothers();
      return claimFirst(session, credentialId);
    },

    end: ({ id }) => store.sessions.end(id),

    forget: () => store.sessions.forget(now() - sessionIdle, mostUnclaimed),
  };
}

/** The field tells it apart from a refusal by the vault: it is the session that is wrong, not the key. */
function anothers(): Failure {
  const reason = 'belongs to another credential: initialize a session of its own';
  return new Failure('FORBIDDEN', { field: sessionHeader, reason });
}
