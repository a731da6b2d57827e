/** Takes a picture of every page of the dashboard into docs/images/, over a service with demonstration data. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { launch, open, setUp, startFresh } from '../test/browser/browser.ts';
import { type Demo, furnish, read } from '../test/browser/demo.ts';
import { buildChangedWeb } from './build-web.ts';

await buildChangedWeb();

const folder = process.argv[2] ?? 'docs/images';
const wide = { width: 1280, height: 860 };
const phone = { width: 390, height: 844 };

type Shot = readonly [name: string, path: string, prepare?: (page: Page) => Promise<unknown>];

function shotsOf({ vaultId, secretId, keyId, certificateId, webhookId }: Demo): readonly Shot[] {
  const inside = `/vaults/${vaultId}`;
  return [
    ['overview', '/'],
    ['vaults', '/vaults'],
    ['secrets', `${inside}/secrets`],
    [
      'secret',
      `${inside}/secrets/${secretId}`,
      page =>
        page
          .getByRole('button', { name: /^Compare/ })
          .first()
          .click(),
    ],
    ['secret-new', `${inside}/secrets`, page => page.getByRole('button', { name: 'New secret' }).click()],
    ['import', `${inside}/secrets`, preview],
    ['keys', `${inside}/keys`],
    ['key', `${inside}/keys/${keyId}`],
    ['certificates', `${inside}/certificates`],
    ['certificate', `${inside}/certificates/${certificateId}`],
    ['vault-access', `${inside}/access`],
    ['trash', `${inside}/trash`],
    ['access-keys', '/access/keys'],
    ['public-tokens', '/access/public-tokens'],
    ['request-log', '/logs/requests'],
    ['audit-log', '/logs/audit'],
    ['webhooks', '/webhooks'],
    ['webhook', `/webhooks/${webhookId}`],
    ['api-keys', '/settings/api-keys'],
    ['members', '/settings/members'],
    ['organization', '/settings/organization'],
    ['security', '/settings/security'],
    ['about', '/settings/about'],
    ['command-palette', '/vaults', search],
  ];
}

async function preview(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Import' }).click();
  await page
    .getByLabel('Paste')
    .fill('DATABASE_URL=postgres://new\nSENTRY_DSN=https://new\nFEATURE_FLAGS_KEY=abc\n');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('Change', { exact: true }).first().waitFor();
}

async function search(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('stripe');
  await page.getByRole('option').nth(1).waitFor();
}

async function shoot(page: Page, [name, path, prepare]: Shot, suffix = ''): Promise<void> {
  await page.goto(path);
  await page.waitForLoadState('networkidle');
  await prepare?.(page);
  await page.waitForTimeout(150);
  await page.screenshot({ path: join(folder, `${name}${suffix}.png`), animations: 'disabled' });
}

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
  for (const shot of shotsOf(demo)) await shoot(page, shot);
  await page.emulateMedia({ colorScheme: 'dark' });
  for (const shot of shotsOf(demo).filter(([name]) => ['overview', 'secret', 'request-log'].includes(name)))
    await shoot(page, shot, '-dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(phone);
  for (const shot of shotsOf(demo).filter(([name]) => ['overview', 'secrets', 'secret'].includes(name)))
    await shoot(page, shot, '-phone');
  const { page: outside } = await open(browser, service.dashboardUrl, { viewport: wide });
  await shoot(outside, ['sign-in', '/sign-in']);
} finally {
  await browser.close();
  await service.stop();
}
process.exit();
