/** The organization: its name, its plan, and how much of the plan's rate this minute has used. */
import { useQuery } from '@tanstack/react-query';
import { get, put } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Organization as Facts, Overview } from '../../api/types.ts';
import { useOptional, useRefresh } from '../../api/use.ts';
import { useMay, useRefreshState } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { DialogButtons } from '../../ui/dialog.tsx';
import { Facts as FactList, Mono } from '../../ui/facts.tsx';
import { Loading, Section, Wrong } from '../../ui/page.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { Exact } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';

export default function Organization() {
  const found = useQuery({ queryKey: ['organization'], queryFn: () => get<Facts>('/v1/organization') });
  if (found.isPending) return <Loading />;
  if (!found.data) return <Wrong error={found.error} retry={() => void found.refetch()} />;
  return (
    <>
      <Name organization={found.data} />
      <PlanUse organization={found.data} />
      <Section
        title="Retention"
        intro="What was deleted waits in the trash for 30 days, and can be restored until then. Every version of a secret and a key is kept as long as the secret or key itself."
      >
        <FactList
          facts={[
            ['Made', <Exact key="made" at={found.data.created_at} />],
            ['Id', <Mono key="id">{found.data.id}</Mono>],
          ]}
        />
      </Section>
    </>
  );
}

function Name({ organization }: { organization: Facts }) {
  const may = useMay();
  const refresh = useRefresh();
  const refreshState = useRefreshState();
  const form = useForm({ name: organization.name });
  async function save({ name }: typeof form.values) {
    await put('/v1/organization', { name });
    await Promise.all([refresh('organization'), refreshState()]);
    note('Organization renamed');
  }
  return (
    <Section title="Name">
      <form className="flex max-w-md flex-col gap-4" onSubmit={form.submit(save)}>
        <TextField
          form={form}
          name="name"
          label="Organization"
          required
          maxLength={255}
          readOnly={!may('organization:write')}
        />
        {may('organization:write') && (
          <DialogButtons problem={form.problem}>
            <Button
              type="submit"
              look="primary"
              busy={form.busy}
              disabled={form.values.name === organization.name}
            >
              Rename
            </Button>
          </DialogButtons>
        )}
      </form>
    </Section>
  );
}

const figures = new Intl.NumberFormat('en');

function PlanUse({ organization: { plan, rate_limit } }: { organization: Facts }) {
  const overview = useOptional<Overview>('/v1/overview', true, 5_000);
  const used = overview.data?.plan.used ?? 0;
  return (
    <Section
      title="Plan"
      intro="The limit counts the general API’s requests in one-minute windows. The dashboard’s own are not counted, nor are vault reads."
    >
      <p className="text-lg font-semibold capitalize">{plan}</p>
      {rate_limit === null ? (
        <p className="text-muted">No limit. {figures.format(used)} requests in this minute.</p>
      ) : (
        <div className="mt-2 max-w-md">
          <div className="flex justify-between">
            <span>Requests in this minute</span>
            <span className="tabular-nums">
              {figures.format(used)} of {figures.format(rate_limit)}
            </span>
          </div>
          <meter
            className="sr-only"
            min={0}
            max={rate_limit}
            value={used}
            aria-label="Requests in this minute"
          />
          <div aria-hidden className="mt-1.5 h-2 rounded-full bg-sunken">
            <div
              className={`h-full rounded-full ${used >= rate_limit * 0.9 ? 'bg-bad' : 'bg-accent'}`}
              style={{ width: `${Math.min(100, (used / rate_limit) * 100)}%` }}
            />
          </div>
        </div>
      )}
      <p className="mt-3 text-[13px] text-muted">
        An operator changes the plan on the command line: <Mono>strongroom organization set-plan</Mono>
      </p>
    </Section>
  );
}
