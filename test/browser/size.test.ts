/** The transfer size of a first visit stays small: scripts, styles, fonts and the page. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type Fresh, launch, leave, open, settle, setUp, startFresh } from './browser.ts';

const most = 230_000;
let browser: Browser;
let service: Fresh;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
});
after(async () => {
  await leave(browser);
  await service.stop();
});

async function weigh(page: Page, path: string, heading: string): Promise<number> {
  const network = await page.context().newCDPSession(page);
  await network.send('Network.enable');
  await network.send('Network.setCacheDisabled', { cacheDisabled: true });
  let bytes = 0;
  network.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await settle(page, async () => {
    await page.goto(path);
    await page.getByRole('heading', { name: heading }).waitFor();
  });
  return bytes;
}

test('the sign-in page and the overview each load less than 230 KB', async t => {
  const { page, context } = await open(browser, service.dashboardUrl);
  await setUp(page, service);
  const overview = await weigh(page, '/', 'Overview');
  await context.clearCookies();
  const signIn = await weigh(page, '/sign-in', 'Sign in to Strongroom');
  t.diagnostic(`sign-in ${signIn} bytes, overview ${overview} bytes`);
  assert.ok(signIn > 50_000 && signIn < most, `sign-in: ${signIn}`);
  assert.ok(overview > 50_000 && overview < most, `overview: ${overview}`);
});
