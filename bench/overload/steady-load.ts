/**
 * Repeats the same request at a fixed rate, whatever the answers are: a request that is due is sent on the next free
 * connection, and its delay counts from the time it was due. So a stalled service is charged for all requests that were
 * due in the meantime. Without a rate, each connection repeats the request as soon as it is answered.
 *
 * Started by `watch`, it is a separate process that reports the number of good answers every tenth of a second.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Answers } from '../answers.ts';

export interface SteadyPlan {
  readonly port: number;
  readonly connections: number;
  readonly request: string;
  /** Per second, over all connections. */
  readonly rate: number | null;
  /** The milliseconds that a request waits for a free connection before it is dropped. */
  readonly patience: number | null;
  readonly addresses?: readonly string[];
}

export interface Progress {
  /** On the wall clock, so that processes agree. */
  readonly at: number;
  readonly good: number;
}

/** The time at which each request was due, and how long it took from then. */
export interface Delays {
  readonly due: readonly number[];
  readonly taken: readonly number[];
}

/** A later answer does not count as good. */
const inTime = 1_000;
const tellEvery = 100;
const reconnectAfter = 50;

interface Line {
  readonly socket: Socket;
  readonly answers: Answers;
  due: number | null;
}

export const clock = (): number => performance.timeOrigin + performance.now();

export class SteadyLoad {
  good = 0;
  readonly statuses: Record<string, number> = {};
  readonly delays: { due: number[]; taken: number[] } = { due: [], taken: [] };
  readonly #plan: SteadyPlan;
  readonly #free: Line[] = [];
  readonly #lines = new Set<Line>();
  readonly #began = clock();
  #sent = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(plan: SteadyPlan) {
    this.#plan = plan;
    for (let at = 0; at < plan.connections; at++) this.#connect(at);
    if (plan.rate !== null) this.#timer = setInterval(() => this.#sendDue(), 1);
  }

  stop(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
    const now = clock();
    for (const { socket, due } of this.#lines) {
      if (due !== null) this.#note(due, now - due); // It has waited at least this long.
      socket.destroy();
    }
  }

  #connect(at: number): void {
    const { port, addresses = ['127.0.0.1'] } = this.#plan;
    const localAddress = addresses[at % addresses.length]!;
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
    const line: Line = { socket, answers: new Answers(), due: null };
    this.#lines.add(line);
    socket.on('connect', () => this.#release(line));
    socket.on('data', (chunk: Buffer) => this.#receive(line, chunk));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#lines.delete(line);
      if (this.#free.includes(line)) this.#free.splice(this.#free.indexOf(line), 1);
      if (!this.#isOver) setTimeout(() => this.#isOver || this.#connect(at), reconnectAfter);
    });
  }

  #receive(line: Line, chunk: Buffer): void {
    const status = line.answers.add(chunk);
    if (status === null || line.due === null) return;
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    const taken = clock() - line.due;
    this.#note(line.due, taken);
    if (status === '200' && taken <= inTime) this.good++;
    line.due = null;
    this.#release(line);
  }

  #note(due: number, taken: number): void {
    this.delays.due.push(due);
    this.delays.taken.push(taken);
  }

  #release(line: Line): void {
    if (this.#isOver) return;
    if (this.#plan.rate === null) this.#send(line, clock());
    else {
      this.#free.push(line);
      this.#sendDue();
    }
  }

  #send(line: Line, due: number): void {
    line.due = due;
    line.socket.write(this.#plan.request, 'latin1');
  }

  #sendDue(): void {
    const { rate, patience } = this.#plan;
    const now = clock();
    for (;;) {
      const due = this.#began + (this.#sent * 1000) / rate!;
      if (due > now) return;
      if (patience === null || now - due <= patience) {
        const line = this.#free.shift();
        if (line === undefined) return;
        this.#send(line, due);
      }
      this.#sent++;
    }
  }
}

export interface Watch {
  readonly progress: readonly Progress[];
  stop(): Promise<Delays>;
}

/** A steady load in a separate process, so that only the service can delay it. */
export function watch(plan: SteadyPlan): Watch {
  const progress: Progress[] = [];
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), { serialization: 'advanced' });
  child.on('message', (told: Progress | Delays) => {
    if ('good' in told) progress.push(told);
  });
  child.send(plan);
  return {
    progress,
    stop: async () => {
      child.send('stop');
      for (;;) {
        const [told] = (await once(child, 'message')) as [Progress | Delays];
        if (!('due' in told)) continue;
        await once(child, 'exit');
        return told;
      }
    },
  };
}

/** The number of good answers per second between two times. */
export function goodBetween(progress: readonly Progress[], from: number, to: number): number {
  const within = progress.filter(({ at }) => at >= from && at <= to);
  const [first, last] = [within[0], within.at(-1)];
  if (first === undefined || last === undefined || last.at === first.at) return 0;
  return ((last.good - first.good) * 1000) / (last.at - first.at);
}

if (import.meta.main) {
  const [plan] = (await once(process, 'message')) as [SteadyPlan];
  const load = new SteadyLoad(plan);
  const tell = setInterval(() => process.send!({ at: clock(), good: load.good }), tellEvery);
  await once(process, 'message');
  clearInterval(tell);
  load.stop();
  process.send!(load.delays, () => process.disconnect!());
}
