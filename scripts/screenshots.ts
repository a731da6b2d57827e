/** Takes screenshots of the dashboard's pages into docs/images/, with demonstration data. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launch, open, setUp, startFresh } from '../test/browser/browser.ts';
import { furnish, read } from '../test/browser/demo.ts';
import { buildChangedWeb } from './build-web.ts';
import { shoot, shotsOf } from './shots.ts';

await buildChangedWeb();

const folder = process.argv[2] ?? 'docs/images';
const wide = { width: 1280, height: 860 };
const phone = { width: 390, height: 844 };

mkdirSync(folder, { recursive: true });
const service = await startFresh([], {}, 24);
const browser = await launch();
try {
  const { page } = await open(browser, service.dashboardUrl, {
    viewport: wide,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  await page.goto(service.setupUrl!);
  await page.getByLabel('Email').fill('owner@example.com');
  await page.screenshot({ path: join(folder, 'first-run-owner.png') });
  await setUp(page, service);
  await page.getByLabel('Value').fill('postgres://app:hunter2@db/app');
  await page.getByRole('button', { name: 'Create secret' }).click();
  await page.getByRole('button', { name: 'Try it: curl command' }).click();
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(folder, 'first-run-read.png'), fullPage: true });
  const demo = await furnish(page);
  await read(page, service, demo);
  for (const shot of shotsOf(demo)) await shoot(page, folder, shot);
  await page.emulateMedia({ colorScheme: 'dark' });
  for (const shot of shotsOf(demo).filter(([name]) => ['overview', 'secret', 'request-log'].includes(name)))
    await shoot(page, folder, shot, '-dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(phone);
  for (const shot of shotsOf(demo).filter(([name]) => ['overview', 'secrets', 'secret'].includes(name)))
    await shoot(page, folder, shot, '-phone');
  const { page: outside } = await open(browser, service.dashboardUrl, { viewport: wide });
  await shoot(outside, folder, ['sign-in', '/sign-in']);
} finally {
  await browser.close();
  await service.stop();
}
process.exit();
