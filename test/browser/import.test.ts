/** Import of dropped files: they are read in the browser and previewed before anything is stored. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ask, type Fresh, launch, leave, open, setUp, startFresh, type Walk } from './browser.ts';
import { type Demo, furnish } from './demo.ts';

let browser: Browser;
let service: Fresh;
let walk: Walk;
let page: Page;
let demo: Demo;
let desktop: string;

before(async () => {
  desktop = await mkdtemp(join(tmpdir(), 'strongroom-desktop-'));
  [browser, service] = await Promise.all([launch(), startFresh()]);
  walk = await open(browser, service.dashboardUrl);
  page = walk.page;
  await setUp(page, service);
  demo = await furnish(page);
});
after(async () => {
  await leave(browser);
  await service.stop();
  await rm(desktop, { recursive: true, force: true });
});

/** Drops files as a mouse would: the browser itself opens them. */
async function drop(...files: readonly (readonly [name: string, text: string])[]): Promise<void> {
  const paths = files.map(([name]) => join(desktop, name));
  await Promise.all(files.map(([, text], index) => writeFile(paths[index]!, text)));
  const zone = await page.getByText('Drop files here, or choose them').boundingBox();
  const mouse = await walk.context.newCDPSession(page);
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    const data = { items: [], files: paths, dragOperationsMask: 1 };
    await mouse.send('Input.dispatchDragEvent', { type, x: zone!.x + 10, y: zone!.y + 10, data });
  }
  await page.getByText(files.map(([name]) => name).join(', ')).waitFor();
  await mouse.detach();
}

async function begin(): Promise<void> {
  await page.goto(`/vaults/${demo.vaultId}/secrets`);
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByLabel('Paste').waitFor();
}

const found = async (collection: string, name: string) => {
  const { body } = await ask(page, 'GET', `/v1/${collection}?vault_id=${demo.vaultId}&q=${name}`);
  return body.data.find((one: { name: string }) => one.name === name);
};
const storedAs = async (name: string) => {
  const { id } = await found('secrets', name);
  return (await ask(page, 'POST', `/v1/secrets/${id}/reveal`, {})).body.value;
};

test('a dropped .env file is previewed without its values, and then stored', async () => {
  await begin();
  await drop(['production.env', 'FROM_ENV="two\\nlines"\nREDIS_URL=redis://dropped\n']);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('new value, version 1 → 2').waitFor();
  assert.ok(!(await page.content()).includes('redis://dropped'));
  assert.equal(await found('secrets', 'FROM_ENV'), undefined, 'nothing is stored yet');
  await page.getByRole('button', { name: 'Import 2 of 2' }).click();
  await page.getByRole('link', { name: 'FROM_ENV' }).waitFor();
  assert.deepEqual(
    [await storedAs('FROM_ENV'), await storedAs('REDIS_URL')],
    ['two\nlines', 'redis://dropped'],
  );
});

test('a dropped JSON file becomes a secret for each name', async () => {
  await begin();
  await drop(['settings.json', JSON.stringify({ FROM_JSON: 'text', NESTED_JSON: { port: 1 } })]);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('button', { name: 'Import 2 of 2' }).click();
  await page.getByRole('link', { name: 'FROM_JSON' }).waitFor();
  assert.deepEqual([await storedAs('FROM_JSON'), await storedAs('NESTED_JSON')], ['text', '{"port":1}']);
});

test('PEM files dropped together become a key and a certificate, named after the files', async () => {
  const { pem } = (await ask(page, 'GET', `/v1/certificates/${demo.certificateId}`)).body;
  const { privateKey } = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  await begin();
  await drop(['signer.pem', privateKey], ['site.crt', pem]);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('button', { name: 'Import 2 of 2' }).click();
  await page.getByLabel('Paste').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Import 2 of 2' }).waitFor({ state: 'detached' });
  assert.equal((await found('keys', 'signer')).key_type, 'OKP');
  assert.equal((await found('certificates', 'site')).subject, 'CN=payments.example.com,O=Acme');
});

test('a name that a key already has is skipped, and the preview says so', async () => {
  const { public_pem } = (await ask(page, 'GET', `/v1/keys/${demo.keyId}`)).body;
  await begin();
  await drop(['webhook-signing.pem', public_pem]);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('name already in use').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Import 0 of 1' }).isDisabled());
});

test('the import causes no errors under the strict Content-Security-Policy', () => {
  assert.deepEqual(walk.complaints, []);
});
