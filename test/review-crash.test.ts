/** A confirmation that a crash interrupts is done wholly or not at all: the write, the decision and their audit entries. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setup, start, stop } from './command.ts';
import type { Json } from './document.ts';
import { callService } from './harness.ts';
import { Browser, password } from './people.ts';

const atOnce = 40;

it('killed in the middle of confirmations, each is done wholly or not at all', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-review-crash-'));
  const place = ['--data', folder];
  const key = await setup(place);
  let url = '';
  const serve = async () => {
    const service = start(['serve', ...place, '--port', '0']);
    url = await service.url;
    return service;
  };
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await callService(url, method, path, body, key);
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    return answer.body as Json;
  };
  let service = await serve();
  const { id: vault_id } = await call('POST', '/v1/vaults', { name: 'v', review: true });
  const { token } = await call('POST', '/v1/members', { email: 'author@example.org', role: 'editor' });
  const author = new Browser(() => url);
  await author.post('/auth/invitation/accept', { token, password });
  const acknowledged = new Set<string>();
  const all: string[] = [];
  for (let crash = 0; crash < 3; crash++) {
    const made: string[] = [];
    for (let at = 0; at < atOnce; at++) {
      const secret = { vault_id, name: `S_${crash}_${at}`, value: 'x' };
      const { body, text } = await author.post('/v1/secrets', secret);
      assert.ok(body.proposal, text);
      made.push(body.proposal.id);
    }
    all.push(...made);
    const confirming = made.map(async id => {
      const path = `/v1/proposals/${id}/confirm`;
      const answer = await callService(url, 'POST', path, undefined, key).catch(() => null);
      if (answer?.status === 200) acknowledged.add(id);
    });
    const before = acknowledged.size;
    while (acknowledged.size === before) await sleep(1);
    await sleep(Math.random() * 20);
    service.child.kill('SIGKILL');
    await Promise.all([...confirming, service.ended]);
    service = await serve();
  }
  const { data: secrets } = await call('GET', `/v1/secrets?vault_id=${vault_id}&limit=100`);
  const { data: more } = await call('GET', `/v1/secrets?vault_id=${vault_id}&limit=100&page=2`);
  const stored = new Set([...secrets, ...more].map(({ id }: Json) => id));
  const entriesOf = async (id: string) =>
    (await call('GET', `/v1/audit-logs?subject_id=${id}`)).data as Json[];
  let done = 0;
  for (const id of all) {
    const { state, changes } = await call('GET', `/v1/proposals/${id}`);
    const isDone = state === 'confirmed';
    done += Number(isDone);
    assert.ok(isDone || !acknowledged.has(id), 'acknowledged means done');
    assert.equal(stored.has(changes[0].id), isDone, state);
    const told = (await entriesOf(id)).filter(({ action }) => action === 'proposal.confirmed');
    const written = (await entriesOf(changes[0].id)).filter(({ action }) => action === 'secret.created');
    assert.deepEqual([told.length, written.length], isDone ? [1, 1] : [0, 0]);
  }
  assert.ok(done > 0);
  await stop(service);
  await rm(folder, { recursive: true, force: true });
});
