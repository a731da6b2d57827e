/** The routes of webhooks and their deliveries. */
import { listOf } from '../../contract/common.ts';
import * as webhook from '../../contract/webhooks.ts';
import type { Domain } from '../../domain/domain.ts';
import { collectionRoutes } from './collection.ts';
import { type Permissions, type Route, route } from './route.ts';

export function webhookRoutes({ webhooks, webhookDeliveries, looksAlike }: Domain): Route<Permissions>[] {
  return [
    ...collectionRoutes(looksAlike, {
      name: 'webhooks',
      one: 'a webhook',
      item: webhook.webhook,
      created: webhook.webhookWithSecret,
      query: webhook.webhookQuery,
      create: webhook.webhookCreate,
      update: webhook.webhookUpdate,
      service: webhooks,
    }),
    route('POST /v1/webhooks/{id}/test', {
      operationId: 'testWebhook',
      summary: 'Send a test event to a webhook',
      needs: { all: ['webhooks:write'] },
      answer: webhook.delivery,
      handle: ({ permits: [permit], id }) => webhookDeliveries.test(permit, id),
    }),
    route('POST /v1/webhooks/{id}/rotate-secret', {
      operationId: 'rotateWebhookSecret',
      summary: 'Create a new signing secret for a webhook; the old one also signs for a day',
      needs: { all: ['webhooks:write'] },
      answer: webhook.webhookWithSecret,
      handle: ({ permits: [permit], id }) => webhooks.rotateSecret(permit, id),
    }),
    route('GET /v1/webhook-deliveries', {
      operationId: 'listWebhookDeliveries',
      summary: 'List webhook deliveries, newest first',
      needs: { all: ['webhooks:read'] },
      query: webhook.deliveryQuery,
      answer: listOf(webhook.delivery),
      handle: ({ permits: [permit], query }) => webhookDeliveries.list(permit, query),
    }),
    route('GET /v1/webhook-deliveries/{id}', {
      operationId: 'getWebhookDelivery',
      summary: 'Get one delivery with its attempts',
      needs: { all: ['webhooks:read'] },
      answer: webhook.delivery,
      handle: ({ permits: [permit], id }) => webhookDeliveries.get(permit, id),
    }),
    route('POST /v1/webhook-deliveries/{id}/redeliver', {
      operationId: 'redeliverEvent',
      summary: 'Redeliver an event under the same id',
      needs: { all: ['webhooks:write'] },
      answer: webhook.delivery,
      handle: ({ permits: [permit], id }) => webhookDeliveries.redeliver(permit, id),
    }),
  ];
}
