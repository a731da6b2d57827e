/** A use rule from its preset to a call that a person approves, seen in the dashboard and by a real upstream. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { callService } from '../harness.ts';
import { startUpstream, type Upstream, value } from '../uses-world.ts';
import { ask, type Fresh, launch, open, setUp, startFresh } from './browser.ts';

let browser: Browser;
let service: Fresh;
let upstream: Upstream;

before(async () => {
  [browser, service, upstream] = await Promise.all([
    launch(),
    startFresh(['--allow-private-webhooks', '127.0.0.0/8']),
    startUpstream(),
  ]);
});
after(async () => {
  await browser.close();
  await service.stop();
  await upstream.close();
});

async function writeRule(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New use rule' }).click();
  const form = page.getByRole('dialog', { name: 'New use rule' });
  await form.getByLabel('Service').selectOption('GitHub');
  assert.equal(await form.getByLabel('Hosts').inputValue(), 'api.github.com');
  await form.getByLabel('Hosts').fill(upstream.url);
  await form.getByLabel('Paths').fill('/own/**');
  await form.getByLabel('Name', { exact: true }).fill('issues');
  await form.getByRole('button', { name: 'Create use rule' }).click();
  await page.getByText('needs approval').waitFor();
}

test('a rule is written, a call arrives in the inbox by itself, and one click lets it through once', async () => {
  const { page, complaints } = await open(browser, service.dashboardUrl);
  await setUp(page, service);
  const { body: vault } = await ask(page, 'POST', '/v1/vaults', { name: 'production' });
  const secret = { vault_id: vault.id, name: 'GITHUB_TOKEN', value };
  const { body: made } = await ask(page, 'POST', '/v1/secrets', secret);
  const key = { vault_id: vault.id, name: 'coding agent', names_only: true, may_use: true };
  const { body: agent } = await ask(page, 'POST', '/v1/access-keys', key);
  await page.goto(`/vaults/${vault.id}/secrets/${made.id}`);
  await writeRule(page);

  await page.goto('/approvals');
  await page.getByText('Nothing waits for you').waitFor();
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
  await page.getByText('Nothing waits for you').waitFor();
  assert.equal((await use()).body.outcome, 'answered');
  assert.equal(upstream.requests.length, 1);

  const again = await use();
  await page.goto(new URL(again.body.approval.url).pathname);
  await page.getByRole('button', { name: 'Refuse' }).click();
  await page.getByText('The call that you were sent to is decided').waitFor();
  assert.equal((await use()).body.message, 'Forbidden: a person refused this call');
  assert.equal(upstream.requests.length, 1);
  assert.ok(!(await page.content()).includes(value));
  assert.deepEqual(complaints, []);
});
