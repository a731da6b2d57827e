/**
 * A link as the verifier meets it. Its text may have been written by anybody: what can't be read says nothing, and is
 * never a reason to stop.
 */
import { timeOf } from '../contract/id.ts';
import type { Stream } from '../store/logs.ts';
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

/** The action of the entry with which retention says what it removed. */
export const prunedAction = 'request_logs.pruned';

/** The action of the entry that says that the database went on with another timeline. */
export const continuedAction = 'log.timeline_continued';

/** Of PostgreSQL, whose standby took over. */
export interface Continued {
  readonly from: number;
  readonly to: number;
  readonly at: string;
}

export interface PrunedChain extends Link {
  readonly writer: string;
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

/** The last link that retention removed of each chain; null where the entry is not of that kind. */
export function removalIn({ text }: LoggedLink): readonly PrunedChain[] | null {
  if (!text.includes(prunedAction)) return null;
  const { action, details } = (readable(() => JSON.parse(text)) ?? {}) as {
    action?: unknown;
    details?: { chains?: unknown };
  };
  if (action !== prunedAction || !Array.isArray(details?.chains)) return null;
  return details.chains.filter(isPrunedChain);
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

function isPrunedChain(given: unknown): given is PrunedChain {
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
