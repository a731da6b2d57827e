/** Creates or edits a webhook. Its signing secret is shown once. */
import { useState } from 'react';
import { useForm } from '../../api/form.ts';
import { eventKinds, type Webhook, type WebhookFormat, type WebhookWithSecret } from '../../api/types.ts';
import { OnceDialog } from '../../ui/form-dialog.tsx';
import { ResourceForm } from '../../ui/resource-form.tsx';
import { CheckField, ChoiceField, TextField } from '../../ui/text-field.tsx';
import { VaultsField } from '../../ui/vaults-field.tsx';
import { eventName, formatNames } from './labels.ts';

/** What the URL is, where a chat service creates it. */
const places: Readonly<Record<WebhookFormat, { readonly example: string; readonly hint?: string }>> = {
  standard: { example: 'https://example.com/hooks/strongroom' },
  slack: {
    example: 'https://hooks.slack.com/services/…',
    hint: 'The URL of an incoming webhook. It is a credential: anyone who knows it can post to the channel.',
  },
  teams: {
    example: 'https://….logic.azure.com/workflows/…',
    hint: 'The URL of the workflow “Post to a channel when a webhook request is received”.',
  },
  discord: {
    example: 'https://discord.com/api/webhooks/…',
    hint: 'The URL of a webhook, from the settings of the channel.',
  },
  ntfy: {
    example: 'https://ntfy.example.com/TOPIC',
    hint: 'The server and the topic. Add ?auth=… if the topic is protected.',
  },
  matrix: {
    example: 'https://SERVER/_matrix/client/v3/rooms/ROOM/send/m.room.message?access_token=TOKEN',
    hint: 'The room’s internal id, and the access token of an account in the room.',
  },
};

interface Values {
  name: string;
  url: string;
  format: WebhookFormat;
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
    format: webhook?.format ?? 'standard',
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
      onCreated={
        form.values.format === 'standard'
          ? (created: WebhookWithSecret) => setSecret(created.secret)
          : undefined
      }
      onClose={onClose}
    >
      <ChoiceField form={form} name="format" label="Send to" choices={Object.entries(formatNames)} />
      <TextField
        form={form}
        name="url"
        label="URL"
        type="url"
        required
        placeholder={places[form.values.format].example}
        hint={places[form.values.format].hint}
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
            {eventName(kind)}
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
