/**
 * Measures how soon each page of the dashboard is usable, with 10,000 secrets in a vault and a million entries in the
 * request log. Fails if a page takes longer than 1.5 s. `node bench/dashboard.ts [secrets] [entries]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { operatorOf } from '../src/cli/service/operator.ts';
import { openStrongroom, type Strongroom } from '../src/service/opening/open.ts';
import { serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { askingDomain } from '../test/asking.ts';
import { launch, open, password } from '../test/browser/browser.ts';

const secrets = Number(process.argv[2] ?? 10_000);
const entries = Number(process.argv[3] ?? 1_000_000);
const longest = 1_500;
const visits = 3;
const batch = 10_000;
const day = 86_400_000;

interface Seeded {
  readonly invitation: string;
  readonly vaultId: string;
  readonly secretId: string;
}

/** Filled through the domain and the ledger, with a simulated clock, so that the log spans thirty days. */
async function seed(place: readonly string[]): Promise<Seeded> {
  const start = Date.now();
  let time = start - 30 * day;
  const strongroom = await openStrongroom(readConfig(serveOptions, place, {}), false, () => time);
  const { newId } = strongroom;
  const domain = askingDomain(strongroom.domain);
  const operator = (id: string) => operatorOf(id, newId);
  const { id } = await domain.organizations.create(operator, 'Large', {
    plan: 'enterprise',
    enterpriseLimit: 0,
  });
  const vault = await domain.vaults.create(operator(id), { name: 'large' });
  const accessKey = await domain.accessKeys.create(operator(id), { vault_id: vault.id, name: 'busy' });
  let secretId = '';
  for (let made = 0; made < secrets; made += 100) {
    const some = Array.from({ length: 100 }, (_, index) =>
      domain.secrets.create(operator(id), { vault_id: vault.id, name: `SECRET_${made + index}`, value: 'x' }),
    );
    secretId = (await Promise.all(some))[0]!.id;
  }
  for (let written = 0; written < entries; written += batch) {
    time = start - 30 * day * (1 - written / entries);
    await write(strongroom, id, vault.id, accessKey.id);
    await domain.ledger.writeHourCounts();
  }
  time = start;
  const { token } = await domain.members.create(operator(id), { email: 'owner@example.com', role: 'owner' });
  await strongroom.close();
  return { invitation: token!, vaultId: vault.id, secretId };
}

async function write(
  strongroom: Strongroom,
  organization: string,
  vault: string,
  key: string,
): Promise<void> {
  const { newId } = strongroom;
  const domain = askingDomain(strongroom.domain);
  const all = Array.from({ length: batch }, (_, index) =>
    domain.ledger.record({
      organization_id: organization,
      success: index % 20 !== 0,
      resource_type: 'vault',
      ip_address: `10.0.${index % 7}.${index % 200}`,
      route: '/api/v1/vaults/{vault_id}',
      method: 'GET',
      status: index % 20 === 0 ? 401 : 200,
      vault_id: vault,
      access_key_id: key,
      requested: 'secrets',
      tool: null,
      user_agent: 'bench',
      duration_ms: 0.2,
      request_id: newId(),
    }),
  );
  await Promise.all(all);
}

/** The page shows its content, and nothing is still loading. */
const usable = `document.querySelector('main h1') !== null
  && document.querySelector('main :is(tbody tr, dl, form, section)') !== null
  && !document.body.textContent.includes('Loading…')
  && performance.now()`;

/** From the start of the visit. Checked at each frame, because a locator checks at intervals of up to half a second. */
async function measure(page: Page, path: string): Promise<number> {
  await page.goto(path, { waitUntil: 'commit' });
  const found = await page.waitForFunction<number>(usable);
  return found.jsonValue();
}

const data = mkdtempSync(join(tmpdir(), 'strongroom-bench-'));
const began = Date.now();
const { invitation, vaultId, secretId } = await seed(['--data', data]);
process.stdout.write(
  `seeded ${secrets} secrets and ${entries} entries in ${Math.round((Date.now() - began) / 1000)} s\n`,
);
// The browser comes first, because launching it builds missing pages, which the service reads once.
const browser = await launch();
const service = await serve(readConfig(serveOptions, ['--data', data, '--port', '0'], {}), {
  report: () => undefined,
});
// Only for the check at each frame; the tests run with the policy.
const { page } = await open(browser, service.url, { bypassCSP: true });
await page.goto(`/invite#${invitation}`);
await page.getByLabel('Choose a password').fill(password);
await page.getByRole('button', { name: 'Join', exact: true }).click();
await page.getByRole('heading', { name: 'Overview' }).waitFor();

const inside = `/vaults/${vaultId}`;
const paths = [
  '/',
  '/vaults',
  `${inside}/secrets`,
  `${inside}/secrets?q=SECRET_99`,
  `${inside}/secrets?page=${Math.ceil(secrets / 25)}`,
  `${inside}/secrets/${secretId}`,
  `${inside}/access`,
  `${inside}/activity`,
  '/access/keys',
  '/logs/requests',
  `/logs/requests?vault_id=${vaultId}`,
  '/logs/requests?status=401',
  '/logs/audit',
  '/settings/members',
  '/settings/organization',
  '/settings/security',
  '/settings/about',
];
let slow = 0;
for (const path of paths) {
  const times: number[] = [];
  for (let visit = 0; visit < visits; visit++) times.push(await measure(page, path));
  const median = times.sort((one, other) => one - other)[Math.floor(visits / 2)]!;
  if (median > longest) slow++;
  process.stdout.write(
    `${median > longest ? 'SLOW' : 'ok  '} ${median.toFixed(0).padStart(6)} ms  ${path.replace(vaultId, ':vault').replace(secretId, ':secret')}\n`,
  );
}
await browser.close();
await service.stop();
rmSync(data, { recursive: true, force: true });
process.exit(slow === 0 ? 0 : 1);
