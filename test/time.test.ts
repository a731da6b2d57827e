/** Time never runs back, and what is removed by its age is not removed by a clock that jumps. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { clockWith } from '../src/base/clock.ts';
import { timeOf } from '../src/contract/id.ts';
import { type Checkpoint, parseCheckpoint } from '../src/logs/checkpoints.ts';
import { openStrongroom, type Strongroom } from '../src/service/opening/open.ts';
import type { OpenParts } from '../src/service/opening/open-data.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig, StartRefused } from '../src/service/settings/config.ts';
import { enginesInTurn, type Service, startService } from './harness.ts';

const hour = 3_600_000;
const day = 24 * hour;

describe('the clock', () => {
  const parts = (signed: { now: number; aged: number } | null) => {
    const machine = { wall: 1_000_000, elapsed: 0, behind: [] as number[] };
    const clock = clockWith({
      wall: () => machine.wall,
      elapsed: () => machine.elapsed,
      signed,
      onBehind: by => machine.behind.push(by),
    });
    const pass = (milliseconds: number) => {
      machine.wall += milliseconds;
      machine.elapsed += milliseconds;
    };
    return { machine, pass, ...clock };
  };

  it('follows the machine’s as long as that goes on', () => {
    const { machine, now } = parts(null);
    assert.equal(now(), 1_000_000);
    machine.wall += 5 * day;
    assert.equal(now(), 1_000_000 + 5 * day);
    assert.deepEqual(machine.behind, []);
  });

  it('never goes back, goes on at half the pace until the machine’s has caught up, and tells once', () => {
    const { machine, now, pass } = parts(null);
    const before = now();
    machine.wall -= 10_000;
    assert.equal(now(), before);
    pass(4_000);
    assert.equal(now(), before + 2_000);
    pass(16_001);
    assert.equal(now(), machine.wall, 'caught up');
    machine.wall -= 1;
    assert.equal(now(), machine.wall + 1, 'small corrections are nobody’s concern');
    assert.deepEqual(machine.behind, [10_000]);
  });

  it('set to and fro while it is behind, drives nothing ahead', () => {
    const { machine, now, pass } = parts(null);
    const before = now();
    machine.wall -= day;
    now();
    for (let time = 0; time < 100; time++) {
      machine.wall += hour;
      pass(10);
      now();
      machine.wall -= hour;
      pass(10);
      now();
    }
    assert.equal(now(), before + 1_000, 'half of the two seconds that passed');
  });

  it('begins where the log ends', () => {
    const { machine, now } = parts({ now: 1_500_000, aged: 1_500_000 });
    assert.equal(now(), 1_500_000);
    assert.equal(machine.behind.length, 1);
  });

  it('lets things age at most ten times as fast as time passes', () => {
    const { machine, aged } = parts({ now: 1_000_000, aged: 1_000_000 });
    machine.wall += 400 * day;
    assert.equal(aged(), 1_000_000, 'a jump alone ages nothing');
    machine.elapsed += day;
    assert.equal(aged(), 1_000_000 + 10 * day);
    machine.elapsed += 100 * day;
    assert.equal(aged(), machine.wall, 'and never ahead of the clock');
    machine.elapsed += 1_000 * day;
    aged();
    machine.wall += 400 * day;
    assert.equal(aged(), machine.wall - 400 * day, 'a long life gives no advance');
  });
});

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`a clock that is wrong on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    before(async () => {
      service = await startService({ engine });
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'v' })).body.id;
    });
    after(() => service.stop());

    const mint = async (expiration_date?: string) =>
      (
        await service.call('POST', '/v1/access-keys', {
          vault_id: vaultId,
          name: `k${Math.random()}`,
          expiration_date,
        })
      ).body.token;
    const read = async (token: string) => service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, token);
    const kept = () =>
      JSON.parse(
        parseCheckpoint(readFileSync(join(service.data, 'checkpoint.json'), 'utf8')).body,
      ) as Checkpoint;

    async function opened<T>(parts: OpenParts, use: (strongroom: Strongroom) => Promise<T>): Promise<T> {
      const config = readConfig(serveOptions, service.place, {});
      const strongroom = await openStrongroom(config, false, service.clock.now, parts);
      return use(strongroom).finally(() => strongroom.close());
    }

    it('set back, revives nothing that has expired, and writes nothing before what was written', async () => {
      const token = await mint(new Date(Date.now() + hour).toISOString());
      assert.equal((await read(token)).status, 200);
      service.clock.pass(2 * hour);
      const late = await read(token);
      assert.equal(late.status, 401);
      service.clock.setBack(4 * hour);
      const later = await read(token);
      assert.equal(later.status, 401);
      const [before, after] = [late, later].map(({ headers }) => headers.get('x-request-id')!);
      assert.ok(before! < after!);
      await service.call('GET', '/v1/vaults');
      assert.ok(service.reports.some(line => /^the clock is \d+ s behind the log/.test(line)));
    });

    it('revives nothing over a restart either', async () => {
      service.clock.pass(2 * hour);
      const token = await mint(new Date(service.clock.now() + 3 * hour).toISOString());
      service.clock.pass(4 * hour);
      assert.equal((await read(token)).status, 401);
      await service.restart();
      service.clock.setBack(8 * hour);
      await service.restart();
      assert.equal((await read(token)).status, 401);
    });

    it('is refused at a start where it is more than a day behind, unless the operator says that it is right', async () => {
      service.clock.pass(40 * day + 4 * hour);
      await read('sr_vault_any');
      await service.restart();
      service.clock.setBack(40 * day);
      const { number } = kept();
      const line = await service.restart().then(
        () => '',
        (error: Error) => {
          assert.ok(error instanceof StartRefused);
          return error.message;
        },
      );
      assert.match(line, /^the clock says .* but the log was last signed at .*: set the clock\./);
      const [, told] = /start once with --accept-clock (\d+)$/.exec(line)!;
      assert.ok(Number(told) >= number);
      await assert.rejects(service.restart(['--accept-clock', '1']), StartRefused);
      await service.restart(['--accept-clock', told!]);
      const { body } = await service.call('GET', '/v1/audit-logs?action=log.clock_accepted');
      assert.equal(body.pagination.total, 1);
      assert.ok(Math.abs(Date.parse(body.data[0].created_at) - Date.now()) < hour);
      await service.restart(); // From now on it is as it was before.
    });

    it('far ahead, removes no request log, however often the service starts', async () => {
      const token = await mint();
      await read(token);
      const entries = async () => (await service.call('GET', '/v1/request-logs')).body.pagination.total;
      const before = await entries();
      service.clock.pass(500 * day);
      for (let life = 0; life < 2; life++) {
        await service.restart();
        await read(token);
        const removed = await opened({}, ({ domain, aged }) => domain.retention.prune({ aged, days: 90 }));
        assert.equal(removed, false);
      }
      assert.equal(await entries(), before + 2);
      assert.ok(Date.parse(kept().created_at) > Date.now() + 499 * day);
      assert.ok(
        Date.parse(kept().aged_at!) < Date.now() + day,
        'checkpoints carry the age from start to start',
      );
    });

    it('far ahead, empties no trash', async () => {
      const { body } = await service.call('POST', '/v1/vaults', { name: 'thrown away' });
      await service.call('DELETE', `/v1/vaults/${body.id}`);
      service.clock.pass(100 * day);
      await opened({}, ({ domain }) => domain.housekeeping.step());
      const trash = await service.call('POST', `/v1/resources/${body.id}/restore`);
      assert.notEqual(trash.status, 200, 'it may no longer be restored, for the clock says so');
      service.clock.pass(day);
      const gone = await opened({}, ({ store }) => store.resources.deletedBefore(service.clock.now(), 10));
      assert.ok(
        gone.some(({ id }) => id === body.id),
        'but it is still there when the clock is set right',
      );
    });
  });

  describe(`retention on ${engine}`, () => {
    let service: Service;
    let written: number;
    before(async () => {
      service = await startService({ engine });
      const { body } = await service.call('POST', '/v1/vaults', { name: 'v' });
      const answer = await service.call('GET', `/api/v1/vaults/${body.id}`, undefined, 'sr_vault_wrong');
      written = timeOf(answer.headers.get('strongroom-receipt')!.split('.')[0]!);
    });
    after(() => service.stop());

    async function prune(days: number, aged: number): Promise<number> {
      await service.call('GET', '/v1/request-logs');
      const strongroom = await openStrongroom(readConfig(serveOptions, service.place, {}), false);
      await strongroom.domain.retention.prune({ aged: () => aged, days });
      await strongroom.close();
      return (await service.call('GET', '/v1/request-logs')).body.pagination.total;
    }

    it('0 keeps everything, for ever', async () => {
      assert.equal(await prune(0, written + 10_000 * day), 1);
    });

    it('keeps an entry to the last millisecond of its days, and no longer', async () => {
      assert.equal(await prune(90, written + 89 * day), 1);
      assert.equal(await prune(90, written + 90 * day), 1);
      assert.equal(await prune(90, written + 90 * day + 1), 0);
    });
  });
}
