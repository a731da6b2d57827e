/** A secret's note and owner are edited and shown, and its one-time code is shown with the seconds left. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ask, type Fresh, launch, leave, open, setUp, startFresh, type Walk } from './browser.ts';
import { type Demo, furnish } from './demo.ts';

let browser: Browser;
let service: Fresh;
let walk: Walk;
let page: Page;
let demo: Demo;

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

const address = 'otpauth://totp/Acme:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Acme';

test('a note and an owner are written with a secret, and shown', async () => {
  await page.goto(`/vaults/${demo.vaultId}/secrets`);
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByLabel('Name', { exact: true }).fill('SHARED_LOGIN');
  await page.getByLabel('Value', { exact: true }).fill(address);
  await page.getByRole('button', { name: 'Expiry, tags, note and more' }).click();
  await page.getByLabel('Note').fill('The team’s account.\n<b>Ask</b> before use.');
  await page.getByLabel('Owner').selectOption('owner@example.com');
  await page.getByRole('button', { name: 'Create secret' }).click();
  await page.getByRole('link', { name: 'SHARED_LOGIN' }).click();
  const panel = page.getByRole('dialog', { name: 'SHARED_LOGIN' });
  await panel.getByText('<b>Ask</b> before use.').waitFor();
  await panel.getByText('owner@example.com').first().waitFor();
  await panel.getByRole('button', { name: 'Edit', exact: true }).click();
  await panel.getByLabel('Note').fill('');
  await panel.getByLabel('Owner').selectOption('none');
  await panel.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Secret updated').first().waitFor();
  const { body } = await ask(page, 'GET', '/v1/secrets?q=SHARED_LOGIN');
  assert.deepEqual([body.data[0].note, body.data[0].owner_id, body.data[0].version], ['', null, 1]);
});

test('a note is shown as Markdown, from which nothing is loaded or run', async () => {
  const note = [
    '**Rotate** it with the [runbook](https://wiki.example/run), not [here](javascript:alert(1)).',
    '- first\n- `second`',
    '<img src=x onerror=alert(1)> ![a picture](https://elsewhere.example/x.png)',
    '| a | b |\n| - | - |\n| 1 | 2 |',
  ].join('\n\n');
  const shown = async (text: string) => {
    const made = {
      vault_id: demo.vaultId,
      name: `NOTE_${text.charCodeAt(0)}_${text.length}`,
      value: 'x',
      note: text,
    };
    const { status, body } = await ask(page, 'POST', '/v1/secrets', made);
    assert.equal(status, 200, JSON.stringify(body));
    await page.goto(`/vaults/${demo.vaultId}/secrets/${body.id}`);
    return page.getByRole('dialog', { name: made.name });
  };
  const panel = await shown(note);
  await panel.getByRole('strong').getByText('Rotate').waitFor();
  const link = panel.getByRole('link', { name: 'runbook' });
  assert.equal(await link.getAttribute('href'), 'https://wiki.example/run');
  assert.match((await link.getAttribute('rel'))!, /noopener noreferrer/);
  await panel.getByText('[here](javascript:alert(1))').waitFor();
  assert.equal(
    await panel
      .getByRole('listitem')
      .filter({ hasText: /^(first|second)$/ })
      .count(),
    2,
  );
  await panel.getByText('<img src=x onerror=alert(1)>').waitFor();
  await panel.getByText('![a picture](https://elsewhere.example/x.png)').waitFor();
  await panel.getByText('| 1 | 2 |').waitFor();
  assert.equal(await panel.locator('img').count(), 0);
  for (const text of ['>'.repeat(4_000), '['.repeat(4_000), `${'- '.repeat(1_000)}x`, '*a '.repeat(1_300)])
    await (await shown(text)).getByRole('heading', { name: 'Note', exact: true }).waitFor();
});

test('its one-time code is shown with the seconds left; a secret without one says why', async () => {
  const { body } = await ask(page, 'GET', '/v1/secrets?q=SHARED_LOGIN');
  await page.goto(`/vaults/${demo.vaultId}/secrets/${body.data[0].id}`);
  await page.getByRole('button', { name: 'Show one-time code' }).click();
  await page.getByText(/^Valid for \d+ s$/).waitFor();
  const shown = await page.locator('[data-value]').innerText();
  assert.match(shown, /^\d{6}$/);
  const { body: log } = await ask(page, 'GET', `/v1/audit-logs?subject_id=${body.data[0].id}&limit=1`);
  assert.equal(log.data[0].action, 'secret.code_shown');
  await page.goto(`/vaults/${demo.vaultId}/secrets/${demo.secretId}`);
  await page.getByRole('button', { name: 'Show one-time code' }).click();
  await page.getByText(/has no one-time code: the value is not an otpauth/).waitFor();
});
