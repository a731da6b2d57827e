/**
 * `strongroom webhooks …`: where messages about events are sent. The URL is read like a secret, because that of a chat
 * service is a credential; lists show only its host.
 */
import type { Webhook } from '../../client/api.ts';
import { eventKinds, webhookFormats } from '../../contract/names.ts';
import { choice, list, names } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { adminIn, foundIn, listed } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { valueFrom } from '../terminal/input.ts';
import { done, outOption, printable, printCreated, printList } from '../terminal/terminal.ts';

const { vault: _, ...options } = serviceOptions;

const isKind = (text: string): boolean => (eventKinds as readonly string[]).includes(text);

function stateOf({ enabled, failing_since, disabled_reason }: Webhook): string {
  if (!enabled) return disabled_reason === null ? 'disabled' : `disabled by the service (${disabled_reason})`;
  return failing_since === null ? 'working' : `failing since ${failing_since}`;
}

export const listCommand = commandOf({
  usage: 'webhooks list [flags]',
  summary: 'print the webhooks and whether they work',
  options,
  about:
    'Prints each webhook: name, format, host, state. With --json, the whole records, including URLs, which can be credentials.',
  run: async values => {
    const all = await listed(adminIn(values).listWebhooks);
    printList(values.json, all, webhook => [
      webhook.name,
      webhook.format,
      new URL(webhook.url).host,
      stateOf(webhook),
    ]);
  },
});

const createOptions = {
  ...options,
  ...outOption,
  format: choice('the form of the messages (default: standard)', webhookFormats),
  event: list(
    'EVENT',
    isKind,
    `must be of these: ${eventKinds.join(', ')}`,
    'the events to send (default: expiry, approvals, reviews and requests for roles)',
  ),
  only: names('only events in these vaults, by name or id'),
};

const waiting = [
  ...['resource.near_expiry', 'resource.expired', 'approval.requested', 'proposal.created'],
  ...['role.requested', 'webhook.disabled'],
] as const;

export const createCommand = commandOf({
  usage: 'webhooks create NAME [-|@FILE] [flags]',
  summary: 'send messages about events to Slack, Teams, Discord, ntfy, Matrix or a service',
  options: createOptions,
  about:
    'Creates a webhook. Its URL comes from standard input, from a file, or from a hidden prompt at a terminal. Prints the\nsigning secret to standard output, once; only the format standard needs it.',
  more: 'Example:\n  strongroom webhooks create alerts @slack-url.txt --format slack --event resource.expired\n',
  missing: 'a name for the webhook is required',
  upTo: 2,
  run: async (values, name, [given]) => {
    const admin = adminIn(values);
    const url = (await valueFrom(given, 'URL: ')).trim();
    if (url === '') throw new UsageError('the URL of the webhook is required');
    const vault_ids: string[] = [];
    for (const one of values.only) vault_ids.push((await admin.vault(one)).id);
    const events = values.event.length === 0 ? waiting : values.event;
    const created = await admin.createWebhook({
      body: {
        name,
        url,
        format: values.format ?? 'standard',
        events: [...events] as Webhook['events'] as never,
        ...(vault_ids.length === 0 ? {} : { vault_ids }),
      },
    });
    await printCreated(values, created, created.secret, `the webhook ${printable(name)} is created`);
  },
});

export const testCommand = commandOf({
  usage: 'webhooks test NAME [flags]',
  summary: 'send a test message to a webhook',
  options,
  about: 'Sends a test message to a webhook, by its name or id, also if it is disabled.',
  missing: 'the name of a webhook is required',
  run: async (values, named) => {
    const admin = adminIn(values);
    const { id, name } = await foundIn(admin.listWebhooks, 'webhook', named);
    done(values.json, await admin.testWebhook({ id }), `a test message is sent to ${printable(name)}`);
  },
});

export const deleteCommand = commandOf({
  usage: 'webhooks delete NAME [flags]',
  summary: 'delete a webhook',
  options,
  about: 'Deletes a webhook, by its name or id. Nothing more is sent to it.',
  missing: 'the name of a webhook is required',
  run: async (values, named) => {
    const admin = adminIn(values);
    const { id, name } = await foundIn(admin.listWebhooks, 'webhook', named);
    done(values.json, await admin.deleteWebhook({ id }), `the webhook ${printable(name)} is deleted`);
  },
});
