/**
 * Takes screenshots of every page and open state at three widths, in light and dark, of an organization with hundreds
 * of secrets, and puts them side by side on contact sheets: node scripts/screenshot-matrix.ts FOLDER [NAME…]
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { launch, open, setUp, startFresh } from '../test/browser/browser.ts';
import { crowd } from '../test/browser/crowd.ts';
import { askForUse, furnish, read } from '../test/browser/demo.ts';
import { buildChangedWeb } from './build-web.ts';
import { moreShotsOf, type Shot, shoot, shotsOf } from './shots.ts';

const [folder, ...only] = process.argv.slice(2);
if (folder === undefined) throw new Error('A folder for the screenshots is required.');
const widths = [1440, 1024, 390] as const;
const schemes = ['light', 'dark'] as const;
const heights = { 1440: 900, 1024: 768, 390: 844 } as const;

mkdirSync(folder, { recursive: true });
// Before the service starts, because it keeps the files in memory.
await buildChangedWeb();
const service = await startFresh(['--allow-private-webhooks', '127.0.0.0/8'], {}, 24);
const browser = await launch();
try {
  const { page, complaints } = await open(browser, service.dashboardUrl);
  page.setDefaultTimeout(15_000);
  await setUp(page, service);
  const demo = await furnish(page);
  const { stages, stop } = await crowd(page, demo);
  await read(page, service, demo);
  await askForUse(page, service, demo);
  const shots = [...shotsOf(demo), ...moreShotsOf(demo, stages)].filter(
    ([name]) => only.length === 0 || only.includes(name),
  );
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    for (const width of widths) {
      await page.setViewportSize({ width, height: heights[width] });
      for (const shot of shots) await attempt(shot, `-${width}-${colorScheme}`);
    }
  }
  for (const [name] of shots) await contactSheet(browser, name);
  for (const complaint of new Set(complaints)) console.log(complaint);
  stop();

  /** Reports a screenshot that fails, and continues with the others. */
  async function attempt(shot: Shot, suffix: string): Promise<void> {
    await shoot(page, folder!, shot, suffix).catch(error =>
      console.log(`${shot[0]}${suffix}: ${error.message}`),
    );
    const needed = await page.evaluate<number>('document.documentElement.scrollWidth');
    const { width } = page.viewportSize()!;
    if (needed > width) console.log(`${shot[0]}${suffix} needs ${needed} of ${width} pixels`);
  }
} finally {
  await browser.close();
  await service.stop();
}
process.exit();

async function contactSheet(of: Browser, name: string): Promise<void> {
  const sheet = await of.newPage({ viewport: { width: 1900, height: 1000 } });
  const picture = (width: number, scheme: string) => {
    try {
      const bytes = readFileSync(join(folder!, `${name}-${width}-${scheme}.png`)).toString('base64');
      return `<img width="${width * 0.64}" src="data:image/png;base64,${bytes}">`;
    } catch {
      return '';
    }
  };
  const row = (scheme: string) => `<div>${widths.map(width => picture(width, scheme)).join(' ')}</div>`;
  await sheet.setContent(`<body style="background:#777;margin:8px">${schemes.map(row).join('')}</body>`);
  await sheet.screenshot({ path: join(folder!, `sheet-${name}.png`), fullPage: true });
  await sheet.close();
}
