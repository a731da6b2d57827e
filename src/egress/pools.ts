/**
 * Connections that are kept open for the next call, apart for each secret: what another service sends too late, or
 * beside an answer, never meets the call of another secret. A connection is kept after a plain answer alone; one on which
 * anything comes while nothing was asked is closed. How many secrets have connections is bounded, and so is how many
 * each of them keeps.
 */
import type { ClientRequest, Agent as HttpAgent } from 'node:http';
import type { Socket } from 'node:net';
import type { Egress } from '../access/egress.ts';
import { type Agents, guardedAgents, type Resolve } from './connections.ts';

const mostPools = 256;
const mostKept = 8;

export class Pools {
  readonly #egress: Egress;
  readonly #resolve: Resolve;
  /** The one that was used last is the last. */
  readonly #pools = new Map<string, Agents>();
  /** What changes something is not sent on a connection that may be closing: nobody could tell whether it arrived. */
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

  /** Calls that are under way on its connections go on; what is kept for the next is closed. */
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

function destroy(agents: Agents): void {
  for (const agent of Object.values(agents)) agent.destroy();
}

/** After these, programs disagree about where the answer ends. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/** Whether nothing but the end of this answer can come on its connection. Called when the head of the answer is there. */
export function isPlainEnd(method: string, status: number): boolean {
  return method === 'GET' && status >= 200 && !bodiless.has(status);
}

/** Once this answer is over, its connection is too. */
export function closeAfter(request: ClientRequest): void {
  request.shouldKeepAlive = false;
}

interface Keeping {
  keepSocketAlive(socket: Socket): boolean;
  reuseSocket(socket: Socket, request: ClientRequest): void;
}

/** What comes on a connection that waits for the next call answers nothing that was asked. */
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
