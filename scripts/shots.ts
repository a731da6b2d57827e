/** The states of the dashboard for screenshots, and how to reach each. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { settle } from '../test/browser/browser.ts';
import type { Demo } from '../test/browser/demo.ts';

export type Shot = readonly [name: string, path: string, prepare?: (page: Page) => Promise<unknown>];

const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();

/** The screenshots in the documentation. */
export function shotsOf({ vaultId, secretId, keyId, certificateId, webhookId }: Demo): readonly Shot[] {
  const inside = `/vaults/${vaultId}`;
  return [
    ['overview', '/'],
    ['vaults', '/vaults'],
    ['secrets', `${inside}/secrets`],
    ['secret', `${inside}/secrets/${secretId}`, press(/^Compare/)],
    ['secret-new', `${inside}/secrets`, press('New secret')],
    ['import', `${inside}/secrets`, preview],
    ['keys', `${inside}/keys`],
    ['key', `${inside}/keys/${keyId}`],
    ['certificates', `${inside}/certificates`],
    ['certificate', `${inside}/certificates/${certificateId}`],
    ['vault-access', `${inside}/access`],
    ['vault-activity', `${inside}/activity`],
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

/** The other pages and open states, which are only in the matrix. */
export function moreShotsOf(demo: Demo, stages: readonly string[]): readonly Shot[] {
  const { vaultId, secretId, identityId, roleId } = demo;
  const inside = `/vaults/${vaultId}`;
  return [
    [
      'secrets-selected',
      `${inside}/secrets`,
      page => page.getByLabel('Select all on this page').check({ timeout: 5_000 }),
    ],
    ['secret-revealed', `${inside}/secrets/${secretId}`, press('Reveal value')],
    [
      'secret-edit',
      `${inside}/secrets/${secretId}`,
      page => page.getByRole('dialog').getByRole('button', { name: 'Edit', exact: true }).click(),
    ],
    ['people', `${inside}/people`],
    ['compare', `/compare?vaults=${stages.join(',')}`],
    ['access-key-new', '/access/keys', press('New access key')],
    ['identities', '/identities'],
    ['identity', `/identities/${identityId}`],
    ['identity-secret-ids', `/identities/${roleId}`],
    ['approvals', '/approvals'],
    ['request-entry', '/logs/requests', page => page.locator('tbody button').first().click()],
    ['groups', '/settings/groups'],
    ['api-key-new', '/settings/api-keys', press('Generate New Key')],
    ['nowhere', '/nowhere'],
    ['docs', '/docs', page => page.waitForTimeout(1_500)],
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

export async function shoot(page: Page, folder: string, [name, path, prepare]: Shot, suffix = '') {
  await settle(page, () => page.goto(path));
  await prepare?.(page);
  await page.waitForTimeout(150);
  await page.screenshot({ path: join(folder, `${name}${suffix}.png`), animations: 'disabled' });
}
