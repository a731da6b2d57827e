/** Runs in the dashboard: their budgets, their requests, what a call that waits belongs to, and the button that ends them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { callService } from '../harness.ts';
import { ask, type Fresh, launch, leave, open, setUp, startFresh, type Walk } from './browser.ts';

let browser: Browser;
let service: Fresh;
let walk: Walk;

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh()]);
  walk = await open(browser, service.dashboardUrl);
  await setUp(walk.page, service);
});
after(async () => {
  await leave(browser);
  await service.stop();
});

test('a run is listed with its budgets, shown with its requests, and ended', async () => {
  const { page, complaints } = walk;
  const made = async (path: string, body: object) => {
    const answer = await ask(page, 'POST', path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const vault = await made('/v1/vaults', { name: 'production' });
  const secret = await made('/v1/secrets', { vault_id: vault.id, name: 'TOKEN', value: 'x'.repeat(40) });
  await made('/v1/use-rules', {
    secret_id: secret.id,
    name: 'issues',
    hosts: ['api.github.com'],
    methods: ['POST'],
    paths: ['/**'],
    place: { type: 'bearer' },
  });
  const run = await made('/v1/runs', {
    purpose: 'Label new issues',
    vault_ids: [vault.id],
    budgets: { uses: 200, writes: 20 },
  });
  const call = { secret: 'TOKEN', method: 'POST', url: 'https://api.github.com/issues' };
  const asked = await callService(service.url, 'POST', '/api/v1/vaults/self/use', call, run.token);
  assert.equal(asked.status, 403, asked.text);

  await page.goto('/runs');
  await page.getByRole('link', { name: 'Label new issues' }).waitFor();
  await page.getByText('0 of 200').waitFor();

  await page.goto('/approvals');
  const card = page.getByRole('article');
  await card.getByRole('region', { name: 'Run' }).getByText('Label new issues').waitFor();
  await card.getByText('first call under this rule').waitFor();

  await page.goto(`/runs/${run.id}`);
  await page.getByText('secret=use POST', { exact: false }).first().waitFor();
  await page.getByRole('button', { name: 'End Label new issues' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click();
  await page.getByText('The run has ended').first().waitFor();
  const { body } = await ask(page, 'GET', `/v1/runs/${run.id}`);
  assert.equal(body.state, 'ended');
  const after = await callService(service.url, 'POST', '/api/v1/vaults/self/use', call, run.token);
  assert.equal(after.status, 401);
  assert.deepEqual([...complaints], []);
});
