/** The webhook requests that the service sends, in the OpenAPI document: one operation for each kind of event. */
import { z } from 'zod';
import { type WebhookEvent, webhookEvents } from '../../contract/webhook-events.ts';
import type { Components, Json } from './schemas.ts';

const headers = [
  ['webhook-id', 'The event’s id, the same in every attempt.'],
  ['webhook-timestamp', 'When this attempt was made, in Unix seconds.'],
  [
    'webhook-signature',
    '`v1,` and the signature (Standard Webhooks); two of them while a secret is being rotated.',
  ],
] as const;

export function webhookOperations(components: Components): Json {
  const all = Object.entries(webhookEvents);
  return Object.fromEntries(all.map(([kind, event]) => [kind, { post: operation(kind, event, components) }]));
}

function operation(kind: string, { when, payload }: WebhookEvent, components: Components): Json {
  const { id, example } = z.globalRegistry.get(payload)!;
  return {
    operationId: `receive${id}`,
    tags: ['webhooks'],
    summary: when,
    description: `Sent to the webhooks that subscribe to \`${kind}\`, at least once.`,
    security: [],
    parameters: headers.map(([name, description]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: components.schemaOf(payload), example } },
    },
    responses: {
      '2XX': { description: 'The event was received. It is sent again after any other response.' },
      410: { description: 'The receiver no longer exists, and the webhook is disabled.' },
    },
  };
}
