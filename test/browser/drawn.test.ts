/**
 * The approval page shows every character that would be sent, in order, and two different texts never look the same,
 * neither as text nor as pixels.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { callService } from '../harness.ts';
import { startUpstream, type Upstream, value } from '../uses-world.ts';
import { ask, type Fresh, launch, leave, open, setUp, startFresh, type Walk } from './browser.ts';

let browser: Browser;
let service: Fresh;
let upstream: Upstream;
let walk: Walk;
let vaultId: string;

before(async () => {
  [browser, service, upstream] = await Promise.all([
    launch(),
    startFresh(['--allow-private-webhooks', '127.0.0.0/8']),
    startUpstream(),
  ]);
  walk = await open(browser, service.dashboardUrl, { viewport: { width: 390, height: 2_400 } });
  const { page } = walk;
  await setUp(page, service);
  const { body: vault } = await ask(page, 'POST', '/v1/vaults', { name: 'drawn' });
  vaultId = vault.id;
  const { body: secret } = await ask(page, 'POST', '/v1/secrets', {
    vault_id: vaultId,
    name: 'TOKEN',
    value,
  });
  const rule = { name: 'calls', hosts: [upstream.url], methods: ['POST'], paths: ['/own/**'] };
  const more = {
    secret_id: secret.id,
    place: { type: 'bearer' },
    request_headers: ['rule', 'uses', 'x-note'],
  };
  const made = await ask(page, 'POST', '/v1/use-rules', { ...more, ...rule });
  assert.equal(made.status, 200, JSON.stringify(made.body));
  await page.goto('/approvals');
  await nothingWaits(page).waitFor();
});
after(async () => {
  await leave(browser);
  await service.stop();
  await upstream.close();
});

interface Styled {
  getComputedStyle(element: unknown): { getPropertyValue(name: string): string };
}

let agents = 0;

const nothingWaits = (page: Page) => page.getByText('Nothing to approve');

/** The card of a waiting call. It appears by itself, on a page without other cards, and so each in the same place. */
async function cardOf(
  page: Page,
  call: Record<string, unknown>,
  name = `agent ${agents++}`,
): Promise<Locator> {
  const key = { vault_id: vaultId, name, names_only: true, may_use: true };
  const { body: agent } = await ask(page, 'POST', '/v1/access-keys', key);
  const asked = { secret: 'TOKEN', method: 'POST', url: `${upstream.url}/own/x`, ...call };
  const { status, body } = await callService(
    service.url,
    'POST',
    '/api/v1/vaults/self/use',
    asked,
    agent.token,
  );
  assert.equal(status, 403, JSON.stringify(body));
  const card = page.getByRole('article');
  await card.getByRole('button', { name: 'Approve once' }).waitFor();
  return card;
}

async function decided(page: Page): Promise<void> {
  const { body } = await ask(page, 'GET', '/v1/approvals?state=pending&limit=100');
  for (const { id } of body.data) await ask(page, 'POST', `/auth/approvals/${id}/refuse`);
  await nothingWaits(page).waitFor();
}

/** Converts what is shown back to the original text. */
function read(drawn: string): string {
  return drawn
    .replace(/↵\n/g, '⟨U+000A⟩')
    .replace(/⇥/g, '⟨U+0009⟩')
    .replace(/[^ -~\u00C0-\u00FF⟩]?⟨U\+([0-9A-F]{4,6})⟩/gu, (_, code) =>
      String.fromCodePoint(Number.parseInt(code, 16)),
    );
}

/** Characters of each kind that are invisible, reorder, combine, collapse or look like another. */
function zoo(): string[] {
  const single = [
    '\u0000\u0007\u001b\u007f\u0085', '\t', '\n', '\r\n', '\r', ' ', '  ', '\u00a0', '\u00ad', '\u034f', '\u0300\u0301', '\u0430', '\u05d0\u05d1',
    '\u0627\u0644', '\u061c', '\u115f\u1160', '\u17b4', '\u180b', '\u180e', '\u2000', '\u2003', '\u200b', '\u200c\u200d', '\u200e\u200f', '\u2028', '\u2029',
    '\u202a\u202e\u202c', '\u2060', '\u2066\u2069', '\u206a', '\u2800', '\u3000', '\u3164', '\ufe00', '\ufe0f', '\ufeff', '\uffa0', '\ufff9', '\ufffc', '\ufffd',
    '\ufb01', '\uff21', '\u{1d400}', '\u{1f600}', '\u{1f468}\u200d\u{1f469}', '\u{e0041}\u{e007f}', '\u{e0100}', '\u{f0000}', '\u{10ffff}', '\ue000', '\u0378',
    '⟨U+0041⟩', '↵', '⇥', 'ß', '×', 'é', 'e\u0301', '中文', 'ﷺ', '١٢', '\u1d173', 'Ａ',
  ]; // biome-ignore format: a list of characters
  return single.flatMap(odd => [odd, `a${odd}b`, `{"to":"${odd}me","amount":1${odd}0}`]);
}

test('every character of a body is shown, in order', async () => {
  const { page, complaints } = walk;
  const all = zoo();
  for (const body of [all.join('|'), all.toReversed().join(''), '   leading\n\n trailing  \n']) {
    const card = await cardOf(page, { body });
    const shown = card.getByRole('region', { name: 'Body, full text' });
    const drawn = (await shown.evaluate(element => element.textContent)) ?? '';
    assert.equal(read(drawn), body);
    assert.doesNotMatch(
      drawn.replace(/↵\n/g, ''),
      /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Mn}\p{Co}\p{Cn}\u00a0\u3164]/u,
    );
    const style = await shown.locator('.exact').evaluate(element => {
      const read = (globalThis as unknown as Styled).getComputedStyle(element);
      return ['direction', 'unicode-bidi', 'white-space'].map(name => read.getPropertyValue(name));
    });
    assert.deepEqual(style, ['ltr', 'isolate-override', 'break-spaces']);
    await decided(page);
  }
  assert.deepEqual(complaints, []);
});

const lookAlikes: readonly (readonly [string, string])[] = [
  ['pay bob', 'pay  bob'],
  ['pay bob', 'pay bob '],
  ['pay\nbob', 'pay\n\nbob'],
  ['pay\nbob', 'pay \nbob'],
  ['pay bob', 'pay\u00a0bob'],
  ['pay bob', 'p\u0430y bob'],
  ['pay bob', 'pay\u200b bob'],
  ['pay 12', 'pay \u202e21\u202c'],
  ['pay a', 'pay \uff41'],
  ['é', 'e\u0301'],
  ['\u05d0\u05d1', '\u05d1\u05d0'],
  ['中', '国'],
  ['⟨U+0041⟩', 'A'],
  ['\ufe0f', '\ufe0e'],
  [`${'x'.repeat(60)} y`, `${'x'.repeat(60)}y`],
  ['ff fi', '\ufb00 \ufb01'],
];

async function drawnBody(page: Page, body: string): Promise<{ text: string; pixels: string }> {
  const card = await cardOf(page, { body }, `agent ${agents++}`.padEnd(12, 'x'));
  const section = card.getByRole('region', { name: 'Body', exact: true });
  const drawn = {
    text: await section.innerText(),
    pixels: (await section.screenshot()).toString('base64'),
  };
  await decided(page);
  return drawn;
}

test('different bodies with look-alike characters don’t look alike', async () => {
  const { page } = walk;
  const drawn = new Map<string, { text: string; pixels: string }>();
  for (const body of new Set(lookAlikes.flat())) drawn.set(body, await drawnBody(page, body));
  assert.deepEqual(await drawnBody(page, 'pay bob'), drawn.get('pay bob'), 'the same looks the same');
  for (const [one, other] of lookAlikes) {
    const [first, second] = [drawn.get(one), drawn.get(other)];
    assert.notEqual(first!.text, second!.text, JSON.stringify([one, other]));
    assert.notEqual(first!.pixels, second!.pixels, JSON.stringify([one, other]));
  }
});

test('headers and names from the agent can’t pass for the page’s own rows', async () => {
  const { page } = walk;
  const headers = { rule: 'readings', uses: 'nothing', 'x-note': 'a  b' };
  const card = await cardOf(page, { headers }, 'agent” approved by the owner “');
  const rows = await card.locator('dl dt').allInnerTexts();
  assert.deepEqual(rows, ['Access key', 'Rule', 'Uses', 'Vault', 'Sent']);
  const box = card.getByRole('region', { name: 'Headers' });
  assert.match(await box.innerText(), /rule\s+readings/);
  const name = card.locator('dl dd .exact').first();
  assert.equal(await name.textContent(), 'agent⟨U+201D⟩ approved by the owner ⟨U+201C⟩');
  await decided(page);
});

test('for a long body, the page shows its length, that there is more, and how it ends', async () => {
  const { page } = walk;
  const body = `{"to":"alice"${' '.repeat(9_000)},"to":"mallory"}`;
  const card = await cardOf(page, { body });
  await card.getByText(`Body, ${[...body].length.toLocaleString('en')} characters`).waitFor();
  await card.getByText('Not all of the text fits here').waitFor();
  assert.match((await card.locator('[data-tail]').textContent())!, /"to":"mallory"\}$/);
  await card.getByRole('button', { name: 'Show all' }).click();
  await card.getByText('Not all of the text fits here').waitFor({ state: 'detached' });
  const shown = card.getByRole('region', { name: 'Body, full text' });
  assert.ok(await shown.evaluate(box => box.scrollHeight <= box.clientHeight + 1));
  assert.equal(await shown.evaluate(element => element.textContent), body);
  await decided(page);
  const short = await (await cardOf(page, { body: '{}' })).getByText('Not all of the text fits here').count();
  assert.equal(short, 0);
  await decided(page);
});
