/** What a run used of its budgets, as bars; without a limit, only the number. */
import type { Run } from '../../api/types.ts';

const budgets = ['uses', 'writes', 'bytes'] as const;

export function Budgets({ of: { budgets: limits, used } }: { of: Run }) {
  return (
    <ul className="flex min-w-0 flex-col gap-1.5">
      {budgets.map(budget => (
        <Budget key={budget} name={budget} limit={limits[budget]} used={used[budget]} />
      ))}
    </ul>
  );
}

function Budget({ name, limit, used }: { name: string; limit: number | null; used: number | null }) {
  if (used === null) return null;
  const text = limit === null ? shown(used) : `${shown(used)} of ${shown(limit)}`;
  const share = limit === null ? 0 : Math.min(100, limit === 0 ? 100 : (used / limit) * 100);
  return (
    <li className="text-xs">
      <span className="flex justify-between gap-3">
        <span className="text-muted">{name}</span>
        <span className="tabular-nums">{text}</span>
      </span>
      {limit !== null && (
        <span aria-hidden className="mt-0.5 block h-1.5 overflow-hidden rounded-full bg-sunken">
          <span
            className={`block h-full rounded-full ${share >= 100 ? 'bg-bad' : 'bg-accent'}`}
            style={{ width: `${share}%` }}
          />
        </span>
      )}
    </li>
  );
}

const shown = (number: number) => number.toLocaleString('en');
