/** A certificate is renewed with four clicks from its vault's page, and rolled back from its list of versions. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { selfSign } from '../../src/material/certificate-issue.ts';
import { ask, type Fresh, launch, leave, open, setUp, startFresh, type Walk } from './browser.ts';
import { type Demo, furnish } from './demo.ts';

let browser: Browser;
let service: Fresh;
let walk: Walk;
let page: Page;
let demo: Demo;
let clicks = 0;

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

async function click(role: 'link' | 'button' | 'tab', name: string | RegExp): Promise<void> {
  clicks++;
  await page.getByRole(role, { name }).first().click();
}

const certificate = async () => (await ask(page, 'GET', `/v1/certificates/${demo.certificateId}`)).body;

test('a certificate is renewed with four clicks', async () => {
  const before = await certificate();
  const { body: key } = await ask(page, 'POST', `/v1/keys/${before.key_id}/reveal`);
  const pem = await selfSign({
    privatePem: key.pem,
    subject: before.subject,
    sans: before.sans,
    notBefore: new Date(service.clock.now()),
    days: 90,
  });
  await page.goto(`/vaults/${demo.vaultId}`);
  clicks = 0;
  await click('link', /^Certificates/);
  await click('link', 'payments.example.com');
  await click('button', 'Renew');
  await page.getByLabel('Source').selectOption('pem');
  await page.getByLabel('PEM').fill(pem);
  await click('button', 'Renew certificate');
  await page.getByText('Certificate renewed').first().waitFor();
  assert.equal(clicks, 4);
  const now = await certificate();
  assert.deepEqual([now.pem, now.version, now.name], [pem, 2, before.name]);
  assert.ok(now.expires_at > before.expires_at);
});

test('one that does not match its private key is refused with the reason; a self-signed one is signed again', async () => {
  const { privateKey } = await import('node:crypto').then(crypto =>
    crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  );
  const pem = await selfSign({
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    subject: 'CN=other',
    sans: [],
    notBefore: new Date(service.clock.now()),
    days: 90,
  });
  await page.goto(`/vaults/${demo.vaultId}/certificates/${demo.certificateId}`);
  await page.getByRole('button', { name: 'Renew' }).click();
  const form = page.getByRole('form', { name: 'Renew payments.example.com' });
  await form.getByLabel('Source').selectOption('pem');
  await form.getByLabel('PEM').fill(pem);
  await form.getByRole('button', { name: 'Renew certificate' }).click();
  await form.getByText(/does not match: send the private key too/).waitFor();
  await form.getByLabel('Source').selectOption('self_signed');
  assert.equal(await form.getByLabel('Subject').inputValue(), 'CN=payments.example.com,O=Acme');
  await form.getByRole('button', { name: 'Renew certificate' }).click();
  await page.getByText('Certificate renewed').first().waitFor();
  assert.equal((await certificate()).version, 3);
});

test('its versions are listed with their dates, and an earlier one comes back', async () => {
  await page.goto(`/vaults/${demo.vaultId}/certificates/${demo.certificateId}`);
  const panel = page.getByRole('dialog', { name: 'payments.example.com' });
  const versions = panel.getByRole('listitem').filter({ hasText: 'serial number' });
  await versions.nth(2).waitFor();
  assert.equal(await versions.count(), 3);
  await versions.nth(0).getByText('current').waitFor();
  await versions.nth(2).getByRole('button', { name: 'Roll back to version 1' }).click();
  await page.getByText('If its private key has changed since then, the key is rolled back too.').waitFor();
  await page
    .getByRole('dialog', { name: 'Roll back to version 1?' })
    .getByRole('button', { name: 'Roll back' })
    .click();
  await page.getByText('Rolled back to the certificate of version 1').first().waitFor();
  await versions.nth(3).waitFor();
  const { body } = await ask(page, 'GET', `/v1/certificates/${demo.certificateId}/versions`);
  assert.equal(body.data[0].serial, body.data[3].serial);
});

test('a signing request has the certificate’s names filled in', async () => {
  await page.goto(`/vaults/${demo.vaultId}/certificates/${demo.certificateId}`);
  await page.getByRole('button', { name: 'Signing request' }).click();
  const form = page.getByRole('dialog', { name: 'Certificate signing request' });
  assert.equal(await form.getByLabel('Subject').inputValue(), 'CN=payments.example.com,O=Acme');
  assert.equal(await form.getByLabel('Alternative names').inputValue(), 'dns:payments.example.com');
  await form.getByRole('button', { name: 'Create' }).click();
  await form.getByText('BEGIN CERTIFICATE REQUEST').waitFor();
});
