/** A webhook in the dashboard, from its creation to a redelivery, with a real receiver. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { type Fresh, launch, leave, open, setUp, startFresh } from './browser.ts';

let browser: Browser;
let service: Fresh;
let receiver: Server;
const received: string[] = [];

before(async () => {
  receiver = createServer((request, response) => {
    received.push(String(request.headers['webhook-id']));
    response.writeHead(200).end('noted');
  });
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve));
  [browser, service] = await Promise.all([launch(), startFresh(['--allow-private-webhooks', '127.0.0.0/8'])]);
});
after(async () => {
  await leave(browser);
  await service.stop();
  receiver.closeAllConnections();
  receiver.close();
});

test('a webhook is created, a test arrives, its attempt is shown, and it is redelivered', async () => {
  const { page, complaints } = await open(browser, service.dashboardUrl);
  await setUp(page, service);
  await page.goto('/webhooks');
  await page.getByRole('button', { name: 'New webhook' }).first().click();
  const { port } = receiver.address() as AddressInfo;
  await page.getByLabel('URL').fill(`http://127.0.0.1:${port}/hooks`);
  await page.getByRole('button', { name: 'Create webhook' }).click();
  assert.match(await page.locator('[data-token]').innerText(), /^whsec_/);
  await page.getByRole('button', { name: 'I have copied it' }).click();

  await page.getByRole('link', { name: /127\.0\.0\.1/ }).click();
  await page.getByRole('button', { name: 'Send a test' }).click();
  const panel = page.getByRole('dialog');
  await panel.locator('summary', { hasText: 'Test message' }).click();
  await panel.getByText('noted').waitFor();
  await panel.getByRole('button', { name: 'Redeliver' }).click();
  await page.getByText('Redelivery queued').first().waitFor();
  for (let wait = 0; received.length < 2 && wait < 100; wait++) await page.waitForTimeout(100);
  assert.equal(received.length, 2);
  assert.equal(new Set(received).size, 1, 'the same message id, so that the receiver recognises it');
  assert.deepEqual(complaints, []);
});
