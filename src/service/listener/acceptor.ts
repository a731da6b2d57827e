/**
 * Accepts connections and gives them away before anything is read from them. Those beyond the limits, in total or per
 * address, are refused here, because only here are all of them counted.
 */
import { lookup } from 'node:dns/promises';
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { admissionWith, type Connections, mostConnections } from '../../http/listener/server.ts';

interface AcceptorParts {
  readonly connections: Connections;
  readonly openConnections: () => number;
  /** `leave` must be called when the connection is over. */
  readonly deal: (socket: Socket, leave: () => void) => void;
}

export class Acceptor {
  readonly server: Server;
  readonly #accept: (socket: Socket) => void;
  /** Further addresses of `localhost`. */
  readonly #others: Server[] = [];

  constructor({ connections, openConnections, deal }: AcceptorParts) {
    const admit = admissionWith(connections);
    this.#accept = socket => {
      const leave = openConnections() < mostConnections ? admit(socket) : null;
      if (leave === null) socket.destroy();
      else deal(socket, leave);
    };
    this.server = this.#newServer();
  }

  async listen(place: { readonly host?: string; readonly port?: number; readonly path?: string }) {
    const found = place.host === 'localhost' ? await lookup(place.host, { all: true }) : [];
    const [first, ...others] = found;
    await listening(this.server, first === undefined ? place : { ...place, host: first.address });
    const { port } = this.server.address() as { readonly port: number };
    for (const { address } of others) {
      const server = this.#newServer();
      // An address that is not in use on this machine is left out.
      await listening(server, { port, host: address }).then(
        () => this.#others.push(server),
        () => {},
      );
    }
  }

  /** Stops accepting; the connections that were given away go on. */
  async close(): Promise<void> {
    for (const server of [this.server, ...this.#others]) server.close();
  }

  #newServer(): Server {
    // As node:http does for its own connections.
    return createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true }, this.#accept);
  }
}

function listening(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(options, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
