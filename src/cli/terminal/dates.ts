/** Dates and durations, as people write and read them on a command line. */
import type { Option } from '../../service/settings/options.ts';

const second = 1_000;
const day = 86_400_000;
const units: Readonly<Record<string, number>> = { s: second, m: 60_000, h: 3_600_000, d: day };

/** In milliseconds; null for any other text. */
export function durationIn(given: string): number | null {
  const [, amount, unit] = /^([1-9]\d{0,5})([smhd])$/.exec(given) ?? [];
  return unit === undefined ? null : Number(amount) * units[unit]!;
}

const dateForm = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** A date alone is its first moment in UTC. Null for any other text. */
function dateIn(given: string): number | null {
  const time = dateForm.test(given) ? Date.parse(given) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

const examples = 'such as 2027-01-31 or 2027-01-31T12:00:00Z, or a duration such as 12h or 30d';

/** The end of something; `at` is null for `never`. */
export interface End {
  readonly at: string | null;
}

export const endOption = (help: string): Option<End | null> => ({
  value: 'DATE|DURATION|never',
  help,
  fallback: null,
  parse: given => {
    if (given === 'never') return { at: null };
    const duration = durationIn(given);
    const time = duration === null ? dateIn(given) : Date.now() + duration;
    if (time === null) throw new Error(`must be never, or a date ${examples}`);
    return { at: new Date(time).toISOString() };
  },
});

/** A moment in the past: a duration counts back from now. */
export const sinceOption = (help: string): Option<string | null> => ({
  value: 'DATE|DURATION',
  help,
  fallback: null,
  parse: given => {
    const duration = durationIn(given);
    const time = duration === null ? dateIn(given) : Date.now() - duration;
    if (time === null) throw new Error(`must be a date ${examples}`);
    return new Date(time).toISOString();
  },
});

/** A length of time in its largest unit, rounded down: `5m`, `12h`, `30d`. */
function inWords(milliseconds: number): string {
  const [unit = 's', length = second] =
    Object.entries(units).findLast(([, length]) => milliseconds >= length) ?? [];
  return `${Math.floor(milliseconds / length)}${unit}`;
}

export function ago(date: string, now = Date.now()): string {
  const time = Date.parse(date);
  return Number.isNaN(time) ? '-' : `${inWords(Math.max(0, now - time))} ago`;
}

export function expiryInWords(date: string | null, now = Date.now()): string {
  if (date === null) return 'does not expire';
  const time = Date.parse(date);
  if (Number.isNaN(time)) return '-';
  return time <= now ? `expired ${ago(date, now)}` : `expires in ${inWords(time - now)}`;
}
