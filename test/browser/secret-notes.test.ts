/** A secret's note and owner are edited and shown, and its one-time code is shown with the seconds left. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ask, type Fresh, launch, leave, open, setUp, startFresh, type Walk } from './browser.ts';
import { type Demo, furnish } from './demo.ts';

let browser: Browser;
let service: Fresh;
let walk: Walk;
let page: Page;
let demo: Demo;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh([], {}, 1)]);
  walk = await open(browser, service.dashboardUrl);
  page = walk.page;
  await setUp(page, service);
  demo = await furnish(page);
});
after(async () => {
  assert.deepEqual(walk.complaints, []);
  await leave(browser);
  await service.stop();
});

const address = 'otpauth://totp/Acme:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Acme';

test('a note and an owner are written with a secret, and shown', async () => {
  await page.goto(`/vaults/${demo.vaultId}/secrets`);
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByLabel('Name', { exact: true }).fill('SHARED_LOGIN');
  await page.getByLabel('Value', { exact: true }).fill(address);
  await page.getByRole('button', { name: 'Expiry, tags, note and more' }).click();
  await page.getByLabel('Note').fill('The team’s account.\n<b>Ask</b> before use.');
  await page.getByLabel('Owner').selectOption('owner@example.com');
  await page.getByRole('button', { name: 'Create secret' }).click();
  await page.getByRole('link', { name: 'SHARED_LOGIN' }).click();
  const panel = page.getByRole('dialog', { name: 'SHARED_LOGIN' });
  await panel.getByText('<b>Ask</b> before use.').waitFor();
  await panel.getByText('owner@example.com').first().waitFor();
  await panel.getByRole('button', { name: 'Edit', exact: true }).click();
  await panel.getByLabel('Note').fill('');
  await panel.getByLabel('Owner').selectOption('none');
  await panel.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Secret updated').first().waitFor();
  const { body } = await ask(page, 'GET', '/v1/secrets?q=SHARED_LOGIN');
  assert.deepEqual([body.data[0].note, body.data[0].owner_id, body.data[0].version], ['', null, 1]);
});

test('its one-time code is shown with the seconds left; a secret without one says why', async () => {
  const { body } = await ask(page, 'GET', '/v1/secrets?q=SHARED_LOGIN');
  await page.goto(`/vaults/${demo.vaultId}/secrets/${body.data[0].id}`);
  await page.getByRole('button', { name: 'Show one-time code' }).click();
  await page.getByText(/^Valid for \d+ s$/).waitFor();
  const shown = await page.locator('[data-value]').innerText();
  assert.match(shown, /^\d{6}$/);
  const { body: log } = await ask(page, 'GET', `/v1/audit-logs?subject_id=${body.data[0].id}&limit=1`);
  assert.equal(log.data[0].action, 'secret.code_shown');
  await page.goto(`/vaults/${demo.vaultId}/secrets/${demo.secretId}`);
  await page.getByRole('button', { name: 'Show one-time code' }).click();
  await page.getByText(/has no one-time code: the value is not an otpauth/).waitFor();
});
