/** The first run, from the setup link to a secret that a program reads, and the places where no value may appear. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { shell } from '../shell.ts';
import { addAuthenticator, type Fresh, launch, leave, open, setUp, signOut, startFresh } from './browser.ts';

const value = 'postgres://app:never-in-a-url@db/app';
let browser: Browser;
let service: Fresh;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
});
after(async () => {
  await leave(browser);
  await service.stop();
});

test('the setup link leads to a secret that curl reads, and each example can be tried with one click', async () => {
  const { page, complaints, context } = await open(browser, service.dashboardUrl);
  const addresses: string[] = [];
  page.on('request', request => addresses.push(request.url()));
  await setUp(page, service);
  assert.equal(new URL(page.url()).hash, '', 'the token is removed from the address bar');

  await page.getByLabel('Value').fill(value);
  await page.getByRole('button', { name: 'Create secret' }).click();
  await page.getByRole('button', { name: 'Try it: curl command' }).click();
  await page.getByText('Read “production”: DATABASE_URL.').waitFor();

  await page.getByRole('button', { name: 'Try it: MCP configuration' }).click();
  await page.getByText('An assistant sees: DATABASE_URL.').waitFor();

  const line = await page.getByRole('region', { name: 'curl command' }).innerText();
  const [, authorization] = /Authorization: ([^"]+)/.exec(line)!;
  const read = JSON.parse(await shell(line)) as { secrets: { name: string; value: string }[] };
  assert.deepEqual(
    read.secrets.map(({ name, value: found }) => [name, found]),
    [['DATABASE_URL', value]],
  );

  const configuration = JSON.parse(await page.getByRole('region', { name: 'MCP configuration' }).innerText());
  const { url, headers } = configuration.mcpServers.strongroom;
  assert.equal(headers.Authorization, authorization);
  assert.match(url, /\/mcp\?names=underscore$/, 'some assistants don’t accept dots in tool names');

  const token = authorization!.replace('Bearer ', '');
  assert.ok(!addresses.some(address => address.includes(token) || address.includes('never-in-a-url')));
  const kept = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
  );
  assert.ok(!kept.includes(token) && !kept.includes('never-in-a-url') && !kept.includes('sr_session'));
  const session = (await context.cookies()).find(({ name }) => name.includes('strongroom'))!;
  assert.deepEqual([session.httpOnly, session.secure, session.sameSite], [true, true, 'Strict']);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a setup link works once', async () => {
  const { page, context } = await open(browser, service.dashboardUrl);
  await page.goto(service.setupUrl!);
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  await context.close();
});

test('with the link as printed, the owner can be created with only a passkey, and signs in with it', async t => {
  const fresh = await startFresh();
  t.after(() => fresh.stop());
  const walk = await open(browser, fresh.dashboardUrl);
  const { page, complaints, context } = walk;
  await addAuthenticator(walk);
  await page.goto(fresh.setupUrl!);
  await page.getByLabel('Email').fill('owner@example.com');
  await page.getByRole('button', { name: 'Use a passkey instead' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Organization').fill('Acme');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.waitForURL('**/welcome');

  await page.goto('/');
  await signOut(page);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a link pasted into a tab that already shows its page is used', async t => {
  const fresh = await startFresh();
  t.after(() => fresh.stop());
  const { page, context } = await open(browser, fresh.dashboardUrl);
  await page.goto('/');
  await page.getByText('The link is incomplete').waitFor();
  await page.goto(fresh.setupUrl!);
  await page.getByText('The link is incomplete').waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).hash, '', 'the token is removed from the address bar');
  await setUp(page, fresh);
  await context.close();
});
