/**
 * Starts a real browser and a real service for the tests. The browser comes from a package; the dashboard is built from
 * the current sources.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Request,
} from 'playwright-core';
import { buildChangedWeb } from '../../scripts/build-web.ts';
import { type Running, serve } from '../../src/service/serve.ts';
import { serveOptions } from '../../src/service/settings/command-options.ts';
import { readConfig } from '../../src/service/settings/config.ts';
import { atTheLatest, withTheProcess } from '../ending.ts';
import { Clock, cheapPasswords } from '../harness.ts';
import { oneThread } from '../one-thread.ts';
import { dataRoot } from '../postgres.ts';
import { browserProgram } from './program.ts';

export const password = 'correct horse battery';
/** In milliseconds. How soon a machine under load shows something is not what is tested. */
export const patience = 120_000;
const flags = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

let launched: Promise<Browser> | undefined;

/** Starts the browser that all files of a process share. Tests call `leave` instead of closing it. */
export async function launch(): Promise<Browser> {
  launched ??= start();
  const browser = await launched;
  atTheLatest(() => leave(browser));
  return browser;
}

export async function leave(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map(context => context.close()));
}

async function start(): Promise<Browser> {
  await buildChangedWeb();
  const browser = await chromium.launch({ executablePath: browserProgram(), args: flags, headless: true });
  withTheProcess(() => browser.close());
  return browser;
}

export interface Fresh extends Running {
  readonly data: string;
  readonly clock: Clock;
}

/** Starts a service before its setup. Its clock can start some hours in the past, because it can't be set back later. */
export async function startFresh(
  more: readonly string[] = [],
  environment: Record<string, string> = {},
  hoursAgo = 0,
): Promise<Fresh> {
  const data = await mkdtemp(join(dataRoot(), 'strongroom-browser-'));
  const clock = new Clock();
  clock.setBack(hoursAgo * 3_600_000);
  const config = readConfig(serveOptions, ['--data', data, '--port', '0', ...more], environment);
  const running = await serve(config, {
    movedClock: clock.shared,
    report: () => undefined,
    passwordCosts: cheapPasswords,
    ...oneThread,
  });
  return {
    ...running,
    data,
    clock,
    stop: atTheLatest(async () => {
      await running.stop();
      await rm(data, { recursive: true, force: true });
    }),
  };
}

export interface Walk {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors on the page, including violations of its Content-Security-Policy. */
  readonly complaints: string[];
}

export async function open(
  browser: Browser,
  site: string,
  options: BrowserContextOptions = {},
): Promise<Walk> {
  const context = await browser.newContext({ baseURL: site, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', error => complaints.push(error.message));
  page.on('console', message => {
    // Error statuses are expected responses, which the page handles and the test checks.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
      complaints.push(message.text());
  });
  return { context, page, complaints };
}

/** In milliseconds, without a request starting or ending. */
const quiet = 500;

/** Navigates, and waits until no request is in progress except the long poll for approvals. */
export async function settle(page: Page, go: () => Promise<unknown>): Promise<void> {
  const underWay = new Set<Request>();
  let changedAt = performance.now();
  const note = (change: () => void) => {
    changedAt = performance.now();
    change();
  };
  const began = (request: Request) => {
    if (!request.url().includes('/auth/approvals/waiting?')) note(() => underWay.add(request));
  };
  const ended = (request: Request) => note(() => underWay.delete(request));
  page.on('request', began).on('requestfinished', ended).on('requestfailed', ended);
  await go();
  while (underWay.size > 0 || performance.now() - changedAt < quiet) await page.waitForTimeout(quiet / 5);
  page.off('request', began).off('requestfinished', ended).off('requestfailed', ended);
}

/** Creates the owner and the organization through the setup link. */
export async function setUp(page: Page, { setupUrl }: Fresh, email = 'owner@example.com'): Promise<void> {
  await page.goto(setupUrl!);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Organization').fill('Acme');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.waitForURL('**/welcome');
}

/** Adds a virtual authenticator with user verification, like a laptop with a fingerprint reader. */
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

/** Confirms the dialog that asks for proof of identity. */
export async function proveAgain(page: Page): Promise<void> {
  const asked = page.getByRole('dialog', { name: 'Confirm it’s you' });
  await asked.getByLabel('Your password').fill(password);
  await asked.getByRole('button', { name: 'Confirm', exact: true }).click();
}

export async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account of/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Strongroom' }).waitFor();
}

/** Calls the service from the page with its session. If proof of identity is required, gives it as a person would. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export async function ask(page: Page, method: string, path: string, body?: unknown): Promise<any> {
  const first = await askOnce(page, method, path, body);
  if (first.body?.error?.code !== 'PROOF_REQUIRED' || !path.startsWith('/v1/')) return first;
  await askOnce(page, 'POST', '/auth/proof', { password });
  return askOnce(page, method, path, body);
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
function askOnce(page: Page, method: string, path: string, body?: unknown): Promise<any> {
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

/** The same call with many bodies at once. */
export async function askAll(
  page: Page,
  method: string,
  path: string,
  bodies: readonly object[],
): Promise<void> {
  const statuses = await page.evaluate(
    ([how, where, all]) =>
      Promise.all(
        all.map(async body => {
          const headers = { 'content-type': 'application/json' };
          const answer = await fetch(where, { method: how, headers, body });
          await answer.arrayBuffer();
          return answer.status;
        }),
      ),
    [method, path, bodies.map(body => JSON.stringify(body))] as const,
  );
  const refused = statuses.filter(status => status !== 200);
  if (refused.length > 0) throw new Error(`${path}: ${refused}`);
}
