/** Who reads most, and where refused requests come from, as ranked bars. */
import { Link } from 'wouter';
import { query } from '../../api/client.ts';
import type { Overview } from '../../api/types.ts';
import { Section } from '../../ui/page.tsx';

interface Entry {
  readonly key: string;
  readonly label: string;
  readonly href: string;
  readonly value: number;
}

export function BusiestVaults({ vaults }: { vaults: Overview['busiest_vaults'] }) {
  const entries = vaults.map(({ id, name, reads }) => ({
    key: id,
    label: name,
    href: `/vaults/${id}`,
    value: reads,
  }));
  return <Ranking title="Busiest vaults" entries={entries} none="No vault was read in the last 24 hours." />;
}

export function BusiestKeys({ keys }: { keys: Overview['busiest_keys'] }) {
  const entries = keys.map(({ id, name, reads }) => ({
    key: id,
    label: name,
    href: `/logs/requests${query({ access_key_id: id })}`,
    value: reads,
  }));
  return (
    <Ranking
      title="Busiest access keys"
      entries={entries}
      none="No access key was used in the last 24 hours."
    />
  );
}

export function FailedAddresses({ addresses }: { addresses: Overview['failed_addresses'] }) {
  const entries = addresses.map(({ ip_address, failures }) => ({
    key: ip_address,
    label: ip_address,
    href: `/logs/requests${query({ ip_address })}`,
    value: failures,
  }));
  return (
    <Ranking
      title="Refused requests by address"
      entries={entries}
      none="No request was refused in the last 24 hours."
      bad
    />
  );
}

interface RankingProps {
  readonly title: string;
  readonly entries: readonly Entry[];
  readonly none: string;
  readonly bad?: boolean;
}

function Ranking({ title, entries, none, bad = false }: RankingProps) {
  const most = Math.max(1, ...entries.map(entry => entry.value));
  return (
    <Section title={title}>
      {entries.length === 0 && <p className="text-muted">{none}</p>}
      <ol className="flex flex-col gap-2.5">
        {entries.slice(0, 6).map(({ key, label, href, value }) => (
          <li key={key}>
            <div className="flex items-baseline justify-between gap-4">
              <Link href={href} className="min-w-0 truncate font-medium hover:underline">
                {label}
              </Link>
              <span className="text-muted tabular-nums">{new Intl.NumberFormat('en').format(value)}</span>
            </div>
            <div className="mt-1 h-1.5 rounded-full bg-sunken">
              <div
                className={`h-full rounded-full ${bad ? 'bg-[var(--chart-bad)]' : 'bg-[var(--chart-good)]'}`}
                style={{ width: `${Math.max(2, (value / most) * 100)}%` }}
              />
            </div>
          </li>
        ))}
      </ol>
    </Section>
  );
}
