/** The overview page: recent reads, refused requests, resources that expire soon, and unused credentials. */
import { Plus } from 'lucide-react';
import type { Overview as Facts } from '../../api/types.ts';
import { useOptional } from '../../api/use.ts';
import { ReadsChart } from '../../charts/reads-chart.tsx';
import { useMay, useSession } from '../../session/session.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Loading, Page, Section, Wrong } from '../../ui/page.tsx';
import { Attention, useAttention } from './attention.tsx';
import { Counts } from './counts.tsx';
import { ExpiryTimeline } from './expiry-timeline.tsx';
import { BusiestKeys, BusiestVaults, FailedAddresses } from './rankings.tsx';
import { UnusedKeys } from './unused-keys.tsx';

export default function Overview() {
  const may = useMay();
  const { organization } = useSession().signedIn;
  const overview = useOptional<Facts>('/v1/overview', true, 15_000);
  const actions = may('vaults:write', 'organization') && (
    <ButtonLink href="/vaults?new=vault" look="primary">
      <Plus className="size-4" aria-hidden /> New vault
    </ButtonLink>
  );
  return (
    <Page title="Overview" above={organization.name} actions={actions}>
      <Attention />
      {overview.isPending && <Loading />}
      {overview.error && !overview.data && (
        <Wrong error={overview.error} retry={() => void overview.refetch()} />
      )}
      {overview.data === null && (
        <p className="text-muted">Your role doesn’t include the overview. Open Vaults from the menu.</p>
      )}
      {overview.data && <Glance facts={overview.data} />}
    </Page>
  );
}

/** Everything that has expired, which the service lists as needing attention. */
function useExpired(): Facts['expiring'] {
  const { data } = useAttention();
  const expired = (data?.matters ?? []).filter(({ kind }) => kind === 'expired');
  return expired.flatMap(({ subject, since }) => (subject && since ? { ...subject, expires_at: since } : []));
}

/** Sections in a row have the same height, so that there are no gaps. */
function Glance({ facts }: { facts: Facts }) {
  const may = useMay();
  const readsLogs = may('logs:read');
  const expired = useExpired();
  return (
    <>
      <Counts facts={facts} />
      <div className={`grid gap-4 ${readsLogs ? 'xl:grid-cols-[3fr_2fr]' : ''}`}>
        {readsLogs && (
          <Section title="Reads" intro="Vault requests by outcome. Click a bar, or drag, to see its entries.">
            <ReadsChart />
          </Section>
        )}
        <Section title="Expiring" intro="What has expired, and what will in the next 90 days.">
          <ExpiryTimeline items={[...expired, ...facts.expiring]} />
        </Section>
      </div>
      <div className={`grid gap-4 ${readsLogs ? 'sm:grid-cols-2 xl:grid-cols-4' : ''}`}>
        {readsLogs && <BusiestVaults vaults={facts.busiest_vaults} />}
        {readsLogs && <BusiestKeys keys={facts.busiest_keys} />}
        {readsLogs && <FailedAddresses addresses={facts.failed_addresses} />}
        <UnusedKeys keys={facts.unused_keys} />
      </div>
    </>
  );
}
