/** Daily tasks of a person with many secrets, one after the other, with one browser and one service. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { eventually } from '../harness.ts';
import { ask, type Fresh, launch, leave, open, proveAgain, setUp, startFresh, type Walk } from './browser.ts';
import { type Demo, furnish, read } from './demo.ts';

let browser: Browser;
let service: Fresh;
let walk: Walk;
let page: Page;
let demo: Demo;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh([], {}, 1)]);
  walk = await open(browser, service.dashboardUrl, { permissions: ['clipboard-read', 'clipboard-write'] });
  page = walk.page;
  await setUp(page, service);
});
after(async () => {
  await leave(browser);
  await service.stop();
});

const inVault = (tab: string) => `/vaults/${demo.vaultId}/${tab}`;

test('the first run continues after a reload: what was stored is kept, and a new access key is created', async () => {
  await page.getByLabel('Value').fill('first');
  await page.getByRole('button', { name: 'Create secret' }).click();
  await page.locator('[data-token]').waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Read DATABASE_URL' }).waitFor();
  await page.getByRole('button', { name: 'Create access key' }).click();
  await page.getByRole('button', { name: 'Try it: curl command' }).click();
  await page.getByText('Read “production”: DATABASE_URL.').waitFor();
  demo = await furnish(page);
  await read(page, service, demo);
});

test('an import shows unchanged secrets and skipped lines, and uses the last duplicate unless another is chosen', async () => {
  await page.goto(inVault('secrets'));
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByLabel('Paste').fill('REDIS_URL=value-of-REDIS_URL\nTWICE=one\nnonsense\nTWICE=two\n');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('Skipped line 3: not in the form NAME=value.').waitFor();
  await page
    .getByRole('row', { name: /REDIS_URL/ })
    .getByText('unchanged')
    .waitFor();
  const twice = page.getByRole('checkbox', { name: 'Import TWICE' });
  assert.deepEqual([await twice.nth(0).isChecked(), await twice.nth(1).isChecked()], [false, true]);
  await twice.nth(0).check();
  assert.equal(await twice.nth(1).isChecked(), false, 'only one of the two');
  await page.getByRole('button', { name: 'Import 1 of 3' }).click();
  await page.getByRole('link', { name: 'TWICE' }).waitFor();
  const { body } = await ask(page, 'GET', `/v1/secrets?vault_id=${demo.vaultId}&q=TWICE`);
  assert.equal((await ask(page, 'POST', `/v1/secrets/${body.data[0].id}/reveal`, {})).body.value, 'one');
});

test('closing a token that is shown once asks for confirmation, and an expiry in the past is refused', async () => {
  await page.goto(inVault('access'));
  await page.getByRole('button', { name: 'New access key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('asks');
  await page.getByLabel('Expires').fill('2020-01-01T00:00');
  await page.getByRole('button', { name: 'Create access key' }).click();
  await page.getByText('Expires must be in the future.').waitFor();
  await page.getByLabel('Expires').fill('');
  await page.getByRole('button', { name: 'Create access key' }).click();
  await proveAgain(page);
  await page.locator('[data-token]').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('You haven’t copied the access key.').waitFor();
  await page.getByRole('button', { name: 'Keep open' }).click();
  await page.getByRole('button', { name: 'Copy access key' }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('[data-token]').waitFor({ state: 'detached' });
});

test('a key that is not exportable is still shown as private, and its public token comes with an example', async () => {
  const { body } = await ask(page, 'POST', '/v1/keys', {
    vault_id: demo.vaultId,
    name: 'kept-inside',
    generate: { key_type: 'EC', curve: 'P-256' },
    exportable: false,
  });
  await page.goto(inVault(`keys/${body.id}`));
  const panel = page.getByRole('dialog', { name: 'kept-inside' });
  await panel.getByText('private, not exportable').waitFor();
  await panel.getByRole('button', { name: 'Rotate' }).waitFor();
  await panel.getByRole('button', { name: 'Signing request' }).waitFor();
  await panel.getByRole('button', { name: 'Share the public key' }).click();
  await page.getByRole('button', { name: 'Create token' }).click();
  const line = await page.getByRole('region', { name: 'curl command' }).innerText();
  const [, address, token] = /^curl (\S+) [\s\S]*Bearer ([^']+)'/.exec(line)!;
  const answer = await fetch(address!.replace(service.dashboardUrl, service.url), {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(await answer.text(), body.public_pem);
});

test('a failing webhook is shown as failing, and its deliveries name it and the resource', async () => {
  await page.goto('/webhooks');
  const { body } = await ask(page, 'POST', '/v1/webhooks', {
    url: 'https://nobody.invalid/hook',
    name: 'nobody there',
    events: ['resource.created'],
  });
  await ask(page, 'POST', '/v1/secrets', { vault_id: demo.vaultId, name: 'TOLD_OF', value: 'x' });
  const address = `/v1/webhooks/${body.id}`;
  await eventually(
    'the webhook is failing',
    async () => (await ask(page, 'GET', address)).body.failing_since !== null,
  );
  await page.goto('/webhooks');
  await page.getByText('failing since').waitFor();
  const row = page.locator('summary', { hasText: 'Something was created' }).first();
  await row.getByText('TOLD_OF').waitFor();
  await row.getByText('nobody there').waitFor();
  await ask(page, 'DELETE', address);
});

test('the request log is filtered by access key; an entry shows why it was refused, and can be verified', async () => {
  const key = await ask(page, 'POST', '/v1/access-keys', {
    vault_id: demo.vaultId,
    name: 'office only',
    cidrs: ['10.0.0.0/8'],
  });
  const address = `${service.url}/api/v1/vaults/${demo.vaultId}`;
  await fetch(address, { headers: { authorization: `Bearer ${key.body.token}` } });
  await page.goto('/logs/requests');
  await page.getByRole('combobox', { name: 'Access key' }).fill('office');
  await page.getByRole('option', { name: 'office only' }).click();
  await page.waitForURL(/access_key_id=/);
  await page.getByText('1 total').waitFor();
  await page.locator('tbody button').first().click();
  const entry = page.getByRole('dialog', { name: 'Request' });
  await entry.getByText('The address is outside the access key’s networks.').waitFor();
  await entry.getByText('10.0.0.0/8').waitFor();
  await entry.getByRole('button', { name: 'Verify' }).click();
  await entry.getByText('The entry has this receipt.').waitFor();
});

test('one click on a secret’s panel shows who has read its current version', async () => {
  await page.goto(inVault(`secrets/${demo.secretId}`));
  await page.getByRole('button', { name: 'Show who has read it' }).click();
  const readers = page.getByRole('table', { name: 'Readers' });
  await readers.getByRole('link', { name: 'payments-api' }).click();
  await page.waitForURL(/logs\/requests\?access_key_id=/);
});

test('the audit log is filtered by actor and action, and merges repeated entries', async () => {
  for (let times = 0; times < 3; times++) await ask(page, 'POST', `/v1/secrets/${demo.secretId}/reveal`, {});
  await page.goto('/logs/audit');
  await page.getByLabel('Action').selectOption('secret.revealed');
  await page.getByLabel('Actor').selectOption('owner@example.com');
  await page
    .getByRole('row', { name: /DATABASE_URL/ })
    .first()
    .getByText('× 3')
    .waitFor();
});

test('an edit starts with the value and creates one version; JSON and YAML are checked; a value is generated', async () => {
  await page.goto(inVault(`secrets/${demo.secretId}`));
  const panel = page.getByRole('dialog', { name: 'DATABASE_URL' });
  await panel.getByRole('button', { name: 'Edit', exact: true }).click();
  const value = panel.getByRole('textbox', { name: 'Value' });
  assert.match(await value.inputValue(), /^postgres:\/\/app:second.*\npool=20$/);
  assert.equal(await page.getByRole('dialog').count(), 1, 'no dialog above another');
  await value.fill('{"port": 5432,\n}');
  await panel.getByText('Not valid JSON').waitFor();
  await value.fill('{"port": 5432}');
  await panel.getByText('Not valid JSON').waitFor({ state: 'detached' });
  await panel.getByLabel('Content type').fill('application/yaml');
  await value.fill('port: 5432\n  host: db\n');
  await panel.getByText('Not valid YAML, at line 1, column 7.').waitFor();
  await value.fill('port: 5432\nhost: db\n');
  await panel.getByText('Not valid YAML').waitFor({ state: 'detached' });
  await panel.getByLabel('Content type').fill('text/plain');
  await panel.getByRole('button', { name: 'Generate a value' }).click();
  await panel.getByLabel('Format').selectOption('hex');
  await panel.getByLabel('Length').fill('40');
  await panel.getByRole('button', { name: 'Generate', exact: true }).click();
  assert.match(await value.inputValue(), /^[0-9a-f]{40}$/);
  await panel.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Secret updated').first().waitFor();
  await panel.getByText('v4').waitFor();

  await panel.getByRole('button', { name: 'Reveal value' }).click();
  await panel.locator('[data-value]').waitFor();
  await panel.getByRole('button', { name: 'Delete' }).click();
  await panel.locator('[data-value]').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Cancel' }).click();
});

test('many secrets are sorted, selected, tagged, disabled, exported and moved together', async () => {
  const { body: made } = await ask(page, 'POST', '/v1/vaults', { name: 'crowded' });
  const names = Array.from({ length: 60 }, (_, at) => `SETTING_NUMBER_${String(at).padStart(2, '0')}`);
  const items = names.map(name => ({ vault_id: made.id, name, value: `a "${name}"` }));
  await ask(page, 'POST', '/v1/secrets/bulk', { items });
  await page.goto(`/vaults/${made.id}/secrets?size=50`);
  // By name is the order to begin with.
  const first = page.locator('tbody tr').first();
  await first.getByRole('link', { name: 'SETTING_NUMBER_00' }).waitFor();
  assert.equal(await page.getByRole('columnheader', { name: 'Name' }).getAttribute('aria-sort'), 'ascending');
  assert.equal(await page.locator('tbody tr').count(), 50);
  await page.getByLabel('Per page').selectOption('100');
  await page.getByRole('link', { name: 'SETTING_NUMBER_59' }).waitFor();

  await page.getByLabel('Select SETTING_NUMBER_00').check();
  await page.getByLabel('Select SETTING_NUMBER_01').check();
  const bar = page.getByRole('region', { name: 'Selected secrets' });
  await bar.getByText('2 selected').waitFor();
  await bar.getByRole('button', { name: 'Tag' }).click();
  await page.getByRole('textbox', { name: /^Tags/ }).fill('team=web');
  await page.getByRole('button', { name: 'Add tags' }).click();
  await page.getByText('2 secrets tagged').first().waitFor();
  await page.goto(`/vaults/${made.id}/secrets?sort=name&tag=team%3Dweb`);
  await page.getByText('2 total').waitFor();

  await page.getByLabel('Select all on this page').check();
  await bar.getByRole('button', { name: 'Export .env' }).click();
  const saved = page.waitForEvent('download');
  await page.getByRole('dialog').getByRole('button', { name: 'Export' }).click();
  const file = readFileSync((await (await saved).path())!, 'utf8');
  assert.equal(
    file,
    names
      .slice(0, 2)
      .map(name => `${name}="a \\"${name}\\""\n`)
      .join(''),
  );
  await bar.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('2 secrets disabled').first().waitFor();
  await page
    .getByRole('row', { name: /SETTING_NUMBER_00/ })
    .getByText('disabled')
    .last()
    .waitFor();

  await page.getByLabel('Select SETTING_NUMBER_01').check();
  await bar.getByRole('button', { name: 'Move' }).click();
  await page.getByRole('combobox', { name: 'Vault' }).fill('website');
  await page.getByRole('option', { name: 'website-production' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click();
  await page.getByText('1 secret moved').first().waitFor();
  const found = await ask(page, 'GET', '/v1/secrets?q=SETTING_NUMBER_01');
  assert.notEqual(found.body.data[0].vault_id, made.id);
  const audited = await ask(page, 'GET', '/v1/audit-logs?action=secret.copied');
  assert.equal(audited.body.data[0].subject.name, 'SETTING_NUMBER_01');
});

test('the palette finds access keys, people, webhooks, tags and actions, and shows which vault a resource is in', async () => {
  await page.goto('/');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByText('secret in payments-production').first().waitFor();
  const find = async (text: string, option: RegExp) => {
    await page.getByRole('combobox', { name: 'Search by name' }).fill(text);
    await page.getByRole('option', { name: option }).first().waitFor();
  };
  await page.keyboard.press('Control+k');
  await find('reporting', /reporting job.*access key in payments-production/);
  await find('grace@', /grace@example.com.*member/);
  await find('hooks.example', /webhook/);
  await find('deploy', /deploy pipeline.*identity/);
  await find('provider=stripe', /STRIPE_WEBHOOK_SECRET.*secret with this tag in payments-production/);
  await find('new access', /New access key.*action/);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'New access key' }).waitFor();
});

test('when several secrets are deleted, failures are named with the reason and stay selected', async () => {
  const { body: made } = await ask(page, 'POST', '/v1/vaults', { name: 'deleting' });
  const items = ['GOES', 'GONE_BEFORE'].map(name => ({ vault_id: made.id, name, value: 'x' }));
  const { body } = await ask(page, 'POST', '/v1/secrets/bulk', { items });
  await page.goto(`/vaults/${made.id}/secrets`);
  await page.getByLabel('Select all on this page').check();
  await ask(page, 'DELETE', `/v1/secrets/${body.results[1].secret.id}`);
  await page
    .getByRole('region', { name: 'Selected secrets' })
    .getByRole('button', { name: 'Delete' })
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page
    .getByText(/^1 of 2 secrets deleted\..* Not done: GONE_BEFORE: \w/)
    .first()
    .waitFor();
  await page.getByText('1 selected').waitFor();
});

/** Counts the mouse clicks that a task takes from the overview; the keyboard doesn't count. */
async function clicksOf(walkThrough: () => Promise<void>): Promise<number> {
  await page.goto('/');
  await page.getByRole('heading', { name: 'Busiest vaults' }).waitFor();
  await page.evaluate(`
    window.clicks = 0;
    addEventListener('click', event => { if (event.isTrusted && event.detail > 0) window.clicks++; }, true);
  `);
  await walkThrough();
  return page.evaluate<number>('window.clicks');
}

async function inPalette(name: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.keyboard.type(name);
  await page.getByRole('option', { name: new RegExp(`^${name} ?secret`) }).click();
}

async function byMouse(): Promise<void> {
  await page
    .getByRole('link', { name: /^payments-production/ })
    .first()
    .click();
  await page.getByRole('link', { name: 'REDIS_URL', exact: true }).click();
}

const revealed = async () => {
  await page.getByRole('button', { name: 'Reveal value' }).click();
  await page.locator('[data-value]').waitFor();
};

test('from the overview, a value is revealed with 2 or 3 clicks, copied with 2, and changed with 4', async () => {
  const byPalette = await clicksOf(async () => {
    await inPalette('REDIS_URL');
    await revealed();
  });
  assert.equal(byPalette, 2);
  const byLinks = await clicksOf(async () => {
    await byMouse();
    await revealed();
  });
  assert.equal(byLinks, 3);
  const copied = await clicksOf(async () => {
    await inPalette('REDIS_URL');
    await page.getByRole('button', { name: 'Copy value' }).click();
    await page.getByText('Copied', { exact: true }).first().waitFor();
  });
  assert.equal(copied, 2);
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'value-of-REDIS_URL');
  const changed = await clicksOf(async () => {
    await byMouse();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('textbox', { name: 'Value' }).fill('changed with four');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'Reveal value' }).waitFor();
  });
  assert.equal(changed, 4);
});

test('deleting a vault shows what depends on it and asks for its name; it can be restored from the trash', async () => {
  await page.goto('/vaults');
  await page
    .getByRole('row', { name: /payments-production/ })
    .getByText(/10 secrets, 4 keys, 1 certificate/)
    .waitFor();
  await page.goto(inVault('secrets'));
  await page.getByRole('button', { name: 'Delete vault' }).click();
  const asked = page.getByRole('dialog');
  await asked.getByText('10 secrets, 4 keys, 1 certificate').waitFor();
  await asked.getByText('1 access key used in the last 30 days: payments-api').waitFor();
  const confirm = asked.getByRole('button', { name: 'Delete vault' });
  assert.ok(await confirm.isDisabled());
  await asked.getByLabel('Type “payments-production” to confirm').fill('payments-production');
  await confirm.click();
  await page.waitForURL('**/vaults');
  await page.getByRole('link', { name: 'Trash' }).click();
  await page.getByText('30 days left').waitFor();
  await page.getByRole('button', { name: 'Restore payments-production' }).click();
  await page.getByText('No deleted vaults').waitFor();
  await page.goto(inVault('secrets'));
  await page.getByRole('link', { name: 'REDIS_URL' }).waitFor();
});

test('the pages cause no errors under the strict Content-Security-Policy', () => {
  assert.deepEqual(walk.complaints, []);
});
