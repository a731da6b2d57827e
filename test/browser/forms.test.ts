/** Forms that choose existing records: a vault among more than a list shows, and a certificate's key. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  ask,
  askAll,
  type Fresh,
  launch,
  leave,
  open,
  password,
  setUp,
  startFresh,
  type Walk,
} from './browser.ts';
import { type Demo, furnish } from './demo.ts';

let browser: Browser;
let service: Fresh;
let walk: Walk;
let page: Page;
let demo: Demo;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
  walk = await open(browser, service.dashboardUrl);
  page = walk.page;
  await setUp(page, service);
  demo = await furnish(page);
  // More than one page of the API, all newer than the demo's vaults.
  const others = Array.from({ length: 105 }, (_, made) => ({ name: `other-${made}` }));
  await askAll(page, 'POST', '/v1/vaults', others);
});
after(async () => {
  await leave(browser);
  await service.stop();
});

const newest = async (collection: string) => (await ask(page, 'GET', `/v1/${collection}`)).body.data[0];

test('the oldest of 110 vaults is chosen for an access key, using only the keyboard', async () => {
  await page.goto('/access/keys');
  await page.getByRole('button', { name: 'New access key' }).first().click();
  const vault = page.getByRole('combobox', { name: 'Vault' });
  await vault.focus();
  await page.keyboard.type('payments-prod');
  await page.getByRole('option', { name: 'payments-production' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.equal(await vault.inputValue(), 'payments-production');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('by keyboard');
  await page.keyboard.press('Enter');
  await page.locator('[data-token]').waitFor();
  const made = await newest('access-keys');
  assert.deepEqual([made.name, made.vault_id], ['by keyboard', demo.vaultId]);
});

test('an access key without a vault is refused, and the field says so', async () => {
  await page.goto('/access/keys');
  await page.getByRole('button', { name: 'New access key' }).first().click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('nowhere');
  await page.getByRole('button', { name: 'Create access key' }).click();
  await page
    .getByRole('alert')
    .filter({ hasText: /^Vault / })
    .waitFor();
});

test('a webhook is restricted to vaults, and the restriction is removed again', async () => {
  await page.goto('/webhooks');
  await page.getByRole('button', { name: 'New webhook' }).first().click();
  await page.getByLabel('URL').fill('https://hooks.example.com/narrow');
  await page.getByLabel('Name').fill('narrow');
  const vaults = page.getByRole('combobox', { name: 'Only these vaults' });
  await vaults.fill('payments-prod');
  await page.getByRole('option', { name: 'payments-production' }).click();
  await vaults.fill('website');
  await page.getByRole('option', { name: 'website-production' }).click();
  await page.getByRole('button', { name: 'Create webhook' }).click();
  await page.getByRole('button', { name: 'I have copied it' }).click();
  const made = await newest('webhooks');
  assert.equal(made.vault_ids[0], demo.vaultId);
  assert.equal(made.vault_ids.length, 2);

  await page.goto(`/webhooks/${made.id}`);
  await page.getByRole('dialog').getByRole('link', { name: 'website-production' }).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('button', { name: 'Remove payments-production' }).click();
  await page.getByRole('button', { name: 'Remove website-production' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Webhook updated').first().waitFor();
  assert.equal((await newest('webhooks')).vault_ids, null);
});

test('an API key is restricted to a vault', async () => {
  await page.goto('/settings/api-keys');
  await page.getByRole('button', { name: 'Generate New Key' }).click();
  await page.getByLabel('Name').fill('narrow');
  await page.getByRole('combobox', { name: 'Only these vaults' }).fill('payments-prod');
  await page.getByRole('option', { name: 'payments-production' }).click();
  await page.getByRole('button', { name: 'Generate', exact: true }).click();
  await page.locator('[data-token]').waitFor();
  assert.deepEqual((await newest('api-keys')).vault_ids, [demo.vaultId]);
});

test('the request log is filtered by vault, and the filter shows the vault’s name after a reload', async () => {
  await page.goto('/logs/requests');
  const vault = page.getByRole('combobox', { name: 'Vault' });
  await vault.fill('payments-prod');
  await page.getByRole('option', { name: 'payments-production' }).click();
  await page.waitForURL(new RegExp(`vault_id=${demo.vaultId}`));
  await page.reload();
  await vault.waitFor();
  assert.equal(await vault.inputValue(), 'payments-production');
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  await page.waitForURL(/\/logs\/requests$/);
});

test('a certificate’s name, tags and key are edited; a key that doesn’t match is refused', async () => {
  await page.goto(`/vaults/${demo.vaultId}/certificates/${demo.certificateId}`);
  await page.getByRole('dialog').getByRole('button', { name: 'Edit', exact: true }).click();
  const form = page.getByRole('form', { name: 'Edit payments.example.com' });
  assert.equal(await page.getByRole('dialog').count(), 1, 'no dialog above another');
  await form.getByLabel('Name').press('Escape'); // Closes the form, but not the panel around it.
  await form.waitFor({ state: 'detached' });
  const edit = page.getByRole('dialog').getByRole('button', { name: 'Edit', exact: true });
  assert.ok(
    await edit.evaluate(button => button === button.ownerDocument.activeElement),
    'the focus is back',
  );
  await edit.click();
  await form.getByLabel('Name').fill('shop.example.com');
  await form.getByLabel('Tags').fill('team=web');
  const key = form.getByRole('combobox', { name: 'Private key' });
  assert.equal(await key.inputValue(), 'webhook-signing');
  await key.fill('token-signing');
  await page.getByRole('option', { name: 'token-signing-2026' }).click();
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('Private key names a key that does not match the certificate.').waitFor();

  await form.getByRole('button', { name: 'Clear', exact: true }).click();
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Certificate updated').first().waitFor();
  const { body } = await ask(page, 'GET', `/v1/certificates/${demo.certificateId}`);
  assert.deepEqual([body.name, body.tags, body.key_id], ['shop.example.com', { team: 'web' }, null]);
  await page.getByRole('dialog', { name: 'shop.example.com' }).getByText('team: web').waitFor();
});

test('an owner changes the plan, and sees how long logs are kept and how an operator changes that', async () => {
  await page.goto('/settings/organization');
  await page.getByLabel('Plan', { exact: true }).selectOption('enterprise');
  await page.getByLabel('Requests per minute').fill('250');
  await page.getByRole('button', { name: 'Change plan' }).click();
  await page.getByText('0 of 250').waitFor();
  const { body } = await ask(page, 'GET', '/v1/organization');
  assert.deepEqual([body.plan, body.rate_limit], ['enterprise', 250]);
  await page.getByText('90 days').waitFor();
  await page.getByText('strongroom serve --log-retention-days').waitFor();
});

test('an admin sees the plan but can’t change it', async () => {
  const { body } = await ask(page, 'POST', '/v1/members', { email: 'admin@example.com', role: 'admin' });
  const admin = await open(browser, service.dashboardUrl);
  await admin.page.goto(`/invite#${body.token}`);
  await admin.page.getByLabel('Choose a password').fill(password);
  await admin.page.getByRole('button', { name: 'Join', exact: true }).click();
  await admin.page.getByRole('heading', { name: 'Overview' }).waitFor();
  await admin.page.goto('/settings/organization');
  await admin.page.getByText('strongroom organization set-plan').waitFor();
  assert.equal(await admin.page.getByRole('button', { name: 'Change plan' }).count(), 0);
  await admin.context.close();
});

test('the forms cause no errors under the strict Content-Security-Policy', () => {
  assert.deepEqual(walk.complaints, []);
});
