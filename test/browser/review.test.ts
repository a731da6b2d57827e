/** Review in the dashboard: a form says that it was sent for review, and someone else sees the difference and confirms. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Locator } from 'playwright-core';
import { ask, type Fresh, launch, leave, open, password, setUp, startFresh, type Walk } from './browser.ts';

let browser: Browser;
let service: Fresh;
let owner: Walk;
let other: Walk;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
  owner = await open(browser, service.dashboardUrl);
  await setUp(owner.page, service);
  const invited = await ask(owner.page, 'POST', '/v1/members', { email: 'ada@example.com', role: 'editor' });
  assert.equal(invited.status, 200, invited.text);
  other = await open(browser, service.dashboardUrl);
  await other.page.goto('/sign-in');
  await ask(other.page, 'POST', '/auth/invitation/accept', { token: invited.body.token, password });
});
after(async () => {
  await leave(browser);
  await service.stop();
});

/** A click counts once there was time to see what it decides, and the buttons don’t move. */
async function decide(button: Locator): Promise<void> {
  await button.scrollIntoViewIfNeeded();
  await button.page().waitForTimeout(1_500);
  await button.click();
}

test('a vault gets review in its form; a write is sent for review, and confirmed by someone else', async () => {
  const { page, complaints } = owner;
  const { body: vault } = await ask(page, 'POST', '/v1/vaults', { name: 'production' });
  const before = { vault_id: vault.id, name: 'TOKEN', value: 'first', tags: { team: 'payments' } };
  const { body: secret } = await ask(page, 'POST', '/v1/secrets', before);
  await page.goto(`/vaults/${vault.id}/secrets`);
  await page.getByRole('button', { name: 'Edit' }).first().click();
  await page.getByLabel('Review').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Someone else has to confirm every write here').waitFor();

  await page.goto(`/vaults/${vault.id}/secrets/${secret.id}`);
  await page.getByRole('button', { name: 'Edit' }).last().click();
  await page.getByRole('textbox', { name: 'Value', exact: true }).fill('second');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Sent for review').first().waitFor();

  await page.goto('/approvals');
  const mine = page.getByRole('article', { name: 'Change secret TOKEN' });
  await mine.getByText('someone else has to confirm it').waitFor();
  assert.equal(await mine.getByRole('button', { name: 'Confirm' }).count(), 0);

  const { page: theirs } = other;
  await theirs.goto('/approvals');
  await theirs.getByRole('navigation').getByText('1 waiting').first().waitFor();
  assert.equal(await theirs.getByText('Nothing to approve').count(), 0);
  const card = theirs.getByRole('article', { name: 'Change secret TOKEN' });
  await card.getByRole('button', { name: 'Show values' }).click();
  await card.getByText('second').waitFor();
  await decide(card.getByRole('button', { name: 'Confirm' }));
  await theirs.getByText('Confirmed').first().waitFor();
  const { body: revealed } = await ask(page, 'POST', `/v1/secrets/${secret.id}/reveal`);
  assert.equal(revealed.value, 'second');
  assert.deepEqual([...complaints, ...other.complaints], []);
});

test('a deletion is sent for review, and rejected from its own address', async () => {
  const { page } = owner;
  const { body: vault } = await ask(page, 'POST', '/v1/vaults', { name: 'staging', review: true });
  const path = '/v1/secrets?bypass=true&reason=first%20value';
  const { body: secret } = await ask(page, 'POST', path, { vault_id: vault.id, name: 'OLD', value: 'x' });
  await page.goto(`/vaults/${vault.id}/secrets/${secret.id}`);
  await page.getByRole('button', { name: 'Delete' }).last().click();
  await page.getByRole('dialog', { name: 'Delete OLD?' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Sent for review').first().waitFor();
  const { body: list } = await ask(page, 'GET', `/v1/proposals?vault_id=${vault.id}`);
  const { page: theirs } = other;
  await theirs.goto(`/proposals/${list.data[0].id}`);
  const card = theirs.getByRole('article', { name: 'Delete secret OLD' });
  await decide(card.getByRole('button', { name: 'Reject' }));
  await theirs.getByText('Rejected').first().waitFor();
  await theirs.getByRole('list', { name: 'Decided writes' }).getByText('without review').first().waitFor();
  assert.equal((await ask(page, 'GET', `/v1/secrets/${secret.id}`)).status, 200);
});

test('an owner writes without review, for a reason that everyone sees', async () => {
  const { page } = owner;
  const { body: vault } = await ask(page, 'POST', '/v1/vaults', { name: 'urgent', review: true });
  const { status } = await ask(page, 'POST', '/v1/secrets', { vault_id: vault.id, name: 'FIX', value: 'x' });
  assert.equal(status, 202);
  await page.goto('/approvals');
  const card = page.getByRole('article', { name: 'Create secret FIX' });
  await card.getByRole('button', { name: 'Write without review' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('production is down');
  await dialog.getByRole('button', { name: 'Write without review' }).click();
  await page.getByText('Written without review').first().waitFor();
  const { body: found } = await ask(page, 'GET', `/v1/secrets?vault_id=${vault.id}`);
  assert.equal(found.data[0].name, 'FIX');
  const { page: theirs } = other;
  await theirs.goto('/approvals');
  await theirs.getByText('production is down').waitFor();
});
