/** The organization's settings: its name, its plan with this minute's usage, and retention. */
import { useQuery } from '@tanstack/react-query';
import { get, put } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Organization as Facts } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay, useRefreshState } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { DialogButtons } from '../../ui/dialog.tsx';
import { Mono } from '../../ui/facts.tsx';
import { Loading, Section, Wrong } from '../../ui/page.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { Exact } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { Plan } from './plan.tsx';
import { Retention } from './retention.tsx';

export default function Organization() {
  const found = useQuery({ queryKey: ['organization'], queryFn: () => get<Facts>('/v1/organization') });
  if (found.isPending) return <Loading />;
  if (!found.data) return <Wrong error={found.error} retry={() => void found.refetch()} />;
  return (
    <>
      <Name organization={found.data} />
      <Plan key={found.data.updated_at} organization={found.data} />
      <Retention />
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
    <Section beside title="Name">
      <form className="flex max-w-md flex-col gap-4" onSubmit={form.submit(save)}>
        <TextField
          form={form}
          name="name"
          label="Organization"
          required
          maxLength={255}
          readOnly={!may('organization:write')}
          hint={
            <>
              Created <Exact at={organization.created_at} />
              <br />
              ID <Mono>{organization.id}</Mono>
            </>
          }
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
