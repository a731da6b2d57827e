/** Counts by day, as small bars. */
export function Sparkline({ days, what }: { days: readonly number[]; what: 'read' | 'request' }) {
  const highest = Math.max(1, ...days);
  const total = days.reduce((sum, one) => sum + one, 0);
  const words = `${total} ${what}${total === 1 ? '' : 's'} in the last ${days.length} days`;
  return (
    <span role="img" aria-label={words} title={words} className="hidden h-4 w-14 items-end gap-px xl:flex">
      {days.map((count, index) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: the days have no other identity
          key={index}
          className={`flex-1 rounded-xs ${count === 0 ? 'bg-line' : 'bg-chart-good'}`}
          style={{ height: `${Math.max(8, (count / highest) * 100)}%` }}
        />
      ))}
    </span>
  );
}
