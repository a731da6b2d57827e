/**
 * The management plane's side of requests that the reading plane forwards: to the router, each looks as if it had its
 * own connection. The answer goes back as a head and pieces of a body, no faster than the client reads it.
 */
import type { ClientRequest, OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { IncomingMessage, ServerResponse } from '../../base/node-http.ts';
import type { AdmittedRequest } from '../../http/listener/admitted-request.ts';
import type { AnswerHead, FromExchange, RequestHead, ToExchange } from './messages.ts';
import { largestFlight, movable, ownBytes } from './request-forwarder.ts';

/** Posts together what one turn of the event loop brings: answers often wait for the same commit. */
export type Post = (message: FromExchange, transfer?: readonly ArrayBuffer[]) => void;

export type Route = (request: IncomingMessage, response: ServerResponse, admitted?: AdmittedRequest) => void;

export class RequestReceiver {
  readonly #route: Route;
  readonly #post: Post;
  readonly #exchanges = new Map<number, ForwardedExchange>();
  readonly #ids = new WeakMap<IncomingMessage, number>();

  constructor(route: Route, post: Post) {
    this.#route = route;
    this.#post = post;
  }

  take(message: ToExchange): void {
    if (message.kind === 'request') this.#begin(message.id, message.head);
    else this.#exchanges.get(message.id)?.take(message);
  }

  /** Makes the reading plane answer that the body took too long. */
  late(request: IncomingMessage): void {
    const id = this.#ids.get(request);
    if (id !== undefined) this.#post({ kind: 'late', id });
  }

  /** Nobody can receive the answers to open requests any more. */
  end(): void {
    for (const id of [...this.#exchanges.keys()]) this.take({ kind: 'gone', id });
  }

  #begin(id: number, head: RequestHead): void {
    const exchange = new ForwardedExchange(id, head, this.#post);
    this.#exchanges.set(id, exchange);
    this.#ids.set(exchange.request, id);
    exchange.response.once('close', () => this.#exchanges.delete(id));
    this.#route(exchange.request, exchange.response, head.admitted);
  }
}

class ForwardedExchange {
  readonly request: ForwardedRequest;
  readonly response: ForwardedResponse;
  readonly #socket: ForwardedSocket;

  constructor(id: number, head: RequestHead, post: Post) {
    this.#socket = new ForwardedSocket(head);
    this.request = new ForwardedRequest(this.#socket, head, bytes => post({ kind: 'read', id, bytes }));
    this.response = new ForwardedResponse(this.request, this.#socket, id, post);
  }

  take(message: Exclude<ToExchange, { kind: 'request' }>): void {
    switch (message.kind) {
      case 'body':
        this.request.arrived(message.piece);
        return;
      case 'body-end':
        this.request.ended();
        return;
      case 'taken':
        this.#socket.taken(message.bytes);
        return;
      case 'gone':
        if (!this.request.complete) this.request.destroy(goneError());
        this.#socket.destroy();
    }
  }
}

function goneError(): Error {
  return Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
}

/** The connection as the router sees it: its addresses, and whether more may be written. */
class ForwardedSocket extends Duplex {
  readonly remoteAddress: string;
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
  readonly encrypted: boolean;
  readonly clientCertificate: Uint8Array | null;
  /** Bytes of the answer that the client has not received yet. */
  #untaken = 0;
  #waiting: (() => void) | null = null;

  constructor({ address, localAddress, localPort, encrypted, certificate }: RequestHead) {
    super();
    this.remoteAddress = address;
    this.localAddress = localAddress;
    this.localPort = localPort;
    this.encrypted = encrypted;
    this.clientCertificate = certificate;
  }

  sent(bytes: number): void {
    this.#untaken += bytes;
  }

  taken(bytes: number): void {
    this.#untaken -= bytes;
    if (this.#untaken >= largestFlight) return;
    this.#waiting?.();
    this.#waiting = null;
  }

  override _read(): void {}

  /** The chunk was already posted; this only delays the next one. */
  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    if (this.#untaken < largestFlight) done();
    else this.#waiting = done;
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#waiting?.();
    this.#waiting = null;
    done(error);
  }
}

class ForwardedRequest extends IncomingMessage {
  readonly #tellRead: (bytes: number) => void;
  #unread = 0;

  constructor(socket: ForwardedSocket, head: RequestHead, tellRead: (bytes: number) => void) {
    super(socket as Duplex as Socket);
    this.#tellRead = tellRead;
    this.method = head.method;
    this.url = head.url;
    this.httpVersionMajor = 1;
    this.httpVersionMinor = head.httpVersionMinor;
    this.httpVersion = `1.${head.httpVersionMinor}`;
    this.rawHeaders = head.rawHeaders as string[];
    this.headers = joined(head.rawHeaders);
    if (!head.hasBody) this.ended();
  }

  arrived(piece: Uint8Array): void {
    this.#unread += piece.length;
    this.push(piece);
  }

  ended(): void {
    this.complete = true;
    this.push(null);
  }

  override _read(size: number): void {
    super._read(size); // Marks the request as being read.
    // Once the whole body is here, the other side has nothing left to send.
    if (this.#unread === 0 || this.complete) return;
    this.#tellRead(this.#unread);
    this.#unread = 0;
  }
}

/** Joins headers as Node's server does: for these, the first value counts; all others become lists. */
const single = new Set(
  'age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since last-modified location max-forwards proxy-authorization referer retry-after server user-agent'.split(
    ' ',
  ),
);

function joined(rawHeaders: readonly string[]): NodeJS.Dict<string> {
  const headers: NodeJS.Dict<string> = Object.create(null);
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    const [before, value] = [headers[name], rawHeaders[at + 1]!];
    if (before === undefined) headers[name] = value;
    else if (!single.has(name)) headers[name] = before + (name === 'cookie' ? '; ' : ', ') + value;
  }
  return headers;
}

class ForwardedResponse extends ServerResponse {
  readonly #id: number;
  readonly #post: Post;
  readonly #socket: ForwardedSocket;
  #head: AnswerHead | null = null;
  #isAnswered = false;

  constructor(request: IncomingMessage, socket: ForwardedSocket, id: number, post: Post) {
    super(request);
    this.#id = id;
    this.#post = post;
    this.#socket = socket;
    this.assignSocket(socket as Duplex as Socket);
    // As in a server: writers continue once there is room, and the end of the connection is visible.
    socket.on('drain', () => this.emit('drain'));
    this.once('finish', () => socket.destroy());
    this.once('close', () => {
      if (!this.#isAnswered) post({ kind: 'cut', id });
    });
  }

  override writeContinue(): void {
    this.#post({ kind: 'continue', id: this.#id });
  }

  override writeHead(status: number, ...rest: unknown[]): this {
    const headers = rest.findLast(given => typeof given === 'object') as OutgoingHttpHeaders | undefined;
    for (const [name, value] of Object.entries(headers ?? {})) {
      if (value !== undefined) this.setHeader(name, value);
    }
    this.#head = {
      status,
      rawHeaders: namesIn(this).flatMap(name => [name, headerValue(this.getHeader(name)!)]),
    };
    return super.writeHead(status);
  }

  override write(chunk: unknown, ...rest: never[]): boolean {
    this.#send(chunk, rest[0], false);
    return super.write(chunk as string, ...rest);
  }

  override end(...given: unknown[]): this {
    const [chunk, encoding] = given;
    this.#send(typeof chunk === 'function' ? null : chunk, encoding, true);
    return super.end(...(given as []));
  }

  #send(chunk: unknown, encoding: unknown, isLast: boolean): void {
    if (this.#isAnswered) return;
    if (!this.headersSent) this.writeHead(this.statusCode);
    const piece = hasNoBody(this) ? null : pieceOf(chunk, encoding);
    const [head, id] = [this.#head, this.#id];
    this.#head = null;
    this.#isAnswered = isLast;
    if (piece !== null && !isLast) this.#socket.sent(Buffer.byteLength(piece));
    this.#post(
      { kind: 'answer', id, head, piece, isLast },
      piece instanceof Uint8Array ? movable(piece) : [],
    );
  }
}

/** The header names with their spelling; the types declare this method only for requests. */
function namesIn(message: object): string[] {
  return (message as ClientRequest).getRawHeaderNames();
}

function hasNoBody({ req, statusCode }: ServerResponse): boolean {
  return req.method === 'HEAD' || statusCode === 204 || statusCode === 304;
}

function pieceOf(chunk: unknown, encoding: unknown): Uint8Array<ArrayBuffer> | string | null {
  if (chunk === undefined || chunk === null) return null;
  if (typeof chunk !== 'string') return ownBytes(chunk as Uint8Array);
  const isText = encoding === undefined || encoding === null || encoding === 'utf8' || encoding === 'utf-8';
  if (!isText) return ownBytes(Buffer.from(chunk, encoding as BufferEncoding));
  // Long text is encoded here, and not on the plane that answers reads.
  return chunk.length < longText ? chunk : encoder.encode(chunk);
}

const encoder = new TextEncoder();
const longText = 4_096;

function headerValue(value: number | string | readonly string[]): string | readonly string[] {
  return typeof value === 'object' ? value : String(value);
}
