/** The organization's plan: this minute's usage and, for owners, a form to change the plan. */
import { put } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Organization, Overview, Plan as PlanName } from '../../api/types.ts';
import { useOptional, useRefresh } from '../../api/use.ts';
import { useSession } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { DialogButtons } from '../../ui/dialog.tsx';
import { Mono } from '../../ui/facts.tsx';
import { Section } from '../../ui/page.tsx';
import { ChoiceField, TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';

const plans: readonly (readonly [PlanName, string])[] = [
  ['free', 'Free – 100 requests per minute'],
  ['pro', 'Pro – 1,000 requests per minute'],
  ['enterprise', 'Enterprise – a limit you set'],
];
const figures = new Intl.NumberFormat('en');

export function Plan({ organization }: { organization: Organization }) {
  const { role } = useSession().signedIn.member;
  return (
    <Section
      beside
      title="Plan"
      intro="The limit counts requests to the general API in one-minute windows. Requests from the dashboard and vault reads don’t count."
    >
      <p className="text-lg font-semibold capitalize">{organization.plan}</p>
      <Use limit={organization.rate_limit} />
      {role === 'owner' ? (
        <ChangePlan organization={organization} />
      ) : (
        <p className="mt-3 text-xs text-muted">
          Owners can change the plan here; operators, from the command line:{' '}
          <Mono>strongroom organization set-plan</Mono>
        </p>
      )}
    </Section>
  );
}

function Use({ limit }: { limit: number | null }) {
  const overview = useOptional<Overview>('/v1/overview', true, 5_000);
  const used = overview.data?.plan.used ?? 0;
  if (overview.data?.plan.used === null) return null;
  if (limit === null)
    return <p className="text-muted">No limit. {figures.format(used)} requests this minute.</p>;
  return (
    <div className="mt-2 max-w-md">
      <div className="flex justify-between">
        <span>Requests this minute</span>
        <span className="tabular-nums">
          {figures.format(used)} of {figures.format(limit)}
        </span>
      </div>
      <meter className="sr-only" min={0} max={limit} value={used} aria-label="Requests this minute" />
      <div aria-hidden className="mt-1.5 h-2 rounded-full bg-sunken">
        <div
          className={`h-full rounded-full ${used >= limit * 0.9 ? 'bg-bad' : 'bg-accent'}`}
          style={{ width: `${Math.min(100, (used / limit) * 100)}%` }}
        />
      </div>
    </div>
  );
}

function ChangePlan({ organization: { plan, rate_limit } }: { organization: Organization }) {
  const before = {
    plan: plan as string,
    enterprise_limit: plan === 'enterprise' ? `${rate_limit ?? 0}` : '0',
  };
  const form = useForm(before);
  const refresh = useRefresh();
  const isEnterprise = form.values.plan === 'enterprise';
  const isChanged =
    form.values.plan !== before.plan ||
    (isEnterprise && form.values.enterprise_limit !== before.enterprise_limit);
  async function save(wanted: typeof form.values) {
    const limit = isEnterprise ? { enterprise_limit: Number(wanted.enterprise_limit) } : {};
    await put('/v1/organization', { plan: wanted.plan, ...limit });
    await refresh('organization', 'path');
    note('Plan changed');
  }
  return (
    <form className="mt-5 flex max-w-md flex-col gap-4" onSubmit={form.submit(save)}>
      <ChoiceField form={form} name="plan" label="Plan" choices={plans} />
      {isEnterprise && (
        <TextField
          form={form}
          name="enterprise_limit"
          label="Requests per minute"
          type="number"
          min={0}
          required
          hint="0 means no limit."
        />
      )}
      <DialogButtons problem={form.problem}>
        <Button type="submit" look="primary" busy={form.busy} disabled={!isChanged}>
          Change plan
        </Button>
      </DialogButtons>
    </form>
  );
}
