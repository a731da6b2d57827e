/** Clients that each keep one connection, so that a service with several readers has each of them served by one. */
import { Agent as HttpAgent, type IncomingHttpHeaders, request } from 'node:http';
import { Agent as HttpsAgent, request as tlsRequest } from 'node:https';

export interface Told {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface LastingClient {
  get(path: string, token?: string | null, headers?: Record<string, string>): Promise<Told>;
  send(
    method: string,
    path: string,
    body: unknown,
    token: string,
    more?: Record<string, string>,
  ): Promise<Told>;
  close(): void;
}

export function lastingClient(url: string, ca?: string): LastingClient {
  const isEncrypted = url.startsWith('https:');
  const keeping = { keepAlive: true, maxSockets: 1 };
  const agent = isEncrypted ? new HttpsAgent({ ...keeping, ca }) : new HttpAgent(keeping);
  const start = isEncrypted ? tlsRequest : request;

  const ask = (method: string, path: string, body: string | null, headers: Record<string, string>) =>
    new Promise<Told>((resolve, reject) => {
      const asked = start(url + path, { method, agent, headers }, response => {
        const pieces: Buffer[] = [];
        response.on('data', piece => pieces.push(piece)).once('error', reject);
        response.once('end', () => {
          const text = Buffer.concat(pieces).toString('utf8');
          resolve({ status: response.statusCode!, headers: response.headers, text });
        });
      });
      asked.once('error', reject).end(body);
    });
  const bearing = (token: string | null) => (token === null ? {} : { authorization: `Bearer ${token}` });

  return {
    get: (path, token = null, headers = {}) => ask('GET', path, null, { ...bearing(token), ...headers }),
    send: (method, path, body, token, more = {}) =>
      ask(method, path, JSON.stringify(body), {
        ...{ ...bearing(token), 'content-type': 'application/json' },
        ...more,
      }),
    close: () => agent.destroy(),
  };
}
