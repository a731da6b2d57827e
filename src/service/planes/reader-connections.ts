/**
 * The connections of one reader. The main thread has accepted and counted them; they are served here as if this thread
 * had accepted them, TLS included. When one is over, the main thread is told.
 */
import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';

interface Client {
  requests: number;
  /** Whether its connection ends with its next answer. */
  isLeaving: boolean;
}

interface ReaderConnectionsParts {
  readonly encrypted: boolean;
  /** Counts all requests, for the main thread. */
  readonly load: SharedArrayBuffer;
  readonly tellClosed: (ids: readonly number[]) => void;
}

export class ReaderConnections {
  readonly #parts: ReaderConnectionsParts;
  readonly #load: Int32Array;
  readonly #open = new Set<Socket>();
  readonly #clients = new Map<Socket, Client>();
  #server: Server | null = null;
  #closed: number[] = [];
  #drained: (() => void) | null = null;

  constructor(parts: ReaderConnectionsParts) {
    this.#parts = parts;
    this.#load = new Int32Array(parts.load);
  }

  get size(): number {
    return this.#open.size;
  }

  /** The server never listens. */
  attach(server: Server): void {
    this.#server = server;
    server.on(this.#parts.encrypted ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#clients.set(socket, { requests: 0, isLeaving: false });
      socket.once('close', () => this.#clients.delete(socket));
    });
    server.emit('listening'); // Starts the checks for connections that are too slow.
  }

  /** Serves a connection that the main thread has accepted. */
  take(socket: Socket, id: number): void {
    this.#open.add(socket);
    socket.once('close', () => this.#over(socket, id));
    this.#server!.emit('connection', socket);
    if (!this.#parts.encrypted) socket.resume();
  }

  /** Wraps the listener. */
  readonly counting =
    (listen: RequestListener): RequestListener =>
    (request, response) => {
      this.#load[0]!++;
      const client = this.#clients.get(request.socket);
      if (client !== undefined) {
        client.requests++;
        if (client.isLeaving) response.shouldKeepAlive = false;
      }
      listen(request, response);
    };

  /**
   * All connections but the busiest end with their next answer, so that their clients connect again and are given to
   * other readers.
   */
  shed(): void {
    const clients = [...this.#clients.values()].sort((one, other) => other.requests - one.requests);
    for (const [index, client] of clients.entries()) {
      client.isLeaving = index > 0;
      client.requests = 0;
    }
  }

  /** Resolves once no connection is open. */
  drain(): Promise<void> {
    this.#server!.closeIdleConnections();
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise(resolve => {
      this.#drained = resolve;
    });
  }

  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #over(socket: Socket, id: number): void {
    this.#open.delete(socket);
    // Together with others that end in this turn of the event loop.
    if (this.#closed.push(id) === 1) setImmediate(() => this.#tell());
    if (this.#open.size === 0) this.#drained?.();
  }

  #tell(): void {
    const ids = this.#closed;
    this.#closed = [];
    this.#parts.tellClosed(ids);
  }
}
