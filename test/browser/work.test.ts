/** A day's work by mouse and keyboard: import, roll back, restore, generate an API key, filter a log, search. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { run } from '../command.ts';
import {
  ask,
  type Fresh,
  launch,
  leave,
  open,
  password,
  proveAgain,
  setUp,
  startFresh,
  type Walk,
} from './browser.ts';
import { type Demo, furnish, read } from './demo.ts';

let browser: Browser;
let service: Fresh;
let walk: Walk;
let page: Page;
let demo: Demo;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh([], {}, 2)]);
  walk = await open(browser, service.dashboardUrl);
  page = walk.page;
  await setUp(page, service);
  demo = await furnish(page);
  await read(page, service, demo);
});
after(async () => {
  await leave(browser);
  await service.stop();
});

const secretPage = () => `/vaults/${demo.vaultId}/secrets/${demo.secretId}`;
const currentValue = async (id: string) =>
  (await ask(page, 'POST', `/v1/secrets/${id}/reveal`, {})).body.value;

test('an import previews the changes before it makes them', async () => {
  await page.goto(`/vaults/${demo.vaultId}/secrets`);
  await page.getByRole('button', { name: 'Import' }).click();
  await page
    .getByLabel('Paste')
    .fill('DATABASE_URL="imported"\n# a comment\nexport BRAND_NEW=one # and one more\nnonsense\n');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('new value, version 3 → 4').waitFor();
  await page.getByText('Skipped line 4: not in the form NAME=value.').waitFor();
  assert.match(await currentValue(demo.secretId), /^postgres/, 'nothing has changed yet');
  await page.getByRole('button', { name: 'Import 2 of 2' }).click();
  await page.getByRole('link', { name: 'BRAND_NEW' }).waitFor();
  assert.equal(await currentValue(demo.secretId), 'imported');
});

test('an earlier version is compared and rolled back to', async () => {
  await page.goto(secretPage());
  await page.getByRole('button', { name: 'Compare version 2 with the current one' }).click();
  await page.getByText('added: imported').waitFor();
  await page.getByRole('button', { name: 'Roll back to version 3' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back', exact: true }).click();
  await page.getByText('Rolled back to the value of version 3').first().waitFor();
  assert.match(await currentValue(demo.secretId), /^postgres:\/\/app:second/);
});

test('Settings, API Keys, Generate New Key: creates a key that the general API accepts, shown once', async () => {
  await page.goto('/');
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('link', { name: 'API Keys' }).click();
  await page.getByRole('button', { name: 'Generate New Key' }).click();
  await page.getByLabel('Name').fill('first');
  await page.getByRole('button', { name: 'Generate', exact: true }).click();
  await proveAgain(page);
  const key = await page.locator('[data-token]').innerText();
  const answer = await fetch(`${service.url}/v1/vaults`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(answer.status, 200);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.reload();
  await page.getByText('first').waitFor();
  assert.ok(!(await page.content()).includes(key));
});

test('an admin sees why they can’t give access keys values that they may not read themselves', async () => {
  const { body } = await ask(page, 'POST', '/v1/members', { email: 'manager@example.com', role: 'admin' });
  const manager = await open(browser, service.dashboardUrl);
  await manager.page.goto(`/invite#${body.token}`);
  await manager.page.getByLabel('Choose a password').fill(password);
  await manager.page.getByRole('button', { name: 'Join', exact: true }).click();
  await manager.page.getByRole('heading', { name: 'Overview' }).waitFor();
  const why = /access keys could then read what you may not read yourself: .*secrets:reveal/;
  await manager.page.goto(secretPage());
  await manager.page.getByRole('button', { name: 'Roll back to version 3' }).click();
  await manager.page.getByRole('dialog').getByRole('button', { name: 'Roll back', exact: true }).click();
  await manager.page.getByRole('dialog').getByText(why).waitFor();
  await manager.page.goto(`/vaults/${demo.vaultId}/trash`);
  await manager.page.getByRole('button', { name: 'Restore OLD_API_TOKEN' }).click();
  await manager.page
    .getByText(/Can’t restore “OLD_API_TOKEN”/)
    .getByText(why)
    .first()
    .waitFor();
  await manager.context.close();
});

test('a deleted secret is restored from the trash', async () => {
  await page.goto(`/vaults/${demo.vaultId}/trash`);
  await page.getByRole('button', { name: 'Restore OLD_API_TOKEN' }).click();
  await page.getByText('The trash is empty').waitFor();
  await page.goto(`/vaults/${demo.vaultId}/secrets?q=OLD_API`);
  await page.getByRole('link', { name: 'OLD_API_TOKEN' }).waitFor();
});

test('the request log’s filters are kept in the address', async () => {
  await page.goto('/logs/requests');
  await page.getByLabel('Status').selectOption('401');
  await page.waitForURL(/status=401/);
  await page.locator('tbody tr').first().waitFor();
  await page.reload();
  await page.locator('tbody tr').first().waitFor();
  // The chart above it has a table too, for screen readers.
  const shown = await page.locator('table').last().locator('tbody tr td:nth-child(2)').allInnerTexts();
  assert.ok(shown.length > 0 && shown.every(status => status === '401'), shown.join());
});

for (const [log, collection, filter] of [
  ['audit', 'audit-logs', 'action=secret.created'],
  ['requests', 'request-logs', 'status=401'],
] as const) {
  test(`filtered ${collection} are exported as CSV and as JSON Lines`, async () => {
    const { total } = (await ask(page, 'GET', `/v1/${collection}?${filter}`)).body.pagination;
    await page.goto(`/logs/${log}?${filter}`);
    for (const [format, headings] of [
      ['CSV', 1],
      ['JSONL', 0],
    ] as const) {
      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: format }).click();
      const text = readFileSync(await (await download).path(), 'utf8');
      assert.equal(text.trimEnd().split('\n').length - headings, total, format);
    }
  });
}

test('a read appears in the open request log', async () => {
  await page.goto('/logs/requests');
  await page.locator('tbody tr').first().waitFor();
  const mark = `watcher/${Date.now()}`;
  await fetch(`${service.url}/api/v1/vaults/${demo.vaultId}`, {
    headers: { authorization: `Bearer ${demo.accessKey}`, 'user-agent': mark },
  });
  await page.getByText(mark).waitFor({ timeout: 10_000 });
});

test('the command palette finds a secret by name, using only the keyboard', async () => {
  await page.goto('/');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('sentry');
  await page.getByRole('option', { name: /SENTRY_DSN/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'SENTRY_DSN' }).waitFor();
  assert.match(page.url(), /\/secrets\/[0-9a-f-]{36}$/);
});

test('single-key shortcuts open pages, search the list and create, and can be turned off', async () => {
  await page.goto('/');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.keyboard.type('ga');
  await page.getByRole('link', { name: 'payments-api' }).waitFor();
  await page.keyboard.type('/payments');
  assert.equal(await page.getByRole('searchbox').inputValue(), 'payments', 'a key is text in a field');
  await page.getByRole('heading', { name: 'Access' }).click();
  await page.keyboard.press('n');
  await page.getByRole('dialog', { name: 'New access key' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.getByRole('checkbox', { name: 'Single-key shortcuts' }).uncheck();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.type('gvn?');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search by name' }).waitFor();
  assert.match(page.url(), /\/access\/keys/);
  await page.evaluate('localStorage.clear()');
});

test('a date is chosen by keyboard, by a preset or by typing; invalid and past dates are refused', async () => {
  await page.goto(`/vaults/${demo.vaultId}/access`);
  await page.getByRole('button', { name: 'New access key' }).click();
  const form = page.getByRole('dialog', { name: 'New access key' });
  const expires = form.getByRole('textbox', { name: 'Expires' });
  await expires.press('ArrowDown');
  const grid = page.getByRole('grid');
  await grid.locator('[aria-current=date]:focus').waitFor();
  const today = new Date();
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  const named = (date: Date) => new Intl.DateTimeFormat('en-GB', { dateStyle: 'full' }).format(date);
  for (const key of ['PageDown', 'PageUp', 'End', 'Home', 'ArrowDown', 'ArrowUp'])
    await page.keyboard.press(key);
  const monday = new Date(
    today.getFullYear(),
    today.getMonth(),
    today.getDate() - ((today.getDay() + 6) % 7),
  );
  await grid
    .getByRole('button', { name: named(monday) })
    .and(page.locator(':focus'))
    .waitFor();
  assert.equal(
    await grid
      .getByRole('button', { name: named(yesterday) })
      .first()
      .getAttribute('aria-disabled'),
    'true',
  );
  await page.keyboard.press('PageDown');
  await page.keyboard.press('Shift+PageDown');
  await page.keyboard.press('Enter');
  await grid.waitFor({ state: 'detached' });
  assert.match(
    await expires.inputValue(),
    new RegExp(`^\\d+ \\w+ (${today.getFullYear() + 1}|${today.getFullYear() + 2}), 23:59$`),
  );

  await form.getByRole('button', { name: 'Choose a date' }).click();
  await page.getByRole('button', { name: 'In 30 days' }).click();
  const chosen = new Date(await expires.inputValue());
  assert.ok(Math.abs(chosen.getTime() - Date.now() - 30 * 86_400_000) < 2 * 3_600_000, String(chosen));

  await expires.fill('yesterday or so');
  await form.getByLabel('Name', { exact: true }).fill('dated');
  await form.getByText('Expires must be a date, such as 17 Dec 2026, 14:30.').waitFor();
  await expires.fill('1 May 2020');
  await form.getByRole('button', { name: 'Create access key' }).click();
  await form.getByText('Expires must be in the future.').waitFor();
  await expires.fill('2099-12-17 14:30');
  await form.getByRole('button', { name: 'Create access key' }).click();
  await page.locator('[data-token]').waitFor();
  const { body } = await ask(page, 'GET', '/v1/access-keys?q=dated');
  assert.equal(body.data[0].expiration_date, new Date('2099-12-17T14:30').toISOString());
  await page.getByRole('button', { name: 'I have copied it' }).click();
});

test('Settings, About: the keyring version, and when the keys were last rotated', async () => {
  await page.goto('/settings/about');
  await page.getByText('Never').waitFor();
  await page.getByText('All under keyring version 1').waitFor();
  const { code, stderr } = await run(['keyring', 'rotate', '--data', service.data]);
  assert.equal(code, 0, stderr);
  await page.reload();
  await page.getByText('All under keyring version 2').waitFor();
  assert.equal(await page.getByText('Never').count(), 0);
});

test('the pages cause no errors under the strict Content-Security-Policy', () => {
  assert.deepEqual(walk.complaints, []);
});
