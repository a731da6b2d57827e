/** Webhooks and their deliveries, as they are sent and answered; and the kinds of events there are. */
import { z } from 'zod';
import { pageQuery, recordTimes, searchQuery } from './common.ts';
import { exampleTimes } from './resource-fields.ts';
import { exampleId, flag, id, isSafeText, name, oneOf, timestamp } from './text.ts';

/** What a webhook can ask for. */
export const eventKinds = [
  'resource.created',
  'resource.updated',
  'resource.deleted',
  'resource.near_expiry',
  'resource.expired',
  'access_key.created',
  'access_key.revoked',
  'webhook.disabled',
] as const;
export type EventKind = (typeof eventKinds)[number];

/** Sent by hand to one webhook, which need not have asked for it. */
export const testKind = 'webhook.test';

export const deliveryStates = ['pending', 'delivered', 'dead'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** `gone`: the receiver answered 410. `failing`: nothing arrived for three days. */
export const disabledReasons = ['gone', 'failing'] as const;
export type DisabledReason = (typeof disabledReasons)[number];

const longestUrl = 2048;
const exampleUrl = 'https://example.com/hooks/strongroom';

const url = z
  .string({ error: 'must be a string' })
  .refine(text => text.length <= longestUrl && isSafeText(text) && URL.canParse(text), {
    error: `must be an absolute URL of ${longestUrl} characters at most`,
  })
  .meta({ format: 'uri', example: exampleUrl });

const events = z
  .array(oneOf(eventKinds), { error: 'must be an array' })
  .min(1, { error: 'must hold one kind of event at least' })
  .max(64, { error: 'must hold 64 at most' })
  .transform(kinds => [...new Set(kinds)])
  .meta({ example: ['resource.created', 'resource.updated'] });

const vaultIds = z
  .array(id, { error: 'must be an array' })
  .min(1, { error: 'must not be empty; leave it out to narrow nothing' })
  .max(100, { error: 'must hold 100 at most' })
  .transform(ids => [...new Set(ids)])
  .nullable()
  .optional()
  .meta({ description: 'Only what happens in these vaults; null for all of them.' });

export const webhookCreate = z
  .strictObject({
    url,
    events,
    vault_ids: vaultIds,
    name: name.optional(),
    enabled: flag.optional(),
  })
  .meta({ example: { url: exampleUrl, events: ['resource.created', 'resource.updated'] } });
export const webhookUpdate = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    vault_ids: vaultIds,
    name: name.optional(),
    enabled: flag.optional(),
  })
  .meta({ example: { events: ['resource.expired'] } });
export type WebhookCreate = z.output<typeof webhookCreate>;
export type WebhookUpdate = z.output<typeof webhookUpdate>;

export const webhookQuery = searchQuery;

export const webhook = z
  .object({
    id,
    name: z.string().meta({ description: 'The URL’s host, unless another name was given.' }),
    url: z.string(),
    events: z.array(z.string()),
    vault_ids: z.array(id).nullable(),
    enabled: z.boolean(),
    disabled_reason: z
      .enum(disabledReasons)
      .nullable()
      .meta({ description: 'Why the service switched it off; null where it did not.' }),
    ...recordTimes,
    secret: z
      .string()
      .optional()
      .meta({ description: 'The signing secret: in the answer that makes it, and never again.' }),
  })
  .meta({
    id: 'Webhook',
    example: {
      id: exampleId,
      name: 'example.com',
      url: exampleUrl,
      events: ['resource.created', 'resource.updated'],
      vault_ids: null,
      enabled: true,
      disabled_reason: null,
      ...exampleTimes,
    },
  });
export type Webhook = z.output<typeof webhook>;

const exampleAttempt = {
  at: '2026-11-15T09:30:00.000Z',
  status: 204,
  duration_ms: 42,
  answer: '',
  error: null,
};

export const attempt = z
  .object({
    at: timestamp,
    status: z.int().nullable().meta({ description: 'Null where no answer came.' }),
    duration_ms: z.int(),
    answer: z.string().meta({ description: 'The first 4 KiB of the answer.' }),
    error: z.string().nullable(),
  })
  .meta({ id: 'DeliveryAttempt', example: exampleAttempt });
export type Attempt = z.output<typeof attempt>;

export const delivery = z
  .object({
    id,
    webhook_id: id,
    event: z.string(),
    event_id: id.meta({ description: 'The `webhook-id` header, the same in every attempt.' }),
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
      webhook_id: exampleId,
      event: 'resource.updated',
      event_id: exampleId,
      resource_id: exampleId,
      vault_id: exampleId,
      state: 'delivered',
      attempts: [exampleAttempt],
      next_attempt_at: null,
      created_at: '2026-11-15T09:30:00.000Z',
      finished_at: '2026-11-15T09:30:00.042Z',
    },
  });
export type Delivery = z.output<typeof delivery>;

export const deliveryQuery = pageQuery.extend({
  webhook_id: id.optional(),
  event: oneOf([...eventKinds, testKind]).optional(),
  state: oneOf(deliveryStates).optional(),
});
export type DeliveryQuery = z.output<typeof deliveryQuery>;
