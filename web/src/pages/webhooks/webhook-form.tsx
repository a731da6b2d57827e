/** Making a webhook, or changing one. Its signing secret is shown once. */
import { useState } from 'react';
import { post, put } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import { eventKinds, type Webhook } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
import { CheckField, TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';
import { TokenOnce } from '../../ui/token-once.tsx';
import { VaultsField } from '../../ui/vaults-field.tsx';

interface Values {
  name: string;
  url: string;
  enabled: boolean;
  events: readonly string[];
  vault_ids: readonly string[];
}

export function WebhookForm({ webhook, onClose }: { webhook?: Webhook; onClose: () => void }) {
  const form = useForm<Values>({
    name: webhook?.name ?? '',
    url: webhook?.url ?? '',
    enabled: webhook?.enabled ?? true,
    events: webhook?.events ?? ['resource.created', 'resource.updated', 'resource.deleted'],
    vault_ids: webhook?.vault_ids ?? [],
  });
  const [secret, setSecret] = useState('');
  const refresh = useRefresh();
  async function save({ name, vault_ids, ...body }: Values) {
    const narrowed = { vault_ids: vault_ids.length === 0 ? null : vault_ids };
    const sent = { ...body, ...narrowed, ...(name === '' ? {} : { name }) };
    if (webhook) {
      await put(`/v1/webhooks/${webhook.id}`, sent);
      note('Webhook changed');
      onClose();
    } else setSecret((await post<Webhook>('/v1/webhooks', sent)).secret ?? '');
    await refresh('webhooks');
  }
  if (secret !== '') return <SecretOnce secret={secret} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title={webhook ? `Change ${webhook.name}` : 'New webhook'}>
      <form className="flex flex-col gap-4" onSubmit={form.submit(save)}>
        <TextField
          form={form}
          name="url"
          label="Address"
          type="url"
          required
          placeholder="https://example.com/hooks/strongroom"
        />
        <TextField
          form={form}
          name="name"
          label="Name"
          optional
          maxLength={255}
          hint="The host of the address, unless you give another."
        />
        <EventChoice
          events={form.values.events}
          error={form.errorOf('events')}
          onChange={events => form.set('events', events)}
        />
        <VaultsField form={form} hint="What happens elsewhere is not sent." />
        <CheckField form={form} name="enabled" label="On" />
        <DialogButtons problem={form.problem}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.busy}>
            {webhook ? 'Save' : 'Make webhook'}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

interface EventChoiceProps {
  readonly events: readonly string[];
  readonly error: string;
  readonly onChange: (events: readonly string[]) => void;
}

function EventChoice({ events, error, onChange }: EventChoiceProps) {
  return (
    <fieldset>
      <legend className="mb-1.5 font-medium">Events</legend>
      <div className="grid gap-1.5 sm:grid-cols-2">
        {eventKinds.map(kind => (
          <label key={kind} className="flex items-center gap-2.5">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={events.includes(kind)}
              onChange={event =>
                onChange(event.target.checked ? [...events, kind] : events.filter(one => one !== kind))
              }
            />
            {kind}
          </label>
        ))}
      </div>
      {error !== '' && (
        <p role="alert" className="mt-1 text-[13px] text-bad">
          Events {error}.
        </p>
      )}
    </fieldset>
  );
}

export function SecretOnce({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      title="Signing secret"
      description="The receiver checks with it that a message is really ours (Standard Webhooks)."
    >
      <div className="flex flex-col gap-4">
        <TokenOnce token={secret} what="signing secret" />
        <DialogButtons>
          <Button look="primary" onClick={onClose}>
            I have copied it
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
