/**
 * Connections kept open for the next call, separately for each secret: data that another service sends late, or in
 * addition to an answer, never reaches another secret's call. A connection is kept only after a plain answer, and
 * closed if it receives data while idle. The number of secrets with connections is limited, and so is the number of
 * connections per secret.
 */
import type { ClientRequest, Agent as HttpAgent } from 'node:http';
import type { Socket } from 'node:net';
import type { Egress } from '../access/egress.ts';
import { type Agents, destroy, guardedAgents, type Resolve } from './connections.ts';

const mostPools = 256;
const mostKept = 8;

export class Pools {
  readonly #egress: Egress;
  readonly #resolve: Resolve;
  /** The most recently used comes last. */
  readonly #pools = new Map<string, Agents>();
  /**
   * For requests that make changes. They are not sent on a connection that may be closing, because it would be unknown
   * whether they arrived.
   */
  readonly fresh: Agents;

  constructor(egress: Egress, resolve: Resolve) {
    this.#egress = egress;
    this.#resolve = resolve;
    this.fresh = guardedAgents(egress, resolve, { keepAlive: false });
  }

  keptFor(secret: string): Agents {
    const agents = this.#pools.get(secret) ?? this.#opened();
    this.#pools.delete(secret);
    this.#pools.set(secret, agents);
    if (this.#pools.size > mostPools) this.#drop(this.#pools.keys().next().value!);
    return agents;
  }

  close(): void {
    for (const secret of this.#pools.keys()) this.#drop(secret);
    destroy(this.fresh);
  }

  #opened(): Agents {
    const agents = guardedAgents(this.#egress, this.#resolve, { maxFreeSockets: mostKept });
    for (const agent of Object.values(agents)) closeWhatSpeaks(agent);
    return agents;
  }

  /** Calls in progress on its connections continue; idle connections are closed. */
  #drop(secret: string): void {
    const agents = this.#pools.get(secret)!;
    this.#pools.delete(secret);
    for (const agent of Object.values(agents) as HttpAgent[]) {
      (agent as unknown as { keepAlive: boolean }).keepAlive = false;
      for (const socket of Object.values(agent.freeSockets as NodeJS.ReadOnlyDict<Socket[]>).flat())
        socket?.destroy();
    }
  }
}

/** After these, implementations disagree about where the answer ends. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Whether only the rest of this answer can follow on its connection. Called when the head of the answer was received.
 */
export function isPlainEnd(method: string, status: number): boolean {
  return method === 'GET' && status >= 200 && !bodiless.has(status);
}

/** Closes the connection after this answer. */
export function closeAfter(request: ClientRequest): void {
  request.shouldKeepAlive = false;
}

interface Keeping {
  keepSocketAlive(socket: Socket): boolean;
  reuseSocket(socket: Socket, request: ClientRequest): void;
}

/** Closes an idle connection that receives data, because no request is pending. */
function closeWhatSpeaks(agent: unknown): void {
  const keeping = agent as Keeping;
  const { keepSocketAlive, reuseSocket } = keeping;
  const watched = new WeakMap<Socket, () => void>();
  keeping.keepSocketAlive = socket => {
    const close = () => void socket.destroy();
    watched.set(socket, close);
    socket.on('data', close);
    return keepSocketAlive.call(keeping, socket);
  };
  keeping.reuseSocket = (socket, request) => {
    const close = watched.get(socket);
    if (close !== undefined) socket.off('data', close);
    reuseSocket.call(keeping, socket, request);
  };
}
