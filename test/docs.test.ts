/** The page for people: the viewer runs from our own files, under a policy that allows no other host. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launch, leave, patience } from './browser/browser.ts';
import { type Service, startService } from './harness.ts';

describe('/docs', () => {
  let service: Service;
  let browser: Browser;

  before(async () => {
    // Built by the browser's start: the look of the page comes with the dashboard, whose files the service reads when it starts.
    browser = await launch();
    service = await startService();
  });
  after(async () => {
    await leave(browser);
    await service.stop();
  });

  it('allows no other host, no frame and no script but its own', async () => {
    const { headers, status } = await service.call('GET', '/docs', undefined, null);
    assert.equal(status, 200);
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /script-src 'self'(;|$)/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /https?:|unsafe-eval/);
  });

  it('shows the operations in a browser, without an error and without a request to anywhere else', async () => {
    const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, colorScheme: 'dark' });
    page.setDefaultTimeout(patience);
    const faults: string[] = [];
    const asked: string[] = [];
    page.on('console', message => message.type() === 'error' && faults.push(message.text()));
    page.on('pageerror', error => faults.push(error.message));
    page.on('request', request => asked.push(request.url()));
    await page.goto(`${service.url}/docs`);
    await page.getByText('Read a vault, or one resource in it').waitFor();
    assert.match(await page.locator('.opblock-tag').first().innerText(), /^vault endpoint/, 'comes first');
    await page.getByText('secrets', { exact: true }).first().click();
    await page.getByText('Create a secret').click();
    await page.getByText('postgres://app@db.internal/app').first().waitFor();
    assert.deepEqual(faults, []);
    const elsewhere = asked.filter(url => !url.startsWith(service.url) && !url.startsWith('data:'));
    assert.deepEqual(elsewhere, []);
    await isLightOrDark(page);
    await page.close();
  });
});

/** As the system is, unless another theme was chosen in the dashboard. */
async function isLightOrDark(page: Page): Promise<void> {
  const red = () =>
    page.evaluate<number>(
      'Number(getComputedStyle(document.documentElement).backgroundColor.match(/[0-9]+/)[0])',
    );
  assert.ok((await red()) < 40, 'dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.locator('html[data-theme=light]').waitFor();
  assert.ok((await red()) > 240, 'light');
  await page.evaluate(`localStorage.setItem('strongroom-theme', 'light')`);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.evaluate('apply()');
  assert.ok((await red()) > 240, 'light, as was chosen');
}
