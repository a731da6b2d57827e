/** Single sign-on in the dashboard, with a real issuer's pages. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, test } from 'node:test';
import Provider from 'oidc-provider';
import type { Browser, Page } from 'playwright-core';
import { makeOrganization } from '../harness.ts';
import { freePort } from '../postgres.ts';
import { ask, type Fresh, launch, leave, open, password, setUp, startFresh } from './browser.ts';

const clientSecret = 'a-secret-between-the-two';
let browser: Browser;
let service: Fresh;
let issuer: Server;

before(async () => {
  const issuerUrl = `http://localhost:${await freePort()}`;
  const flags = ['--oidc-issuer', issuerUrl, '--oidc-client-id', 'strongroom', '--oidc-name', 'Acme ID'];
  [browser, service] = await Promise.all([
    launch(),
    startFresh(flags, { STRONGROOM_OIDC_CLIENT_SECRET: clientSecret }),
  ]);
  issuer = await startIssuer(issuerUrl, `${service.dashboardUrl}/auth/oidc/callback`);
  const { page, context } = await open(browser, service.dashboardUrl);
  await setUp(page, service);
  await ask(page, 'POST', '/v1/members', { email: 'new@example.com', role: 'viewer' });
  await context.close();
});
after(async () => {
  await leave(browser);
  await service.stop();
  issuer.closeAllConnections();
  issuer.close();
});

async function startIssuer(url: string, redirectUri: string): Promise<Server> {
  const provider = new Provider(url, {
    clients: [
      {
        client_id: 'strongroom',
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    findAccount: (_context, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, email: id, email_verified: true }),
    }),
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    pkce: { required: () => true },
    cookies: { keys: ['only for tests'] },
  });
  const server = createServer(provider.callback());
  await new Promise<void>(resolve => server.listen(Number(new URL(url).port), 'localhost', resolve));
  return server;
}

/** Fills in the issuer's forms for sign-in and consent. */
async function signInAtIssuer(page: Page, as: string): Promise<void> {
  await page.goto('/sign-in');
  await page.getByRole('link', { name: 'Sign in with Acme ID' }).click();
  await page.locator('input[name=login]').fill(as);
  await page.locator('input[name=password]').fill('x');
  await page.locator('button[type=submit]').click();
  await page.locator('button[type=submit]', { hasText: 'Continue' }).click();
}

test('a member signs in with the issuer', async () => {
  const { page, context, complaints } = await open(browser, service.dashboardUrl);
  await signInAtIssuer(page, 'owner@example.com');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  assert.equal(new URL(page.url()).search, '', 'the code is removed from the address');
  assert.deepEqual(complaints, []);
  await context.close();
});

test('an invited person is asked before they join, and later proves their identity with the issuer', async () => {
  const { page, context, complaints } = await open(browser, service.dashboardUrl);
  await signInAtIssuer(page, 'new@example.com');
  await page.getByRole('heading', { name: 'Choose an organization' }).waitFor();
  await page.getByRole('button', { name: 'Join Acme as viewer' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.goto('/settings/security');
  await page.getByLabel('New password').fill('a password of their own');
  await page.getByRole('button', { name: 'Set password' }).click();
  const asked = page.getByRole('dialog', { name: 'Confirm it’s you' });
  const opened = context.waitForEvent('page');
  await asked.getByRole('link', { name: 'Confirm with Acme ID' }).click();
  const there = await opened;
  await there.locator('input[name=login]').fill('new@example.com');
  await there.locator('input[name=password]').fill('x');
  await there.locator('button[type=submit]').click();
  await there.waitForURL('**/settings/security');
  await asked.getByRole('button', { name: 'I have confirmed' }).click();
  await page.getByText('Password set').first().waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a pending CLI sign-in is kept during the visit to the issuer', async () => {
  const { page, context, complaints } = await open(browser, service.dashboardUrl);
  await page.goto('/device#BBBB-BBBB');
  await page.getByRole('heading', { name: 'Sign in to Strongroom' }).waitFor();
  await signInAtIssuer(page, 'owner@example.com');
  await page.getByText('is unknown, expired or has been used').waitFor();
  assert.equal(new URL(page.url()).pathname, '/device');
  await page.goto('/');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a person who is not a member sees an error on the sign-in page', async () => {
  const { page, context } = await open(browser, service.dashboardUrl);
  await signInAtIssuer(page, 'stranger@example.com');
  await page.getByText('Single sign-on failed.').waitFor();
  await context.close();
});

test('the issuer is offered to invited people: on the invitation, and on the sign-in page before anyone has joined', async () => {
  const { page, context, complaints } = await open(browser, service.dashboardUrl);
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill('owner@example.com');
  await page.getByLabel('Password').fill(password);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const { body } = await ask(page, 'POST', '/v1/members', { email: 'first@example.com', role: 'viewer' });
  await context.clearCookies();
  await page.goto(`/invite#${body.token}`);
  await page.getByText('first@example.com').waitFor();
  const join = page.getByRole('link', { name: 'Join with Acme ID' });
  assert.equal(await join.getAttribute('href'), '/auth/oidc/start');

  const flags = ['--oidc-issuer', 'http://localhost:1', '--oidc-client-id', 'x', '--oidc-name', 'Acme ID'];
  const other = await startFresh(flags);
  await makeOrganization(['--data', other.data], 'Alone', 'free', 0);
  await page.goto(`${other.dashboardUrl}/sign-in`);
  await page.getByText('No member has joined yet').waitFor();
  await join.waitFor();
  await other.stop();
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a truncated link shows the page instead of an empty one', async () => {
  const { page, context, complaints } = await open(browser, service.dashboardUrl);
  for (const path of ['/#%', '/invite#%E0%A4', '/setup#%zz', '/device#%']) {
    await page.goto(path);
    await page.getByRole('heading').first().waitFor();
  }
  assert.deepEqual(complaints, []);
  await context.close();
});
