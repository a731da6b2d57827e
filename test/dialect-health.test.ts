/** The probes that clients of Vault's dialect ask first: what each says of a service that serves, waits or ends. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { healthWith } from '../src/http/dialect/health.ts';
import type { ReadingSurfaceParts } from '../src/http/surface/surface-parts.ts';

type State = 'serving' | 'waiting' | 'ending' | 'broken';
type Of = Parameters<ReturnType<typeof healthWith>>[0];

/** The status, the body, and whether the connection ends; with the errors that were reported. */
async function asked(of: Of, state: State, query = '') {
  const errors: unknown[] = [];
  const answer = healthWith({
    storeReady: async () => {
      if (state === 'broken') throw new Error('away');
      return state !== 'waiting';
    },
    draining: () => state === 'ending',
    now: () => 1_999,
    newId: () => 'id',
    onError: (error: Error, id: string) => errors.push(`${error.message} ${id}`),
  } as unknown as ReadingSurfaceParts);
  const { promise, resolve } = Promise.withResolvers<[number, Record<string, unknown>, string]>();
  const response = {
    writeHead: (status: number, headers: Record<string, unknown>) => ({
      end: (body: string) => resolve([status, headers, body]),
    }),
  } as unknown as ServerResponse;
  answer(of, { url: `/v1/sys/${of}${query}` } as IncomingMessage, response, { A: 'b' });
  const [status, headers, text] = await promise;
  assert.deepEqual(
    [headers['A'], headers['Cache-Control'], headers['X-Request-Id'], headers['Content-Length']],
    ['b', 'no-store', 'id', Buffer.byteLength(text)],
  );
  const body = JSON.parse(text) as Record<string, unknown>;
  return { status, body, closes: headers['Connection'] === 'close', errors };
}

describe('a probe of Vault’s dialect', () => {
  const rows: [of: string, state: State, status: number, field: string, said: unknown][] = [
    ['health', 'serving', 200, 'sealed', false],
    ['health', 'waiting', 503, 'sealed', true],
    ['health', 'ending', 503, 'sealed', true],
    ['health', 'broken', 503, 'sealed', true],
    ['seal-status', 'serving', 200, 'sealed', false],
    ['seal-status', 'waiting', 200, 'sealed', true],
    ['init', 'serving', 200, 'initialized', true],
    ['init', 'waiting', 200, 'initialized', true],
    ['leader', 'serving', 200, 'ha_enabled', false],
    ['leader', 'waiting', 503, 'errors', ['Vault is sealed']],
  ];
  for (const [of, state, status, field, said] of rows)
    it(`${of}, of a service that is ${state}: ${status}`, async () => {
      const told = await asked(of as Of, state);
      assert.deepEqual([told.status, told.body[field], told.closes], [status, said, state === 'ending']);
      assert.deepEqual(told.errors, state === 'broken' ? ['away -'] : []);
      const own = { health: 'server_time_utc', 'seal-status': 'type', leader: 'is_self', init: '' }[of]!;
      for (const one of ['server_time_utc', 'type', 'is_self'])
        assert.equal(one in told.body, one === own && !(of === 'leader' && state === 'waiting'), one);
    });

  it('health has the status that the caller chose for the state, if it is one', async () => {
    const codes = '?activecode=299&sealedcode=473';
    assert.equal((await asked('health' as Of, 'serving', codes)).status, 299);
    assert.equal((await asked('health' as Of, 'waiting', codes)).status, 473);
    for (const code of ['199', '600', 'x', '2000', ''])
      assert.equal((await asked('health' as Of, 'serving', `?activecode=${code}`)).status, 200);
    assert.equal((await asked('health' as Of, 'serving')).body['server_time_utc'], 1);
  });
});
