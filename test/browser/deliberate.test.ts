/**
 * Clickjacking protection: a click counts only if the person had time to see what it decides. Real clicks in a real
 * browser on pages with decisions, while cards appear and disappear and windows open over them.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { callService } from '../harness.ts';
import { Browser as Person } from '../people.ts';
import { startUpstream, type Upstream, value } from '../uses-world.ts';
import {
  ask,
  type Fresh,
  launch,
  leave,
  open,
  password,
  proveAgain,
  setUp,
  startFresh,
  type Walk,
} from './browser.ts';

let browser: Browser;
let service: Fresh;
let upstream: Upstream;
let walk: Walk;
let agents: { readonly name: string; readonly token: string }[];

before(async () => {
  [browser, service, upstream] = await Promise.all([
    launch(),
    startFresh(['--allow-private-webhooks', '127.0.0.0/8']),
    startUpstream(),
  ]);
  walk = await open(browser, service.dashboardUrl, { viewport: { width: 1200, height: 1600 } });
  await setUp(walk.page, service);
  const { body: vault } = await ask(walk.page, 'POST', '/v1/vaults', { name: 'clicks' });
  const token = { vault_id: vault.id, name: 'TOKEN', value };
  const { body: secret } = await ask(walk.page, 'POST', '/v1/secrets', token);
  const rule = { name: 'calls', hosts: [upstream.url], methods: ['POST'], paths: ['/own/**'] };
  const placed = { secret_id: secret.id, place: { type: 'bearer' }, ...rule };
  await ask(walk.page, 'POST', '/v1/use-rules', placed);
  agents = [];
  for (let at = 0; at < 12; at++) {
    const key = { vault_id: vault.id, name: `agent ${at}`, names_only: true, may_use: true };
    agents.push((await ask(walk.page, 'POST', '/v1/access-keys', key)).body);
  }
});
after(async () => {
  await leave(browser);
  await service.stop();
  await upstream.close();
});

/** Creates a waiting call by a new agent; returns its card and a function that reads its state. */
async function waiting(page: Page, body = '{}') {
  const { name, token } = agents.pop()!;
  const call = { secret: 'TOKEN', method: 'POST', url: `${upstream.url}/own/x`, body };
  const use = () => callService(service.url, 'POST', '/api/v1/vaults/self/use', call, token);
  const { status, body: refused } = await use();
  assert.equal(status, 403);
  const { id } = refused.approval;
  const state = async () => (await ask(page, 'GET', `/v1/approvals/${id}`)).body.state as string;
  const card = page.getByRole('article').filter({ hasText: name });
  return { id, state, card, button: card.getByRole('button', { name: 'Approve once' }) };
}

const isReady = (button: Locator) => button.and(button.page().locator('[aria-disabled="false"]')).waitFor();
const middleOf = async (button: Locator) => {
  const { x, y, width, height } = (await button.boundingBox())!;
  return [x + width / 2, y + height / 2] as const;
};

test('a new call appears below: no card moves, and the click decides the call that was visible', async () => {
  const { page, complaints } = walk;
  await page.goto('/approvals');
  const first = await waiting(page);
  await isReady(first.button);
  const place = await middleOf(first.button);
  await page.mouse.move(...place);
  const second = await waiting(page);
  await second.card.waitFor();
  assert.deepEqual(await middleOf(first.button), place);
  const [above, below] = [await first.card.boundingBox(), await second.card.boundingBox()];
  assert.ok(above!.y < below!.y, 'the newer call is below');
  await page.mouse.click(...place);
  await first.card.getByText('Approved once').waitFor();
  assert.deepEqual([await first.state(), await second.state()], ['approved', 'pending']);
  assert.equal((await second.card.boundingBox())!.y, below!.y, 'a decided card stays in place');
  await ask(page, 'POST', `/auth/approvals/${second.id}/refuse`);
  assert.deepEqual(complaints, []);
});

test('requests for a role and writes to review appear below as well, and no card moves', async () => {
  const { page, complaints } = walk;
  const { body: vault } = await ask(page, 'POST', '/v1/vaults', { name: 'reviewed', review: true });
  const asking = { email: 'asks@example.com', role: 'viewer' };
  const { body: member } = await ask(page, 'POST', '/v1/members', asking);
  const theirs = new Person(service.url);
  await theirs.post('/auth/invitation/accept', { token: member.token, password });
  await page.goto('/approvals');
  const call = await waiting(page);
  await isReady(call.button);
  const place = await middleOf(call.button);
  const until = new Date(service.clock.now() + 3_600_000).toISOString();
  const { status } = await theirs.post('/auth/role-requests', { vault_id: vault.id, role: 'reader', until });
  assert.equal(status, 200);
  const role = page.getByRole('article', { name: 'asks@example.com asks to be reader' });
  await role.waitFor();
  assert.deepEqual(await middleOf(call.button), place);
  const secret = { vault_id: vault.id, name: 'PROPOSED', value: 'x', tags: { _a_b: 'c' } };
  assert.equal((await ask(page, 'POST', '/v1/secrets', secret)).status, 202);
  const write = page.getByRole('article', { name: 'Create secret PROPOSED' });
  await write.getByText('tags._a_b').waitFor();
  assert.deepEqual(await middleOf(call.button), place);
  const tops = async () =>
    Promise.all([call.card, role, write].map(async card => (await card.boundingBox())!.y));
  const before = await tops();
  assert.deepEqual(
    before,
    before.toSorted((a, b) => a - b),
  );
  const approve = role.getByRole('button', { name: 'Approve' });
  await isReady(approve);
  await approve.click();
  await role.getByText('is now reader').waitFor();
  assert.deepEqual(await tops(), before, 'a decided card stays in place');
  await ask(page, 'POST', `/auth/approvals/${call.id}/refuse`);
  await call.card.getByText('This call is no longer waiting.').waitFor();
  await write.getByRole('button', { name: 'Withdraw' }).click();
  await page.getByText('Nothing to approve').waitFor();
  assert.deepEqual(complaints, []);
});

test('double clicks, and clicks on a button that has just appeared, decide at most once', async () => {
  const { page } = walk;
  await page.goto('/approvals');
  const first = await waiting(page);
  const second = await waiting(page);
  await isReady(second.button);
  await page.mouse.dblclick(...(await middleOf(first.button)));
  await first.card.getByText('Approved once').waitFor();
  assert.deepEqual([await first.state(), await second.state()], ['approved', 'pending']);
  await page.goto('/vaults');
  const third = await waiting(page);
  await page.goto(`/approvals/${third.id}`);
  await third.button.waitFor();
  const place = await middleOf(third.button);
  for (let at = 0; at < 3; at++) await page.mouse.click(...place);
  await page.getByText('Your click was ignored').waitFor();
  assert.equal(await third.state(), 'pending');
  await isReady(third.button);
  await page.mouse.click(...(await middleOf(third.button)));
  await third.card.getByText('Approved once').waitFor();
  await ask(page, 'POST', `/auth/approvals/${second.id}/refuse`);
});

test('a card that has moved ignores clicks for a while, and scripts can’t click', async () => {
  const { page } = walk;
  await page.goto('/approvals');
  const { button, state, id } = await waiting(page);
  await isReady(button);
  const place = await middleOf(button);
  await page.evaluate(`document.querySelector('article').style.marginTop = '40px'`);
  await page.mouse.click(place[0], place[1] + 40);
  assert.equal(await state(), 'pending');
  await isReady(button);
  await button.evaluate(element => element.click());
  await button.evaluate(element => element.dispatchEvent(new Event('click', { bubbles: true })));
  await page.waitForTimeout(200);
  assert.equal(await state(), 'pending');
  await ask(page, 'POST', `/auth/approvals/${id}/refuse`);
});

test('a window that comes to the front ignores clicks for a while', async () => {
  const { page } = walk;
  await page.goto('/approvals');
  const { button, state, id } = await waiting(page);
  await isReady(button);
  const place = await middleOf(button);
  await page.evaluate(`window.dispatchEvent(new Event('blur')); window.dispatchEvent(new Event('focus'))`);
  await page.mouse.click(...place);
  assert.equal(await state(), 'pending');
  await ask(page, 'POST', `/auth/approvals/${id}/refuse`);
});

// Simulated in the page, because the browser under test treats every page as the one in front.
for (const [what, told] of [
  [
    'a hidden window',
    `Object.defineProperty(document, 'visibilityState', { get: () => 'hidden', configurable: true })`,
  ],
  ['a window behind another', `document.hasFocus = () => false`],
] as const)
  test(`${what} ignores clicks, however long its cards have not moved`, async () => {
    const { page } = walk;
    await page.goto('/approvals');
    const { button, state, id } = await waiting(page);
    await isReady(button);
    const place = await middleOf(button);
    await page.evaluate(told);
    await page.waitForTimeout(1_000);
    await page.mouse.click(...place);
    await page.getByText('Your click was ignored').waitFor();
    assert.equal(await state(), 'pending');
    await page.goto('/approvals');
    await ask(page, 'POST', `/auth/approvals/${id}/refuse`);
  });

test('the device page ignores a first click, requires proof of identity, and preselects the lowest role', async () => {
  const { page } = await open(browser, service.dashboardUrl, { viewport: { width: 390, height: 1000 } });
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill('owner@example.com');
  await page.getByLabel('Password').fill('correct horse battery');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const begun = await callService(service.url, 'POST', '/auth/device', { host: 'laptop' });
  const { user_code, device_code, verification_uri_complete } = begun.body;
  const status = async () => {
    service.clock.pass(3_000);
    return (await callService(service.url, 'POST', '/auth/device/token', { device_code })).body.status;
  };
  await page.mouse.move(0, 0);
  const path = new URL(verification_uri_complete);
  await page.goto(`${path.pathname}${path.hash}`);
  const allow = page.getByRole('button', { name: 'Allow' });
  await isReady(allow);
  assert.equal(await page.getByLabel('Role').inputValue(), 'viewer');
  // As if the pointer had rested there all along: the page sees only the click.
  const devices = await page.context().newCDPSession(page);
  const [x, y] = await middleOf(allow);
  for (const type of ['mousePressed', 'mouseReleased'])
    await devices.send('Input.dispatchMouseEvent', {
      type: type as 'mousePressed',
      x,
      y,
      button: 'left',
      clickCount: 1,
    });
  await page.getByText('Your click was ignored').waitFor();
  assert.equal(await status(), 'pending');
  const unproven = await ask(page, 'POST', '/auth/device/approve', { user_code, role: 'owner' });
  assert.equal(unproven.body.error.code, 'PROOF_REQUIRED');
  await allow.click();
  await proveAgain(page);
  await page.getByRole('heading', { name: 'Signed in' }).waitFor();
  service.clock.pass(3_000);
  const { body } = await callService(service.url, 'POST', '/auth/device/token', { device_code });
  assert.equal(body.api_key.role, 'viewer');
});
