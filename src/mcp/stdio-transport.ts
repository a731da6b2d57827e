/**
 * Exchanges messages as lines over stdin and stdout. Unlike the SDK's own transport, it answers every request that
 * arrived before stdin ended, so that a pipe gets all its answers: `printf … | strongroom mcp`.
 */
import type { Readable, Writable } from 'node:stream';
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  ReadBuffer,
  type RequestId,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';

export class StdioTransport implements Transport {
  onmessage?: Transport['onmessage'];
  onerror?: Transport['onerror'];
  onclose?: Transport['onclose'];
  /** Resolves when stdin has ended and every request is answered, or when the answers can't be written. */
  readonly finished: Promise<void>;

  readonly #stdin: Readable;
  readonly #stdout: Writable;
  readonly #buffer = new ReadBuffer();
  /** A list, because an id that is used twice is answered twice. */
  readonly #unanswered: RequestId[] = [];
  readonly #finish: () => void;
  #ended = false;
  #closed = false;

  constructor(stdin: Readable, stdout: Writable) {
    this.#stdin = stdin;
    this.#stdout = stdout;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.finished = promise;
    this.#finish = resolve;
  }

  async start(): Promise<void> {
    this.#stdout.on('error', this.#fail);
    this.#stdin.on('error', this.#fail);
    this.#stdin.on('data', this.#read);
    // The last line may lack its line break.
    this.#stdin.once('end', () => this.#read(Buffer.from('\n')));
    this.#stdin.once('close', this.#end);
    this.#stdin.once('end', this.#end);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return;
    await new Promise<void>(resolve => this.#stdout.write(serializeMessage(message), () => resolve()));
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) this.#settle(message.id);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stdin.off('data', this.#read);
    this.#stdin.pause();
    this.#finish();
    this.onclose?.();
  }

  readonly #fail = (error: Error): void => {
    this.onerror?.(error);
    this.#finish();
  };

  readonly #end = (): void => {
    this.#ended = true;
    this.#settle();
  };

  readonly #read = (chunk: Buffer): void => {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    while (this.#take());
  };

  /** Takes one message from the buffer; an invalid line is skipped. */
  #take(): boolean {
    try {
      const message = this.#buffer.readMessage();
      if (message !== null) this.#receive(message);
      return message !== null;
    } catch (error) {
      this.onerror?.(error as Error);
      return true;
    }
  }

  #receive(message: JSONRPCMessage): void {
    // A subscription is answered when the connection ends.
    if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') {
      this.#unanswered.push(message.id);
    }
    this.onmessage?.(message);
    // A cancelled request gets no answer.
    if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      this.#settle(message.params?.requestId as RequestId | undefined);
    }
  }

  #settle(id?: RequestId): void {
    const at = this.#unanswered.indexOf(id!);
    if (at >= 0) this.#unanswered.splice(at, 1);
    if (this.#ended && this.#unanswered.length === 0) this.#finish();
  }
}
