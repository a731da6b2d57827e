/** The requests that match the filter, over time. Dragging across it limits the log to that period. */
import { query } from '../../api/client.ts';
import type { RequestHistogram } from '../../api/types.ts';
import { useOptional } from '../../api/use.ts';
import { RequestsChart } from '../../charts/requests-chart.tsx';
import type { Address } from '../../ui/address.ts';

const every = 10_000;
const height = 64;
const buckets = 48;

interface HistogramProps {
  readonly address: Address;
  readonly filters: readonly string[];
}

export function Histogram({ address, filters }: HistogramProps) {
  const chosen = Object.fromEntries([...filters, 'from', 'to'].map(name => [name, address.get(name)]));
  const path = `/v1/request-logs/histogram${query({ ...chosen, buckets })}`;
  const { data } = useOptional<RequestHistogram>(path, true, every);
  if (data === null) return null;
  if (data === undefined)
    return <div className="animate-pulse rounded bg-sunken" style={{ height: height + 20 }} />;
  const label = chosen.from || chosen.to ? 'Requests in this period' : 'Requests in the last 24 hours';
  return (
    <div className="pt-2">
      <RequestsChart
        parts={data.parts}
        to={data.to}
        height={height}
        label={label}
        onPick={(from, to) => address.set({ from, to })}
      />
    </div>
  );
}
