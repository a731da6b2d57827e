/**
 * A link as the verifier meets it. Its text may have been written by anybody: what can't be read says nothing, and is
 * never a reason to stop.
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
  /** The entry, or the block. */
  readonly text: string;
  /** Whether what is stored beside the text, to find it by, says the same as it; or isn't there yet. */
  readonly filed?: Filed;
}

/** The actions of the entries with which retention says what it removed. */
export const prunedAction = 'request_logs.pruned' satisfies OwnAction;
export const archivedAction = 'audit_logs.archived' satisfies OwnAction;
/** The action of an entry that repeats, behind what was archived, which revision of a row is the newest. */
export const carriedAction = 'audit_logs.revision_carried' satisfies OwnAction;

/** The action of the entry that says that the database went on with another timeline. */
export const continuedAction = 'log.timeline_continued' satisfies AuditAction;

/** Of PostgreSQL, whose standby took over. */
export interface Continued {
  readonly from: number;
  readonly to: number;
  readonly at: string;
}

export interface PrunedChain extends Link {
  readonly writer: string;
}

/** How an archive is found, and what its bytes must be. */
export interface ArchiveName {
  readonly file: string;
  readonly sha256: string;
}

/** The newest archive, and where each chain of the audit log stood behind it. */
export interface Archived extends ArchiveName {
  readonly number: number;
  readonly chains: readonly PrunedChain[];
}

/** The last link that was removed of each chain, by its log. */
export interface Removal {
  readonly request: readonly PrunedChain[];
  readonly audit: readonly PrunedChain[];
  readonly archived: Archived | null;
}

/** By its id, which is made when it is written; NaN where that is no id. */
export function writtenAt({ id }: LoggedLink): number {
  return timeOf(id);
}

/** Whether its id and its text tell of the same time, but for so many milliseconds. */
export function isDated(link: LoggedLink, apart: number): boolean {
  const said = readable(() => Date.parse(String(JSON.parse(link.text).created_at))) ?? Number.NaN;
  return Math.abs(writtenAt(link) - said) <= apart;
}

/** The ids of the entries; none where they can't be read, which is an edit. */
export function idsIn(stream: Stream, { id, text }: LoggedLink): string[] {
  if (stream === 'audit') return [id];
  return readable(() => entriesOf(id, text).map(entry => entry.id)) ?? [];
}

/** What an entry says that retention removed; null where it says nothing of that kind. */
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

/** Notes how far a chain was removed. An archive repeats what was said before it, which may be less than is known. */
export function noteRemoved(chains: Map<string, Link>, { writer, ...link }: PrunedChain): void {
  if (link.seq > (chains.get(writer)?.seq ?? 0)) chains.set(writer, link);
}

/** What an entry says of a new timeline; null where it is not of that kind. */
export function continuedIn(link: LoggedLink): Continued | null {
  if (!link.text.includes(continuedAction)) return null;
  const { action, organization_id, details } = (readable(() => JSON.parse(link.text)) ?? {}) as {
    action?: unknown;
    organization_id?: unknown;
    details?: { from?: unknown; to?: unknown };
  };
  // Every organization has the entry; the one that is nobody's counts.
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

/** An edit may leave what can't be read at all: null then. */
export function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
