/**
 * Communication between threads: calls, which are answered, and notices, which are not, in both directions, by the
 * names of functions that each side provides. Messages arrive in the order in which they were sent. A call fails with
 * the failure that the other side threw, or with `ThreadEnded` if that side is gone.
 */
import type { Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import { receivedFailure, type SentFailure, sentFailure, ThreadEnded } from './failures.ts';

/** Functions that the other side may call. Their arguments and results are copied. */
// biome-ignore lint/suspicious/noExplicitAny: each function declares its own parameters
export type Services = Readonly<Record<string, (...input: any[]) => unknown>>;

export type Input<S extends Services, Name extends keyof S> = Parameters<S[Name]>;
export type Output<S extends Services, Name extends keyof S> = Awaited<ReturnType<S[Name]>>;
/** Moved to the other thread instead of being copied. */
export type Transfer = readonly (ArrayBuffer | MessagePort | Socket)[];

/** A message port or a worker. */
export interface Port {
  postMessage(message: unknown, transfer?: Transfer): void;
  on(event: 'message', listener: (messages: readonly ChannelMessage[]) => void): unknown;
}

/** A call if it has a number, otherwise a notice. */
export interface Request {
  readonly name: string;
  readonly input: readonly unknown[];
  readonly call?: number;
}

export type ChannelMessage =
  | Request
  | { readonly call: number; readonly output: unknown }
  | { readonly call: number; readonly failure: SentFailure };

export interface ChannelOptions {
  /**
   * In milliseconds. Messages sent within this time are posted together, because waking the other thread costs more
   * than most messages. 0 waits for the end of this turn of the event loop. Without it, messages are posted
   * immediately.
   */
  readonly gather?: number | undefined;
}

export class Channel<Far extends Services> {
  readonly #port: Port;
  readonly #services: Services;
  readonly #gather: number | undefined;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  #gathered: ChannelMessage[] = [];
  #moved: Transfer[number][] = [];
  #gathering: Gathering | null = null;
  #lastCall = 0;
  #isOver = false;

  constructor(port: Port, services: Services, { gather }: ChannelOptions = {}) {
    this.#port = port;
    this.#services = services;
    this.#gather = gather;
    port.on('message', messages => {
      for (const message of messages) this.#receive(message);
    });
  }

  /** Whether the other side is gone. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Calls that are not answered yet. */
  get pending(): number {
    return this.#calls.size;
  }

  call<Name extends keyof Far & string>(name: Name, ...input: Input<Far, Name>): Promise<Output<Far, Name>> {
    return this.callWithin(this.#gather, name, ...input);
  }

  /** A call that may wait up to `gather` milliseconds, to be posted together with others. */
  callWithin<Name extends keyof Far & string>(
    gather: number | undefined,
    name: Name,
    ...input: Input<Far, Name>
  ): Promise<Output<Far, Name>> {
    const { call, answer } = this.#nextCall();
    this.#send({ name, input, call }, gather);
    return answer as Promise<Output<Far, Name>>;
  }

  /** A call that is posted immediately and transfers objects. */
  callMoving<Name extends keyof Far & string>(
    moved: Transfer,
    name: Name,
    ...input: Input<Far, Name>
  ): Promise<Output<Far, Name>> {
    const { call, answer } = this.#nextCall();
    this.#gathered.push({ name, input, call });
    this.#moved.push(...moved);
    this.#post();
    return answer as Promise<Output<Far, Name>>;
  }

  notify<Name extends keyof Far & string>(name: Name, ...input: Input<Far, Name>): void {
    this.#send({ name, input }, this.#gather);
  }

  /** A notice that is posted immediately and transfers objects. */
  notifyMoving<Name extends keyof Far & string>(moved: Transfer, name: Name, ...input: Input<Far, Name>) {
    this.#moved.push(...moved);
    this.#send({ name, input }, undefined);
  }

  /** A notice that transfers objects, posted together with all others of this turn of the event loop. */
  notifyThisTurn<Name extends keyof Far & string>(moved: Transfer, name: Name, ...input: Input<Far, Name>) {
    this.#moved.push(...moved);
    this.#send({ name, input }, 0);
  }

  /** Called when the other side is gone. Pending calls fail, including those not yet posted. */
  end(cause?: unknown): void {
    this.#isOver = true;
    this.#gathered = [];
    this.#moved = [];
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const { reject } of calls) reject(new ThreadEnded(cause));
  }

  #nextCall(): { readonly call: number; readonly answer: Promise<unknown> } {
    const call = ++this.#lastCall;
    const answer = Promise.withResolvers<unknown>();
    if (this.#isOver) answer.reject(new ThreadEnded());
    else this.#calls.set(call, answer);
    return { call, answer: answer.promise };
  }

  #send(message: ChannelMessage, gather: number | undefined): void {
    this.#gathered.push(message);
    if (gather === undefined) this.#post();
    else if (this.#gathering === null || gather < this.#gathering.milliseconds) {
      this.#gathering?.cancel();
      this.#gathering = after(gather, () => this.#post());
    }
  }

  #post(): void {
    this.#gathering?.cancel();
    this.#gathering = null;
    const [messages, moved] = [this.#gathered, this.#moved];
    this.#gathered = [];
    this.#moved = [];
    if (messages.length > 0) this.#port.postMessage(messages, moved);
  }

  #receive(message: ChannelMessage): void {
    if ('failure' in message) this.#answered(message.call)?.reject(receivedFailure(message.failure));
    else if ('output' in message) this.#answered(message.call)?.resolve(message.output);
    else if (message.call === undefined) this.#services[message.name]!(...message.input);
    else void this.#answer(message.call, message);
  }

  #answered(call: number): PromiseWithResolvers<unknown> | undefined {
    const answer = this.#calls.get(call);
    this.#calls.delete(call);
    return answer;
  }

  async #answer(call: number, { name, input }: Request): Promise<void> {
    try {
      this.#send({ call, output: await this.#services[name]!(...input) }, this.#gather);
    } catch (error) {
      this.#send({ call, failure: sentFailure(error) }, this.#gather);
    }
  }
}

interface Gathering {
  readonly milliseconds: number;
  readonly cancel: () => void;
}

function after(milliseconds: number, work: () => void): Gathering {
  if (milliseconds === 0) {
    const turn = setImmediate(work);
    return { milliseconds, cancel: () => clearImmediate(turn) };
  }
  const timer = setTimeout(work, milliseconds);
  return { milliseconds, cancel: () => clearTimeout(timer) };
}
