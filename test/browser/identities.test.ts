/** Identities in the dashboard, from a preset to a login, a refused login and deletion, and secret IDs. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { newKey, startTokenIssuer, type TokenIssuer } from '../token-issuer.ts';
import { ask, type Fresh, launch, leave, open, setUp, startFresh } from './browser.ts';

let browser: Browser;
let service: Fresh;
let issuer: TokenIssuer;

before(async () => {
  [browser, service, issuer] = await Promise.all([
    launch(),
    startFresh(['--allow-private-issuers', '127.0.0.0/8']),
    newKey('one').then(key => startTokenIssuer([key])),
  ]);
});
after(async () => {
  await leave(browser);
  await service.stop();
  await issuer.close();
});

test('an identity is created from a preset, logs in, and shows why another login was refused', async () => {
  const { page, complaints } = await open(browser, service.dashboardUrl);
  await setUp(page, service);
  await ask(page, 'POST', '/v1/vaults', { name: 'production' });
  await page.goto('/identities');
  await page.getByRole('button', { name: 'New identity' }).first().click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Platform').selectOption('GitLab CI/CD');
  assert.equal(await form.getByLabel('Issuer').inputValue(), 'https://gitlab.com');
  await form.getByLabel('Issuer').fill(issuer.url);
  await form.getByLabel('Name', { exact: true }).fill('deploy');
  await form.getByLabel('Subjects').fill('*');
  await form.getByRole('combobox', { name: 'Vaults' }).click();
  await page.getByRole('option', { name: 'production' }).click();
  await form.getByLabel('Name', { exact: true }).click();
  await form.getByRole('button', { name: 'Create identity' }).click();
  await form.getByText('must be more specific than *').waitFor();
  await form.getByLabel('Subjects').fill('project_path:acme/*');
  await form.getByRole('button', { name: 'Create identity' }).click();
  await page.getByRole('link', { name: /deploy/ }).click();

  const panel = page.getByRole('dialog');
  await panel.getByText('never').first().waitFor();
  const id = new URL(page.url()).pathname.split('/').at(-1)!;
  const logIn = async (sub: string) => {
    const iat = Math.floor(Date.now() / 1_000);
    const jwt = await issuer.sign({ iss: issuer.url, sub, aud: 'strongroom', iat, exp: iat + 300 });
    return ask(page, 'POST', '/api/v1/login', { identity_id: id, jwt });
  };
  assert.equal((await logIn('project_path:acme/shop')).status, 200);
  assert.equal((await logIn('project_path:evil/shop')).status, 401);
  await page.reload();
  await panel.getByText('sub: no pattern of the identity matches').waitFor();
  assert.equal(await panel.getByText('never').count(), 0, 'it has logged in');

  await panel.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: 'Delete deploy?' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No identities yet').waitFor();
  assert.equal((await logIn('project_path:acme/shop')).status, 401);
  assert.deepEqual(complaints, []);
});

test('a secret ID is created, shown once, used and revoked', async () => {
  const { page, complaints } = await open(browser, service.dashboardUrl);
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill('owner@example.com');
  await page.getByLabel('Password').fill('correct horse battery');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const vault = await ask(page, 'POST', '/v1/vaults', { name: 'backups' });
  const role = { name: 'backup', method: 'secret_id', vault_ids: [vault.body.id] };
  const { body: identity } = await ask(page, 'POST', '/v1/identities', role);
  await page.goto(`/identities/${identity.id}`);
  await page.getByRole('button', { name: 'New secret ID' }).click();
  await page.getByLabel('Name').fill('rack 4');
  await page.getByRole('button', { name: 'Create secret ID' }).click();
  const secret_id = await page.locator('[data-token]').innerText();
  assert.match(secret_id, /^sr_login_/);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  const logIn = () => ask(page, 'POST', '/api/v1/login', { identity_id: identity.id, secret_id });
  assert.equal((await logIn()).status, 200);
  await page.getByRole('button', { name: 'Revoke rack 4' }).click();
  await page
    .getByRole('dialog', { name: 'Revoke “rack 4”?' })
    .getByRole('button', { name: 'Revoke' })
    .click();
  await page.getByText('No secret IDs yet.').waitFor();
  assert.equal((await logIn()).status, 401);
  assert.deepEqual(complaints, []);
});
