/**
 * Supports LIST, a method of Vault that Node's HTTP parser refuses. A LIST request below the dialect's path is buffered
 * until its head is complete, and then goes through a separate parser as `GET …?list=true`, with the same checks,
 * limits and answers as any other request. The connection is closed afterwards, because the parser that refused the
 * request reads no further.
 *
 * Everything else that the parser refuses is passed on. So is a LIST that follows a request without an answer yet,
 * because its own answer would come too early, and a LIST whose first letters arrive separately.
 */
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createServer } from '../../base/node-http.ts';
import { type AnswerClientError, type ConnectionError, largestHead } from '../listener/server.ts';

const start = 'LIST /vault/v1/';
const headEnd = '\r\n\r\n';
const requestLine = /^LIST (\/vault\/v1\/[!-~]*) (HTTP\/1\.1\r\n)/;

/** The bytes of a LIST that have arrived so far, as Latin-1 text; null once it is being answered. */
type Held = string | null;

export class ListMethod {
  readonly #held = new WeakMap<Socket, Held>();
  readonly #otherwise: AnswerClientError;
  #server: Server | null = null;

  /** `otherwise` answers everything that is not a LIST. */
  constructor(otherwise: AnswerClientError) {
    this.#otherwise = otherwise;
  }

  serveBy(listen: RequestListener): void {
    this.#server = createServer({ maxHeaderSize: largestHead, optimizeEmptyRequests: true }, listen);
    this.#server.on('clientError', this.#otherwise);
    this.#server.on('checkContinue', listen);
    this.#server.on('checkExpectation', listen);
  }

  readonly answer: AnswerClientError = (error, socket) => {
    const held = this.#held.get(socket);
    if (held === null) {
      // The connection is about to be closed: further bytes on it are ignored.
      if (!isOfParser(error)) this.#otherwise(error, socket);
      return;
    }
    const text = held === undefined ? beginning(error, socket) : held + packetOf(error);
    const isLonger = text !== null && text.length > (held ?? '').length;
    if (!isLonger || text.length > largestHead || !isStart(text)) {
      this.#held.delete(socket);
      this.#otherwise(
        text === null ? error : { code: error.code, rawPacket: Buffer.from(text, 'latin1') },
        socket,
      );
      return;
    }
    const end = text.indexOf(headEnd);
    if (end < 0) this.#held.set(socket, text);
    else this.#serve(text.slice(0, end + headEnd.length), error, socket);
  };

  #serve(head: string, error: ConnectionError, socket: Socket): void {
    const rewritten = asGet(head);
    if (rewritten === null) {
      this.#otherwise(error, socket);
      return;
    }
    this.#held.set(socket, null);
    this.#server!.emit('connection', new OneRequest(socket, rewritten));
  }
}

/** Errors of the parser have the packet that it was reading; timeouts and connection errors do not. */
function isOfParser({ rawPacket }: ConnectionError): boolean {
  return rawPacket !== undefined;
}

function packetOf({ rawPacket }: ConnectionError): string {
  return rawPacket?.toString('latin1') ?? '';
}

function isStart(text: string): boolean {
  return text.length < start.length ? start.startsWith(text) : text.startsWith(start);
}

/** The first bytes of a LIST, or null if this is not one. */
function beginning(error: ConnectionError, socket: Socket): string | null {
  if (error.code !== 'HPE_INVALID_METHOD' || owesAnAnswer(socket)) return null;
  const text = packetOf(error);
  return isStart(text) ? text : null;
}

function owesAnAnswer(socket: Socket): boolean {
  const { _httpMessage: answer } = socket as Socket & { readonly _httpMessage?: ServerResponse | null };
  return answer !== null && answer !== undefined && !answer.writableEnded;
}

function asGet(head: string): string | null {
  const [line, target, version] = requestLine.exec(head) ?? [];
  if (line === undefined) return null;
  const [path, ...query] = target!.split('?');
  const parameters = ['list=true', ...(query.length === 0 ? [] : [query.join('?')])].join('&');
  return `GET ${path}?${parameters} ${version}Connection: close\r\n${head.slice(line.length)}`;
}

/** A connection for one request on top of the client's, whose timeouts and connection limits still apply. */
class OneRequest extends Duplex {
  readonly remoteAddress: string | undefined;
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
  readonly encrypted: boolean;
  readonly #client: Socket;

  constructor(client: Socket, head: string) {
    super();
    this.#client = client;
    this.remoteAddress = client.remoteAddress;
    this.localAddress = client.localAddress;
    this.localPort = client.localPort;
    this.encrypted = 'encrypted' in client;
    client.once('close', () => this.destroy());
    this.push(Buffer.from(head, 'latin1'));
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#client.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#client.destroySoon();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#client.destroySoon();
    done(error);
  }

  setTimeout(): this {
    return this;
  }
}
