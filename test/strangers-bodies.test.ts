/** What those who have proven nothing may make us hold, and for how long: the decisions by themselves. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { beforeEach, describe, it } from 'node:test';
import { failureOf } from '../src/http/listener/errors.ts';
import { UnauthenticatedBodies } from '../src/http/listener/unauthenticated-bodies.ts';

const mebibyte = 1024 * 1024;

class Sent extends EventEmitter {
  readonly headers: Record<string, string>;
  readonly socket = new EventEmitter();
  complete = false;
  readableEnded = false;

  constructor(length?: number) {
    super();
    this.headers = length === undefined ? {} : { 'content-length': String(length) };
  }
}
const requestOf = (sent: Sent) => sent as unknown as IncomingMessage;

describe('a stranger’s body, as it is counted', () => {
  let now: number;
  let late: IncomingMessage[];
  let bodies: UnauthenticatedBodies;
  beforeEach(() => {
    now = 60_000 * 1000;
    late = [];
    bodies = new UnauthenticatedBodies({
      now: () => now,
      patience: 1_000,
      onLate: request => late.push(request),
    });
  });
  const admit = (address: string, sent: Sent, largest = 8 * mebibyte): string => {
    try {
      bodies.admit(requestOf(sent), address, largest);
      return 'admitted';
    } catch (error) {
      const { code, retryAfter } = failureOf(error);
      return `${code} ${retryAfter}`;
    }
  };
  const full = 'UNAVAILABLE 1';
  const holds = (sent: Sent) => bodies.bodyOf(requestOf(sent), Readable.from([])) !== null;
  const end = (...all: Sent[]) => {
    for (const sent of all) sent.emit('end');
  };

  it('finds 4 MiB for one address, to the byte', () => {
    const [first, second, third] = [new Sent(4 * mebibyte - 1), new Sent(1), new Sent(1)];
    assert.equal(admit('192.0.2.1', first), 'admitted');
    assert.equal(admit('192.0.2.1', new Sent(2)), full);
    assert.equal(admit('192.0.2.1', second), 'admitted');
    assert.equal(admit('192.0.2.1', third), full);
    assert.equal(admit('192.0.2.2', third), 'admitted', 'another address has its own');
    end(first, second, third);
  });

  it('finds 16 MiB for all addresses, to the byte', () => {
    const held = [1, 2, 3, 4].map(last => {
      const sent = new Sent(4 * mebibyte - (last === 4 ? 1 : 0));
      assert.equal(admit(`192.0.2.${last}`, sent), 'admitted');
      return sent;
    });
    const [last, over] = [new Sent(1), new Sent(1)];
    assert.equal(admit('192.0.2.5', new Sent(2)), full);
    assert.equal(admit('192.0.2.5', last), 'admitted');
    assert.equal(admit('192.0.2.6', over), full);
    end(...held, last);
    assert.equal(admit('192.0.2.6', over), 'admitted');
    end(over);
  });

  it('counts as the largest that it may be where it says no length', () => {
    const [one, other] = [new Sent(), new Sent()];
    assert.equal(admit('192.0.2.1', one, 2 * mebibyte), 'admitted');
    assert.equal(admit('192.0.2.1', other, 2 * mebibyte), 'admitted');
    assert.equal(admit('192.0.2.1', new Sent(1)), full);
    end(one, other);
  });

  it('is as long as was reserved for it, and not one byte longer', async () => {
    const tooLarge = 'INVALID_REQUEST undefined';
    const said = new Sent(10);
    assert.equal(admit('192.0.2.1', said, 10), 'admitted');
    assert.equal(admit('192.0.2.1', new Sent(11), 10), tooLarge);
    assert.equal(admit('192.0.2.1', Object.assign(new Sent(11), { complete: true }), 10), tooLarge);
    const body = Readable.from([]);
    assert.equal(bodies.bodyOf(requestOf(said), body), body, 'the parser counts what was announced');
    const read = async (...chunks: string[]) => {
      const chunked = Object.assign(new Sent(), { headers: { 'transfer-encoding': 'chunked' } });
      admit('192.0.2.1', chunked, 10);
      const whole = bodies.bodyOf(requestOf(chunked), Readable.from(chunks.map(one => Buffer.from(one))))!;
      return String(Buffer.concat(await whole.toArray()));
    };
    assert.equal(await read('01234', '56789'), '0123456789');
    await assert.rejects(read('01234', '567890'), error => failureOf(error).code === 'INVALID_REQUEST');
  });

  it('is refused where it is larger than the share of one address, even if that holds nothing', () => {
    assert.equal(admit('192.0.2.1', new Sent(4 * mebibyte + 1)), full);
  });

  it('counts a network of IPv6 as one address', () => {
    const first = new Sent(4 * mebibyte);
    assert.equal(admit('2001:db8::1', first), 'admitted');
    assert.equal(admit('2001:db8::2', new Sent(1)), full);
    const other = new Sent(1);
    assert.equal(admit('2001:db8:0:1::1', other), 'admitted');
    end(first, other);
  });

  for (const how of ['complete', 'readableEnded'] as const)
    it(`counts nothing where it is ${how}`, () => {
      const whole = Object.assign(new Sent(4 * mebibyte), { [how]: true });
      assert.equal(admit('192.0.2.1', whole), 'admitted');
      assert.ok(holds(whole));
      const next = new Sent(4 * mebibyte);
      assert.equal(admit('192.0.2.1', next), 'admitted');
      end(next);
    });

  it('lets go once, of whatever ends first', () => {
    for (const ending of [(sent: Sent) => sent.emit('end'), (sent: Sent) => sent.socket.emit('close')]) {
      const sent = new Sent(4 * mebibyte);
      assert.equal(admit('192.0.2.1', sent), 'admitted');
      ending(sent);
      sent.emit('end');
      sent.socket.emit('close');
      const [next, over] = [new Sent(4 * mebibyte), new Sent(1)];
      assert.equal(admit('192.0.2.1', next), 'admitted');
      assert.equal(admit('192.0.2.1', over), full, 'nothing was let go twice');
      assert.equal(sent.socket.listenerCount('close'), 0);
      end(next);
    }
  });

  it('is late after its patience, unless it came', context => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const [slow, quick] = [new Sent(1), new Sent(1)];
    admit('192.0.2.1', slow);
    admit('192.0.2.1', quick);
    end(quick);
    context.mock.timers.tick(999);
    assert.deepEqual(late, []);
    context.mock.timers.tick(1);
    assert.deepEqual(late, [slow]);
    end(slow);
  });

  it('is known once it was admitted', () => {
    const sent = new Sent(1);
    assert.ok(!holds(sent));
    admit('192.0.2.1', sent);
    assert.ok(holds(sent));
    end(sent);
  });

  it('is turned away unread for the rest of the minute after 60 that could not be understood', () => {
    const garble = () => {
      const sent = Object.assign(new Sent(1), { complete: true });
      const answer = admit('192.0.2.1', sent);
      bodies.garbled(requestOf(sent));
      return answer;
    };
    now += 20_000;
    for (let time = 0; time < 60; time++) assert.equal(garble(), 'admitted');
    assert.equal(garble(), 'RATE_LIMITED 40');
    now += 39_999;
    assert.equal(garble(), 'RATE_LIMITED 1');
    const [other, stranger] = [new Sent(1), new Sent(1)];
    assert.equal(admit('192.0.2.2', other), 'admitted');
    bodies.garbled(requestOf(stranger));
    now += 1;
    assert.equal(garble(), 'admitted');
    end(other);
  });
});
