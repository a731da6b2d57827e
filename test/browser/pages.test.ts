/**
 * Every page and dialog, in light and dark mode and on a phone: axe finds no violations, nothing is cut off or scrolls
 * sideways, every control is large enough to tap, and there are no errors.
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
  // Only axe requires the policy to be bypassed; the other tests run under it.
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
  ['a secret, being edited', made => inside(`secrets/${made.secretId}`)(made), changeSecret],
  ['secrets, some selected', inside('secrets'), page => page.getByLabel('Select all on this page').check()],
  ['who has read a secret', made => inside(`secrets/${made.secretId}`)(made), press('Show who has read it')],
  ['deleting a vault', inside('secrets'), press('Delete vault')],
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
  ['a certificate, being edited', made => inside(`certificates/${made.certificateId}`)(made), changeIt],
  ['the access keys of a vault', inside('access')],
  ['the trash', inside('trash')],
  ['access keys', () => '/access/keys'],
  ['a new access key', () => '/access/keys', press('New access key')],
  [
    'choosing a vault from a list',
    () => '/access/keys',
    async page => {
      await press('New access key')(page);
      await page.getByRole('combobox', { name: 'Vault' }).click();
      await page.getByRole('option').first().waitFor();
    },
  ],
  [
    'choosing a date',
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
  ['an identity, being edited', made => `/identities/${made.identityId}`, changeIt],
  ['an identity with secret IDs', made => `/identities/${made.roleId}`],
  ['a new secret ID', made => `/identities/${made.roleId}`, press('New secret ID')],
  ['the approvals', () => '/approvals', page => page.getByRole('article').first().waitFor()],
  ['the request log', () => '/logs/requests'],
  [
    'an entry of the request log',
    () => '/logs/requests',
    page => page.locator('tbody button').first().click(),
  ],
  ['the audit log', () => '/logs/audit'],
  ['choosing the start of a log', () => '/logs/audit', press('Choose a date')],
  ['webhooks', () => '/webhooks'],
  ['a new webhook', () => '/webhooks', press('New webhook')],
  ['a webhook', made => `/webhooks/${made.webhookId}`],
  ['API keys', () => '/settings/api-keys'],
  ['a new API key', () => '/settings/api-keys', press('Generate New Key')],
  ['members', () => '/settings/members'],
  ['the vaults of a member', () => '/settings/members', press('Vaults of grace@example.com')],
  ['groups', () => '/settings/groups'],
  ['a group, being edited', () => '/settings/groups', press('Edit payments')],
  ['the people of a vault', inside('people')],
  ['the organization', () => '/settings/organization'],
  ['security', () => '/settings/security'],
  ['one-time codes', () => '/settings/security', press('Turn on one-time codes')],
  ['about', () => '/settings/about'],
  ['entering the code of a command line', () => '/device'],
  [
    'approving a command line',
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
  ['the account menu', () => '/vaults', press(/^Account of/)],
  ['a page that doesn’t exist', () => nowhere],
];

/**
 * Runs in the page: the violated rules, and where. Excludes the two invisible spans beside an open menu, which only pass
 * the focus on.
 */
const run = `(async tags => {
  const { violations } = await axe.run({ exclude: ['[data-base-ui-focus-guard]'] }, { runOnly: tags, resultTypes: ['violations'] });
  return violations.map(({ id, nodes }) => id + ': ' + nodes.map(node => node.html.slice(0, 160)).join(' | '));
})(${JSON.stringify(rules)})`;

async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe);
  return page.evaluate<string[]>(run);
}

/**
 * Navigates like a link in the dashboard, without a reload, so that axe stays loaded. Goes through a page that doesn't
 * exist, so that nothing from the previous visit stays open and there is a change to wait for.
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
  // What the visit before was told stays for some seconds.
  await page.locator('[data-type=good]').first().waitFor({ state: 'detached' });
  await prepare?.(page);
}

type Way = readonly [colorScheme: 'light' | 'dark', width: number];

async function dress(page: Page, [colorScheme, width]: Way): Promise<void> {
  await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-theme=${colorScheme}]`).waitFor();
  // Colours in the middle of a transition would be tested as if they were final.
  await page.evaluate('Promise.all(document.getAnimations().map(one => one.finished.catch(() => {})))');
}

async function lookAt(page: Page, what: string, ways: readonly Way[]): Promise<void> {
  for (const way of ways) {
    await dress(page, way);
    assert.deepEqual(await violations(page), [], `${what} in ${way[0]}, ${way[1]}px wide`);
    await fits(page, what, way[1]);
  }
}

/** Runs in the page: text that is cut off without an ellipsis. */
const cutOff = `[...document.querySelectorAll('main :not(input), [role=dialog] :not(input)')].filter(one => {
  // Sizes are known already; styles are asked for of the few that are too wide.
  if (one.clientWidth <= 1 || one.scrollWidth <= one.clientWidth + 1) return false;
  const { overflowX, textOverflow, webkitLineClamp } = getComputedStyle(one);
  return ['hidden', 'clip'].includes(overflowX) && textOverflow !== 'ellipsis' && webkitLineClamp === 'none';
}).map(one => one.outerHTML.slice(0, 160))`;

/** Runs in the page: controls that are too low to tap. Links inside text are exempt. */
const tooLow = `[...document.querySelectorAll('button, select, textarea, input:not([type=checkbox])')].filter(one => {
  const { width, height } = one.getBoundingClientRect();
  const box = one.matches('input') ? one.closest('.control') : null;
  return width > 1 && Math.max(height, box?.offsetHeight ?? 0) < 39.5;
}).filter(one => !one.closest('[aria-hidden=true], [inert], [data-inline]')).map(one => one.outerHTML.slice(0, 160))`;

async function fits(page: Page, what: string, width: number): Promise<void> {
  const needed = () => page.evaluate<number>('document.documentElement.scrollWidth');
  // Popovers are repositioned shortly after the window is resized.
  for (let times = 0; times < 50 && (await needed()) > width; times++) await page.waitForTimeout(100);
  assert.ok((await needed()) <= width, `${what} needs ${await needed()}px of ${width}px`);
  assert.deepEqual(await page.evaluate(cutOff), [], `${what}, ${width}px wide, cuts text off`);
  if (width < 640) assert.deepEqual(await page.evaluate(tooLow), [], `${what}: too low to tap`);
}

for (const visit of visits) {
  test(`${visit[0]}, in light and dark mode and on a phone: no axe violations, and it fits`, async () => {
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

test('the pages before sign-in: no axe violations', async () => {
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

/** Violations of the viewer itself: links inside buttons, a missing second heading level, and a title outside `main`. */
const ofTheViewer = /^(nested-interactive|heading-order|region): /;

test('the API documentation: no axe violations besides the viewer’s own, and it fits', async () => {
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

test('if no member has joined, the sign-in page says how to invite the first one', async () => {
  const { page, context } = await open(browser, service.dashboardUrl, { bypassCSP: true });
  await page.route('**/auth/state', async route => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), nobody_joined: true } });
  });
  await page.goto('/sign-in');
  await page.getByText('--email you@example.com').waitFor();
  await lookAt(page, 'no member has joined', [['dark', 360]]);
  await context.close();
});

test('the first run, step by step: no axe violations', async t => {
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
