/**
 * Serves calls from several threads in groups, for work where many calls cost little more than one: calls that are
 * waiting at the same time are carried out together. Each calling thread has its own port, with a `Channel` at the
 * other end.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { ChannelMessage, Request } from './channel.ts';
import { sentFailure } from './failures.ts';

/** The notice that is the last on a port. */
const lastNotice = 'close';

interface Waiting<Input> {
  readonly from: MessagePort;
  readonly call: number;
  readonly input: Input;
}

/**
 * Returns a function that starts serving a port. `carryOut` returns one output per input, or throws for all of them.
 */
export function servedTogether<Input, Output>(
  most: number,
  carryOut: (inputs: readonly Input[]) => readonly Output[],
): (port: MessagePort) => void {
  const ports = new Set<MessagePort>();

  /** Returns whether the port sent its last notice. */
  function take(from: MessagePort, requests: readonly Request[], waiting: Waiting<Input>[]): boolean {
    for (const { name, call, input } of requests) {
      if (name === lastNotice) return true;
      waiting.push({ from, call: call!, input: input[0] as Input });
    }
    return false;
  }

  function gather(port: MessagePort, waiting: Waiting<Input>[]): void {
    while (waiting.length < most) {
      const next = receiveMessageOnPort(port);
      if (next === undefined) return;
      // No more messages follow: the port is closed after this group is answered.
      if (take(port, next.message, waiting)) setImmediate(() => port.close());
    }
  }

  function answer(waiting: readonly Waiting<Input>[]): void {
    for (const [from, messages] of Map.groupBy(answersTo(waiting), ({ from }) => from))
      from.postMessage(messages.map(({ message }) => message));
  }

  function answersTo(waiting: readonly Waiting<Input>[]): { from: MessagePort; message: ChannelMessage }[] {
    try {
      const outputs = carryOut(waiting.map(({ input }) => input));
      return waiting.map(({ from, call }, index) => ({ from, message: { call, output: outputs[index] } }));
    } catch (error) {
      const failure = sentFailure(error);
      return waiting.map(({ from, call }) => ({ from, message: { call, failure } }));
    }
  }

  return port => {
    ports.add(port);
    port.on('close', () => ports.delete(port));
    port.on('message', (first: readonly Request[]) => {
      const waiting: Waiting<Input>[] = [];
      const isLast = take(port, first, waiting);
      for (const other of ports) gather(other, waiting);
      if (waiting.length > 0) answer(waiting);
      if (isLast) port.close();
    });
  };
}
