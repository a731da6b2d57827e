/** Stages in the dashboard: what is missing or different from one vault to the next, and copied in either direction. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ask, type Fresh, launch, leave, open, setUp, startFresh } from './browser.ts';

let browser: Browser;
let service: Fresh;
let page: Page;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
  ({ page } = await open(browser, service.dashboardUrl));
  await setUp(page, service);
});
after(async () => {
  await leave(browser);
  await service.stop();
});

async function vault(name: string, values: Record<string, string> = {}): Promise<string> {
  const { body } = await ask(page, 'POST', '/v1/vaults', { name });
  const items = Object.entries(values).map(([key, value]) => ({ vault_id: body.id, name: key, value }));
  if (items.length > 0) await ask(page, 'POST', '/v1/secrets/bulk', { items });
  return body.id as string;
}
const row = (name: string) => page.getByRole('row', { name: new RegExp(`(^|Select )${name}\\b`) });
const cells = async (name: string) =>
  (await row(name).getByRole('cell').allInnerTexts()).map(text => text.split('\n')[0]!.trim());
async function valueIn(vaultId: string, name: string): Promise<string> {
  const { body } = await ask(page, 'GET', `/v1/secrets?vault_id=${vaultId}&q=${name}`);
  const id = body.data.find((one: { name: string }) => one.name === name).id;
  return (await ask(page, 'POST', `/v1/secrets/${id}/reveal`, {})).body.value;
}
const inDialog = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true });

/** Counts the clicks of a person. */
function counting(): { click: (what: ReturnType<Page['getByRole']>) => Promise<void>; clicks: () => number } {
  let clicks = 0;
  return {
    click: async what => {
      clicks += 1;
      await what.click();
    },
    clicks: () => clicks,
  };
}

test('where there is nothing to compare with, the page says so', async () => {
  await page.goto('/compare');
  await page.getByText('No vaults to compare').waitFor();
  await vault('alone');
  await page.reload();
  await page.getByText('There is only one vault').waitFor();
  assert.equal(await page.getByRole('combobox', { name: 'Stage' }).count(), 0);
});

test('vaults are compared, put in order and saved as a stage', async () => {
  const staging = await vault('shop-staging', { SAME: 'never shown', OTHER: 'one', NEW: 'brand new' });
  const live = await vault('shop-live', { SAME: 'never shown', OTHER: 'two', OLD: 'only there' });
  await page.goto('/compare');
  await page.getByText('For example, staging and production').waitFor();
  const chosen = page.getByRole('combobox', { name: 'Vaults, from left to right' });
  for (const name of ['shop-live', 'shop-staging']) {
    await chosen.fill(name);
    await page.getByRole('option', { name }).click();
  }
  await page.getByRole('button', { name: 'Move shop-staging to the left' }).click();
  await row('NEW').getByText('missing').waitFor();
  await page.getByRole('button', { name: 'Move shop-live to the left' }).waitFor();
  assert.deepEqual(await cells('NEW'), ['present', 'missing']);
  assert.deepEqual(await cells('OLD'), ['missing', 'present']);
  assert.deepEqual(await cells('OTHER'), ['different', 'different']);
  assert.deepEqual(await cells('SAME'), ['same', 'same']);
  assert.ok(!(await page.content()).includes('never shown'));
  await page.getByRole('button', { name: 'Save as stage' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('shop');
  await page.getByRole('button', { name: 'Create stage' }).click();
  await page.getByText('Stage “shop” created').first().waitFor();
  const { body } = await ask(page, 'GET', '/v1/stages');
  assert.deepEqual([body.data[0].name, body.data[0].vault_ids], ['shop', [staging, live]]);
});

for (const [name, from, to] of [
  ['NEW', 'shop-staging', 'shop-live'],
  ['OLD', 'shop-live', 'shop-staging'],
] as const)
  test(`a secret that ${to} lacks is copied there from ${from} in three clicks`, async () => {
    const { body } = await ask(page, 'GET', `/v1/vaults?q=${to}`);
    const [{ id: target }] = body.data;
    await page.goto('/vaults');
    const { click, clicks } = counting();
    await click(page.getByRole('link', { name: 'Compare', exact: true }));
    await click(page.getByRole('button', { name: `Copy ${name} from ${from} to ${to}` }));
    await click(inDialog('Copy'));
    await page.getByText(`${name} copied to ${to}`).first().waitFor();
    await row(name).getByText('same').first().waitFor();
    assert.deepEqual(await cells(name), ['same', 'same']);
    assert.equal(clicks(), 3);
    assert.equal(await valueIn(target, name), name === 'NEW' ? 'brand new' : 'only there');
  });

test('a different value is copied to the left as well, and the page says what happens', async () => {
  await page.goto('/compare');
  await page.getByRole('button', { name: 'Copy OTHER from shop-live to shop-staging' }).click();
  await page.getByRole('dialog').getByText('1 secret gets a new version.').waitFor();
  await inDialog('Copy').click();
  await row('OTHER').getByText('same').first().waitFor();
  const { body } = await ask(page, 'GET', '/v1/vaults?q=shop-staging');
  assert.equal(await valueIn(body.data[0].id, 'OTHER'), 'two');
});

test('what the last vault lacks is a warning; several are selected and copied at once', async () => {
  const { body } = await ask(page, 'GET', '/v1/stages');
  const [staging, live] = body.data[0].vault_ids as [string, string];
  const items = ['FIRST', 'SECOND', 'THIRD'].map(name => ({ vault_id: staging, name, value: name }));
  await ask(page, 'POST', '/v1/secrets/bulk', { items });
  await page.goto('/compare');
  await page.getByText('3 secrets are missing in shop-live.').waitFor();
  await page.getByRole('button', { name: 'Show them' }).click();
  await row('SAME').waitFor({ state: 'detached' });
  await page.getByLabel('Select all on this page').check();
  await page.getByLabel('Select SECOND').uncheck();
  await page.getByText('2 selected').waitFor();
  await page.getByRole('button', { name: 'Copy…' }).click();
  await page.getByRole('dialog').getByText('2 secrets are created in shop-live.').waitFor();
  await inDialog('Copy').click();
  await page.getByText('2 secrets copied to shop-live').first().waitFor();
  await row('FIRST').waitFor({ state: 'detached' });
  await row('SECOND').waitFor(); // The table is drawn anew.
  assert.deepEqual(await cells('SECOND'), ['present', 'missing']);
  assert.deepEqual([await valueIn(live, 'FIRST'), await valueIn(live, 'THIRD')], ['FIRST', 'THIRD']);
});

test('an expired secret is neither the same nor different, and a secret is renamed in all vaults', async () => {
  const { body } = await ask(page, 'GET', '/v1/stages');
  const [, live] = body.data[0].vault_ids as [string, string];
  const { body: found } = await ask(page, 'GET', `/v1/secrets?vault_id=${live}&q=SAME`);
  await ask(page, 'PUT', `/v1/secrets/${found.data[0].id}`, { enabled: false });
  await page.goto('/compare?show=different');
  await row('SAME').getByText('disabled').waitFor();
  assert.deepEqual(await cells('SAME'), ['present', 'disabled']);
  assert.equal(
    await page.getByRole('button', { name: 'Copy SAME from shop-staging to shop-live' }).count(),
    0,
  );
  await page.goto('/compare');
  await page.getByRole('button', { name: 'Rename OTHER in all vaults' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('ANOTHER');
  await inDialog('Rename').click();
  await page.getByText('OTHER renamed in 2 vaults').first().waitFor();
  await row('ANOTHER').waitFor();
  assert.deepEqual(await cells('ANOTHER'), ['same', 'same']);
});

test('a stage is deleted, and its vaults stay', async () => {
  await page.goto('/compare');
  await page.getByRole('button', { name: 'Delete stage' }).click();
  await inDialog('Delete').click();
  await page.getByText('Stage “shop” deleted').first().waitFor();
  assert.equal((await ask(page, 'GET', '/v1/stages')).body.pagination.total, 0);
  assert.equal((await ask(page, 'GET', '/v1/vaults?q=shop')).body.pagination.total, 2);
});
