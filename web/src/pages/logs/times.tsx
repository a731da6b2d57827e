/** How many identical entries a line stands for, if more than one. */
export function Times({ count }: { count: number }) {
  if (count === 1) return null;
  return (
    <span className="text-xs whitespace-nowrap text-muted tabular-nums">× {count.toLocaleString('en')}</span>
  );
}
