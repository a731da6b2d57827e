/** The overview says what needs attention, and charts lead to the entries behind them, also by the keyboard. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { callService } from '../harness.ts';
import { ask, type Fresh, launch, leave, open, setUp, startFresh } from './browser.ts';

const day = 86_400_000;

describe('attention and pictures', () => {
  let service: Fresh;
  let browser: Browser;
  let page: Page;
  let vaultId: string;
  let token: string;

  before(async () => {
    service = await startFresh();
    browser = await launch();
    ({ page } = await open(browser, service.dashboardUrl));
    await setUp(page, service);
    vaultId = (await ask(page, 'POST', '/v1/vaults', { name: 'production' })).body.id;
    const accessKey = { vault_id: vaultId, name: 'api', names: ['A*'] };
    token = (await ask(page, 'POST', '/v1/access-keys', accessKey)).body.token;
  });
  after(async () => {
    await leave(browser);
    await service.stop();
  });

  const read = (query = '') =>
    callService(service.url, 'GET', `/api/v1/vaults/self${query}`, undefined, token);
  const attention = () =>
    page.locator('section', { has: page.getByRole('heading', { name: 'Needs attention' }) });

  it('an expiring secret is on the overview, and gone once it has a new value, in two clicks and a field', async () => {
    const expiration_date = new Date(service.clock.now() + 3 * day).toISOString();
    const body = { vault_id: vaultId, name: 'A_TOKEN', value: 'old', expiration_date };
    await ask(page, 'POST', '/v1/secrets', body);
    await page.goto('/');
    const line = attention().getByRole('listitem').filter({ hasText: 'A_TOKEN' });
    await line.getByText('expires in 3 days').waitFor();
    await line.getByRole('link', { name: 'Set a new value' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Expires').fill('in 60 days');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Updated').first().waitFor();
    await page.goto('/');
    await attention().waitFor();
    assert.equal(await line.count(), 0);
  });

  it('the reason of a 403 is in the log, two clicks from the overview', async () => {
    await read();
    await read('?secrets=names');
    await read('?name=B_TOKEN');
    await page.goto('/');
    await page.getByRole('link', { name: /refused$/ }).click();
    await page.waitForURL(/success=false/);
    await page.getByText('Nothing has this ID, name or path.').waitFor();
    assert.equal(await page.getByRole('table', { name: 'Request log' }).locator('tbody tr').count(), 1);
  });

  it('a chart is read and opened by the keyboard, and has its numbers in a table', async () => {
    await page.goto('/');
    const chart = page.getByRole('slider', { name: 'Reads in the last 24 hours' });
    await chart.focus();
    await page.keyboard.press('End');
    assert.match((await chart.getAttribute('aria-valuetext'))!, /: 2 succeeded, 1 refused$/);
    const cells = page.getByRole('table', { name: 'Reads in the last 24 hours' }).getByRole('cell');
    const numbers = (await cells.allTextContents()).map(Number);
    assert.deepEqual(numbers.slice(-2), [2, 1]);
    assert.equal(numbers.length, 48);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/logs\/requests\?from=.*&to=/);
    await page.getByText('A_TOKEN').or(page.getByText('secrets')).first().waitFor();
  });

  it('dragging over the histogram limits the log to that time', async () => {
    await page.goto('/logs/requests');
    const chart = page.getByRole('slider', { name: 'Requests in the last 24 hours' });
    await chart.waitFor();
    const { x, y, width, height } = (await chart.boundingBox())!;
    await page.mouse.move(x + width * 0.1, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.5, y + height / 2, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=.*to=/);
    await page.getByText('No requests match the filter').waitFor();
  });

  it('a vault shows which access keys read which secrets', async () => {
    await page.goto(`/vaults/${vaultId}/activity`);
    const row = page.getByRole('row', { name: /^A_TOKEN/ });
    await row.getByRole('link', { name: '1', exact: true }).waitFor();
    await page.getByRole('link', { name: /^A_TOKEN, changed/ }).waitFor();
    await row.getByRole('link', { name: '1', exact: true }).click();
    await page.waitForURL(/access_key_id=/);
  });

  it('Escape asks before it throws away what was typed', async () => {
    await page.goto(`/vaults/${vaultId}/secrets`);
    await page.getByRole('button', { name: 'New secret' }).first().click();
    const name = page.getByRole('dialog').getByLabel('Name', { exact: true });
    await name.fill('HALF_TYPED');
    await page.keyboard.press('Escape');
    await page.getByText('What you typed is not saved.').waitFor();
    await page.getByRole('button', { name: 'Keep editing' }).click();
    assert.equal(await name.inputValue(), 'HALF_TYPED');
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});
