/** Use rules and approvals in the dashboard: from a preset to an approved call that a real upstream receives. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type Answer, callService } from '../harness.ts';
import { startUpstream, type Upstream, value } from '../uses-world.ts';
import {
  ask,
  type Fresh,
  launch,
  leave,
  open,
  password,
  settle,
  setUp,
  signOut,
  startFresh,
  type Walk,
} from './browser.ts';

const second = 1_000;
const held = '/auth/approvals/waiting';
let browser: Browser;
let service: Fresh;
let upstream: Upstream;
let walk: Walk;

before(async () => {
  [browser, service, upstream] = await Promise.all([
    launch(),
    startFresh(['--allow-private-webhooks', '127.0.0.0/8']),
    startUpstream(),
  ]);
  walk = await open(browser, service.dashboardUrl);
  await setUp(walk.page, service);
});
after(async () => {
  await leave(browser);
  await service.stop();
  await upstream.close();
});

async function writeRule(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New use rule' }).click();
  const form = page.getByRole('form', { name: 'New use rule' });
  await form.getByLabel('Service').selectOption('GitHub');
  assert.equal(await form.getByLabel('Hosts').inputValue(), 'api.github.com');
  await form.getByLabel('Hosts').fill(upstream.url);
  await form.getByLabel('Paths').fill('/own/**');
  await form.getByLabel('Name', { exact: true }).fill('issues');
  await form.getByRole('button', { name: 'Create use rule' }).click();
  await page.getByText('needs approval').waitFor();
}

test('a use rule is created, a call appears without a reload, and one click approves it once', async () => {
  const { page, complaints } = walk;
  const { body: vault } = await ask(page, 'POST', '/v1/vaults', { name: 'production' });
  const secret = { vault_id: vault.id, name: 'GITHUB_TOKEN', value };
  const { body: made } = await ask(page, 'POST', '/v1/secrets', secret);
  const key = { vault_id: vault.id, name: 'coding agent', names_only: true, may_use: true };
  const { body: agent } = await ask(page, 'POST', '/v1/access-keys', key);
  await page.goto(`/vaults/${vault.id}/secrets/${made.id}`);
  await writeRule(page);

  await page.goto('/approvals');
  await page.getByText('Nothing to approve').waitFor();
  const call = {
    secret: 'GITHUB_TOKEN',
    method: 'POST',
    url: `${upstream.url}/own/issues`,
    body: '{"title":"Broken"}',
  };
  const use = () => callService(service.url, 'POST', '/api/v1/vaults/self/use', call, agent.token);
  assert.equal((await use()).status, 403);
  const card = page.getByRole('article', { name: `POST ${call.url}` });
  await card.getByText('{"title":"Broken"}').waitFor();
  await card.getByText('coding agent').waitFor();
  await page.getByRole('navigation').getByText('1 waiting').first().waitFor();
  await card.getByRole('button', { name: 'Approve once' }).click();
  await page.getByText('Approved once').first().waitFor();
  await page.getByText('Nothing to approve').waitFor();
  assert.equal((await use()).body.outcome, 'answered');
  assert.equal(upstream.requests.length, 1);

  const again = await use();
  await page.goto(new URL(again.body.approval.url).pathname);
  await page.getByRole('button', { name: 'Refuse' }).click();
  await page.getByText('The call you followed a link to is no longer waiting').waitFor();
  assert.equal((await use()).body.message, 'Forbidden: a person refused this call');
  assert.equal(upstream.requests.length, 1);
  assert.ok(!(await page.content()).includes(value));
  assert.deepEqual(complaints, []);
});

interface Agents {
  /** Lets an agent that has made no call yet ask for one; returns the name of its access key. */
  ask(): Promise<{ readonly name: string; readonly use: () => Promise<Answer> }>;
}

/** Creates a vault whose secret is used by agents, each with its own access key. */
async function agentsOf(page: Page, vaultName: string): Promise<Agents> {
  const { body: vault } = await ask(page, 'POST', '/v1/vaults', { name: vaultName });
  const token = { vault_id: vault.id, name: 'TOKEN', value };
  const { body: secret } = await ask(page, 'POST', '/v1/secrets', token);
  const rule = { name: 'calls', hosts: [upstream.url], methods: ['GET'], paths: ['/own/**'] };
  await ask(page, 'POST', '/v1/use-rules', { secret_id: secret.id, place: { type: 'bearer' }, ...rule });
  const names = Array.from({ length: 8 }, (_, at) => `${vaultName} agent ${at}`);
  const made: { name: string; token: string }[] = [];
  for (const name of names) {
    const key = { vault_id: vault.id, name, names_only: true, may_use: true };
    made.push((await ask(page, 'POST', '/v1/access-keys', key)).body);
  }
  return {
    ask: async () => {
      const { name, token } = made.pop()!;
      const call = { secret: 'TOKEN', url: `${upstream.url}/own/night` };
      const use = () => callService(service.url, 'POST', '/api/v1/vaults/self/use', call, token);
      assert.equal((await use()).status, 403);
      return { name, use };
    },
  };
}

/** The time between a call and its notice, in milliseconds. */
async function noticedAfter(page: Page, agents: Agents): Promise<number> {
  const asked = performance.now();
  const { name } = await agents.ask();
  await page.getByText(`${name} asks to use calls`).first().waitFor();
  return performance.now() - asked;
}

test('a call is announced within a second, even right after the page was opened', async t => {
  const { page, complaints } = walk;
  const agents = await agentsOf(page, 'noticed');
  const took: number[] = [];
  for (const path of ['/settings', '/vaults', '/approvals']) {
    await page.goto(path);
    took.push(await noticedAfter(page, agents)); // Right after the page was opened,
    took.push(await noticedAfter(page, agents)); // and later.
  }
  t.diagnostic(`noticed after ${took.map(Math.round)} ms`);
  assert.ok(Math.max(...took) < second, `${took} ms`);
  assert.deepEqual(complaints, []);
});

test('a hidden page shows a notification within a second, and two clicks approve the call', async t => {
  const { page, complaints } = walk;
  const agents = await agentsOf(page, 'notified');
  await settle(page, () => page.goto('/settings'));
  await page.evaluate(keepNotifications);
  await page.evaluate(goToBackground);
  const asked = performance.now();
  const { name, use } = await agents.ask();
  const shown = await page.waitForFunction(() => (globalThis as unknown as Notified).notified?.at(-1));
  const took = performance.now() - asked;
  t.diagnostic(`notified after ${Math.round(took)} ms`);
  assert.ok(took < second, `${took} ms`);
  assert.equal(await shown.evaluate(one => one?.body), `${name} asks to use calls`);
  await shown.evaluate(one => one?.onclick());
  const card = page.getByRole('article').filter({ hasText: name });
  await card.getByRole('button', { name: 'Approve once' }).click();
  await page.getByText('Approved once').first().waitFor();
  assert.equal((await use()).body.outcome, 'answered');
  assert.deepEqual(complaints, []);
});

test('a call can be approved with two clicks from any page', async () => {
  const { page, complaints } = walk;
  const agents = await agentsOf(page, 'clicked');
  await page.goto('/logs/audit');
  const { name, use } = await agents.ask();
  await page
    .getByRole('navigation')
    .getByRole('link', { name: /^Approvals/ })
    .first()
    .click();
  const card = page.getByRole('article').filter({ hasText: name });
  await card.getByRole('button', { name: 'Approve once' }).click();
  await page.getByText('Approved once').first().waitFor();
  assert.equal((await use()).body.outcome, 'answered');
  assert.deepEqual(complaints, []);
});

test('polling resumes after an outage, and a waiting call is announced', async () => {
  const { page, complaints } = walk;
  const agents = await agentsOf(page, 'away');
  await page.route(`**${held}**`, route => route.abort());
  await page.goto('/settings');
  await page.getByRole('heading', { name: 'Settings' }).first().waitFor();
  const { name } = await agents.ask();
  await page.unroute(`**${held}**`);
  await page.getByText(`${name} asks to use calls`).first().waitFor();
  assert.deepEqual(complaints, []);
});

test('signing out does not ask to sign in again', async () => {
  const { page } = await signedIn();
  await settle(page, () => page.goto('/vaults'));
  const isOver = page.waitForResponse(answer => answer.url().includes(held) && answer.status() === 401);
  let asked = -1;
  await page.route('**/auth/sign-out', async route => {
    const response = await route.fetch();
    await (await isOver).finished(); // The page learns of the ended session before the response to the sign-out.
    await page.evaluate('new Promise(requestAnimationFrame)');
    asked = await page.getByText('Your session has ended').count();
    await route.fulfill({ response });
  });
  await signOut(page);
  assert.equal(asked, 0);
});

test('a key’s rule signs only tokens with given claims; a rule stores a token from the response in a secret', async () => {
  const { page, complaints } = walk;
  const { body: vault } = await ask(page, 'POST', '/v1/vaults', { name: 'forms' });
  const generate = { key_type: 'EC', curve: 'P-384' };
  const { body: signer } = await ask(page, 'POST', '/v1/keys', {
    vault_id: vault.id,
    name: 'signer',
    generate,
  });
  const make = (name: string) => ask(page, 'POST', '/v1/secrets', { vault_id: vault.id, name, value });
  const [{ body: client }, { body: minted }] = [await make('CLIENT'), await make('MINTED')];
  const rulesOf = async (query: string) => (await ask(page, 'GET', `/v1/use-rules?${query}`)).body.data;

  await page.goto(`/vaults/${vault.id}/keys/${signer.id}`);
  await page.getByRole('button', { name: 'New use rule' }).click();
  const form = page.getByRole('form', { name: 'New use rule' });
  await form.getByLabel('Name', { exact: true }).fill('tokens');
  await form.getByLabel('Token issuer').fill('agents');
  await form.getByLabel('Audiences').fill('payments refunds');
  await form.getByRole('button', { name: 'Create use rule' }).click();
  await page.getByText('sign ES384, only tokens from agents for payments, refunds').waitFor();
  const [tokens] = await rulesOf(`key_id=${signer.id}`);
  assert.deepEqual(tokens.jwt, {
    issuer: 'agents',
    audiences: ['payments', 'refunds'],
    longest_lifetime: 600,
  });

  await page.goto(`/vaults/${vault.id}/secrets/${client.id}`);
  await page.getByRole('button', { name: 'New use rule' }).click();
  await form.getByLabel('Name', { exact: true }).fill('mints');
  await form.getByLabel('Hosts').fill('login.example.com');
  await form.getByLabel('Methods').fill('POST');
  await form.getByLabel('Paths').fill('/oauth/token');
  await form.getByLabel('Returns').selectOption('Nothing, and store a field of the response in a secret');
  await form.getByPlaceholder('Choose a secret').fill('MINT');
  await page.getByRole('option', { name: 'MINTED' }).click();
  await form.getByRole('button', { name: 'Create use rule' }).click();
  await page.getByText('needs approval').waitFor();
  const [mints] = await rulesOf(`secret_id=${client.id}`);
  assert.deepEqual(mints.store, { secret_id: minted.id, pointer: '/access_token' });
  assert.deepEqual(complaints, []);
});

/** Opens a separate session of the owner. */
async function signedIn(): Promise<Walk> {
  const other = await open(browser, service.dashboardUrl);
  await other.page.goto('/sign-in');
  await other.page.getByLabel('Email').fill('owner@example.com');
  await other.page.getByLabel('Password').fill(password);
  await other.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await other.page.getByRole('heading', { name: 'Overview' }).waitFor();
  return other;
}

/** Makes the page believe that another tab is in front. */
const goToBackground = `
  Object.defineProperty(document, 'hidden', { get: () => true });
  document.dispatchEvent(new Event('visibilitychange'));
`;

/** The notifications that the page would show. */
interface Notified {
  notified?: { body: string; onclick: () => void }[];
  Notification: unknown;
}

function keepNotifications(): void {
  const page = globalThis as unknown as Notified;
  const kept: NonNullable<Notified['notified']> = [];
  page.notified = kept;
  page.Notification = class {
    static readonly permission = 'granted';
    readonly body: string;
    onclick = () => {};
    constructor(_title: string, { body }: { body: string }) {
      this.body = body;
      kept.push(this);
    }
  };
}
