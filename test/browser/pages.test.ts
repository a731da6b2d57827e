/**
 * Every page and what opens on it, in light and in dark, on a phone too: axe finds nothing, nothing is cut off or has to
 * be scrolled for sideways, a finger can press every control, and the page complains of nothing.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  ask,
  type Fresh,
  launch,
  leave,
  open,
  password,
  settle,
  setUp,
  startFresh,
  type Walk,
} from './browser.ts';
import { askForUse, type Demo, furnish, read } from './demo.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const nowhere = '/nowhere';
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

let browser: Browser;
let service: Fresh;
let walk: Walk;
let demo: Demo;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh([], {}, 3)]);
  // Only axe itself needs the policy lifted; the other tests walk under it.
  walk = await open(browser, service.dashboardUrl, { bypassCSP: true });
  await setUp(walk.page, service);
  demo = await furnish(walk.page);
  await read(walk.page, service, demo);
  await askForUse(walk.page, service, demo);
});
after(async () => {
  await leave(browser);
  await service.stop();
});

type Visit = readonly [
  name: string,
  path: (demo: Demo) => string,
  prepare?: (page: Page) => Promise<unknown>,
];

const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();
const changeIt = (page: Page) =>
  page.getByRole('dialog').getByRole('button', { name: 'Edit', exact: true }).click();
const changeSecret = async (page: Page) => {
  await changeIt(page);
  await page.getByRole('button', { name: 'Generate a value' }).click();
};
const inside = (tab: string) => (made: Demo) => `/vaults/${made.vaultId}/${tab}`;

const visits: readonly Visit[] = [
  ['overview', () => '/'],
  ['vaults', () => '/vaults'],
  ['a new vault', () => '/vaults?new=vault'],
  ['secrets', inside('secrets')],
  ['a new secret', inside('secrets'), press('New secret')],
  ['the import', inside('secrets'), press('Import')],
  ['a secret, revealed', made => inside(`secrets/${made.secretId}`)(made), press('Reveal value')],
  ['a secret, to be changed', made => inside(`secrets/${made.secretId}`)(made), changeSecret],
  ['secrets, some selected', inside('secrets'), page => page.getByLabel('Select all on this page').check()],
  ['who has read a secret', made => inside(`secrets/${made.secretId}`)(made), press('Show who has read it')],
  ['a vault, about to be deleted', inside('secrets'), press('Delete vault')],
  ['deleted vaults', () => '/vaults/trash'],
  ['no vaults compared yet', () => '/compare'],
  ['vaults side by side', made => `/compare?vaults=${made.vaultId},${made.otherVaultId}`],
  ['two versions compared', made => inside(`secrets/${made.secretId}`)(made), press(/^Compare/)],
  ['a new use rule', made => inside(`secrets/${made.secretId}`)(made), press('New use rule')],
  ['keys', inside('keys')],
  ['a new key', inside('keys'), press('New key')],
  ['a key', made => inside(`keys/${made.keyId}`)(made)],
  ['certificates', inside('certificates')],
  ['a certificate', made => inside(`certificates/${made.certificateId}`)(made)],
  ['a certificate, to be changed', made => inside(`certificates/${made.certificateId}`)(made), changeIt],
  ['the access keys of a vault', inside('access')],
  ['the trash', inside('trash')],
  ['access keys', () => '/access/keys'],
  ['a new access key', () => '/access/keys', press('New access key')],
  [
    'a vault, chosen from a list',
    () => '/access/keys',
    async page => {
      await press('New access key')(page);
      await page.getByRole('combobox', { name: 'Vault' }).click();
      await page.getByRole('option').first().waitFor();
    },
  ],
  [
    'a date, to be chosen',
    () => '/access/keys',
    async page => {
      await press('New access key')(page);
      await press('Choose a date')(page);
      await page.getByRole('grid').waitFor();
    },
  ],
  ['public tokens', () => '/access/public-tokens'],
  ['identities', () => '/identities'],
  ['a new identity', () => '/identities', press('New identity')],
  ['an identity', made => `/identities/${made.identityId}`],
  ['an identity, to be changed', made => `/identities/${made.identityId}`, changeIt],
  ['an identity with secret IDs', made => `/identities/${made.roleId}`],
  ['a new secret ID', made => `/identities/${made.roleId}`, press('New secret ID')],
  ['the inbox of approvals', () => '/approvals', page => page.getByRole('article').first().waitFor()],
  ['the request log', () => '/logs/requests'],
  [
    'an entry of the request log',
    () => '/logs/requests',
    page => page.locator('tbody button').first().click(),
  ],
  ['the audit log', () => '/logs/audit'],
  ['the beginning of a log, to be chosen', () => '/logs/audit', press('Choose a date')],
  ['webhooks', () => '/webhooks'],
  ['a new webhook', () => '/webhooks', press('New webhook')],
  ['a webhook', made => `/webhooks/${made.webhookId}`],
  ['API keys', () => '/settings/api-keys'],
  ['a new API key', () => '/settings/api-keys', press('Generate New Key')],
  ['members', () => '/settings/members'],
  ['the vaults of a member', () => '/settings/members', press('Vaults of grace@example.com')],
  ['groups', () => '/settings/groups'],
  ['a group, to be changed', () => '/settings/groups', press('Edit payments')],
  ['the people of a vault', inside('people')],
  ['the organization', () => '/settings/organization'],
  ['security', () => '/settings/security'],
  ['one-time codes', () => '/settings/security', press('Turn on one-time codes')],
  ['about', () => '/settings/about'],
  ['the code of a command line', () => '/device'],
  [
    'a command line that asks',
    () => '/device',
    async page => {
      const { body } = await ask(page, 'POST', '/auth/device', { host: 'laptop', client: 'strongroom' });
      await page.getByLabel('Code').fill(body.user_code);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Allow' }).waitFor();
    },
  ],
  ['the command palette', () => '/vaults', page => page.keyboard.press('Control+k')],
  ['the keyboard shortcuts', () => '/vaults', page => page.keyboard.press('?')],
  ['the menu of the account', () => '/vaults', press(/^Account of/)],
  ['no such page', () => nowhere],
];

/**
 * What runs in the page: the rules that are broken, and where. Beside an open menu lie two invisible spans that hand the
 * focus on to where it belongs; nobody stays on them.
 */
const run = `(async tags => {
  const { violations } = await axe.run({ exclude: ['[data-base-ui-focus-guard]'] }, { runOnly: tags });
  return violations.map(({ id, nodes }) => id + ': ' + nodes.map(node => node.html.slice(0, 160)).join(' | '));
})(${JSON.stringify(rules)})`;

async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe);
  return page.evaluate<string[]>(run);
}

/**
 * As a link of the dashboard leads there: nothing is loaded once more, and axe stays in the page. By way of no page at
 * all, so that nothing is left open of the visit before, and something changes that can be waited for.
 */
async function follow(page: Page, path: string): Promise<void> {
  const isNowhere = page.getByRole('heading', { name: 'Page not found' });
  await page.keyboard.press('Escape');
  await goWithin(page, nowhere);
  await isNowhere.waitFor();
  await goWithin(page, path);
  if (path !== nowhere) await isNowhere.waitFor({ state: 'detached' });
}

async function goWithin(page: Page, path: string): Promise<void> {
  const here = JSON.stringify(path);
  await page.evaluate(`history.pushState(null, '', ${here}), dispatchEvent(new PopStateEvent('popstate'))`);
}

async function show(page: Page, [, path, prepare]: Visit): Promise<void> {
  await settle(page, async () => {
    await follow(page, path(demo));
    await page.locator('h1, h2, p').first().waitFor();
  });
  await prepare?.(page);
}

type Way = readonly [colorScheme: 'light' | 'dark', width: number];

async function dress(page: Page, [colorScheme, width]: Way): Promise<void> {
  await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-theme=${colorScheme}]`).waitFor();
  // Colours that are still on their way would be judged as if they were meant.
  await page.evaluate('Promise.all(document.getAnimations().map(one => one.finished.catch(() => {})))');
}

async function lookAt(page: Page, what: string, ways: readonly Way[]): Promise<void> {
  for (const way of ways) {
    await dress(page, way);
    assert.deepEqual(await violations(page), [], `${what} in ${way[0]}, ${way[1]}px wide`);
    await fits(page, what, way[1]);
  }
}

/** What runs in the page: text that is cut off without a sign of it. */
const cutOff = `[...document.querySelectorAll('main :not(input), [role=dialog] :not(input)')].filter(one => {
  const { overflowX, textOverflow, webkitLineClamp } = getComputedStyle(one);
  if (!['hidden', 'clip'].includes(overflowX) || textOverflow === 'ellipsis' || webkitLineClamp !== 'none') return false;
  return one.clientWidth > 1 && one.scrollWidth > one.clientWidth + 1;
}).map(one => one.outerHTML.slice(0, 160))`;

/** What runs in the page: controls that are lower than a finger is wide. Links inside of text are as high as it. */
const tooLow = `[...document.querySelectorAll('button, select, textarea, input:not([type=checkbox])')].filter(one => {
  const { width, height } = one.getBoundingClientRect();
  const box = one.matches('input') ? one.closest('.control') : null;
  return width > 1 && Math.max(height, box?.offsetHeight ?? 0) < 39.5;
}).filter(one => !one.closest('[aria-hidden=true], [inert], [data-inline]')).map(one => one.outerHTML.slice(0, 160))`;

async function fits(page: Page, what: string, width: number): Promise<void> {
  const needed = () => page.evaluate<number>('document.documentElement.scrollWidth');
  // What floats finds its new place a moment after the window has another size.
  for (let times = 0; times < 50 && (await needed()) > width; times++) await page.waitForTimeout(100);
  assert.ok((await needed()) <= width, `${what} needs ${await needed()}px of ${width}px`);
  assert.deepEqual(await page.evaluate(cutOff), [], `${what}, ${width}px wide, cuts text off`);
  if (width < 640) assert.deepEqual(await page.evaluate(tooLow), [], `${what}: too low for a finger`);
}

for (const visit of visits) {
  test(`${visit[0]}, in light and dark and on a phone: axe finds nothing, and it fits`, async () => {
    await walk.page.setViewportSize({ width: 1280, height: 800 });
    await show(walk.page, visit);
    await lookAt(walk.page, visit[0], [
      ['light', 1280],
      ['dark', 360],
    ]);
    for (const width of [1024, 390]) {
      await walk.page.setViewportSize({ width, height: 800 });
      await fits(walk.page, visit[0], width);
    }
    assert.deepEqual(walk.complaints.splice(0), []);
  });
}

const allWays: readonly Way[] = [
  ['light', 1280],
  ['light', 360],
  ['dark', 1280],
  ['dark', 360],
];
const lookAllWays = (page: Page, what: string) => lookAt(page, what, allWays);

test('the pages before the door: axe finds nothing', async () => {
  const { body } = await ask(walk.page, 'POST', '/v1/members', { email: 'new@example.com', role: 'viewer' });
  for (const path of ['/sign-in', '/invite#wrong', `/invite#${body.token}`]) {
    const { page, context, complaints } = await open(browser, service.dashboardUrl, { bypassCSP: true });
    await page.goto(path);
    await page.locator('h1').waitFor();
    await lookAllWays(page, path.split('#')[0]!);
    assert.deepEqual(complaints, []);
    await context.close();
  }
});

/** Of the viewer itself: links inside of buttons, headings without a second level, and a title outside of its `main`. */
const ofTheViewer = /^(nested-interactive|heading-order|region): /;

test('the documentation of the API: axe finds nothing of ours, and it fits', async () => {
  const { page, context, complaints } = await open(browser, service.dashboardUrl, { bypassCSP: true });
  await settle(page, async () => {
    await page.goto('/docs');
    await page.locator('.opblock').first().waitFor();
  });
  for (const way of allWays) {
    await dress(page, way);
    const found = (await violations(page)).filter(one => !ofTheViewer.test(one));
    assert.deepEqual(found, [], `in ${way[0]}, ${way[1]}px wide`);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), way[1]);
  }
  assert.deepEqual(complaints, []);
  await context.close();
});

test('where nobody has joined, the sign-in page says how the first person is invited', async () => {
  const { page, context } = await open(browser, service.dashboardUrl, { bypassCSP: true });
  await page.route('**/auth/state', async route => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), nobody_joined: true } });
  });
  await page.goto('/sign-in');
  await page.getByText('--email you@example.com').waitFor();
  await lookAt(page, 'nobody to sign in', [['dark', 360]]);
  await context.close();
});

test('the first run, step by step: axe finds nothing', async t => {
  const fresh = await startFresh();
  t.after(() => fresh.stop());
  const { page, context, complaints } = await open(browser, fresh.dashboardUrl, { bypassCSP: true });
  await page.goto('/');
  await page.getByText('The link is incomplete').waitFor();
  await lookAllWays(page, 'a link without its token');

  await page.goto(fresh.setupUrl!);
  await page.getByText('The link is incomplete').waitFor({ state: 'detached' });
  await page.getByLabel('Email').fill('owner@example.com');
  await lookAllWays(page, 'the owner');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Organization').fill('Acme');
  await lookAllWays(page, 'the organization');

  await page.getByRole('button', { name: 'Create' }).click();
  await page.waitForURL('**/welcome');
  await page.getByLabel('Value').fill('postgres://app@db/app');
  await lookAllWays(page, 'the first secret');
  await page.getByRole('button', { name: 'Create secret' }).click();
  await page.getByRole('button', { name: 'Try it: curl command' }).click();
  await page.getByText('Read “production”: DATABASE_URL.').waitFor();
  await lookAllWays(page, 'reading it');
  assert.deepEqual(complaints, []);
  await context.close();
});
