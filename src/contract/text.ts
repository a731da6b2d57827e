/**
 * The basic types that all schemas are built from. Each has explicit bounds, and each error says what would be right
 * without repeating what was sent.
 */
import { z } from 'zod';
import { isId } from './id.ts';

/** Characters that hide, reorder or break text: controls, bidirectional marks, line separators, lone surrogates. */
const unsafe = /[\p{Cc}\p{Cs}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/u;

/**
 * Characters that a person would not see in a name, or would mistake for something else: format characters, variation
 * selectors, tags, fillers and other invisible characters, blanks other than spaces, and private-use or unassigned
 * characters.
 */
const unseen = /[\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u2800]/u;

export function isSafeText(text: string): boolean {
  return !unsafe.test(text);
}

/** Whether all of the text is visible, so that it can be a name. */
export function isShownText(text: string): boolean {
  return isSafeText(text) && !unseen.test(text);
}

function characters(text: string): number {
  return [...text].length;
}

const safeText = z.string({ error: 'must be a string' }).refine(isSafeText, {
  error: 'must not contain control, bidirectional or unpaired surrogate characters',
  abort: true,
});

const composed = (text: string) => text.normalize('NFC');

/** Text of a bounded number of characters, in its composed form (NFC). */
export function line(smallest: number, largest: number) {
  return bounded(safeText.transform(composed), smallest, largest);
}

/** The same for new names that people read. Existing names stay valid and can still be looked up. */
export function shownLine(smallest: number, largest: number) {
  const shown = safeText.refine(text => !unseen.test(text), {
    error: 'must not contain invisible, private-use or unassigned characters',
    abort: true,
  });
  return bounded(shown.transform(composed), smallest, largest);
}

/** The same without normalization, which turns some letters into others (the Kelvin sign into a K). */
export function exactLine(smallest: number, largest: number) {
  return bounded(safeText, smallest, largest);
}

function bounded<T extends z.ZodType<string>>(text: T, smallest: number, largest: number) {
  return text
    .refine(sent => characters(sent) >= smallest && characters(sent) <= largest, {
      error: `must be ${smallest} to ${largest} characters long`,
    })
    .meta({ minLength: smallest, maxLength: largest });
}

/** Stands for any id in the documentation's examples. */
export const exampleId = '0199a3c4-7f00-7abc-8def-0123456789ab';

export const id = z
  .string({ error: 'must be a string' })
  .refine(isId, { error: 'must be a UUID in lower case' })
  .meta({
    id: 'Id',
    format: 'uuid',
    description: 'A UUID, version 7.',
    example: exampleId,
  });

/** The name of an existing resource. It is accepted as it is stored. */
export const knownName = line(1, 255);

export const name = shownLine(1, 255).meta({
  id: 'Name',
  minLength: 1,
  maxLength: 255,
  description: 'Unique among the resources of one type in a vault; a deleted resource frees its name.',
  example: 'DATABASE_URL',
});

const longestNote = 4_096;

export const description = line(0, 1024).meta({ id: 'Description', minLength: 0, maxLength: 1024 });

/** Text of several lines, as it was typed. */
export const noteText = z
  .string({ error: 'must be a string' })
  .refine(text => isSafeText(text.replace(/[\n\r\t]/g, '')), {
    error: 'must not contain control characters other than line breaks and tabs, nor bidirectional ones',
    abort: true,
  })
  .refine(text => characters(text) <= longestNote, {
    error: `must be at most ${longestNote} characters long`,
  })
  .meta({
    id: 'Note',
    maxLength: longestNote,
    description:
      'Markdown, for people: what it is for, where it comes from. Not secret; encrypted in the database.',
    example: 'Read-only. Created at *Settings → API* of the provider.',
  });

const mostTags = 15;

export const tags = z
  .record(line(1, 128), line(0, 256), { error: 'must be an object of strings' })
  .refine(all => Object.keys(all).length <= mostTags, { error: `must contain at most ${mostTags} tags` })
  .meta({
    id: 'Tags',
    maxProperties: mostTags,
    description: 'At most 15. Names have up to 128 characters, values up to 256.',
    example: { team: 'payments' },
  });

export type Tags = Readonly<Record<string, string>>;

const earliest = Date.UTC(1970, 0, 1);
const latest = Date.UTC(9999, 11, 31);
const isoDate = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

function isMoment(text: string): boolean {
  const time = Date.parse(text);
  if (!isoDate.test(text) || Number.isNaN(time)) return false;
  // The platform's parser accepts 31 February as a day in March.
  const day = Number(text.slice(8, 10));
  const daysInMonth = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
  return day >= 1 && day <= daysInMonth && time >= earliest && time <= latest;
}

/** A time in a request, as milliseconds. */
export const moment = z
  .string({ error: 'must be a string' })
  .refine(isMoment, {
    error: 'must be an ISO 8601 date and time with a zone, such as 2027-01-31T00:00:00Z',
    abort: true,
  })
  .transform(text => Date.parse(text))
  .meta({ format: 'date-time', example: '2027-01-31T00:00:00.000Z' });

/** A time in a response. */
export const timestamp = z.string().meta({
  id: 'Timestamp',
  format: 'date-time',
  description: 'ISO 8601 in UTC, with milliseconds.',
  example: '2026-11-15T09:30:00.000Z',
});

let lastTime = Number.NaN;
let lastText = '';

/** The last result is kept, because records created together are listed together and most were never changed. */
export function iso(time: number): string {
  if (time !== lastTime) [lastTime, lastText] = [time, new Date(time).toISOString()];
  return lastText;
}

export function isoOrNull(time: number | null): string | null {
  return time === null ? null : iso(time);
}

/** An integer in a query, such as a page number. */
export function queryInteger(smallest: number, largest: number) {
  return z
    .string({ error: 'must be given once' })
    .refine(text => /^\d{1,9}$/.test(text) && Number(text) >= smallest && Number(text) <= largest, {
      error: `must be a whole number from ${smallest} to ${largest}`,
      abort: true,
    })
    .transform(Number)
    .meta({ type: 'integer', minimum: smallest, maximum: largest });
}

export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: `must be one of: ${values.join(', ')}` });
}

export const flag = z.boolean({ error: 'must be true or false' });

export function count(smallest: number, largest: number) {
  const error = `must be a whole number from ${smallest} to ${largest}`;
  return z.int({ error }).min(smallest, { error }).max(largest, { error });
}

export function arrayUpTo<T extends z.ZodType>(most: number, item: T) {
  return z
    .array(item, { error: 'must be an array' })
    .max(most, { error: `must contain at most ${most} entries` });
}

/** For a number of items that belongs to the contract, so that the error names both bounds. */
export function arrayFrom<T extends z.ZodType>(least: number, most: number, item: T) {
  const error = `must contain ${least} to ${most} items`;
  return z.array(item, { error: 'must be an array' }).min(least, { error }).max(most, { error });
}
