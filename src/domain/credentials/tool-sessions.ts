/**
 * Sessions of the tool endpoint. A session routes and never authorizes: every call has its own credential. The access
 * key in the header of the request that opened the session belongs to it, and no other is accepted in the header of a
 * later one; credentials in a call's arguments apply to that call only. Sessions are stored as digests, so that they
 * survive a restart and are known to every replica; they end after 24 hours without use. Their rows are stamped: an
 * edited session is not served. Opening a session needs no credential, so the number per minute is limited for each
 * access key, and for each address without one. Only its access key can end a session that belongs to one.
 */
import type { Origin, Reader } from '../../access/caller.ts';
import { mintToken, parseToken } from '../../access/token.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { equalBytes } from '../../keyring/keyring.ts';
import type { ToolSessionRow } from '../../store/records/tool-sessions.ts';
import { MinuteCounter } from '../kernel/minute-counter.ts';
import type { Parts } from '../kernel/parts.ts';
import { RowCache } from '../kernel/row-cache.ts';

export interface ToolSession {
  readonly id: string;
  /** The access key that belongs to it; null if it was opened without one. */
  readonly credentialId: string | null;
  readonly revision: string;
  /** Whether its client can send its user to web pages. */
  readonly elicits: boolean;
}

/** What a client stated when it opened a session, and what was agreed on. */
export interface Agreed {
  readonly revision: string;
  readonly client: string;
  readonly elicits?: boolean;
}

export type ToolSessions = ReturnType<typeof toolSessionsWith>;

export interface ToolSessionParts extends Pick<Parts, 'store' | 'keyring' | 'stamps' | 'now' | 'newId'> {
  readonly attempts: MinuteCounter;
  readonly tellOpened?: ((who: string) => void) | undefined;
}

export const sessionHeader = 'mcp-session-id';
const sessionIdle = 24 * 60 * 60 * 1000;
const noteEvery = 60_000;
const mostKept = 20_000;
const mostUnused = 100_000;
const mostOpened = 600;

export function toolSessionsWith(parts: ToolSessionParts) {
  const { store, keyring, stamps, attempts, now, newId, tellOpened } = parts;
  const kept = new RowCache<ToolSessionRow>(store, mostKept);
  const noted = new Map<string, number>();
  // A connection that sends the same id again has proven it before, as long as its row is cached.
  const memories = new WeakMap<object, { readonly token: string; readonly row: ToolSessionRow }>();
  const opened = new MinuteCounter(now, mostOpened, tellOpened, store.hearsChanges);

  function lastUse({ id, used_at }: ToolSessionRow): number {
    return Math.max(used_at, noted.get(id) ?? 0);
  }

  function isIdle(row: ToolSessionRow): boolean {
    return now() - lastUse(row) >= sessionIdle;
  }

  async function stored(id: string): Promise<ToolSessionRow | undefined> {
    const row = await store.toolSessions.byId(id);
    return row && stamps.toolSession.vouched(row);
  }

  /** The cache may not know of uses on other replicas, so the row is read again before a session counts as idle. */
  async function load(id: string, address: string): Promise<ToolSessionRow | undefined> {
    const known = kept.get(id);
    if (known !== undefined && !isIdle(known)) return known;
    const row = await attempts.lookUp(address, () => kept.load(id, () => stored(id)));
    return row === undefined || isIdle(row) ? undefined : row;
  }

  function remembered(token: string, connection: object): ToolSessionRow | null {
    const memory = memories.get(connection);
    if (memory === undefined || memory.token !== token) return null;
    return kept.get(memory.row.id) === memory.row && !isIdle(memory.row) ? memory.row : null;
  }

  async function prove(token: string, address: string): Promise<ToolSessionRow> {
    const parsed = parseToken(token);
    if (parsed?.kind !== 'mcp') throw unknown();
    const row = await load(parsed.id, address);
    if (row !== undefined && equalBytes(keyring.tokenDigest(token), row.digest)) return row;
    const wait = attempts.blockedFor(address);
    attempts.add(address);
    throw wait === 0 ? unknown() : new Failure('RATE_LIMITED', { retryAfter: wait });
  }

  /** The time of use is stored only occasionally: sessions are long-lived, and a call should cost no write. */
  function noteUse(row: ToolSessionRow): void | Promise<void> {
    const time = now();
    if (time - lastUse(row) < noteEvery) return;
    if (noted.size >= mostKept) noted.clear();
    noted.set(row.id, time);
    return store.toolSessions.noteUse(stamps.toolSession.stamp({ ...row, used_at: time }));
  }

  return {
    /** Returns the new session's id, as the client will send it. The agreed values are stored with it. */
    async open(agreed: Agreed, reader: Reader | null, { address }: Origin): Promise<string> {
      opened.take(reader?.countedAs ?? address);
      const id = newId();
      const token = mintToken('mcp', id);
      const time = now();
      const row = {
        id,
        digest: keyring.tokenDigest(token),
        state: JSON.stringify({ ...agreed, narrowing: reader?.narrowing?.id }),
        credential_id: reader?.id ?? null,
        created_at: time,
        used_at: time,
      };
      await store.toolSessions.add(stamps.toolSession.stamp(row));
      return token;
    },

    /** Counts a session that this caller opened through another thread. */
    learnOpened: (who: string): void => opened.learn(who),

    /** The session that a request names, if the request may use it with the access key in its header, if any. */
    async find(token: unknown, reader: Reader | null, { address }: Origin, connection: object) {
      if (typeof token !== 'string') throw missing();
      const row = remembered(token, connection) ?? (await prove(token, address));
      if (row.credential_id !== null && reader !== null && !isIts(row, reader)) throw anothers();
      memories.set(connection, { token, row });
      await noteUse(row);
      return { id: row.id, credentialId: row.credential_id, ...agreedIn(row) };
    },

    /** Refused if the session belongs to an access key and the request has none. */
    async end({ id, credentialId }: ToolSession, reader: Reader | null): Promise<void> {
      if (credentialId !== null && reader === null) throw anothers();
      await store.toolSessions.end(id);
    },

    /** Removes ended sessions. Called periodically. */
    forget: (): Promise<void> => store.toolSessions.forget(now() - sessionIdle, mostUnused),
  };
}

/** An access key restricted by its holder is a different one than the key it is derived from. */
function isIts({ credential_id, state }: ToolSessionRow, { id, narrowing }: Reader): boolean {
  if (id !== credential_id) return false;
  return (JSON.parse(state) as { narrowing?: string }).narrowing === narrowing?.id;
}

function agreedIn({ state }: ToolSessionRow): Pick<ToolSession, 'revision' | 'elicits'> {
  const { revision, elicits = false } = JSON.parse(state) as Agreed;
  return { revision, elicits };
}

// The field distinguishes these from a refusal by the vault: the session is wrong, not the key.

function missing(): Failure {
  return invalid(sessionHeader, 'is required; initialize returns one');
}

function unknown(): Failure {
  const reason = 'does not name a live session; initialize returns a new one';
  return new Failure('NOT_FOUND', { field: sessionHeader, reason });
}

function anothers(): Failure {
  const reason = 'belongs to another credential; call initialize to get your own session';
  return new Failure('FORBIDDEN', { field: sessionHeader, reason });
}
