/** Fills the demo organization as after some years: hundreds of secrets, three stages, and a failing webhook. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { ask } from './browser.ts';
import type { Demo } from './demo.ts';

const day = 86_400_000;
const atOnce = 100;
const services = [
  'STRIPE',
  'ADYEN',
  'KAFKA',
  'REDIS',
  'SENTRY',
  'TWILIO',
  'SENDGRID',
  'LEDGER',
  'FRAUD',
  'S3',
];
const things = ['API_KEY', 'CLIENT_SECRET', 'PASSWORD', 'WEBHOOK_SECRET', 'DSN'];
const regions = ['EU', 'US', 'AP'];
const teams = ['payments', 'risk', 'platform'];

export interface Crowd {
  readonly stages: readonly string[];
  stop(): void;
}

/** Needs a service whose clock is a day behind, so that some secrets are expired now, and that may send to 127.0.0.1. */
export async function crowd(page: Page, { vaultId }: Demo): Promise<Crowd> {
  const receiver = await failingReceiver();
  const { port } = receiver.address() as AddressInfo;
  const { body: webhook } = await ask(page, 'POST', '/v1/webhooks', {
    url: `http://127.0.0.1:${port}/incidents/strongroom/production-eu-west-1`,
    events: ['secret.updated', 'resource.expired'],
  });
  await ask(page, 'POST', `/v1/webhooks/${webhook.id}/test`, {});
  const stages = [await stage(page, 'development'), await stage(page, 'staging'), vaultId];
  await ask(page, 'POST', '/v1/stages', { name: 'payments', vault_ids: stages });
  for (const [at, id] of stages.entries()) await fill(page, id, at);
  return { stages, stop: () => receiver.close() };
}

async function stage(page: Page, name: string): Promise<string> {
  const tags = { team: 'payments' };
  const { body } = await ask(page, 'POST', '/v1/vaults', { name: `payments-${name}-eu`, tags });
  return body.id;
}

async function fill(page: Page, vault: string, stageAt: number): Promise<void> {
  const items = [...names()].filter((_, at) => (at * 7 + stageAt) % (stageAt === 2 ? 1e9 : 11) !== 0);
  const bodies = items.map((name, at) => ({
    vault_id: vault,
    name,
    value: at % 3 === 0 ? `${name}-${stageAt}` : name,
    enabled: at % 23 !== 5,
    tags: at % 4 === 0 ? { team: teams[at % 3]!, provider: name.split('_')[0]!.toLowerCase() } : {},
    ...expiryAt(at),
  }));
  for (let at = 0; at < bodies.length; at += atOnce)
    await ask(page, 'POST', '/v1/secrets/bulk', { items: bodies.slice(at, at + atOnce) });
}

function expiryAt(at: number): object {
  const days = at % 17 === 3 ? at % 90 : at % 41 === 7 ? -0.4 : null;
  return days === null ? {} : { expiration_date: new Date(Date.now() + days * day).toISOString() };
}

function* names(): Generator<string> {
  yield 'PAYMENT_RECONCILIATION_SERVICE_SETTLEMENT_BATCH_ENCRYPTION_PASSPHRASE_FOR_ARCHIVES_IN_FRANKFURT';
  yield 'config/service-accounts/google/analytics-exporter.production.json';
  for (const service of services)
    for (const region of regions)
      for (const thing of things)
        for (const suffix of ['', '_PREVIOUS', '_SANDBOX']) yield `${service}_${region}_${thing}${suffix}`;
}

async function failingReceiver(): Promise<Server> {
  const server = createServer((_request, response) => response.writeHead(500).end('maintenance'));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return server;
}
