/** Concurrent edits: each form sends only the fields its person changed, and doesn't undo other changes. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { ask, type Fresh, launch, leave, open, setUp, startFresh } from './browser.ts';
import { type Demo, furnish } from './demo.ts';

let browser: Browser;
let service: Fresh;
let page: Page;
let demo: Demo;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
  ({ page } = await open(browser, service.dashboardUrl));
  await setUp(page, service);
  demo = await furnish(page);
  await ask(page, 'POST', '/v1/use-rules', {
    secret_id: demo.secretId,
    name: 'issues',
    hosts: ['api.github.com'],
    methods: ['GET'],
    paths: ['/repos/acme/**'],
    place: { type: 'bearer' },
  });
  await ask(page, 'POST', '/v1/use-rules', {
    key_id: demo.keyId,
    name: 'tokens',
    operations: ['sign'],
    algorithms: ['ES256'],
    jwt: { issuer: 'https://acme.example', audiences: ['bank'], longest_lifetime: 600 },
  });
  const vault_ids = [demo.otherVaultId, demo.vaultId];
  await ask(page, 'POST', '/v1/stages', { name: 'payments', vault_ids });
});
after(async () => {
  await leave(browser);
  await service.stop();
});

interface Edit {
  /** The form's file name. */
  readonly form: string;
  readonly path: (made: Demo) => string;
  readonly edit: (page: Page) => Locator;
  readonly record: (made: Demo) => Promise<string>;
  /** What another person sends while the form is open. */
  readonly theirs: (made: Demo) => object;
  /** The resulting fields, if they differ from what was sent. */
  readonly left?: (made: Demo) => object;
}

async function named(collection: string, name: string): Promise<string> {
  const { body } = await ask(page, 'GET', `/v1/${collection}?limit=100`);
  const { id } = body.data.find((one: { name: string }) => one.name === name);
  return `/v1/${collection}/${id}`;
}

const inPanel = (on: Page) => on.getByRole('dialog').getByRole('button', { name: 'Edit', exact: true });
const button = (name: string) => (on: Page) => on.getByRole('button', { name, exact: true });
const inVault = (part: (made: Demo) => string) => (made: Demo) => `/vaults/${made.vaultId}/${part(made)}`;

const edits: readonly Edit[] = [
  {
    form: 'vault-form',
    path: inVault(() => 'secrets'),
    edit: button('Edit'),
    record: async ({ vaultId }) => `/v1/vaults/${vaultId}`,
    theirs: () => ({ description: 'changed meanwhile' }),
  },
  {
    form: 'secret-form',
    path: inVault(({ secretId }) => `secrets/${secretId}`),
    edit: inPanel,
    record: async ({ secretId }) => `/v1/secrets/${secretId}`,
    theirs: () => ({ tags: { changed: 'meanwhile' } }),
  },
  {
    form: 'key-form',
    path: inVault(({ keyId }) => `keys/${keyId}`),
    edit: inPanel,
    record: async ({ keyId }) => `/v1/keys/${keyId}`,
    theirs: () => ({ expiration_date: '2031-01-01T00:00:00.000Z' }),
  },
  {
    form: 'certificate-form',
    path: inVault(({ certificateId }) => `certificates/${certificateId}`),
    edit: inPanel,
    record: async ({ certificateId }) => `/v1/certificates/${certificateId}`,
    theirs: () => ({ key_id: null }),
  },
  {
    form: 'use-rule-form',
    path: inVault(({ secretId }) => `secrets/${secretId}`),
    edit: button('Edit issues'),
    record: () => named('use-rules', 'issues'),
    theirs: () => ({ paths: ['/repos/acme/shop/**'] }),
  },
  {
    form: 'key-rule-form',
    path: inVault(({ keyId }) => `keys/${keyId}`),
    edit: button('Edit tokens'),
    record: () => named('use-rules', 'tokens'),
    theirs: () => ({ approval: 'never' }),
  },
  {
    form: 'access-key-form',
    path: () => '/access/keys',
    edit: button('Edit reporting job'),
    record: () => named('access-keys', 'reporting job'),
    theirs: () => ({ cidrs: ['10.9.0.0/16'], rate_limit: 5 }),
  },
  {
    form: 'identity-form',
    path: ({ identityId }) => `/identities/${identityId}`,
    edit: inPanel,
    record: async ({ identityId }) => `/v1/identities/${identityId}`,
    theirs: () => ({ subjects: ['repo:acme/payments:environment:production'] }),
  },
  {
    form: 'webhook-form',
    path: ({ webhookId }) => `/webhooks/${webhookId}`,
    edit: inPanel,
    record: async ({ webhookId }) => `/v1/webhooks/${webhookId}`,
    theirs: () => ({ enabled: false }),
  },
  {
    form: 'groups',
    path: () => '/settings/groups',
    edit: button('Edit payments'),
    record: () => named('groups', 'payments'),
    theirs: ({ vaultId }) => ({ member_ids: [], change_grants: [{ vault_id: vaultId, role: 'none' }] }),
    left: () => ({ member_ids: [], grants: [] }),
  },
  {
    form: 'stage-form',
    path: () => '/compare',
    edit: button('Edit stage'),
    record: () => named('stages', 'payments'),
    theirs: ({ vaultId, otherVaultId }) => ({ vault_ids: [vaultId, otherVaultId] }),
  },
];

for (const { form, path, edit, record, theirs, left = theirs } of edits) {
  test(`${form}: changes that another person made while it was open are kept`, async () => {
    const address = await record(demo);
    await page.goto(path(demo));
    await edit(page).click();
    const name = page.getByRole('textbox', { name: /^Name/ });
    await name.waitFor();
    assert.equal((await ask(page, 'PUT', address, theirs(demo))).status, 200);
    await name.fill(`renamed ${form}`);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page
      .getByText(/ updated$/)
      .first()
      .waitFor();
    const { body } = await ask(page, 'GET', address);
    assert.equal(body.name, `renamed ${form}`);
    for (const [field, value] of Object.entries(left(demo))) assert.deepEqual(body[field], value, field);
  });
}

test('access-form: a role that another person revoked is not granted again', async () => {
  const address = await named('members', 'grace@example.com');
  const changed = (vault_id: string, role: string) =>
    ask(page, 'PUT', address, { change_grants: [{ vault_id, role }] });
  await changed(demo.otherVaultId, 'viewer');
  await page.goto('/settings/members');
  await button('Vaults of grace@example.com')(page).click();
  const role = page.getByLabel('Role in renamed vault-form');
  await role.waitFor();
  await changed(demo.otherVaultId, 'none');
  await role.selectOption('viewer');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Vaults of grace@example.com updated').first().waitFor();
  const { body } = await ask(page, 'GET', address);
  assert.deepEqual(body.grants, [{ vault_id: demo.vaultId, role: 'viewer' }]);
});

test('mail: a choice that was made elsewhere while it was open is kept', async () => {
  // This service sends no mail, so the page would not offer the choices.
  await page.route('**/auth/mail', async route => {
    if (route.request().method() !== 'GET') return route.continue();
    const response = await route.fetch();
    return route.fulfill({ response, json: { ...(await response.json()), enabled: true } });
  });
  const made = await ask(page, 'PUT', '/auth/mail', { expiry: 'off', approvals: 'off' });
  assert.equal(made.status, 200);
  await page.goto('/settings/security');
  const expiry = page.getByLabel('Expiry');
  await expiry.waitFor();
  assert.equal((await ask(page, 'PUT', '/auth/mail', { approvals: 'daily' })).status, 200);
  await expiry.selectOption('immediately');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Mail choices updated').first().waitFor();
  const { body } = await ask(page, 'GET', '/auth/mail');
  assert.deepEqual([body.expiry, body.approvals], ['immediately', 'daily']);
  await page.unroute('**/auth/mail');
});

test('an unchanged form sends nothing', async () => {
  await page.goto('/settings/groups');
  await page.getByRole('button', { name: /^Edit renamed/ }).click();
  const sent: string[] = [];
  page.on('request', request => request.method() === 'PUT' && sent.push(request.url()));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Nothing was changed').first().waitFor();
  assert.deepEqual(sent, []);
});

test('every form that edits a record is tested here, and the others change a single field', () => {
  const root = new URL('../../web/src/', import.meta.url).pathname;
  const using = (what: RegExp) =>
    globSync(`${root}{pages,shared}/**/*.tsx`)
      .filter(file => what.test(readFileSync(file, 'utf8')))
      .map(file => basename(file, '.tsx'))
      .sort();
  const tried = [...edits.map(({ form }) => form), 'access-form', 'mail'].sort();
  assert.deepEqual(using(/<ResourceForm\b|\bupdate(Granted)?[<(]/), tried);
  assert.deepEqual(using(/\bput[<(]/), [
    'add-person',
    'members',
    'organization',
    'people',
    'plan',
    'renewal-form',
    'stages',
    'welcome',
  ]);
});
