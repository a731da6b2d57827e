/**
 * Parses and formats dates in the person's time zone. A moment has the form 2026-12-17T14:30, a day the form 2026-12-17;
 * both can be compared as strings.
 */
const shown = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});
const dayLength = 86_400_000;
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const time = '(?:[T, ]+(\\d{1,2})[:.](\\d{2}))?';
const numeric = new RegExp(`^(\\d{4})-(\\d{1,2})-(\\d{1,2})${time}$`, 'i');
const dotted = new RegExp(`^(\\d{1,2})\\.(\\d{1,2})\\.(\\d{4})${time}$`, 'i');
const written = new RegExp(`^(\\d{1,2})\\.? ([a-z]{3,9})\\.?,? (\\d{4})${time}$`, 'i');
const ahead = /^(?:in )?(\d{1,4}) ?(hour|day|week|month|year|h|d|w|m|y)s?$/i;

/** Parses typed text into a moment; null if it is not a date. A day without a time gets the given time. */
export function momentIn(text: string, timeOfDay: string, now = new Date()): string | null {
  const typed = text.trim();
  const relative = ahead.exec(typed);
  if (relative) return later(Number(relative[1]), relative[2]!.toLowerCase()[0]!, now);
  const parts = partsOf(typed);
  if (parts === null) return null;
  const [year, month, day, hour, minute] = parts;
  const date = `${pad(year, 4)}-${pad(month)}-${pad(day)}`;
  const moment = hour === '' ? `${date}T${timeOfDay}` : `${date}T${pad(hour)}:${minute}`;
  return localOf(new Date(moment)) === moment ? moment : null;
}

type Parts = readonly [year: string, month: string, day: string, hour: string, minute: string];

function partsOf(text: string): Parts | null {
  const [, year = '', month = '', day = '', hour = '', minute = ''] = numeric.exec(text) ?? [];
  if (year !== '') return [year, month, day, hour, minute];
  const found = dotted.exec(text) ?? written.exec(text);
  if (found === null) return null;
  const [, first = '', second = '', third = '', h = '', min = ''] = found;
  const number = /\d/.test(second) ? second : String(months.indexOf(second.slice(0, 3).toLowerCase()) + 1);
  return [third, number, first, h, min];
}

const pad = (number: string, to = 2) => number.padStart(to, '0');

/** The moment that many hours, days, weeks, months or years from now; a negative count is in the past. */
export function later(count: number, unit: string, now = new Date()): string {
  const date = new Date(now);
  if (unit === 'h') date.setHours(date.getHours() + count);
  if (unit === 'd') date.setDate(date.getDate() + count);
  if (unit === 'w') date.setDate(date.getDate() + 7 * count);
  if (unit === 'm') date.setMonth(date.getMonth() + count);
  if (unit === 'y') date.setFullYear(date.getFullYear() + count);
  return localOf(date);
}

/** Converts a point in time to a moment in the person's time zone; empty if there is none or it is invalid. */
export function localOf(at: Date | string | null | undefined): string {
  if (!at) return '';
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Formats a moment for display: 17 Dec 2026, 14:30. Other text is returned unchanged. */
export function textOf(moment: string): string {
  return isMoment(moment) ? shown.format(new Date(moment)) : moment;
}

export function isMoment(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text);
}

/** The person's time zone, and its offset from UTC at that moment. */
export function zoneAt(moment: string): string {
  const at = isMoment(moment) ? new Date(moment) : new Date();
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const offset = new Intl.DateTimeFormat('en', { timeZoneName: 'longOffset' })
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName')!
    .value.replace('GMT', 'UTC');
  return timeZone === 'UTC' ? timeZone : `${timeZone}, ${offset}`;
}

export function addDays(day: string, count: number): string {
  return new Date(Date.parse(day) + count * dayLength).toISOString().slice(0, 10);
}

/** The same day in another month, or that month's last day if it is shorter. */
export function addMonths(day: string, count: number): string {
  const [year, month, date] = day.split('-').map(Number) as [number, number, number];
  const last = new Date(Date.UTC(year, month + count, 0));
  const first = last.toISOString().slice(0, 8);
  return `${first}${pad(String(Math.min(date, last.getUTCDate())))}`;
}

/** 0 for Monday. */
export function weekdayOf(day: string): number {
  return (new Date(day).getUTCDay() + 6) % 7;
}

/** The six weeks that a month's calendar shows. */
export function weeksAround(day: string): readonly (readonly string[])[] {
  const first = `${day.slice(0, 8)}01`;
  const monday = addDays(first, -weekdayOf(first));
  return Array.from({ length: 6 }, (_, week) =>
    Array.from({ length: 7 }, (_, weekday) => addDays(monday, week * 7 + weekday)),
  );
}
