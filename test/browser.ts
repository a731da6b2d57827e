/** A real Chromium, from the packages that `npm ci` brought. */
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as driver } from 'playwright-core';
import { atTheLatest } from './ending.ts';

const quiet = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

export async function startBrowser(): Promise<Browser> {
  const executablePath = await chromium.executablePath();
  const browser = await driver.launch({ executablePath, args: [...chromium.args, ...quiet], headless: true });
  atTheLatest(() => browser.close());
  return browser;
}
