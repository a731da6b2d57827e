/** The proof of the logs that the dashboard shows: when it is worked out, for how long it is good, and who sees what of it. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import { verifyLogsWith } from '../src/domain/operations/log-verification.ts';
import { type AskingDomain, asked } from './asking.ts';
import { MemoryLog, markOf, noon, publicKey } from './memory-log.ts';

const caller = { organizationId: 'o' } as unknown as Caller;

describe('the proof of the logs', () => {
  let now: number;
  let log: MemoryLog;
  let fault: string | null;
  let damage: string | null;
  let largest: number | undefined;
  let runs: number;
  let open: number;
  let failure: Error | null;
  let unwritable: boolean;
  let vaults: readonly string[] | null;
  let gauges: Record<string, number>;
  let hold: Promise<void> | null;
  let verify: AskingDomain['verifyLogs'];
  beforeEach(() => {
    now = noon + 2_000;
    log = new MemoryLog();
    [fault, damage, largest, runs, open, failure] = [null, null, undefined, 0, 0, null];
    [unwritable, vaults, gauges, hold] = [false, null, {}, null];
    log.sign(1_000);
    const vouched = () => true;
    const parts = {
      now: () => now,
      keyring: { logPublicKey: publicKey, chainMark: markOf },
      stamps: new Proxy({}, { get: () => ({ vouched, believe: vouched }) }),
      meter: {
        gauge: (name: string) => (value: number) => {
          gauges[name] = value;
        },
      },
      ledger: {
        settle: async () => {
          if (unwritable) throw new Failure('UNAVAILABLE');
        },
      },
      store: {
        logs: { total: async (_: string, stream: string) => (stream === 'audit' ? 7 : 8) },
        diagnostics: {
          schemaFault: async () => fault,
          damage: async (most: number) => {
            largest = most;
            return damage;
          },
        },
        snapshot: async () => {
          runs++;
          open++;
          await hold;
          if (failure !== null) throw failure;
          return {
            logs: {
              auditStretch: async () => [],
              checkpoints: async (after: number) =>
                log.signed.map((signed, at) => ({ ...signed, number: at + 1 })).slice(after),
            },
            requestLogs: { stretch: async () => [], indexOf: async () => [] },
            stampedRows: { stretch: async () => [] },
            close: async () => {
              open--;
            },
          };
        },
      },
    };
    const own = verifyLogsWith(parts as never);
    const admit = async (by: Caller) => ({ caller: by, vaults });
    const needs = { all: ['logs:read'] } as const;
    verify = Object.assign(asked({ admit } as never, own, needs), { prove: own.prove });
  });

  it('is worked out for whoever asks first, and shown again for a minute', async () => {
    const first = await verify(caller);
    assert.deepEqual(first, {
      checked_at: new Date(now).toISOString(),
      ok: true,
      checkpoints: 1,
      findings: [],
      running: false,
      entries: { request: 8, audit: 7 },
    });
    assert.deepEqual(gauges, {
      strongroom_log_proof_ok: 1,
      strongroom_log_proof_timestamp_seconds: now / 1000,
    });
    assert.deepEqual([runs, open, largest], [1, 0, 128 * 2 ** 20]);
    now += 60_000;
    await verify(caller);
    assert.equal(runs, 1);
    now += 1;
    await verify(caller);
    assert.equal(runs, 2);
  });

  it('tells what was found, by its kind', async () => {
    damage = 'an index';
    const { ok, findings } = await verify(caller);
    assert.deepEqual([ok, findings], [false, [{ what: 'altered-schema', count: 1 }]]);
    assert.equal(gauges.strongroom_log_proof_ok, 0);
    [fault, damage, largest] = ['a trigger', null, undefined];
    log.signed = log.signed.map(signed => ({ ...signed, signature: Buffer.alloc(64) }));
    log.signed.push(...log.signed);
    now += 60_001;
    const later = await verify(caller);
    assert.equal(largest, undefined, 'the rest is not looked at where the schema is altered');
    assert.ok(later.findings.some(({ what, count }) => what !== 'altered-schema' && count > 1));
  });

  it('says no numbers to those who are given some vaults', async () => {
    vaults = ['v'];
    assert.deepEqual((await verify(caller)).entries, { request: 0, audit: 0 });
  });

  it('is shown also while nothing can be written', async () => {
    unwritable = true;
    assert.equal((await verify(caller)).ok, true);
  });

  it('is waited for a while; it then goes on, once for all who ask', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    hold = promise;
    const [one, two] = await Promise.all([verify(caller), verify(caller)]);
    for (const shown of [one, two])
      assert.deepEqual([shown.checked_at, shown.ok, shown.running], [null, null, true]);
    assert.equal(runs, 1);
    const proven = verify.prove();
    resolve();
    await proven;
    assert.equal(runs, 1);
    assert.equal((await verify(caller)).ok, true);
    await verify.prove();
    assert.equal(runs, 2, 'whoever proves it works it out');
  });

  it('fails for those who wait, and is begun again by the next', async () => {
    failure = new Failure('UNAVAILABLE');
    await assert.rejects(verify(caller), { code: 'UNAVAILABLE' });
    failure = null;
    assert.equal((await verify(caller)).ok, true);
    assert.equal(runs, 2);
  });
});
