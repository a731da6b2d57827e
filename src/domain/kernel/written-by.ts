/**
 * Who wrote a record that decides later what others store: everyone who changed it since it was created. It is stored
 * within the record, with the revision that it is for. A replica of an earlier release doesn't keep it up to date, and
 * records that were changed before it existed don't have it; who wrote those is unknown.
 */
import { type Caller, memberBehind } from '../../access/caller.ts';

export interface WrittenBy {
  readonly revision: number;
  readonly ids: readonly string[];
}

interface Written {
  readonly revision: number;
  readonly created_by: string;
}

/** Stands for people who are not known. It could be anyone, so nobody can be told apart from them. */
export const unknownWriter = 'unknown';
/** A caller counts as up to two. */
const mostWriters = 16;

export function writersOf({ revision, created_by }: Written, stored: WrittenBy | undefined): string[] {
  if (stored?.revision === revision) return [...stored.ids];
  return revision === 1 ? [created_by] : [unknownWriter];
}

/** What the next revision stores; the first if there is none before. */
export function writtenBy(caller: Caller, before: Written | null, stored?: WrittenBy): WrittenBy {
  const earlier = before === null ? [] : writersOf(before, stored);
  const all = new Set([...earlier, caller.id, memberBehind(caller)].filter(one => one !== null));
  const ids = all.size > mostWriters ? [unknownWriter] : [...all];
  return { revision: (before?.revision ?? 0) + 1, ids };
}
