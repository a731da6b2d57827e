/** CLI sign-in: the real command waits while a person enters its code in a real browser. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { atTheLatest } from '../ending.ts';
import { binary, collect } from '../tool.ts';
import { type Fresh, launch, leave, open, password, proveAgain, setUp, startFresh } from './browser.ts';

let browser: Browser;
let service: Fresh;
const home = mkdtempSync(join(tmpdir(), 'strongroom-device-'));

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
  const { page, context } = await open(browser, service.dashboardUrl);
  await setUp(page, service);
  await context.close();
});
after(async () => {
  await leave(browser);
  await service.stop();
  rmSync(home, { recursive: true });
});

function strongroom(...args: string[]): { child: ChildProcess; done: ReturnType<typeof collect> } {
  const env = { PATH: process.env.PATH, HOME: home };
  // Nothing is piped in, so it signs in through a browser.
  const child = spawn(process.execPath, [binary, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const killed = atTheLatest(() => child.kill('SIGKILL'));
  return { child, done: collect(child).finally(killed) };
}

/** The link that the command prints. */
async function address({ child, done }: ReturnType<typeof strongroom>): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stderr!.on('data', chunk => {
      const [link] = /http:\S+\/device#\S+/.exec(String(chunk)) ?? [];
      if (link !== undefined) resolve(link);
    });
    done.then(({ stderr }) => reject(new Error(stderr)));
  });
}

test('signed out, on a phone, by keyboard: the link leads through sign-in to the approval, and the command ends', async () => {
  const login = strongroom('login', '--url', service.dashboardUrl);
  const link = await address(login);
  const viewport = { width: 390, height: 800 };
  const { page, context, complaints } = await open(browser, service.dashboardUrl, {
    viewport,
    colorScheme: 'dark',
  });
  await page.goto(link);
  await page.getByLabel('Email').fill('owner@example.com');
  await page.getByLabel('Password').fill(password);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Sign in on the command line' }).waitFor();
  await page.getByText(link.split('#')[1]!).waitFor();
  assert.equal(new URL(page.url()).hash, '', 'the code is removed from the address bar');
  await page.getByText('127.0.0.1', { exact: true }).waitFor();
  await page.getByText(/^strongroom\/\d/).waitFor();
  const width = await page.evaluate<number>('document.documentElement.scrollWidth');
  assert.ok(width <= viewport.width);
  await page.getByLabel('Role').focus();
  await page.keyboard.type('viewer');
  await page.keyboard.press('Tab');
  await page.keyboard.type('1 h');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.locator('button:focus[aria-disabled="false"]').waitFor();
  await page.keyboard.press('Enter');
  await proveAgain(page);
  await page.getByRole('heading', { name: 'Signed in' }).waitFor();

  const { code, stderr } = await login.done;
  assert.equal(code, 0, stderr);
  assert.match(stderr, /\(Acme, owner@example\.com, viewer, until \S+\) as profile default\n$/);
  const profiles = readFileSync(join(home, '.config', 'strongroom', 'profiles.json'), 'utf8');
  const { expires_at } = JSON.parse(profiles).profiles.default;
  assert.ok(Math.abs(Date.parse(expires_at) - service.clock.now() - 3_600_000) < 60_000, 'an hour');

  await page.goto('/settings/security');
  await page.getByRole('button', { name: /^Sign out Command line on/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('Command line signed out').first().waitFor();
  const { stderr: refused } = await strongroom('whoami').done;
  assert.match(refused, /the key is not accepted/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a typed code: a wrong one is reported, and a correct one can be refused', async () => {
  const login = strongroom('login', '--url', service.dashboardUrl);
  const code = (await address(login)).split('#')[1]!;
  const { page, context, complaints } = await open(browser, service.dashboardUrl);
  await page.goto('/device');
  await page.getByLabel('Email').fill('owner@example.com');
  await page.getByLabel('Password').fill(password);
  await page.keyboard.press('Enter');
  await page.getByLabel('Code').fill('BBBB-BBBB');
  await page.keyboard.press('Enter');
  await page.getByText('is unknown, expired or has been used').waitFor();
  await page.getByLabel('Code').fill(code.toLowerCase().replace('-', ''));
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Refuse' }).click();
  await page.getByRole('heading', { name: 'Refused' }).waitFor();
  assert.match((await login.done).stderr, /the sign-in was refused in the dashboard\n$/);
  assert.deepEqual(complaints, []);
  await context.close();
});
