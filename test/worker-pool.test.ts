/** What takes seconds is done apart: it keeps nobody waiting who reads a vault or signs in, and has an end. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { workerPoolWith } from '../src/material/worker-pool.ts';
import { macData, pfx, seq } from './der-build.ts';
import { type Answer, type Service, startService } from './harness.ts';

describe('costly work', () => {
  let service: Service;
  let vaultId: string;
  let reader: string;

  before(async () => {
    service = await startService();
    vaultId = (await service.call('POST', '/v1/vaults', { name: 'workers' })).body.id;
    const made = await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'reader' });
    reader = made.body.token;
  });
  after(() => service.stop());

  let named = 0;
  const generate = (what: number | object): Promise<Answer> =>
    service.call('POST', '/v1/keys', {
      vault_id: vaultId,
      name: `key ${named++}`,
      generate: typeof what === 'number' ? { key_type: 'RSA', key_size: what } : what,
    });

  it('of one kind fills no pool that a sign-in waits for', async () => {
    let done = 0;
    const keys = Array.from({ length: 8 }, () => generate(2048).then(answer => [answer, ++done] as const));
    const read = await service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, reader);
    assert.equal(read.status, 200);
    // Whoever signs in must be served while most of the keys are still being made.
    const wrong = await service.call('POST', '/auth/password', {
      email: 'nobody@example.org',
      password: 'not a password of anyone',
    });
    assert.equal(wrong.status, 401);
    assert.ok(done < 5, `${done} of 8 keys were made before the password was checked`);
    for (const [answer] of await Promise.all(keys)) assert.equal(answer.status, 200, answer.text);
  });

  it('finds a line of a certain length, and is told to come back where that is full', async () => {
    // Those that take seconds have the threads; behind them, the line fills with those that take none.
    const slow = Array.from({ length: 4 }, () => generate(3072));
    const quick = { key_type: 'EC', curve: 'P-256' };
    const answers = await Promise.all([...slow, ...Array.from({ length: 56 }, () => generate(quick))]);
    const refused = answers.filter(({ status }) => status === 503);
    assert.ok(refused.length > 0 && refused.length < 60, `${refused.length} of 60`);
    for (const { headers, body } of refused) {
      assert.equal(headers.get('retry-after'), '2');
      assert.equal(body.error.code, 'UNAVAILABLE');
    }
    assert.ok(answers.every(({ status }) => status === 200 || status === 503));
    assert.equal((await generate(quick)).status, 200);
  });
});

describe('the worker pool', () => {
  it('has 32 wait where nobody says otherwise, and refuses the next', async () => {
    const workers = workerPoolWith({ atOnce: 1 });
    const make = () => workers.generateKey({ key_type: 'EC', curve: 'P-256' });
    const made = await Promise.allSettled(Array.from({ length: 34 }, make));
    assert.deepEqual(
      made.map(({ status }) => status),
      [...Array(33).fill('fulfilled'), 'rejected'],
    );
    await workers.close();
  });

  it('does so many at once, has so many wait, and refuses one more', async () => {
    const workers = workerPoolWith({ atOnce: 1, waiting: 2 });
    const make = () => workers.generateKey({ key_type: 'RSA', key_size: 2048 });
    const [first, second, third, fourth] = await Promise.allSettled([make(), make(), make(), make()]);
    for (const one of [first, second, third]) assert.equal(one!.status, 'fulfilled');
    assert.equal((fourth as PromiseRejectedResult).reason.code, 'UNAVAILABLE');
    await workers.close();
  });

  it('lets other work run while a key is made, and while a passphrase is tried', async () => {
    const workers = workerPoolWith();
    const file = pfx(seq(), macData(Buffer.alloc(32), Buffer.alloc(8), 100_000));
    for (const work of [
      () => workers.generateKey({ key_type: 'RSA', key_size: 3072 }),
      () => workers.importPkcs12(file, 'x').catch(error => assert.equal(error.field, 'passphrase')),
    ]) {
      let isOver = false;
      let turns = 0;
      const over = work().finally(() => {
        isOver = true;
      });
      for (; !isOver && turns < 10; turns++) await new Promise(resolve => setImmediate(resolve));
      assert.equal(turns, 10);
      await over;
    }
    await workers.close();
  });

  it('hands on a refusal as it was made', async () => {
    const workers = workerPoolWith();
    const refused = await workers.importKey('no PEM').catch(error => error);
    assert.ok(refused instanceof Failure);
    assert.deepEqual([refused.code, refused.field], ['INVALID_REQUEST', 'pem']);
    assert.notEqual(refused.reason, '');
    await workers.close();
  });

  it('leaves nobody waiting when it closes', async () => {
    const workers = workerPoolWith({ atOnce: 1 });
    const made = workers.generateKey({ key_type: 'RSA', key_size: 4096 });
    const told = assert.rejects(made, { code: 'UNAVAILABLE' });
    await workers.close();
    await told;
  });
});
