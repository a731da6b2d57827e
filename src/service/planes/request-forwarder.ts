/**
 * The reading plane's side of requests that the management plane answers. They are parsed once, here; the other thread
 * gets the head, and the body in pieces, no faster than it reads them. The number of such requests is limited, in total
 * and per caller. Beyond a limit, or without a management plane, a request gets UNAVAILABLE and may be retried.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { AdmittedRequest } from '../../http/listener/admitted-request.ts';
import type { FromExchange, RequestHead, ToExchange } from './messages.ts';

export interface RequestForwarderParts {
  readonly post: (message: ToExchange, transfer?: readonly ArrayBuffer[]) => void;
  readonly isUp: () => boolean;
  /** How many threads share the limits of the process; 1 if it is not given. */
  readonly share?: number | undefined;
  /** Answers that the service is unavailable. */
  readonly refuse: (request: IncomingMessage, response: ServerResponse) => void;
  /** Answers a request whose body took too long to arrive, and ends its connection. */
  readonly onLate: (request: IncomingMessage) => void;
}

const mostAtOnce = 2_000;
/** The limit per caller. */
const mostOfOne = 500;
/** The most bytes of one body in transit between the threads. */
export const largestFlight = 64 * 1024;
/** Shorter pieces are copied, which costs less than moving their buffer. */
const shortPiece = 4_096;

export class RequestForwarder {
  readonly #parts: RequestForwarderParts;
  readonly #exchanges = new Map<number, Exchange>();
  readonly #callers = new Map<string, number>();
  #lastId = 0;

  constructor(parts: RequestForwarderParts) {
    this.#parts = parts;
  }

  readonly forward = (request: IncomingMessage, response: ServerResponse): void =>
    this.#forward(request, response, null);

  /** Passes on a request of a client that was identified, without its credential. */
  forwardAdmitted(request: IncomingMessage, response: ServerResponse, admitted: AdmittedRequest): void {
    this.#forward(request, response, admitted);
  }

  #forward(request: IncomingMessage, response: ServerResponse, admitted: AdmittedRequest | null): void {
    const caller = callerOf(request);
    const own = this.#callers.get(caller) ?? 0;
    const { isUp, share = 1 } = this.#parts;
    if (!isUp() || this.#exchanges.size >= mostAtOnce / share || own >= mostOfOne / share) {
      this.#parts.refuse(request, response);
      return;
    }
    const id = ++this.#lastId;
    this.#callers.set(caller, own + 1);
    response.once('close', () => {
      this.#exchanges.delete(id);
      this.#leave(caller);
    });
    const head = admitted === null ? headOf(request) : admittedHead(request, admitted);
    this.#exchanges.set(id, new Exchange(id, request, response, this.#parts, head));
  }

  #leave(caller: string): void {
    const left = this.#callers.get(caller)! - 1;
    if (left === 0) this.#callers.delete(caller);
    else this.#callers.set(caller, left);
  }

  take(message: FromExchange): void {
    this.#exchanges.get(message.id)?.take(message);
  }

  /** Fails all open requests, because the management plane has ended. */
  failAll(): void {
    for (const exchange of this.#exchanges.values()) exchange.fail();
  }
}

class Exchange {
  readonly #id: number;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #parts: RequestForwarderParts;
  /** Bytes of the request's body that the other side has not read yet. */
  #unread = 0;

  constructor(
    id: number,
    request: IncomingMessage,
    response: ServerResponse,
    parts: RequestForwarderParts,
    head: RequestHead,
  ) {
    this.#id = id;
    this.#request = request;
    this.#response = response;
    this.#parts = parts;
    parts.post({ kind: 'request', id, head });
    if (head.hasBody) this.#sendBody();
    response.once('close', () => {
      if (!response.writableFinished) parts.post({ kind: 'gone', id });
    });
  }

  take(message: FromExchange): void {
    switch (message.kind) {
      case 'read':
        this.#unread -= message.bytes;
        if (this.#unread < largestFlight) this.#request.resume();
        return;
      case 'continue':
        this.#response.writeContinue();
        return;
      case 'answer':
        this.#answer(message);
        return;
      case 'late':
        this.#parts.onLate(this.#request);
        return;
      case 'cut':
        this.#response.destroy();
    }
  }

  fail(): void {
    if (this.#response.headersSent) this.#response.destroy();
    else this.#parts.refuse(this.#request, this.#response);
  }

  #sendBody(): void {
    const { post } = this.#parts;
    const id = this.#id;
    this.#request.on('data', (chunk: Buffer) => {
      const piece = ownBytes(chunk);
      this.#unread += piece.length;
      if (this.#unread >= largestFlight) this.#request.pause();
      post({ kind: 'body', id, piece }, movable(piece));
    });
    this.#request.once('end', () => post({ kind: 'body-end', id }));
  }

  #answer({ head, piece, isLast }: Extract<FromExchange, { kind: 'answer' }>): void {
    const response = this.#response;
    if (head !== null) response.writeHead(head.status, head.rawHeaders as string[]);
    if (isLast) {
      response.end(piece ?? undefined);
      return;
    }
    if (piece === null) return;
    const taken = () => this.#parts.post({ kind: 'taken', id: this.#id, bytes: Buffer.byteLength(piece) });
    if (response.write(piece)) taken();
    else response.once('drain', taken);
  }
}

/** Identifies the caller of a request: its credential, valid or not, or else its address. */
function callerOf({ headers, socket }: IncomingMessage): string {
  const token = headers['x-vault-token'] ?? headers.authorization ?? headers.cookie;
  return token === undefined ? (socket.remoteAddress ?? '') : String(token);
}

function headOf(request: IncomingMessage): RequestHead {
  const { headers, rawHeaders, httpVersionMinor, readableEnded, socket } = request;
  const isSaid = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  return {
    method: request.method!,
    url: request.url!,
    rawHeaders,
    httpVersionMinor,
    address: socket.remoteAddress ?? '',
    localAddress: socket.localAddress,
    localPort: socket.localPort,
    encrypted: (socket as Partial<TLSSocket>).encrypted === true,
    certificate: certificateOf(socket),
    hasBody: isSaid && !readableEnded,
  };
}

function admittedHead(request: IncomingMessage, admitted: AdmittedRequest): RequestHead {
  const { rule, path, headers } = admitted;
  const target = `/via/${encodeURIComponent(rule)}${path}`;
  return { ...headOf(request), url: target, rawHeaders: headers.flat(), certificate: null, admitted };
}

/** The certificate is not verified yet: the handshake only proves that the peer has its private key. */
function certificateOf(socket: Socket): Uint8Array | null {
  const shown = (socket as Partial<TLSSocket>).getPeerX509Certificate?.();
  return shown === undefined ? null : ownBytes(shown.raw);
}

/** What to move with a piece to the other thread. */
export function movable(piece: Uint8Array<ArrayBuffer>): ArrayBuffer[] {
  return piece.length < shortPiece ? [] : [piece.buffer];
}

/** Copies the bytes, because a transfer to another thread moves their whole underlying buffer. */
export function ownBytes(chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.prototype.slice.call(chunk) as Uint8Array<ArrayBuffer>;
}
