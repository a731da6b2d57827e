/** Asking for a role in a vault, and deciding about it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ask, type Fresh, launch, leave, open, password, setUp, startFresh, type Walk } from './browser.ts';
import { type Demo, furnish } from './demo.ts';

let browser: Browser;
let service: Fresh;
let owner: Walk;
let page: Page;
let demo: Demo;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh([], {}, 1)]);
  owner = await open(browser, service.dashboardUrl, { permissions: ['clipboard-read', 'clipboard-write'] });
  page = owner.page;
  await setUp(page, service);
  demo = await furnish(page);
});
after(async () => {
  await leave(browser);
  await service.stop();
});

async function join(token: string): Promise<Walk> {
  const walk = await open(browser, service.dashboardUrl);
  await walk.page.goto(`/invite#${token}`);
  await walk.page.getByLabel('Choose a password').fill(password);
  await walk.page.getByRole('button', { name: 'Join', exact: true }).click();
  await walk.page.getByRole('heading', { name: 'Overview' }).waitFor();
  return walk;
}

test('a viewer asks for the values until a certain time, and it is approved among the approvals', async () => {
  const { body } = await ask(page, 'POST', '/v1/members', { email: 'asks@example.com', role: 'viewer' });
  const { page: theirs, complaints } = await join(body.token);
  await theirs.goto(`/vaults/${demo.vaultId}/secrets/${demo.secretId}`);
  await theirs.getByText('Your role can’t reveal this.').waitFor();
  await theirs.goto(`/vaults/${demo.vaultId}/secrets`);
  await theirs.getByRole('button', { name: 'Request access' }).click();
  await theirs.getByLabel('Reason').fill('the payments job');
  await theirs.getByRole('button', { name: 'Send request' }).click();
  await theirs.getByText(/^You asked to be reader until/).waitFor();
  await page.goto('/approvals');
  const request = page.getByRole('article', { name: 'asks@example.com asks to be reader' });
  await request.getByText('“the payments job”').waitFor();
  await page.waitForTimeout(1_500); // A click counts once there was time to see what it decides.
  await request.getByRole('button', { name: 'Approve' }).click();
  await request.waitFor({ state: 'detached' });
  await theirs.goto(`/vaults/${demo.vaultId}/secrets/${demo.secretId}`);
  await theirs.getByRole('button', { name: 'Reveal value' }).click();
  await theirs.getByText('postgres://app:second').waitFor();
  assert.deepEqual(complaints, []);
});
