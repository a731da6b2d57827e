/** Letting people into one vault from its own page, and what they then see. */
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

test('a colleague is let into one vault’s values with 5 clicks at most, and reads them', async () => {
  const { body } = await ask(page, 'POST', '/v1/members', { email: 'colleague@example.com', role: 'none' });
  await page.goto('/');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.evaluate(`
    window.clicks = 0;
    addEventListener('click', event => { if (event.isTrusted && event.detail > 0) window.clicks++; }, true);
  `);
  await page.getByRole('link', { name: 'Vaults', exact: true }).first().click();
  await page
    .getByRole('link', { name: /^payments-production/ })
    .first()
    .click();
  await page.getByRole('link', { name: 'People' }).click();
  await page.getByRole('button', { name: 'Add person' }).click();
  await page.getByRole('combobox', { name: 'Person' }).fill('colle');
  await page.getByRole('option', { name: 'colleague@example.com' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('row', { name: /colleague@example.com.*reader in this vault/ }).waitFor();
  assert.equal(await page.evaluate<number>('window.clicks'), 5);
  const { page: theirs, complaints } = await join(body.token);
  await theirs.getByText('1 vault', { exact: false }).first().waitFor();
  assert.doesNotMatch(await theirs.locator('body').innerText(), /\bnone\b/);
  await theirs.goto(`/vaults/${demo.vaultId}/secrets/${demo.secretId}`);
  await theirs.getByRole('button', { name: 'Reveal value' }).click();
  await theirs.getByText('postgres://app:second').waitFor();
  assert.equal(await theirs.getByRole('button', { name: /^(edit|delete|new secret|import)/i }).count(), 0);
  assert.deepEqual(complaints, []);
});

test('somebody new is invited with a role that ends, and is shown with where their access comes from', async () => {
  await page.goto(`/vaults/${demo.vaultId}/people`);
  await page.getByRole('row', { name: /owner@example.com.*owner in every vault/ }).waitFor();
  await page.getByRole('button', { name: 'Add person' }).click();
  await page.getByRole('combobox', { name: 'Person' }).fill('newcomer@example.com');
  await page.getByLabel('Role in this vault').selectOption('writer');
  await page.getByLabel('Until').fill('31 Dec 2035, 18:00');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('dialog', { name: 'Invitation for newcomer@example.com' }).waitFor();
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByRole('button', { name: 'I have copied it' }).click();
  const row = page.getByRole('row', { name: /newcomer@example.com/ });
  await row.getByText('invited').waitFor();
  await row.getByText(/ends in \d+ years/).waitFor();
  const { body } = await ask(page, 'GET', '/v1/members?q=newcomer');
  const [{ role, grants }] = body.data;
  assert.deepEqual([role, grants[0].role, grants[0].until.slice(0, 4)], ['none', 'writer', '2035']);
});

test('a role is changed and removed where it is seen; the invitation names no role that says nothing', async () => {
  await page.getByRole('button', { name: 'Change newcomer@example.com' }).click();
  await page.getByLabel('Role in this vault').selectOption('viewer');
  await page.getByLabel('Until').fill('');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('row', { name: /newcomer@example.com.*viewer in this vault/ }).waitFor();
  const { body } = await ask(page, 'GET', '/v1/members?q=newcomer');
  assert.deepEqual(body.data[0].grants, [{ vault_id: demo.vaultId, role: 'viewer' }]);
  const again = await ask(page, 'POST', `/v1/members/${body.data[0].id}/invitation`, {});
  const guest = await open(browser, service.dashboardUrl);
  await guest.page.goto(`/invite#${again.body.token}`);
  await guest.page.getByText('in the vaults that you are given').waitFor();
  assert.doesNotMatch(await guest.page.locator('body').innerText(), /\bnone\b/);
  await page.getByRole('button', { name: 'Remove newcomer@example.com' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('row', { name: /newcomer@example.com/ }).waitFor({ state: 'detached' });
});

test('an invitation from the settings gives nothing by itself', async () => {
  await page.goto('/settings/members');
  await page.getByRole('button', { name: 'Invite' }).click();
  assert.equal(await page.getByLabel('Role in the organization').inputValue(), 'none');
  await page
    .getByText(/only the vaults given to them/)
    .first()
    .waitFor({ state: 'attached' });
  assert.deepEqual(owner.complaints, []);
});
