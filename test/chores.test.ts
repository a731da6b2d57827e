import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Chores } from '../src/base/chores.ts';

const unexpected = (error: unknown) => assert.ifError(error);

/** Resolves when a step was taken so often. */
function counted(times: number) {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let steps = 0;
  const step = () => {
    steps++;
    if (steps >= times) resolve();
  };
  return { step, done, steps: () => steps };
}

describe('work beside the requests', () => {
  // It keeps no process from ending, so the test does.
  let awake: NodeJS.Timeout;
  before(() => {
    awake = setInterval(() => {}, 60_000);
  });
  after(() => clearInterval(awake));

  it('repeats, goes on after a failure, and tells of it', async () => {
    const errors: unknown[] = [];
    const { step, done } = counted(3);
    const chores = new Chores(error => errors.push(error));
    chores.every(1, async () => {
      step();
      throw new Error('no');
    });
    chores.once(async () => {
      throw new Error('nor this');
    });
    await done;
    await chores.stop();
    assert.ok(errors.length >= 4);
  });

  it('a failure is no more to do, whatever the report gives back', async () => {
    const { step, done, steps } = counted(3);
    let failures = 0;
    const chores = new Chores(() => true)
      .every(200, async () => {
        failures++;
        throw new Error('away');
      })
      .every(200, async () => step());
    await done;
    await chores.stop();
    assert.ok(failures <= steps() + 1, `${failures} times while another one was done ${steps()} times`);
  });

  it('never overlaps itself', async () => {
    const { step, done } = counted(5);
    let underWay = 0;
    const chores = new Chores(unexpected).every(1, async () => {
      assert.equal(++underWay, 1);
      await turn();
      underWay--;
      step();
    });
    await done;
    await chores.stop();
  });

  it('where more is left, does not wait for its time', async () => {
    const { step, done } = counted(1);
    let first = true;
    const chores = new Chores(unexpected);
    const hour = 3_600_000;
    chores.every(1, async () => {
      if (!first) step();
      first = false;
      return true;
    });
    chores.every(hour, async () => assert.fail('before its time'));
    await done;
    await chores.stop();
  });

  it('a stop waits for what is under way, and nothing begins after it', async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const ended: string[] = [];
    const { step, done } = counted(1);
    const chores = new Chores(unexpected).every(1, async () => {
      step();
      await held;
      ended.push('step');
    });
    chores.once(async () => {
      await held;
      ended.push('once');
    });
    await done;
    const stopped = chores.stop().then(() => ended.push('stop'));
    chores.once(async () => assert.fail('after the stop'));
    await turn();
    assert.deepEqual(ended, []);
    letGo();
    await stopped;
    assert.deepEqual(ended.sort(), ['once', 'step', 'stop']);
  });
});
