/** What threads tell each other through shared memory: nothing is torn, and what is lost is known to be lost. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { SharedNews } from '../src/service/planes/shared-news.ts';
import { Broadcast, broadcastMemory, missed } from '../src/threads/broadcast.ts';

/** In words of four bytes. */
const ring = 8_192;

describe('a broadcast', () => {
  it('brings every text to every other publisher, once and in order', () => {
    const memory = broadcastMemory(3);
    const [one, two, three] = [0, 1, 2].map(own => new Broadcast({ memory, own }));
    const texts = ['', 'a', 'four', 'é€😀', 'touched\nid'];
    for (const text of texts) one!.publish(text);
    two!.publish('of two');
    assert.deepEqual(three!.receive(), [...texts, 'of two']);
    assert.deepEqual(three!.receive(), []);
    assert.deepEqual(two!.receive(), texts);
    assert.deepEqual(one!.receive(), ['of two']);
  });

  it('brings nothing of before to one who joins', () => {
    const memory = broadcastMemory(2);
    const one = new Broadcast({ memory, own: 0 });
    one.publish('earlier');
    const two = new Broadcast({ memory, own: 1 });
    assert.deepEqual(two.receive(), []);
    one.publish('later');
    assert.deepEqual(two.receive(), ['later']);
  });

  it('is read across the end of the ring, many times', () => {
    const memory = broadcastMemory(2);
    const one = new Broadcast({ memory, own: 0 });
    const two = new Broadcast({ memory, own: 1 });
    for (let turn = 0; turn < 5_000; turn++) {
      const text = `${turn} `.repeat(turn % 23);
      one.publish(text);
      assert.deepEqual(two.receive(), [text]);
    }
  });

  it('says that something was missed to one who was overtaken, and goes on', () => {
    const memory = broadcastMemory(2);
    const one = new Broadcast({ memory, own: 0 });
    const two = new Broadcast({ memory, own: 1 });
    const text = 'x'.repeat(4 * 15); // Sixteen words with its length.
    for (let times = 0; times < ring / 16; times++) one.publish(text);
    assert.deepEqual(two.receive(), Array(ring / 16).fill(text), 'a full ring is read');
    for (let times = 0; times <= ring / 16; times++) one.publish(text);
    assert.deepEqual(two.receive(), [missed]);
    one.publish('later');
    assert.deepEqual(two.receive(), ['later']);
  });

  it('says that a text was missed if it is too long', () => {
    const memory = broadcastMemory(2);
    const one = new Broadcast({ memory, own: 0 });
    const two = new Broadcast({ memory, own: 1 });
    const longest = 'x'.repeat(2 * ring);
    one.publish(longest);
    assert.deepEqual(two.receive(), [longest]);
    one.publish(`${longest}x`);
    one.publish(missed);
    one.publish('short');
    assert.deepEqual(two.receive(), [missed, missed, 'short']);
  });

  it('goes on where a thread ended, and skips what it had not finished', () => {
    const memory = broadcastMemory(2);
    const two = new Broadcast({ memory, own: 1 });
    new Broadcast({ memory, own: 0 }).publish('finished');
    const words = new Int32Array(memory);
    const reservedOfFirst = 32 + 1;
    Atomics.add(words, reservedOfFirst, 7); // As a thread leaves it that ends while it publishes.
    const again = new Broadcast({ memory, own: 0 });
    again.publish('of its successor');
    assert.deepEqual(two.receive(), [missed]);
    again.publish('next');
    assert.deepEqual(two.receive(), ['next']);
  });

  it('is never torn while threads publish as fast as they can', { timeout: 60_000 }, async () => {
    const memory = broadcastMemory(3);
    const reader = new Broadcast({ memory, own: 2 });
    const source = `
      import { workerData } from 'node:worker_threads';
      const { Broadcast } = await import(workerData.url);
      const broadcast = new Broadcast(workerData.place);
      for (let turn = 0; turn < 20_000; turn++) {
        const word = String(workerData.place.own) + turn + ';';
        broadcast.publish(word.repeat(1 + (turn % 40)));
      }`;
    const url = new URL('../src/threads/broadcast.ts', import.meta.url).href;
    let open = 2;
    for (const own of [0, 1]) {
      const workerData = { url, place: { memory, own } };
      const worker = new Worker(source, { eval: true, workerData, execArgv: ['--input-type=module'] });
      worker.once('exit', () => open--);
    }
    const newest = [-1, -1];
    let received = 0;
    for (let ended = false; !ended; ended = open === 0) {
      for (const text of reader.receive()) {
        if (text === missed) continue;
        received++;
        const [first] = text.split(';');
        assert.equal(text, `${first};`.repeat(text.split(';').length - 1));
        const own = Number(first![0]);
        const turn = Number(first!.slice(1));
        assert.ok(turn > newest[own]!, 'in order');
        newest[own] = turn;
      }
      await new Promise(setImmediate);
    }
    assert.ok(received > 0);
  });
});

describe('the news of planes', () => {
  /** Two planes, the second of which notes what it hears. */
  function planes() {
    const memory = broadcastMemory(2);
    const silent = { tell: () => {}, onTold: () => {} };
    const [one, two] = [0, 1].map(own => new SharedNews({ memory, own }));
    const heard: unknown[] = [];
    const sibling = two!.beside(silent);
    sibling.onTold(touched => heard.push(touched));
    for (const kind of ['failed', 'opened'] as const) two!.onCounted(kind, who => heard.push([kind, who]));
    return { one: one!, tell: one!.beside(silent).tell, catchUp: sibling.catchUp!, heard };
  }

  it('bring changes and counts, each as what it is', () => {
    const { one, tell, catchUp, heard } = planes();
    tell(['a', 'b']);
    one.tellFailed('10.0.0.1');
    one.tellOpened('key');
    assert.deepEqual(heard, []);
    catchUp();
    assert.deepEqual(heard, [
      ['a', 'b'],
      ['failed', '10.0.0.1'],
      ['opened', 'key'],
    ]);
  });

  it('of a plane that ended, or that were missed, mean that a listener takes everything for changed', () => {
    const { one, tell, catchUp, heard } = planes();
    one.tellAll();
    catchUp();
    tell(Array.from({ length: 1_000 }, (_, index) => `00000000-0000-7000-8000-${index}`));
    catchUp();
    assert.deepEqual(heard, ['all', 'all']);
  });

  it('wake a plane that has nothing to ask for', () => {
    const memory = broadcastMemory(2);
    let wake = () => {};
    const one = new SharedNews({ memory, own: 0 });
    const waking = { tell: () => wake(), onTold: (listener: () => void) => (wake = listener) };
    const heard: unknown[] = [];
    const two = new SharedNews({ memory, own: 1 });
    two.beside(waking as never).onTold(touched => heard.push(touched));
    one.beside({ tell: () => wake(), onTold: () => {} }).tell(['a']);
    assert.deepEqual(heard, [['a']]);
  });
});
