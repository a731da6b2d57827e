/** No one takes more than their share of what all agents wait for: slices of the event loop and worker threads. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FairLine, FairTurns, type Lane } from '../src/base/fair-line.ts';
import { Scrubbers } from '../src/egress/scrubbers.ts';
import { scrubberOf } from '../src/egress/scrubbing.ts';
import { workerPoolWith } from '../src/material/worker-pool.ts';

const value = 'q7xz2mb9ck4wt1pl8vr3';
const laneOf = (text: string): Lane => ({ organization: text[0]!, key: text.slice(0, 2) });

describe('a line of work', () => {
  it('gives organizations turns, and the keys of each', () => {
    const line = new FairLine<string>();
    for (const item of ['a1.1', 'a1.2', 'a1.3', 'a2.1', 'b1.1', 'b1.2', 'c1.1'])
      line.push(laneOf(item), item);
    assert.equal(line.length, 7);
    assert.deepEqual([...line.drain()], ['a1.1', 'b1.1', 'c1.1', 'a2.1', 'b1.2', 'a1.2', 'a1.3']);
    assert.equal(line.length, 0);
  });

  it('that is full has room for one who has less waiting than another, who loses the newest', () => {
    const line = new FairLine<string>();
    for (const item of ['a1.1', 'a1.2', 'a1.3', 'a2.1', 'b1.1']) line.push(laneOf(item), item);
    assert.equal(line.displace(laneOf('a1')), undefined, 'those who have most get no more');
    assert.equal(line.displace(laneOf('a3')), 'a1.3', 'another key of the same organization');
    assert.equal(line.displace(laneOf('c1')), 'a1.2', 'another organization');
    assert.equal(line.displace(laneOf('b1')), undefined, 'two and one are as even as it gets');
    assert.equal(line.length, 3);
  });

  it('in worker threads refuses those who have most waiting, not those who come', async t => {
    const workers = workerPoolWith({ atOnce: 1, waiting: 4 });
    t.after(() => workers.close());
    const outcomes: string[] = [];
    const ask = (lane: string) =>
      workers
        .of(laneOf(lane))
        .generateKey({ key_type: 'RSA', key_size: 2048 } as never)
        .then(
          () => outcomes.push(`${lane} done`),
          () => outcomes.push(`${lane} refused`),
        );
    await Promise.all(['a1', 'a1', 'a1', 'a1', 'a1', 'a1', 'b1', 'b1'].map(ask));
    assert.deepEqual(
      outcomes.filter(one => one.startsWith('b')),
      ['b1 done', 'b1 done'],
    );
    assert.equal(outcomes.filter(one => one === 'a1 refused').length, 3);
    assert.ok(outcomes.indexOf('b1 done') < outcomes.lastIndexOf('a1 done'));
  });
});

describe('a long answer', () => {
  it('is looked through in slices, between which others have their turn', async () => {
    const turns = new FairTurns();
    const order: string[] = [];
    const slices = (lane: string, count: number) =>
      Promise.all(
        Array.from({ length: count }, async () => {
          await turns.take(laneOf(lane));
          order.push(lane);
        }),
      );
    await Promise.all([slices('a1', 100), slices('a2', 2), slices('b1', 2)]);
    assert.deepEqual(order.slice(0, 5), ['a1', 'b1', 'a2', 'b1', 'a1']);
    assert.ok(order.indexOf('b1') < 3 && order.lastIndexOf('a2') < 8);
  });

  it('takes a slice for every eight thousand characters at least, whatever is in it', async () => {
    const { scrub, partsIn } = scrubberOf([value]);
    for (const text of ['x'.repeat(1_000_000), `${value} `.repeat(25_000), '%41'.repeat(300_000)]) {
      let taken = 0;
      const turn = async () => void taken++;
      await scrub(Buffer.from(text), turn);
      assert.ok(taken >= Math.floor(1_000_000 / 8192 / 1.5), `${taken} slices`);
      taken = 0;
      await partsIn(Buffer.from(text), turn);
      assert.ok(taken >= 60, `${taken} slices`);
    }
  });

  it('is not worked out anew for each of two long values', () => {
    const scrubbers = new Scrubbers();
    const values = ['a', 'b', 'c'].map(one =>
      Array.from({ length: 2_000 }, (_, at) => `${one}${at * 7}`)
        .join('')
        .slice(0, 16_384),
    );
    const first = values.map(one => scrubbers.of([one]));
    const again = values.map(one => scrubbers.of([one]));
    assert.ok(first.every((one, at) => one === again[at]));
  });

  it('is forgotten where too many are kept, the one that was not used for longest first', () => {
    const scrubbers = new Scrubbers();
    const nameOf = (at: number) => [`${at}`.padEnd(1_000, `${at * 7919}`)];
    const [first, second] = [scrubbers.of(nameOf(0)), scrubbers.of(nameOf(1))];
    for (let at = 2; at < 40; at++) {
      scrubbers.of(nameOf(at));
      assert.equal(scrubbers.of(nameOf(0)), first, 'what is used is kept');
    }
    assert.notEqual(scrubbers.of(nameOf(1)), second);
  });
});
