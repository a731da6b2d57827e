/** Scheduled backups: how old the newest is, and when one was last restored and verified. */
import type { AboutRecord } from '../../api/types.ts';
import { Facts } from '../../ui/facts.tsx';
import { Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';

type Scheduled = NonNullable<AboutRecord['backups']>;

const none =
  'This service takes no scheduled backups. An operator can take one with “strongroom backup”, or schedule them with “strongroom serve --backup-to”.';

export function Backups({ backups }: Pick<AboutRecord, 'backups'>) {
  if (backups === null)
    return (
      <Section beside title="Backups">
        <p className="text-muted">{none}</p>
      </Section>
    );
  return (
    <Section beside title="Backups" intro={intro(backups)}>
      <Facts facts={factsOf(backups)} />
    </Section>
  );
}

function factsOf({ last_at, proven_at, bytes, failed_at }: Scheduled) {
  return [
    ['Newest backup', <Ago key="last" at={last_at} none="None yet" />],
    ['Restored and verified', <Ago key="proven" at={proven_at} none="Not yet" />],
    ...(bytes === null ? [] : ([['Size', sizeOf(bytes)]] as const)),
    ...(failed_at === null ? [] : ([['Last attempt failed', <Ago key="failed" at={failed_at} />]] as const)),
  ] as const;
}

function intro({ every_seconds: seconds }: Scheduled): string {
  const [length, unit] = units.find(([length]) => seconds % length === 0)!;
  const count = seconds / length;
  return `The service takes one every ${count === 1 ? unit : `${count} ${unit}s`}. A backup counts only after it has been restored and verified.`;
}

const units = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
] as const;

function sizeOf(bytes: number): string {
  if (bytes < 1024 * 1024) return `${Math.ceil(bytes / 1024)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
