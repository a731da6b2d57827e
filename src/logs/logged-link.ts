/**
 * A link as the verifier reads it. Its text may have been written by an attacker: unreadable content is ignored, and
 * never stops the verification.
 */
import type { AuditAction, OwnAction } from '../contract/audit-actions.ts';
import { timeOf } from '../contract/id.ts';
import type { Stream } from '../store/records/logs.ts';
import { entriesOf } from './blocks.ts';
import type { Link } from './chain.ts';

export type Filed = 'right' | 'wrong' | 'not-yet';

/** A link of a chain as it is stored: an audit entry, or a block of request entries. */
export interface LoggedLink extends Link {
  readonly id: string;
  readonly writer: string;
  /** The entry or the block. */
  readonly text: string;
  /** Whether the index columns match the text, or don't exist yet. */
  readonly filed?: Filed;
}

/** The actions of the entries in which retention records what it removed. */
export const prunedAction = 'request_logs.pruned' satisfies OwnAction;
export const archivedAction = 'audit_logs.archived' satisfies OwnAction;
/** The action of an entry that repeats the newest revision of a row whose own entry was archived. */
export const carriedAction = 'audit_logs.revision_carried' satisfies OwnAction;

/** The action of the entry which records that the database continued on another timeline. */
export const continuedAction = 'log.timeline_continued' satisfies AuditAction;

/** A change of PostgreSQL's timeline, after a standby took over. */
export interface Continued {
  readonly from: number;
  readonly to: number;
  readonly at: string;
}

export interface PrunedChain extends Link {
  readonly writer: string;
}

/** An archive's name, and the digest of its content. */
export interface ArchiveName {
  readonly file: string;
  readonly sha256: string;
}

/** The newest archive, and the state of each chain of the audit log after it. */
export interface Archived extends ArchiveName {
  readonly number: number;
  readonly chains: readonly PrunedChain[];
}

/** The last removed link of each chain, per log. */
interface Removal {
  readonly request: readonly PrunedChain[];
  readonly audit: readonly PrunedChain[];
  readonly archived: Archived | null;
}

/** The time in its id, which is generated when it is written; NaN if the id is invalid. */
export function writtenAt({ id }: LoggedLink): number {
  return timeOf(id);
}

/** Whether the times in its id and in its text differ by at most `apart` milliseconds. */
export function isDated(link: LoggedLink, apart: number): boolean {
  const said = readable(() => Date.parse(String(JSON.parse(link.text).created_at))) ?? Number.NaN;
  return Math.abs(writtenAt(link) - said) <= apart;
}

/** The ids of the entries; none if they can't be read, which is an edit. */
export function idsIn(stream: Stream, { id, text }: LoggedLink): string[] {
  if (stream === 'audit') return [id];
  return readable(() => entriesOf(id, text).map(entry => entry.id)) ?? [];
}

/** What an entry says that retention removed; null if it is not such an entry. */
export function removalIn({ text }: Pick<LoggedLink, 'text'>): Removal | null {
  if (!text.includes(prunedAction) && !text.includes(archivedAction)) return null;
  const { action, details } = (readable(() => JSON.parse(text)) ?? {}) as {
    action?: unknown;
    details?: Readonly<Record<string, unknown>>;
  };
  const chains = chainsIn(details?.chains);
  if (action === prunedAction && chains !== null) return { request: chains, audit: [], archived: null };
  if (action !== archivedAction || chains === null) return null;
  const { number, file, sha256, request_chains } = details!;
  if (!Number.isSafeInteger(number) || typeof file !== 'string' || typeof sha256 !== 'string') return null;
  const archived = { number: number as number, file, sha256, chains };
  return { request: chainsIn(request_chains) ?? [], audit: chains, archived };
}

/** Records how far a chain was removed. An archive repeats earlier statements, which may be behind what is known. */
export function noteRemoved(chains: Map<string, Link>, { writer, ...link }: PrunedChain): void {
  if (link.seq > (chains.get(writer)?.seq ?? 0)) chains.set(writer, link);
}

/** What an entry says about a new timeline; null if it is not such an entry. */
export function continuedIn(link: LoggedLink): Continued | null {
  if (!link.text.includes(continuedAction)) return null;
  const { action, organization_id, details } = (readable(() => JSON.parse(link.text)) ?? {}) as {
    action?: unknown;
    organization_id?: unknown;
    details?: { from?: unknown; to?: unknown };
  };
  // Every organization has this entry; the one without an organization counts.
  if (action !== continuedAction || organization_id !== null) return null;
  const [from, to] = [Number(details?.from), Number(details?.to)];
  return { from, to, at: new Date(writtenAt(link)).toISOString() };
}

function chainsIn(given: unknown): readonly PrunedChain[] | null {
  return Array.isArray(given) ? given.filter(isPrunedChain) : null;
}

export function isPrunedChain(given: unknown): given is PrunedChain {
  const { writer, seq, hash, mark } = (given ?? {}) as Partial<PrunedChain>;
  return Number.isSafeInteger(seq) && [writer, hash, mark].every(text => typeof text === 'string');
}

/** Returns null if `read` throws: an edit may leave unreadable content. */
export function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
