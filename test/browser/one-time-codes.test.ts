/** One-time codes in the dashboard: scan, confirm, save the recovery codes, and sign in with either. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import decodeQR from 'qr/decode.js';
import { codeAt, stepAt } from '../../src/domain/sign-in/totp.ts';
import { fromBase32 } from '../people.ts';
import {
  type Fresh,
  launch,
  leave,
  open,
  password,
  proveAgain,
  setUp,
  signOut,
  startFresh,
  type Walk,
} from './browser.ts';

let browser: Browser;
let service: Fresh;
let walk: Walk;
let page: Page;
let secret: string;
let recovery: string[];

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
  walk = await open(browser, service.dashboardUrl);
  page = walk.page;
  await setUp(page, service);
});
after(async () => {
  await leave(browser);
  await service.stop();
});

/** The app's current code. No code is accepted twice, so the clock is advanced by a minute first. */
function nextCode(): string {
  service.clock.pass(60_000);
  return codeAt(fromBase32(secret), stepAt(service.clock.now()));
}

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly data: number[];
}

/** Decodes the QR code from a screenshot. */
async function scan(drawn: Locator): Promise<string> {
  const png = (await drawn.screenshot()).toString('base64');
  const { width, height, data } = await page.evaluate<Picture>(`(async () => {
    const picture = new Image();
    picture.src = 'data:image/png;base64,${png}';
    await picture.decode();
    const context = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
    context.drawImage(picture, 0, 0);
    const { width, height, data } = context.getImageData(0, 0, picture.width, picture.height);
    return { width, height, data: [...data] };
  })()`);
  return decodeQR({ width, height, data: Uint8Array.from(data) });
}

async function signInWith(code: string): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill('owner@example.com');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByLabel('One-time code').fill(code);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`the QR code, in ${colorScheme} mode, contains the key shown below it`, async () => {
    await page.emulateMedia({ colorScheme });
    await page.goto('/settings/security');
    await page.getByRole('button', { name: 'Turn on one-time codes' }).click();
    if (colorScheme === 'light') await proveAgain(page);
    const read = new URL(await scan(page.getByRole('img', { name: 'QR code with the key' })));
    const shown = await page.getByRole('region', { name: 'key', exact: true }).innerText();
    secret = read.searchParams.get('secret')!;
    assert.equal(secret, shown.replaceAll(' ', ''));
    assert.equal(decodeURIComponent(read.pathname), '/Strongroom:owner@example.com');
  });
}

test('the first code turns one-time codes on, and the recovery codes are shown once', async () => {
  await page.getByLabel('Code', { exact: true }).fill(nextCode());
  await page.getByRole('button', { name: 'Turn on', exact: true }).click();
  recovery = (await page.getByRole('region', { name: 'recovery codes' }).innerText()).trim().split('\n');
  assert.equal(recovery.length, 10);
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await page.getByText('One-time codes are on.').waitFor();
  assert.ok(!(await page.content()).includes(recovery[0]!));
});

test('signing in asks for a code and accepts the one that the app shows', async () => {
  await signOut(page);
  await signInWith('000000');
  await page.getByText('This code is incorrect or has already been used.').waitFor();
  await signInWith(nextCode());
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});

test('a recovery code works once', async () => {
  await signOut(page);
  await signInWith(recovery[0]!);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await signOut(page);
  await signInWith(recovery[0]!);
  await page.getByText('This code is incorrect or has already been used.').waitFor();
});

test('the password turns one-time codes off', async () => {
  await signInWith(recovery[1]!);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.goto('/settings/security');
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Turn off' }).click();
  await page.getByRole('button', { name: 'Turn on one-time codes' }).waitFor();
  assert.deepEqual(walk.complaints, []);
});
