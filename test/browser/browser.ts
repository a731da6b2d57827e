/**
 * A real browser before the real service. The browser comes as a package; the pages are those that
 * `npm run build:web` left in web/dist, which the install has built.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Chromium from '@sparticuz/chromium';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { readConfig, serveOptions } from '../../src/config.ts';
import { type Running, serve } from '../../src/serve.ts';
import { Clock } from '../harness.ts';

export const password = 'correct horse battery';
const flags = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

export async function launch(): Promise<Browser> {
  if (!existsSync(new URL('../../web/dist/index.html', import.meta.url))) {
    execFileSync('npm', ['run', '-s', 'build:web'], { stdio: 'inherit' });
  }
  return chromium.launch({ executablePath: await Chromium.executablePath(), args: flags, headless: true });
}

export interface Fresh extends Running {
  readonly data: string;
  readonly clock: Clock;
}

/** A service that nobody has set up yet. */
export async function startFresh(
  more: readonly string[] = [],
  environment: Record<string, string> = {},
): Promise<Fresh> {
  const data = await mkdtemp(join(tmpdir(), 'strongroom-browser-'));
  const clock = new Clock();
  const config = readConfig(serveOptions, ['--data', data, '--port', '0', ...more], environment);
  const running = await serve(config, { now: clock.now, report: () => undefined });
  return {
    ...running,
    data,
    clock,
    stop: async () => {
      await running.stop();
      await rm(data, { recursive: true, force: true });
    },
  };
}

export interface Walk {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the page complained of: errors, and what its Content-Security-Policy refused. */
  readonly complaints: string[];
}

export async function open(
  browser: Browser,
  site: string,
  options: BrowserContextOptions = {},
): Promise<Walk> {
  const context = await browser.newContext({ baseURL: site, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', error => complaints.push(error.message));
  page.on('console', message => {
    // A refusal by status is the service's answer, which the page handles and the test looks at.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
      complaints.push(message.text());
  });
  return { context, page, complaints };
}

/** The owner comes in by the set-up link. */
export async function setUp(page: Page, { setupUrl }: Fresh, email = 'owner@example.com'): Promise<void> {
  await page.goto(setupUrl!);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Organization').fill('Acme');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.waitForURL('**/welcome');
}

/** A device that holds passkeys and knows its user, as a laptop with a fingerprint reader does. */
export async function addAuthenticator({ context, page }: Walk): Promise<void> {
  const devices = await context.newCDPSession(page);
  await devices.send('WebAuthn.enable');
  await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

export async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account of/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Strongroom' }).waitFor();
}

/** Calls the service from the page, with its session and as its own page. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export function ask(page: Page, method: string, path: string, body?: unknown): Promise<any> {
  return page.evaluate(
    async ([how, where, what]) => {
      const answer = await fetch(where!, {
        method: how!,
        headers: what ? { 'content-type': 'application/json' } : {},
        body: what ?? null,
      });
      return { status: answer.status, body: await answer.json() };
    },
    [method, path, body === undefined ? undefined : JSON.stringify(body)] as const,
  );
}
