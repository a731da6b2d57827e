/** The routes of webhooks and their deliveries. */
import { listOf } from '../contract/common.ts';
import * as webhook from '../contract/webhooks.ts';
import type { Domain } from '../vault/domain.ts';
import { collectionRoutes } from './collection.ts';
import type { Route } from './route.ts';

export function webhookRoutes({ webhooks, webhookDeliveries }: Domain): Route[] {
  return [
    ...collectionRoutes({
      name: 'webhooks',
      one: 'a webhook',
      schemas: {
        item: webhook.webhook,
        query: webhook.webhookQuery,
        create: webhook.webhookCreate,
        update: webhook.webhookUpdate,
      },
      service: webhooks,
    }),
    {
      method: 'POST',
      path: '/v1/webhooks/{id}/test',
      tag: 'webhooks',
      summary: 'Send a test event to a webhook, once',
      needs: { all: ['webhooks:write'] },
      answer: webhook.delivery,
      handle: ({ caller, id }) => webhookDeliveries.test(caller, id),
    },
    {
      method: 'POST',
      path: '/v1/webhooks/{id}/rotate-secret',
      tag: 'webhooks',
      summary: 'Give a webhook a new signing secret; the old one signs along for a day',
      needs: { all: ['webhooks:write'] },
      answer: webhook.webhook,
      handle: ({ caller, id }) => webhooks.rotateSecret(caller, id),
    },
    {
      method: 'GET',
      path: '/v1/webhook-deliveries',
      tag: 'webhook-deliveries',
      summary: 'List deliveries of events, newest first',
      needs: { all: ['webhooks:read'] },
      query: webhook.deliveryQuery,
      answer: listOf(webhook.delivery),
      handle: ({ caller, query }) => webhookDeliveries.list(caller, query),
    },
    {
      method: 'GET',
      path: '/v1/webhook-deliveries/{id}',
      tag: 'webhook-deliveries',
      summary: 'Get one delivery with its attempts',
      needs: { all: ['webhooks:read'] },
      answer: webhook.delivery,
      handle: ({ caller, id }) => webhookDeliveries.get(caller, id),
    },
    {
      method: 'POST',
      path: '/v1/webhook-deliveries/{id}/redeliver',
      tag: 'webhook-deliveries',
      summary: 'Send an event again, under the same id',
      needs: { all: ['webhooks:write'] },
      answer: webhook.delivery,
      handle: ({ caller, id }) => webhookDeliveries.redeliver(caller, id),
    },
  ];
}
