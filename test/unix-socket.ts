/** Requests over a Unix socket. */
import { type IncomingHttpHeaders, request } from 'node:http';

export interface SocketAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

export function callOver(
  socketPath: string,
  method: string,
  path: string,
  given: { body?: unknown; key?: string; headers?: Record<string, string> } = {},
): Promise<SocketAnswer> {
  const body = given.body === undefined ? '' : JSON.stringify(given.body);
  const headers = {
    ...(given.key === undefined ? {} : { authorization: `Bearer ${given.key}` }),
    ...(body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    ...given.headers,
  };
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, method, path, headers, agent: false }, async answer => {
      const text = (await answer.toArray()).join('');
      const isJson = /json/.test(answer.headers['content-type'] ?? '');
      resolve({
        status: answer.statusCode!,
        headers: answer.headers,
        body: isJson ? JSON.parse(text) : text,
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
