/** The busiest vaults and access keys, and the sources of refused requests, as ranked bars. */
import { Link } from 'wouter';
import { query } from '../../api/client.ts';
import type { Overview } from '../../api/types.ts';
import { Name } from '../../ui/name.tsx';
import { Section } from '../../ui/page.tsx';

const figures = new Intl.NumberFormat('en');
/** Keeps the sections of a row about the same height. */
const most = 5;

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
      title="Refusals by address"
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
  const highest = Math.max(1, ...entries.map(entry => entry.value));
  return (
    <Section title={title}>
      {entries.length === 0 && <p className="text-muted">{none}</p>}
      <ol className="-mx-2 -my-1.5 flex flex-col empty:hidden">
        {entries.slice(0, most).map(({ key, label, href, value }) => (
          <li key={key}>
            <Link href={href} className="row-link block px-2 py-1.5">
              <span className="flex items-baseline justify-between gap-4">
                <span className="min-w-0 font-medium">
                  <Name text={label} />
                </span>
                <span className="text-muted tabular-nums">{figures.format(value)}</span>
              </span>
              <span aria-hidden className="mt-1 block h-1 rounded-full bg-sunken">
                <span
                  className={`block h-full rounded-full ${bad ? 'bg-chart-bad' : 'bg-chart-good'}`}
                  style={{ width: `${Math.max(2, (value / highest) * 100)}%` }}
                />
              </span>
            </Link>
          </li>
        ))}
      </ol>
    </Section>
  );
}
