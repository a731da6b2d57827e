/** Dates and times in readable form, with the exact time as a tooltip. */
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const dayOfThisYear = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short' });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

export function ago(moment: string, now = Date.now()): string {
  const seconds = (Date.parse(moment) - now) / 1000;
  const unit = units.find(([, length]) => Math.abs(seconds) >= length);
  if (unit === undefined)
    return Math.abs(seconds) < 10 ? 'just now' : relative.format(Math.round(seconds), 'second');
  return relative.format(Math.round(seconds / unit[1]), unit[0]);
}

/** The exact time, for a tooltip. */
export function exactly(moment: string): string {
  return exact.format(new Date(moment));
}

export function Ago({ at, none = 'never' }: { at: string | null; none?: string }) {
  if (at === null) return <span className="text-muted">{none}</span>;
  return (
    <time dateTime={at} title={exactly(at)} className="whitespace-nowrap">
      {ago(at)}
    </time>
  );
}

export function Exact({ at }: { at: string }) {
  return (
    <time dateTime={at} className="whitespace-nowrap">
      {exact.format(new Date(at))}
    </time>
  );
}

/** For logs, where times are listed below each other: shows the year only if it is not the current one. */
export function Clock({ at }: { at: string }) {
  const date = new Date(at);
  const isThisYear = date.getFullYear() === new Date().getFullYear();
  return (
    <time dateTime={at} title={exact.format(date)} className="whitespace-nowrap tabular-nums">
      {(isThisYear ? dayOfThisYear : day).format(date)} {clock.format(date)}
    </time>
  );
}

export function dayOf(moment: string): string {
  return day.format(new Date(moment));
}

export function daysUntil(moment: string, now = Date.now()): number {
  return Math.ceil((Date.parse(moment) - now) / 86_400_000);
}
