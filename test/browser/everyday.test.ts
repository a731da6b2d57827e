/** Everyday work in the dashboard: lasting access requires confirmation, two vaults are preselected to compare, and more. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ask, type Fresh, launch, leave, open, proveAgain, setUp, startFresh, type Walk } from './browser.ts';

const minute = 60_000;
let browser: Browser;
let service: Fresh;
let walk: Walk;
let page: Page;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
  walk = await open(browser, service.dashboardUrl);
  page = walk.page;
  await setUp(page, service);
});
after(async () => {
  await leave(browser);
  await service?.stop();
});

test('creating an API key minutes after sign-in requires confirmation, and the form keeps its input', async () => {
  service.clock.pass(6 * minute);
  await page.goto('/settings/api-keys');
  await page.getByRole('button', { name: 'Generate New Key' }).first().click();
  await page.getByLabel('Name', { exact: true }).fill('ci');
  await page.getByRole('button', { name: 'Generate', exact: true }).click();
  await proveAgain(page);
  assert.match(await page.locator('[data-token]').innerText(), /^sr_api_/);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByText('ci', { exact: true }).first().waitFor();
});

test('if there are two vaults, Compare shows them, the older one first; on a phone, the names stay in view', async () => {
  for (const name of ['staging', 'production']) {
    const { body } = await ask(page, 'POST', '/v1/vaults', { name });
    await ask(page, 'POST', '/v1/secrets', { vault_id: body.id, name: 'DATABASE_URL', value: name });
  }
  await page.goto('/compare');
  const heads = page.getByRole('table', { name: 'Comparison' }).getByRole('columnheader');
  await heads.nth(2).getByText('production').waitFor();
  assert.deepEqual(await heads.allInnerTexts(), ['Name', 'staging', 'production']);
  await page.setViewportSize({ width: 340, height: 700 });
  const name = page.getByRole('rowheader', { name: 'DATABASE_URL' });
  const before = (await name.boundingBox())!.x;
  await page.getByRole('table', { name: 'Comparison' }).evaluate(table => {
    table.parentElement!.scrollLeft = 200;
  });
  assert.equal((await name.boundingBox())!.x, before);
  await page.setViewportSize({ width: 1280, height: 720 });
});

test('a secret’s versions name the API key that created them', async () => {
  const { body: key } = await ask(page, 'POST', '/v1/api-keys', { name: 'deploy-bot', role: 'editor' });
  const { body: list } = await ask(page, 'GET', '/v1/secrets?q=DATABASE_URL');
  const [secret] = list.data;
  const changed = await fetch(`${service.url}/v1/secrets/${secret.id}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${key.token}`, 'content-type': 'application/json' },
    body: '{"value":"new"}',
  });
  assert.equal(changed.status, 200);
  await page.goto(`/vaults/${secret.vault_id}/secrets/${secret.id}`);
  await page.getByText('by deploy-bot').first().waitFor();
});

test('expiring resources beyond the first five are one click away', async () => {
  const { body } = await ask(page, 'GET', '/v1/vaults?limit=1');
  const expiration_date = new Date(service.clock.now() + 20 * 24 * 60 * minute).toISOString();
  for (let at = 1; at <= 7; at++) {
    const secret = { vault_id: body.data[0].id, name: `SOON_${at}`, value: 'x', expiration_date };
    assert.equal((await ask(page, 'POST', '/v1/secrets', secret)).status, 200);
  }
  await page.goto('/');
  await page.getByRole('button', { name: 'Show 2 more' }).click();
  assert.equal(await page.getByRole('link', { name: /SOON_/ }).count(), 7);
  assert.deepEqual(walk.complaints, []);
});
