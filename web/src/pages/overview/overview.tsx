/** The overview page: recent reads, refused requests, resources that expire soon, and unused credentials. */
import { Plus } from 'lucide-react';
import type { Overview as Facts } from '../../api/types.ts';
import { useOptional } from '../../api/use.ts';
import { useMay, useSession } from '../../session/session.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Loading, Page, Section, Wrong } from '../../ui/page.tsx';
import { Counts } from './counts.tsx';
import { ExpiryTimeline } from './expiry-timeline.tsx';
import { BusiestKeys, BusiestVaults, FailedAddresses } from './rankings.tsx';
import { ReadsChart } from './reads-chart.tsx';
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

/** Sections in a row have the same height, so that there are no gaps. */
function Glance({ facts }: { facts: Facts }) {
  const may = useMay();
  const readsLogs = may('logs:read');
  return (
    <>
      <Counts facts={facts} />
      <div className="grid gap-4 xl:grid-cols-[3fr_2fr]">
        {readsLogs && (
          <Section title="Reads" intro="Vault requests in the last 24 hours, by outcome.">
            <ReadsChart reads={facts.reads} />
          </Section>
        )}
        <Section title="Expiring" intro="In the next 90 days.">
          <ExpiryTimeline items={facts.expiring} />
        </Section>
      </div>
      <div className="grid gap-4 sm:grid-cols-2 xl:grid-cols-4">
        {readsLogs && <BusiestVaults vaults={facts.busiest_vaults} />}
        {readsLogs && <BusiestKeys keys={facts.busiest_keys} />}
        {readsLogs && <FailedAddresses addresses={facts.failed_addresses} />}
        <UnusedKeys keys={facts.unused_keys} />
      </div>
    </>
  );
}
