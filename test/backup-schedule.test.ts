/** When a scheduled backup is due, which are kept and which removed, and what is believed of the record of them. */
import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Taken } from '../src/backup/backup.ts';
import { BackupSchedule, type Keep, readStatus, statusFile } from '../src/backup/schedule.ts';

const [minute, hour] = [60_000, 3_600_000];
const noon = Date.parse('2026-11-16T12:00:00Z');
const root = mkdtempSync(join(tmpdir(), 'strongroom-backup-schedule-'));
after(() => rm(root, { recursive: true, force: true }));

const nameAt = (at: number) =>
  `strongroom-${new Date(noon + at).toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '')}.age`;
const markOf = (fields: readonly (string | number)[]) => `mark of ${fields.join()}`;

/** A folder, a time, and a schedule whose backups are files of a few bytes. */
class World {
  readonly folder: string;
  readonly reports: string[] = [];
  /** When backups were begun, in milliseconds from noon. */
  readonly begun: number[] = [];
  at = 0;
  failure: string | null = null;
  onTake = () => {};
  schedule!: BackupSchedule;
  readonly #given: { keep: Keep; every: number };

  constructor(keep: Keep = { count: 10 }, every = hour) {
    this.folder = mkdtempSync(join(root, 'one-'));
    this.#given = { keep, every };
  }

  /** As the service does when it starts. */
  async begin(): Promise<this> {
    const { folder, reports } = this;
    const parts = { ...this.#given, folder, markOf, now: () => noon + this.at };
    const report = (line: string) => reports.push(line);
    this.schedule = new BackupSchedule({ ...parts, report, take: file => this.#take(file) });
    await this.schedule.begin();
    return this;
  }

  async step(at: number): Promise<number[]> {
    this.at = at;
    await this.schedule.step();
    return this.begun;
  }

  files(): string[] {
    return readdirSync(this.folder)
      .filter(name => name !== statusFile)
      .sort();
  }

  put(name: string, text = ''): void {
    writeFileSync(join(this.folder, name), text);
  }

  record(change: (status: Record<string, unknown>) => unknown): void {
    const path = join(this.folder, statusFile);
    writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')))));
  }

  async #take(file: string): Promise<Taken> {
    this.begun.push(this.at);
    this.onTake();
    const created_at = new Date(noon + this.at).toISOString();
    if (this.failure !== null) {
      writeFileSync(`${file}.unproven`, '');
      throw new Error(this.failure);
    }
    writeFileSync(file, 'abc');
    return { manifest: { created_at }, bytes: 3, sha256: 's', proven_at: created_at } as unknown as Taken;
  }
}

describe('a backup is due', () => {
  it('at once if there is none, then after its time to the millisecond', async () => {
    const world = await new World().begin();
    assert.deepEqual(await world.step(0), [0]);
    assert.deepEqual(await world.step(hour - 1), [0]);
    assert.deepEqual(await world.step(hour), [0, hour]);
    assert.equal(world.schedule.every, hour);
  });

  it('by the newest of those before, for a service that starts again', async () => {
    const world = await new World().begin();
    for (const at of [0, hour]) await world.step(at);
    await world.begin();
    assert.deepEqual(await world.step(hour), [0, hour]);
    assert.deepEqual(await world.step(2 * hour - 1), [0, hour]);
    assert.deepEqual(await world.step(2 * hour), [0, hour, 2 * hour]);
  });

  it('even if another was taken by a clock that was ahead', async () => {
    const world = await new World().begin();
    await world.step(10 * hour);
    world.at = 0;
    await world.begin();
    assert.deepEqual(await world.step(0), [10 * hour, 0]);
  });

  it('not if another replica took one into the same folder', async () => {
    const world = await new World().begin();
    await world.step(0);
    const ours = world.schedule;
    await world.begin();
    await world.step(hour);
    world.at = hour + 1;
    await ours.step();
    assert.deepEqual(world.begun, [0, hour]);
    assert.equal(ours.status.last?.file, nameAt(hour));
  });

  for (const [every, retry] of [
    [hour, 15 * minute],
    [5 * minute, 5 * minute],
  ] as const)
    it(`${retry / minute} minutes after a failure, if one is due every ${every / minute}`, async () => {
      const world = await new World({ count: 10 }, every).begin();
      world.failure = 'no room';
      await world.step(0);
      assert.deepEqual(await world.step(retry - 1), [0]);
      assert.deepEqual(await world.step(retry), [0, retry]);
    });

  it('never after it was stopped, and one that is stopped is no failure', async () => {
    const world = await new World().begin();
    await world.step(0);
    world.failure = 'stopped';
    world.onTake = () => world.schedule.stop();
    await world.step(hour);
    assert.deepEqual([world.reports, world.schedule.status.failed], [[], null]);
    assert.deepEqual(await world.step(9 * hour), [0, hour]);
  });
});

describe('what is kept', () => {
  it('is the given number, and the newest always', async () => {
    for (const count of [1, 2, 3]) {
      const world = await new World({ count }).begin();
      for (const at of [0, 1, 2, 3]) await world.step(at * hour);
      assert.deepEqual(world.files(), [0, 1, 2, 3].map(at => nameAt(at * hour)).slice(-count));
      assert.deepEqual(
        world.schedule.status.proven.map(({ file }) => file),
        world.files().reverse(),
      );
    }
  });

  it('is what is not older than the given time, to the millisecond, and the newest always', async () => {
    for (const [age, kept] of [
      [1, [2]],
      [hour - 1, [2]],
      [hour, [1, 2]],
      [2 * hour, [0, 1, 2]],
    ] as const) {
      const world = await new World({ age }).begin();
      for (const at of [0, 1, 2]) await world.step(at * hour);
      assert.deepEqual(
        world.files(),
        kept.map(at => nameAt(at * hour)),
      );
    }
  });

  it('of what could not be proven follows the same rule, apart from the rest', async () => {
    const quarter = 15 * minute;
    for (const [keep, kept] of [
      [{ count: 1 }, [4]],
      [{ count: 2 }, [3, 4]],
      [{ age: quarter }, [3, 4]],
      [{ age: quarter - 1 }, [4]],
    ] as const) {
      const world = await new World(keep, quarter).begin();
      await world.step(0);
      world.failure = 'no room';
      for (const at of [1, 2, 3, 4]) await world.step(at * quarter);
      const unproven = kept.map(at => `${nameAt(at * quarter)}.unproven`);
      assert.deepEqual(world.files(), [nameAt(0), ...unproven].sort());
      const { last, failed } = world.schedule.status;
      assert.deepEqual([last?.file, failed?.reason], [nameAt(0), 'no room']);
      assert.deepEqual(new Set(world.reports), new Set(['the backup failed: no room']));
    }
  });

  it('is whatever has another name, or is of a time to come', async () => {
    const world = await new World({ count: 1 }).begin();
    const others = ['foreign.unproven', `${nameAt(-hour)}.examined`, `${nameAt(9 * hour)}.unproven`];
    for (const name of others) world.put(name);
    world.put(`${nameAt(-hour)}.unproven`);
    world.failure = 'no room';
    await world.step(0);
    assert.deepEqual(world.files(), [...others, `${nameAt(0)}.unproven`].sort());
  });

  it('is not what a killed process left a day ago', async t => {
    const then = new Date(noon);
    for (const [passed, isLeft] of [
      [24 * hour, true],
      [24 * hour + 1, false],
    ] as const) {
      const world = new World();
      mkdirSync(join(world.folder, '.strongroom-scratch'));
      world.put('other');
      for (const name of world.files()) utimesSync(join(world.folder, name), then, then);
      symlinkSync('nowhere', join(world.folder, '.strongroom-dangling'));
      t.mock.timers.enable({ apis: ['Date'], now: noon + passed });
      await world.begin();
      t.mock.timers.reset();
      const left = isLeft ? ['.strongroom-scratch'] : [];
      assert.deepEqual(world.files(), ['.strongroom-dangling', ...left, 'other']);
    }
  });
});

describe('the record', () => {
  it('has the newest, whatever the order in the file, and what failed last', async () => {
    const world = await new World().begin();
    for (const at of [0, hour, 2 * hour]) await world.step(at);
    const whole = await readStatus(world.folder);
    assert.deepEqual(whole, world.schedule.status);
    assert.equal(whole.failed, null);
    const [newest, second, oldest] = whole.proven;
    for (const proven of [
      [oldest, second, newest],
      [second, newest, oldest],
    ]) {
      world.record(status => ({ ...status, last: oldest, proven }));
      await world.begin();
      assert.deepEqual(world.schedule.status, whole);
    }
    const { mark: _, ...last } = newest!;
    const created_at = new Date(noon + 2 * hour).toISOString();
    assert.deepEqual(last, {
      file: nameAt(2 * hour),
      created_at,
      proven_at: created_at,
      bytes: 3,
      sha256: 's',
    });
  });

  it('counts for nothing where its mark or the size of the file is another, or the file is gone', async () => {
    const spoil: readonly ((world: World) => unknown)[] = [
      world => world.put(nameAt(hour), 'abcd'),
      world => rm(join(world.folder, nameAt(hour))),
      ...['file', 'created_at', 'proven_at', 'sha256', 'mark'].map(
        field => (world: World) =>
          world.record(status => {
            (status.proven as Record<string, unknown>[])[0]![field] = 'other';
            return status;
          }),
      ),
    ];
    for (const one of spoil) {
      const world = await new World().begin();
      for (const at of [0, hour]) await world.step(at);
      await one(world);
      await world.begin();
      assert.equal(world.schedule.status.last?.file, nameAt(0));
    }
  });

  it('says nothing where it is not there, or is not one', async () => {
    const nothing = { last: null, proven: [], failed: null };
    const world = new World();
    assert.deepEqual(await readStatus(world.folder), nothing);
    for (const text of ['', '{}', 'null', '{"proven":"x"}', '{"proven":[null,1,{}]}']) {
      world.put(statusFile, text);
      assert.deepEqual(await readStatus(world.folder), nothing, text);
    }
    await world.begin();
    assert.deepEqual(world.schedule.status, nothing);
  });

  it('does not have what is only named like a backup: that is reported once, and left alone', async () => {
    const world = await new World({ count: 1 }).begin();
    world.put(nameAt(-hour));
    world.put('other');
    for (const at of [0, hour, 2 * hour]) await world.step(at);
    assert.deepEqual(world.reports, [
      `${nameAt(-hour)} in --backup-to is not in the record of verified backups: it is ignored, and never removed`,
    ]);
    assert.deepEqual(world.files(), ['other', nameAt(-hour), nameAt(2 * hour)].sort());
  });
});
