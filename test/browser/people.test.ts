/** Members and their sessions: revealing values, a viewer, a session that ends during an edit, and passkeys. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  addAuthenticator,
  ask,
  type Fresh,
  launch,
  leave,
  open,
  password,
  proveAgain,
  setUp,
  signOut,
  startFresh,
  type Walk,
} from './browser.ts';
import { type Demo, furnish } from './demo.ts';

let browser: Browser;
let service: Fresh;
let owner: Walk;
let demo: Demo;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
  owner = await open(browser, service.dashboardUrl, { permissions: ['clipboard-read', 'clipboard-write'] });
  await setUp(owner.page, service);
  demo = await furnish(owner.page);
});
after(async () => {
  await leave(browser);
  await service.stop();
});

const secretPage = () => `/vaults/${demo.vaultId}/secrets/${demo.secretId}`;

async function invite(email: string, role: string): Promise<Walk> {
  const { body } = await ask(owner.page, 'POST', '/v1/members', { email, role });
  const walk = await open(browser, service.dashboardUrl);
  await walk.page.goto(`/invite#${body.token}`);
  await walk.page.getByLabel('Choose a password').fill(password);
  assert.equal(new URL(walk.page.url()).hash, '');
  await walk.page.getByRole('button', { name: 'Join', exact: true }).click();
  await walk.page.getByRole('heading', { name: 'Overview' }).waitFor();
  return walk;
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Email').fill('owner@example.com');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

test('a value is not in the page before it is revealed, and is removed after 30 seconds', async () => {
  const { page } = owner;
  await page.clock.install();
  await page.goto(secretPage());
  await page.getByRole('button', { name: 'Reveal value' }).waitFor();
  assert.ok(!(await page.content()).includes('postgres://app:second'));
  await page.getByRole('button', { name: 'Reveal value' }).click();
  await page.getByText('postgres://app:second').waitFor();
  await page.clock.runFor(29_000);
  assert.ok((await page.content()).includes('postgres://app:second'));
  await page.clock.runFor(2_000);
  await page.getByRole('button', { name: 'Reveal value' }).waitFor();
  assert.ok(!(await page.content()).includes('postgres://app:second'));
});

test('a value is copied without being shown', async () => {
  const { page } = owner;
  await page.goto(`/vaults/${demo.vaultId}/secrets`);
  await page.getByRole('button', { name: 'Copy the value of DATABASE_URL without showing it' }).click();
  await page.getByText('Copied').waitFor({ state: 'attached' });
  assert.match(await page.evaluate<string>('navigator.clipboard.readText()'), /^postgres:\/\/app:second/);
  assert.ok(!(await page.content()).includes('postgres://app:second'));
});

test('a viewer sees no reveal button, and the service refuses them with 403', async () => {
  const { page, complaints } = await invite('viewer@example.com', 'viewer');
  await page.goto(secretPage());
  await page.getByText('Your role can’t reveal this.').waitFor();
  assert.equal(await page.getByRole('button', { name: /reveal|copy value|compare|edit|delete/i }).count(), 0);
  const { status } = await ask(page, 'POST', `/v1/secrets/${demo.secretId}/reveal`, {});
  assert.equal(status, 403);
  assert.deepEqual(complaints, []);
});

test('when a session ends during an edit, the page asks to sign in and keeps the input', async () => {
  const { page } = owner;
  await page.goto(secretPage());
  await page.getByRole('dialog').getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Value' }).fill('typed before the session ended');
  const { body } = await ask(page, 'GET', '/auth/sessions');
  const current = body.data.find((session: { current: boolean }) => session.current);
  await ask(page, 'DELETE', `/auth/sessions/${current.id}`);

  // An open page learns of it immediately.
  const window = page.getByRole('dialog', { name: 'Your session has ended' });
  await window.getByLabel('Password').fill(password);
  await window.getByRole('button', { name: 'Sign in', exact: true }).click();
  await window.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Secret updated').first().waitFor();
  const revealed = await ask(page, 'POST', `/v1/secrets/${demo.secretId}/reveal`, {});
  assert.equal(revealed.body.value, 'typed before the session ended');
});

test('a refused form keeps its input and names the field', async () => {
  const { page } = owner;
  await page.goto(`/vaults/${demo.vaultId}/secrets`);
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('SENTRY_DSN');
  await page.getByRole('textbox', { name: 'Value' }).fill('kept');
  await page.getByRole('button', { name: 'Create secret' }).click();
  await page.getByRole('alert').first().waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Value' }).inputValue(), 'kept');
});

test('a passkey is added and used to sign in', async () => {
  const walk = await open(browser, service.dashboardUrl);
  const { page, context, complaints } = walk;
  await addAuthenticator(walk);
  await page.goto('/sign-in');
  await signIn(page);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.goto('/settings/security');
  await page.getByLabel('Passkey name').fill('Laptop');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await proveAgain(page);
  await page.getByText('Passkey added').first().waitFor();

  await signOut(page);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test('changing a sign-in method requires proof of identity: cancelling changes nothing, and a passkey is accepted', async () => {
  const walk = await open(browser, service.dashboardUrl);
  const { page, context, complaints } = walk;
  await addAuthenticator(walk);
  await page.goto('/sign-in');
  await signIn(page);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.goto('/settings/security');
  await page.getByLabel('Passkey name').fill('Phone');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  const asked = page.getByRole('dialog', { name: 'Confirm it’s you' });
  await asked.getByLabel('Your password').fill('not the right one');
  await asked.getByRole('button', { name: 'Confirm', exact: true }).click();
  await asked.getByText('is incorrect').waitFor();
  await asked.getByRole('button', { name: 'Close' }).click();
  await page.getByText('Confirm your identity first.').waitFor();
  assert.equal(await page.getByLabel('Passkey name').inputValue(), 'Phone');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await proveAgain(page);
  await page.getByText('Passkey added').first().waitFor();

  service.clock.pass(5 * 60_000);
  await page.getByRole('button', { name: 'Remove the passkey Phone' }).click();
  await page.getByRole('button', { name: 'Remove', exact: true }).last().click();
  await asked.getByRole('button', { name: 'Confirm with a passkey' }).click();
  await page.getByText('Passkey removed').first().waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a wrong password shows an error and keeps the email', async () => {
  const { page, context } = await open(browser, service.dashboardUrl);
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill('owner@example.com');
  await page.getByLabel('Password').fill('not the right one');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByText('Incorrect email or password.').waitFor();
  assert.equal(await page.getByLabel('Email').inputValue(), 'owner@example.com');
  await context.close();
});
