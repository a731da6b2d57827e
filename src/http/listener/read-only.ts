/**
 * Fields that a GET returns and a PUT can't change. They may be sent back unchanged, so that a record can be fetched,
 * edited and sent back in full. A different value is refused with the name of the field, because the sender expects it
 * to change something.
 */
import { isDeepStrictEqual } from 'node:util';
import { invalid } from '../../contract/errors.ts';

/** Returns the fields of a record that can't be changed. */
export function readOnlyMembers(item: Shape, ...changes: readonly Shape[]): ReadonlySet<string> {
  const changing = new Set(changes.flatMap(({ shape }) => Object.keys(shape)));
  return new Set(Object.keys(item.shape).filter(name => !changing.has(name)));
}

/** The part of an object's schema that lists its fields. */
export interface Shape {
  readonly shape: object;
}

/**
 * Returns the fields that remain to be checked as a change. The record, as a GET shows it, is looked up only if
 * read-only fields were sent.
 */
export async function changesIn(
  sent: unknown,
  members: ReadonlySet<string>,
  shown: () => Promise<object>,
): Promise<unknown> {
  if (typeof sent !== 'object' || sent === null) return sent;
  const entries = Object.entries(sent);
  if (!entries.some(([name]) => members.has(name))) return sent;
  const record = new Map(Object.entries(await shown()));
  const unchanged = ([name, value]: [string, unknown]): boolean => {
    if (!members.has(name) || !record.has(name)) return false;
    if (isDeepStrictEqual(value, record.get(name))) return true;
    throw invalid(name, 'can’t be changed: omit it or send its current value');
  };
  return Object.fromEntries(entries.filter(entry => !unchanged(entry)));
}
