/** The channel between threads: what is sent arrives, in order and once; what can't be answered fails. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { Failure, invalid } from '../src/contract/errors.ts';
import { Channel, type ChannelOptions, type Port, type Services } from '../src/threads/channel.ts';
import { ThreadEnded } from '../src/threads/failures.ts';
import { startThread, type Thread, ThreadOnDemand, threadFile, threadOver } from '../src/threads/thread.ts';
import { servedTogether } from '../src/threads/together.ts';

type Far = {
  add: (a: number, b: number) => number;
  later: (text: string) => Promise<string>;
  refuse: () => never;
  note: (text: string) => void;
  bytes: (bytes: Uint8Array) => number;
};

interface Pair {
  readonly near: Channel<Far>;
  /** What the far side noted, in order. */
  readonly noted: string[];
  /** How many messages crossed to the far side. */
  readonly crossed: () => number;
}

function pair(t: TestContext, options: ChannelOptions = {}): Pair {
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  const noted: string[] = [];
  let crossed = 0;
  port2.on('message', () => crossed++);
  const services: Far = {
    add: (a, b) => a + b,
    later: async text => {
      noted.push(text);
      return text;
    },
    refuse: () => {
      throw invalid('name', 'is taken');
    },
    note: text => void noted.push(text),
    bytes: bytes => bytes.byteLength,
  };
  new Channel(port2 as Port, services, options);
  return { near: new Channel<Far>(port1 as Port, {}, options), noted, crossed: () => crossed };
}

const all: readonly (readonly [string, ChannelOptions])[] = [
  ['at once', {}],
  ['gathered in a turn', { gather: 0 }],
  ['gathered for a time', { gather: 2 }],
];

for (const [how, options] of all) {
  describe(`a channel, ${how}`, () => {
    it('answers calls', async t => {
      const { near } = pair(t, options);
      assert.deepEqual(
        await Promise.all([near.call('add', 1, 2), near.call('later', 'x'), near.call('add', 3, 4)]),
        [3, 'x', 7],
      );
      assert.equal(near.pending, 0);
    });

    it('hands on a failure as it was thrown', async t => {
      const { near } = pair(t, options);
      const failure = await near.call('refuse').catch((error: Failure) => error);
      assert.ok(failure instanceof Failure);
      assert.deepEqual(
        [failure.code, failure.field, failure.reason],
        ['INVALID_REQUEST', 'name', 'is taken'],
      );
    });

    it('keeps the order of calls, notices and what is moved', async t => {
      const { near, noted } = pair(t, options);
      near.notify('note', '1');
      const second = near.call('later', '2');
      near.notifyMoving([], 'note', '3');
      const fourth = near.callWithin(5, 'later', '4');
      near.notifyThisTurn([], 'note', '5');
      near.notify('note', '6');
      await Promise.all([second, fourth, near.call('add', 0, 0)]);
      assert.deepEqual(noted, ['1', '2', '3', '4', '5', '6']);
    });

    it('moves what is named', async t => {
      const { near } = pair(t, options);
      const bytes = new Uint8Array(10);
      assert.equal(await near.callMoving([bytes.buffer], 'bytes', bytes), 10);
      assert.equal(bytes.byteLength, 0);
    });
  });
}

describe('a channel', () => {
  it('sends what is gathered as one message, and each by itself where nothing is', async t => {
    for (const [options, messages] of [
      [{}, 3],
      [{ gather: 0 }, 1],
      [{ gather: 1 }, 1],
    ] as const) {
      const { near, crossed } = pair(t, options);
      await Promise.all([near.call('add', 1, 1), near.call('add', 2, 2), near.call('add', 3, 3)]);
      assert.equal(crossed(), messages);
    }
  });

  it('sends the notices of one turn as one message, with what they move, and does not let a patient call delay them', async t => {
    const { near, noted, crossed } = pair(t, {});
    const patient = near.callWithin(60_000, 'later', '1');
    const bytes = new Uint8Array(10);
    near.notifyThisTurn([bytes.buffer], 'note', '2');
    near.notifyThisTurn([], 'note', '3');
    assert.equal(crossed(), 0);
    await patient;
    assert.deepEqual([crossed(), noted, bytes.byteLength], [1, ['1', '2', '3'], 0]);
  });

  it('lets a patient call wait for the next, and no longer than it said', async t => {
    const { near, crossed } = pair(t);
    await Promise.all([near.callWithin(60_000, 'add', 1, 1), near.call('add', 2, 2)]);
    assert.equal(crossed(), 1);
    assert.equal(await near.callWithin(1, 'add', 1, 1), 2);
    assert.equal(crossed(), 2);
  });

  it('fails what waits once the other side is gone, and whatever is asked from then on', async t => {
    const { near } = pair(t);
    const waiting = [near.call('later', 'x'), near.callWithin(1_000, 'later', 'y')];
    assert.equal(near.isOver, false);
    near.end(new Error('it fell over'));
    assert.equal(near.isOver, true);
    assert.equal(near.pending, 0);
    for (const call of [...waiting, near.call('add', 1, 2)]) {
      const failure = await call.catch((error: Failure) => error);
      assert.ok(failure instanceof ThreadEnded);
      assert.deepEqual([failure.code, failure.retryAfter], ['UNAVAILABLE', 1]);
    }
  });

  it('what was gathered is not sent once the other side is gone', async () => {
    const sent: unknown[] = [];
    const port: Port = { postMessage: message => void sent.push(message), on: () => {} };
    const near = new Channel<Far>(port, {}, { gather: 0 });
    near.call('add', 1, 2).catch(() => {});
    near.end();
    await new Promise(setImmediate);
    assert.deepEqual(sent, []);
  });
});

describe('a thread on demand', () => {
  it('starts with the first use, and again after it ended', async () => {
    const ends: (() => void)[] = [];
    const start = (): Thread<Services> => {
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      ends.push(resolve);
      const port: Port = { postMessage: () => {}, on: () => {} };
      const hold = { ended, whyEnded: () => 'why', terminate: async () => resolve(), hold: () => {} };
      return threadOver(port, {}, hold);
    };
    const onDemand = new ThreadOnDemand(start);
    assert.equal(onDemand.running, null);
    const first = onDemand.get();
    assert.deepEqual([onDemand.get() === first, onDemand.running === first, ends.length], [true, true, 1]);
    const call = first.call('x').catch((error: Failure) => error);
    ends[0]!();
    assert.equal(((await call) as Failure).cause, 'why');
    assert.equal(onDemand.running, null);
    assert.notEqual(onDemand.get(), first);
    assert.equal(ends.length, 2);
  });

  it('finds its file beside the module, in the sources and in the package', () => {
    assert.equal(threadFile('file:///a/b/x.ts', 'y-thread').href, 'file:///a/b/y-thread.ts');
    assert.equal(threadFile('file:///a/b/x.js', 'y-thread').href, 'file:///a/b/y-thread.js');
  });

  it('has the heap that it is given', async () => {
    const limits = new Int32Array(new SharedArrayBuffer(8));
    const code = `
      import { resourceLimits, workerData } from 'node:worker_threads';
      workerData.set([resourceLimits.maxOldGenerationSizeMb, resourceLimits.maxYoungGenerationSizeMb]);`;
    const file = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
    await startThread(file, { data: limits, largestHeap: 64, youngest: 8 }).ended;
    assert.deepEqual([...limits], [64, 8]);
  });
});

describe('calls that are carried out together', () => {
  type Doubling = { commit: (n: number) => number; close: () => void };

  function callers(
    t: TestContext,
    count: number,
    carryOut: (inputs: readonly number[]) => number[],
    most = 64,
  ) {
    const serve = servedTogether(most, carryOut);
    return Array.from({ length: count }, () => {
      const { port1, port2 } = new MessageChannel();
      t.after(() => port1.close());
      serve(port2);
      const closed = new Promise<void>(resolve => port1.once('close', () => resolve()));
      return { channel: new Channel<Doubling>(port1 as Port, {}), closed };
    });
  }

  it('are those that wait at the same time, of all callers', async t => {
    const groups: number[][] = [];
    const [one, other] = callers(t, 2, inputs => {
      groups.push([...inputs]);
      return inputs.map(input => 2 * input);
    });
    const answers = [one!, other!, one!].map(({ channel }, index) => channel.call('commit', index + 1));
    assert.deepEqual(await Promise.all(answers), [2, 4, 6]);
    assert.deepEqual(groups.flat().sort(), [1, 2, 3]);
    assert.ok(groups.length < 3, `${groups.length} groups`);
  });

  it('are no more than so many, past the first', async t => {
    const sizes: number[] = [];
    const carryOut = (inputs: readonly number[]) => {
      sizes.push(inputs.length);
      return [...inputs];
    };
    const [one] = callers(t, 1, carryOut, 2);
    await Promise.all([1, 2, 3, 4, 5].map(input => one!.channel.call('commit', input)));
    assert.ok(Math.max(...sizes) <= 2, String(sizes));
  });

  it('fail together where they throw, and go on', async t => {
    let isBroken = true;
    const [one] = callers(t, 1, inputs => {
      if (isBroken) throw new Error('the disk is full');
      return [...inputs];
    });
    const failure = await one!.channel.call('commit', 1).catch((error: Failure) => error);
    assert.equal((failure as Failure).code, 'INTERNAL_ERROR');
    isBroken = false;
    assert.equal(await one!.channel.call('commit', 2), 2);
  });

  it('are answered before the port of a caller that is done closes', async t => {
    const [one, other] = callers(t, 2, inputs => [...inputs]);
    const answers = [one!.channel.call('commit', 1), other!.channel.call('commit', 2)];
    one!.channel.notify('close');
    assert.deepEqual(await Promise.all(answers), [1, 2]);
    await one!.closed;
    assert.equal(await other!.channel.call('commit', 3), 3);
  });
});
