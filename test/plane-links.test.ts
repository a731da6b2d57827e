/** The reading plane’s hold on the other planes: how they begin, end, are stopped and started anew, without threads. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Reader } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import type { UseCall } from '../src/contract/uses.ts';
import type { RequestFacts } from '../src/domain/reads/vault-request.ts';
import { Management, type ReadingSide } from '../src/service/planes/management.ts';
import { Uses } from '../src/service/planes/uses.ts';
import { StartRefused, UsageError } from '../src/service/settings/report.ts';
import { sentFailure, ThreadEnded } from '../src/threads/failures.ts';
import type { StartThread, ThreadOptions } from '../src/threads/thread.ts';

const facts = {
  sender: { address: '192.0.2.1', userAgent: 'curl' },
  requestId: null,
  route: '/use',
  method: 'POST',
  tool: null,
  token: 'key',
  vaultId: null,
  keyId: null,
} satisfies RequestFacts;
const call = { secret: 'TOKEN', url: 'https://api.example.com/' } as UseCall;
const log = { receipt: 'receipt', requestId: 'request' };

interface Started {
  readonly options: ThreadOptions;
  readonly sent: unknown[][];
  /** What it was asked, in order. */
  readonly asked: PromiseWithResolvers<unknown>[];
  isOver: boolean;
  terminated: number;
  end(): void;
}

/** Doubles of threads: they answer nothing by themselves, and end when they are told to. */
function threads() {
  const started: Started[] = [];
  const start = (_file: URL, options: ThreadOptions) => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const thread: Started = {
      options,
      sent: [],
      asked: [],
      isOver: false,
      terminated: 0,
      end: () => {
        thread.isOver = true;
        for (const one of thread.asked) one.reject(new ThreadEnded());
        resolve();
      },
    };
    started.push(thread);
    const ask = (...given: unknown[]) => {
      thread.sent.push(given);
      const answer = Promise.withResolvers<unknown>();
      answer.promise.catch(() => {});
      thread.asked.push(answer);
      return answer.promise;
    };
    return {
      get isOver() {
        return thread.isOver;
      },
      ended,
      call: ask,
      callMoving: (moved: readonly unknown[], name: string) => ask(name, moved.length),
      notify: (...given: unknown[]) => void thread.sent.push(given),
      notifyThisTurn: (moved: readonly unknown[], ...given: unknown[]) =>
        void thread.sent.push([...given, moved.length]),
      terminate: async () => {
        thread.terminated++;
        thread.end();
      },
    };
  };
  return { started, start: start as unknown as StartThread };
}

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => mock.timers.reset());

describe('the plane of uses', () => {
  const refusal = { ...log, status: 503, failure: new Failure('UNAVAILABLE') } as const;
  function world(writer: unknown = null) {
    const { started, start } = threads();
    const reports: string[] = [];
    const refused: Failure[] = [];
    const uses = new Uses(line => reports.push(line), start);
    const refuse = async (_facts: RequestFacts, failure: Failure) => {
      refused.push(failure);
      return refusal;
    };
    const reader = { id: 'k' } as Reader;
    const identify = async ({ token }: RequestFacts) => {
      if (token === 'none') throw new Failure('UNAUTHORIZED');
      if (token === 'broken') throw new Error('broken');
      return reader;
    };
    uses.begin({ data: () => ({ writer }) as never, identify, refuse });
    return { uses, started, reports, refused, reader, use: () => uses.vaultUses.use({ ...facts, call }) };
  }

  it('is started by the first use, once, and handed what it opens', async () => {
    for (const [writer, moved] of [
      [null, 0],
      [{}, 1],
    ] as const) {
      const { uses, started, reader, use } = world(writer);
      await uses.settle();
      assert.equal(started.length, 0);
      const [one, two] = [use(), use()];
      await turn();
      const [thread] = started;
      assert.deepEqual([started.length, thread!.sent[0]], [1, ['begin', moved]]);
      assert.deepEqual(
        thread!.sent.slice(1),
        Array(2).fill(['use', { of: 'secret', facts: { ...facts, token: null }, reader, asked: { call } }]),
      );
      thread!.asked[1]!.resolve({ ...log, status: 200, answer: { n: 1 }, failure: null });
      thread!.asked[2]!.resolve({
        ...log,
        status: 403,
        answer: null,
        failure: sentFailure(new Failure('FORBIDDEN')),
      });
      assert.deepEqual(await one, { ...log, status: 200, answer: { n: 1 } });
      const other = await two!;
      assert.ok('failure' in other && other.failure.code === 'FORBIDDEN' && other.status === 403);
    }
  });

  it('is not asked for those without a valid access key: they are refused and recorded here', async () => {
    const { uses, started, refused } = world();
    for (const token of ['none', 'broken'])
      assert.equal(await uses.vaultUses.use({ ...facts, token, call }), refusal);
    assert.deepEqual(
      [refused.map(({ code }) => code), started.length],
      [['UNAUTHORIZED', 'INTERNAL_ERROR'], 0],
    );
  });

  it('is asked for keys, and for what could not be read, as such', async () => {
    const { uses, started } = world();
    const bad = new Failure('INVALID_REQUEST');
    const key = { operation: 'sign', call: {} } as never;
    void uses.keyUses.use({ ...facts, asked: key });
    void uses.keyUses.use({ ...facts, asked: bad });
    void uses.vaultUses.use({ ...facts, call: bad });
    await turn();
    const asked = started[0]!.sent.slice(1).map(([, order]) => order as { of: string; asked: unknown });
    const unread = sentFailure(bad);
    assert.deepEqual(
      asked.map(order => [order.of, order.asked]),
      [
        ['key', { key }],
        ['key', { unread }],
        ['secret', { unread }],
      ],
    );
  });

  it('that dies has what it held refused, and the next use starts another', async () => {
    const { uses, started, refused, use } = world();
    const waiting = use();
    await turn();
    const settling = assert.rejects(uses.settle(), ThreadEnded);
    started[0]!.end();
    assert.deepEqual([await waiting, refused[0]!.code, refused[0]!.retryAfter], [refusal, 'UNAVAILABLE', 1]);
    await settling;
    void use();
    await turn();
    assert.equal(started.length, 2);
    const failing = assert.rejects(use(), { code: 'INTERNAL_ERROR' });
    await turn();
    started[1]!.asked.at(-1)!.reject(new Failure('INTERNAL_ERROR'));
    await failing;
    assert.equal(refused.length, 1, 'what it recorded itself is not recorded again');
  });

  it('that can’t begin is ended, and the operator told why', async () => {
    const { started, reports, use } = world();
    void use();
    await turn();
    started[0]!.asked[0]!.resolve({ begun: null });
    await turn();
    assert.deepEqual([started[0]!.terminated, reports], [0, []]);
    const other = world();
    void other.use();
    await turn();
    other.started[0]!.asked[0]!.resolve({ refused: 'no such folder', isUsage: false });
    await turn();
    assert.deepEqual(
      [other.started[0]!.terminated, other.reports],
      [1, ['the plane of uses could not start: no such folder']],
    );
  });

  it('is stopped within five seconds, and used no more', async () => {
    const { uses, started, refused, use } = world();
    await uses.stop();
    assert.deepEqual([await use(), started.length, refused.length], [refusal, 0, 1]);
    const other = world();
    const waiting = other.use();
    await turn();
    const settling = other.uses.settle();
    const stopping = other.uses.stop();
    assert.deepEqual(other.started[0]!.sent.at(-1), ['stop']);
    mock.timers.tick(4_999);
    assert.equal(other.started[0]!.terminated, 0);
    mock.timers.tick(1);
    assert.equal(other.started[0]!.terminated, 1);
    await stopping;
    await settling; // One that was stopped has recorded all it did.
    assert.equal(await waiting, refusal);
  });
});

describe('the management plane', () => {
  const ready = { begun: { routes: ['GET /v1'], setupToken: null } };
  function world(writer: unknown = null) {
    const { started, start } = threads();
    const reports: string[] = [];
    const management = new Management(line => reports.push(line), start);
    const reading = {
      ledger: { settle: async () => {}, writeHourCounts: async () => {} },
      failed: () => {},
      data: () => ({ writer }),
      refuse: () => {},
      onLate: () => {},
    } as unknown as ReadingSide;
    const begin = async () => {
      const begun = management.begin(reading);
      started[0]!.asked[0]!.resolve(ready);
      return begun;
    };
    return { management, started, reports, reading, begin };
  }

  it('begins with what it is handed, and is up once it has begun', async () => {
    for (const [writer, moved] of [
      [null, 0],
      [{}, 1],
    ] as const) {
      const { management, started, begin } = world(writer);
      assert.deepEqual([management.isUp, management.hasBegun], [false, false]);
      assert.deepEqual(await begin(), ready.begun);
      assert.deepEqual(
        [started[0]!.sent[0], management.isUp, management.hasBegun],
        [['begin', moved], true, true],
      );
      const { largestHeap, youngest } = started[0]!.options;
      assert.deepEqual([largestHeap, youngest], [320, 12]);
    }
  });

  it('that can’t begin refuses the start, in its own words and by their kind', async () => {
    for (const [isUsage, kind] of [
      [true, UsageError],
      [false, StartRefused],
    ] as const) {
      const { management, started, reading } = world();
      const begun = management.begin(reading);
      started[0]!.asked[0]!.resolve({ refused: 'because', isUsage });
      await assert.rejects(
        begun,
        (error: Error) => error.constructor === kind && error.message === 'because',
      );
      started[0]!.end();
      await turn();
      mock.timers.tick(10_000);
      assert.deepEqual([started.length, management.isUp], [1, false]);
    }
  });

  it('that ends before it has begun refuses the start, and is not started anew', async () => {
    const ended = { message: 'the management plane ended before it was ready' };
    const { management, started, reading } = world();
    const begun = management.begin(reading);
    started[0]!.end();
    await assert.rejects(begun, ended);
    await turn();
    mock.timers.tick(10_000);
    assert.equal(started.length, 1);
    const early = world();
    early.started[0]!.end();
    await assert.rejects(early.management.begin(early.reading), ended);
  });

  it('that dies is started anew a second later, as often as it takes', async () => {
    const { management, started, reports, begin } = world();
    await begin();
    started[0]!.end();
    await turn();
    assert.deepEqual([management.isUp, management.hasBegun], [false, true]);
    mock.timers.tick(999);
    assert.equal(started.length, 1);
    mock.timers.tick(1);
    assert.deepEqual([started.length, started[1]!.sent[0]], [2, ['begin', 0]]);
    started[1]!.asked[0]!.resolve({ refused: 'the disk is full', isUsage: false });
    await turn();
    assert.deepEqual(
      [reports, started[1]!.terminated],
      [['the management plane could not start: the disk is full'], 1],
    );
    await turn();
    mock.timers.tick(1_000);
    started[2]!.asked[0]!.resolve(ready);
    await turn();
    assert.equal(management.isUp, true);
  });

  it('is not started anew where the service stops, before or after it died', async () => {
    const stopped = world();
    await stopped.begin();
    const stopping = stopped.management.plane.stop();
    assert.deepEqual(stopped.started[0]!.sent.at(-1), ['stop']);
    mock.timers.tick(60_000);
    assert.equal(stopped.started[0]!.terminated, 0, 'it may take its time');
    stopped.started[0]!.end();
    await stopping;
    await turn();
    mock.timers.tick(10_000);
    assert.equal(stopped.started.length, 1);
    const died = world();
    await died.begin();
    died.started[0]!.end();
    await turn();
    await died.management.plane.stop();
    mock.timers.tick(10_000);
    assert.equal(died.started.length, 1);
  });
});
