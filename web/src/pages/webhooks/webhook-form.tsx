/** Creates or edits a webhook. Its signing secret is shown once. */
import { useState } from 'react';
import { useForm } from '../../api/form.ts';
import { eventKinds, type Webhook, type WebhookWithSecret } from '../../api/types.ts';
import { OnceDialog } from '../../ui/form-dialog.tsx';
import { ResourceForm } from '../../ui/resource-form.tsx';
import { CheckField, TextField } from '../../ui/text-field.tsx';
import { VaultsField } from '../../ui/vaults-field.tsx';

interface Values {
  name: string;
  url: string;
  enabled: boolean;
  events: readonly string[];
  vault_ids: readonly string[];
}

function bodyOf({ name, vault_ids, ...body }: Values): object {
  return {
    ...body,
    vault_ids: vault_ids.length === 0 ? null : vault_ids,
    ...(name === '' ? {} : { name }),
  };
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
  if (secret !== '') return <SecretOnce secret={secret} onClose={onClose} />;
  return (
    <ResourceForm
      what="webhook"
      collection="webhooks"
      resource={webhook}
      form={form}
      bodyOf={bodyOf}
      onCreated={(created: WebhookWithSecret) => setSecret(created.secret)}
      onClose={onClose}
    >
      <TextField
        form={form}
        name="url"
        label="URL"
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
        hint="Defaults to the host of the URL."
      />
      <EventChoice
        events={form.values.events}
        error={form.errorOf('events')}
        onChange={events => form.set('events', events)}
      />
      <VaultsField form={form} hint="Events in other vaults are not sent." />
      <CheckField form={form} name="enabled" label="Enabled" />
    </ResourceForm>
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
              className="shrink-0"
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
        <p role="alert" className="mt-1 text-xs text-bad">
          Events {error}.
        </p>
      )}
    </fieldset>
  );
}

export function SecretOnce({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <OnceDialog
      title="Signing secret"
      description="The receiver uses it to verify that messages come from Strongroom (Standard Webhooks)."
      token={secret}
      what="signing secret"
      onClose={onClose}
    />
  );
}
