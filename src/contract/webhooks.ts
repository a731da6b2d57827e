/** Request and response schemas for webhooks and their deliveries, and the kinds of events. */
import { z } from 'zod';
import { listOfAtMost } from './access.ts';
import { pageQuery, recordTimes, searchQuery } from './common.ts';
import { deliveryStates, disabledReasons, eventKinds, testKind, webhookFormats } from './names.ts';
import { exampleTimes } from './resource-fields.ts';
import { arrayUpTo, exampleId, flag, id, isSafeText, name, oneOf, timestamp } from './text.ts';

const longestUrl = 2048;

const url = z
  .string({ error: 'must be a string' })
  .refine(text => text.length <= longestUrl && isSafeText(text) && URL.canParse(text), {
    error: `must be an absolute URL of at most ${longestUrl} characters`,
  })
  .meta({ format: 'uri', example: 'https://example.com/hooks/strongroom' });

const events = arrayUpTo(64, oneOf(eventKinds))
  .min(1, { error: 'must contain at least one event' })
  .transform(kinds => [...new Set(kinds)])
  .meta({ example: ['resource.created', 'resource.updated'] });

const vaultIds = listOfAtMost(100, id)
  .transform(ids => [...new Set(ids)])
  .nullable()
  .optional()
  .describe('Only events in these vaults are sent; null for all vaults.');

const format = oneOf(webhookFormats).describe(
  'The form of the messages: Standard Webhooks (the default), or that of a chat service.',
);

const exampleHook = {
  url: 'https://example.com/hooks/strongroom',
  events: ['resource.created', 'resource.updated'],
};

export const webhookCreate = z
  .strictObject({
    url,
    format: format.optional(),
    events,
    vault_ids: vaultIds,
    name: name.optional(),
    enabled: flag.optional(),
  })
  .meta({ id: 'WebhookCreate', example: exampleHook });
export const webhookUpdate = z
  .strictObject({
    url: url.optional(),
    format: format.optional(),
    events: events.optional(),
    vault_ids: vaultIds,
    name: name.optional(),
    enabled: flag.optional(),
  })
  .meta({ id: 'WebhookUpdate', example: { events: ['resource.deleted'] } });
export type WebhookCreate = z.output<typeof webhookCreate>;
export type WebhookUpdate = z.output<typeof webhookUpdate>;

export const webhookQuery = searchQuery;

const exampleWebhook = {
  id: exampleId,
  name: 'example.com',
  ...exampleHook,
  format: 'standard',
  vault_ids: null,
  enabled: true,
  disabled_reason: null,
  failing_since: null,
  ...exampleTimes,
};

export const webhook = z
  .object({
    id,
    name: z.string().describe('Defaults to the host of the URL.'),
    url: z.string(),
    format: z.enum(webhookFormats),
    events: z.array(z.string()),
    vault_ids: z.array(id).nullable(),
    enabled: z.boolean(),
    disabled_reason: z
      .enum(disabledReasons)
      .nullable()
      .describe('Why the service disabled the webhook; null if it did not.'),
    failing_since: timestamp
      .nullable()
      .describe('Since when deliveries have failed; null if the newest attempt succeeded.'),
    ...recordTimes,
  })
  .meta({ id: 'Webhook', example: exampleWebhook });
export type Webhook = z.output<typeof webhook>;

export const webhookWithSecret = webhook
  .extend({
    secret: z.string().describe('The signing secret, returned only when it is created.'),
  })
  .meta({
    id: 'WebhookWithSecret',
    description: 'A webhook with its signing secret, which is shown once.',
    example: { ...exampleWebhook, secret: 'whsec_…' },
  });
export type WebhookWithSecret = z.output<typeof webhookWithSecret>;

export const attempt = z
  .object({
    at: timestamp,
    status: z.int().nullable().describe('Null if there was no response.'),
    duration_ms: z.int(),
    answer: z.string().describe('The first 4 KiB of the response.'),
    error: z.string().nullable(),
  })
  .meta({ id: 'DeliveryAttempt' });
export type Attempt = z.output<typeof attempt>;

export const delivery = z
  .object({
    id,
    webhook_id: id,
    event: z.string(),
    event_id: id.describe('The `webhook-id` header; the same in every attempt.'),
    resource_id: id,
    vault_id: id.nullable(),
    state: z.enum(deliveryStates),
    attempts: z.array(attempt),
    next_attempt_at: timestamp.nullable(),
    created_at: timestamp,
    finished_at: timestamp.nullable(),
  })
  .meta({
    id: 'WebhookDelivery',
    example: {
      id: exampleId,
      webhook_id: '0199a3c4-5555-7abc-8def-0123456789ab',
      event: 'resource.created',
      event_id: '0199a3c4-6666-7abc-8def-0123456789ab',
      resource_id: '0199a3c4-0000-7abc-8def-0123456789ab',
      vault_id: '0199a3c4-0000-7abc-8def-0123456789ab',
      state: 'delivered',
      attempts: [{ at: exampleTimes.created_at, status: 200, duration_ms: 42, answer: 'ok', error: null }],
      next_attempt_at: null,
      created_at: exampleTimes.created_at,
      finished_at: exampleTimes.created_at,
    },
  });
export type Delivery = z.output<typeof delivery>;

export const deliveryQuery = pageQuery.extend({
  webhook_id: id.optional(),
  event: oneOf([...eventKinds, testKind]).optional(),
  state: oneOf(deliveryStates).optional(),
});
export type DeliveryQuery = z.output<typeof deliveryQuery>;
