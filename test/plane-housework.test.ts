/** What the planes do in the background and measure, and how often, without their threads. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Chores } from '../src/base/chores.ts';
import type { catalogue } from '../src/metrics/catalogue.ts';
import type { Meter } from '../src/metrics/meter.ts';
import { managementGauges, readingGauges, usesGauges } from '../src/service/planes/gauges.ts';
import { beginBackups, startHousework } from '../src/service/planes/housework.ts';
import { UsageError } from '../src/service/settings/report.ts';

/** A double of the chores, which notes what is to be done how often. */
function notedChores() {
  const kept: [milliseconds: number, step: () => Promise<unknown>][] = [];
  const atOnce: (() => Promise<void>)[] = [];
  const chores = {
    every(milliseconds: number, step: () => Promise<unknown>) {
      kept.push([milliseconds, step]);
      return chores;
    },
    once: (work: () => Promise<void>) => void atOnce.push(work),
  };
  return { kept, atOnce, chores: chores as unknown as Chores };
}

describe('background work', () => {
  it('of the management plane is done as often as it is due, and what is removed is signed', async () => {
    const done: string[] = [];
    const does =
      (name: string, answer: unknown = undefined) =>
      async (...given: unknown[]) => {
        done.push(name);
        void given;
        return answer;
      };
    const domain = {
      retention: { prune: does('prune', true), archive: does('archive', false) },
      authenticate: { noteUses: does('noteUses') },
      ledger: { writeHourCounts: does('writeHourCounts') },
      housekeeping: { step: does('step') },
      stageTakeover: { step: does('stages') },
      leaseKeeper: { step: does('leases') },
      rotationKeeper: { step: does('rotations') },
      revisions: { keep: does('keep') },
      toolSessions: { forget: does('forget') },
      noteTimeline: does('noteTimeline'),
    };
    const { chores, kept } = notedChores();
    const config = { data: '/data', 'log-retention-days': 1, 'audit-retention-days': 2 };
    startHousework(
      chores,
      { domain, store: { giveBackSpace: does('giveBackSpace') }, aged: {} } as never,
      config as never,
      { sign: does('sign') as never },
      { step: does('backup') as never },
      () => {},
    );
    const work: [number, string][] = [];
    const more: unknown[] = [];
    for (const [milliseconds, step] of kept) {
      more.push(await step());
      work.push([milliseconds / 1_000, done.splice(0).join(' ')]);
    }
    assert.deepEqual(work, [
      [1, 'backup'],
      [10, 'noteUses writeHourCounts'],
      [60, 'prune sign'],
      [60, 'archive sign'],
      [60, 'giveBackSpace'],
      [60, 'stages'],
      [60, 'step'],
      [60, 'keep'],
      [2, 'noteTimeline'],
      [0.5, 'leases'],
      [1, 'rotations'],
      [600, 'forget'],
    ]);
    const without = notedChores();
    startHousework(
      without.chores,
      { domain, store: {} } as never,
      config as never,
      {} as never,
      null,
      () => {},
    );
    assert.deepEqual(without.kept.length, kept.length - 1, 'no backups are taken');
    assert.deepEqual(more.slice(2, 4), [true, false], 'it goes on while there is more');
  });

  it('refuses the start where backups can’t be written', async () => {
    await beginBackups(null);
    await beginBackups({ begin: async () => {} });
    const failures: [error: Error, message: string][] = [
      [Object.assign(new Error('long'), { code: 'EACCES' }), '--backup-to can’t be used: EACCES'],
      [new Error('it is no folder'), '--backup-to can’t be used: it is no folder'],
    ];
    for (const [error, message] of failures)
      await assert.rejects(
        beginBackups({ begin: () => Promise.reject(error) }),
        refusal => refusal instanceof UsageError && refusal.message === message,
      );
  });
});

describe('what is measured', () => {
  /** A meter that keeps what it was last told, by name and labels. */
  function noted() {
    const values: Record<string, number> = {};
    const meter = {
      gauge: (name: keyof typeof catalogue, labels: object) => (value: number) => {
        values[[name, ...Object.values(labels)].join(' ')] = value;
      },
    };
    return { values, meter: meter as unknown as Meter };
  }

  it('on the reading plane is measured when it is asked for', async () => {
    for (const isUp of [true, false]) {
      const { values, meter } = noted();
      const gauges = readingGauges(meter, {
        ledger: { waiting: 5 },
        openConnections: async () => 3,
        readers: () => 4,
        isManagementUp: () => isUp,
      });
      await gauges.sample();
      gauges.stop();
      assert.deepEqual(
        [
          'strongroom_log_queue_entries reading',
          'strongroom_open_connections',
          'strongroom_readers',
          'strongroom_management_up',
        ].map(name => values[name]),
        [5, 3, 4, isUp ? 1 : 0],
      );
    }
  });

  it('on the plane of uses is measured every ten seconds', async () => {
    const { values, meter } = noted();
    const { chores, kept } = notedChores();
    const gauges = usesGauges(meter, { waiting: 7 }, chores);
    assert.equal(kept[0]![0], 10_000);
    await kept[0]![1]();
    gauges.stop();
    assert.equal(values['strongroom_log_queue_entries uses'], 7);
  });

  const day = 24 * 3_600_000;
  function management(backups: object | null, checkpoint?: object) {
    const { values, meter } = noted();
    const { chores, kept, atOnce } = notedChores();
    const asked: { from: number; to: number }[] = [];
    const store = {
      logs: { lastCheckpoint: async () => checkpoint },
      overview: {
        expiringWithin: async (span: { from: number; to: number }) => {
          asked.push(span);
          return 4;
        },
      },
      deliveries: { byState: async () => new Map([['dead', 2]]) },
      leases: {
        counts: async (before: number) => {
          assert.equal(before, day - 60_000);
          return { states: new Map([['active', 3]]), late: 2, failingIssuers: 1 };
        },
      },
    };
    const domain = { ledger: { waiting: 9 }, verifyLogs: { prove: async () => 'proven' } };
    const gauges = managementGauges(
      { store, domain, meter, now: () => day } as never,
      () => backups as never,
      chores,
    );
    return { values, kept, atOnce, asked, gauges };
  }

  it('on the management plane is looked at, counted and proven as often as it says', async () => {
    const { values, kept, atOnce, asked, gauges } = management(null);
    assert.deepEqual(
      kept.map(([milliseconds]) => milliseconds),
      [10_000, 60_000, day],
    );
    assert.equal(await kept[2]![1](), 'proven');
    for (const work of atOnce) await work();
    gauges.stop();
    assert.equal(values['strongroom_log_queue_entries management'], 9);
    assert.deepEqual(
      [values['strongroom_webhook_deliveries pending'], values['strongroom_webhook_deliveries dead']],
      [0, 2],
    );
    assert.deepEqual(
      ['leases active', 'leases revoking', 'leases_late ', 'issuers_failing '].map(
        name => values[`strongroom_${name}`.trim()],
      ),
      [3, 0, 2, 1],
    );
    assert.ok(asked.length > 0 && asked.every(({ from, to }) => from === day && (to - from) % day === 0));
    const days = Object.keys(values).flatMap(
      name => /^strongroom_resources_expiring (\d+)/.exec(name)?.[1] ?? [],
    );
    assert.deepEqual(
      asked.map(({ from, to }) => String((to - from) / day)),
      days,
    );
    assert.deepEqual(
      Object.keys(values).filter(name => /backup|checkpoint/.test(name)),
      [],
      'there is none',
    );
  });

  const at = new Date(90_000).toISOString();
  const rows: [backups: object, measured: [last: number | undefined, proven: number | undefined]][] = [
    [{ last_at: at, proven_at: null }, [90, undefined]],
    [{ last_at: null, proven_at: at }, [undefined, 90]],
    [{}, [undefined, undefined]],
  ];
  for (const [backups, measured] of rows)
    it(`says of backups ${JSON.stringify(backups)}: ${measured}`, async () => {
      const { values, kept, gauges } = management(backups);
      await kept[0]![1]();
      gauges.stop();
      assert.deepEqual(
        [values.strongroom_backup_timestamp_seconds, values.strongroom_backup_proof_timestamp_seconds],
        measured,
      );
    });

  it('says when the newest checkpoint was signed', async () => {
    const { values, kept, gauges } = management(null, { body: JSON.stringify({ created_at: at }) });
    await kept[1]![1]();
    gauges.stop();
    assert.equal(values.strongroom_checkpoint_timestamp_seconds, 90);
  });
});
