/**
 * Runs a kind of pressure in a separate process: prepared first, started after the calm is measured, and then stopped.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Data } from './data.ts';
import { Exchanges, type Tally } from './exchanges.ts';
import { pressures } from './pressures.ts';
import type { Scene } from './scene.ts';
import { SteadyLoad } from './steady-load.ts';

export interface Order {
  readonly kind: string;
  readonly port: number;
  readonly data: Data;
}

export interface Pressed extends Tally {
  /** The number of good reads, if the pressure consists of reads. */
  readonly good: number;
  readonly note: string;
}

/** The shortest time, so that there is something to measure, and the longest, in milliseconds. */
export interface Span {
  readonly atLeast: number;
  readonly atMost: number;
}

/** Resolves with the outcome once the pressure is over. */
export type Pressing = (rate: number, span: Span, onBegin: () => void) => Promise<Pressed>;

export async function prepare(order: Order): Promise<Pressing> {
  const child = fork(fileURLToPath(import.meta.url));
  child.send(order);
  const failed = once(child, 'exit').then(() =>
    Promise.reject(new Error(`${order.kind} could not be prepared`)),
  );
  await Promise.race([once(child, 'message'), failed]);
  failed.catch(() => {});
  return (rate, span, onBegin) => press(child, rate, span, onBegin);
}

async function press(
  child: ChildProcess,
  rate: number,
  { atLeast, atMost }: Span,
  onBegin: () => void,
): Promise<Pressed> {
  child.send(rate);
  onBegin();
  const done = once(child, 'message');
  await Promise.all([sleep(atLeast), Promise.race([done, sleep(atMost)])]);
  const told = new Promise<Pressed>(resolve =>
    child.on('message', (message: Pressed | 'done') => {
      if (message !== 'done') resolve(message);
    }),
  );
  child.send('stop');
  const pressed = await told;
  if (child.exitCode === null) await once(child, 'exit');
  return pressed;
}

async function obey({ kind, port, data }: Order): Promise<void> {
  let note = '';
  const exchanges = new Exchanges(port);
  const scene = { data, rate: 0, exchanges, note: (text: string) => (note = text) } satisfies Scene;
  const { press, prepare } = pressures[kind]!;
  const prepared = await prepare?.(scene);
  Object.assign(exchanges.tally, { answered: 0, refused: 0, cut: 0 });
  process.send!('ready');
  [scene.rate] = (await once(process, 'message')) as [number];
  const stopped = once(process, 'message');
  const pressing = (prepared ?? press)!(scene);
  if (pressing instanceof Promise) void pressing.then(() => process.send!('done'));
  await stopped;
  exchanges.stop();
  const reads = pressing instanceof SteadyLoad ? pressing : null;
  reads?.stop();
  const answered = Object.values(reads?.statuses ?? {}).reduce((sum, count) => sum + count, 0);
  const tally = { ...exchanges.tally, answered: exchanges.tally.answered + answered };
  const pressed: Pressed = { ...tally, good: reads?.good ?? 0, note };
  process.send!(pressed, () => process.exit());
}

if (import.meta.main) {
  const [order] = (await once(process, 'message')) as [Order];
  await obey(order);
}
