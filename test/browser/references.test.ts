/** Templates in the dashboard: written, shown with what they refer to, and named before what they contain is changed. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written so
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ask, type Fresh, launch, leave, open, setUp, startFresh } from './browser.ts';

let browser: Browser;
let service: Fresh;
let page: Page;
let complaints: readonly string[];
let vaultId: string;
let passwordId: string;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
  ({ page, complaints } = await open(browser, service.dashboardUrl));
  await setUp(page, service);
  vaultId = (await ask(page, 'POST', '/v1/vaults', { name: 'app' })).body.id;
  const secret = { vault_id: vaultId, name: 'DB_PASSWORD', value: 'correct horse' };
  passwordId = (await ask(page, 'POST', '/v1/secrets', secret)).body.id;
});
after(async () => {
  await leave(browser);
  await service.stop();
});

const panel = () => page.getByRole('dialog');
const press = (name: string) => panel().getByRole('button', { name, exact: true }).click();

test('a template is written with a tick, and refused with the reason', async () => {
  await page.goto(`/vaults/${vaultId}/secrets`);
  await page.getByRole('button', { name: 'New secret' }).first().click();
  await panel().getByRole('textbox', { name: 'Name' }).fill('DATABASE_URL');
  await panel().getByRole('textbox', { name: 'Value' }).fill('postgres://app:${DB_PASSWORT}@db');
  await panel()
    .getByRole('checkbox', { name: /^Template/ })
    .check();
  await press('Create secret');
  await panel().getByText('reference 1 is not to a secret that you may reveal').waitFor();
  await panel().getByRole('textbox', { name: 'Value' }).fill('postgres://app:${DB_PASSWORD}@db');
  await press('Create secret');
  await page.getByRole('link', { name: 'DATABASE_URL' }).click();
  await panel().getByRole('heading', { name: 'Refers to' }).waitFor();
  await panel().getByRole('link', { name: 'DB_PASSWORD' }).waitFor();
  await press('Reveal value');
  await panel().getByText('postgres://app:correct horse@db').waitFor();
});

test('its text is edited, not what it stands for', async () => {
  await press('Edit');
  const field = panel().getByRole('textbox', { name: 'Value' });
  assert.equal(await field.inputValue(), 'postgres://app:${DB_PASSWORD}@db');
  await field.fill('postgres://web:${DB_PASSWORD}@db');
  await press('Save');
  await panel().getByRole('heading', { name: 'Refers to' }).waitFor();
  const { body } = await ask(page, 'GET', `/v1/secrets?vault_id=${vaultId}&q=DATABASE_URL`);
  assert.deepEqual([body.data[0].kind, body.data[0].version], ['template', 2]);
});

test('what contains a secret is named before it is changed or deleted', async () => {
  await page.goto(`/vaults/${vaultId}/secrets/${passwordId}`);
  await panel().getByRole('heading', { name: 'Used by' }).waitFor();
  await press('Edit');
  const note = 'this secret and changes with it: DATABASE_URL.';
  await panel()
    .getByRole('note')
    .filter({ hasText: `1 template contains ${note}` })
    .waitFor();
  await press('Cancel');
  await press('Delete');
  await page.getByRole('note').filter({ hasText: 'can then no longer be read: DATABASE_URL.' }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).last().click();
});

test('a vault lets another one refer to it', async () => {
  const other = (await ask(page, 'POST', '/v1/vaults', { name: 'shared' })).body.id;
  await page.goto(`/vaults/${other}/secrets`);
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('combobox', { name: 'Vaults that may refer to its secrets' }).fill('app');
  await page.getByRole('option', { name: 'app' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Vault updated').first().waitFor();
  assert.deepEqual((await ask(page, 'GET', `/v1/vaults/${other}`)).body.referable_from, [vaultId]);
  assert.deepEqual(complaints, []);
});
