/** The service of a checkout with an organization, for a comparison with that of another checkout. */
import { startServer, type Target } from './bench.ts';
import { commandIn, setUp } from './checkout.ts';

export interface Side {
  readonly server: Target;
  /** The owner's API key. */
  readonly key: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  post(path: string, body: object): Promise<any>;
}

export async function startSide(checkout: string, place: readonly string[], flags: readonly string[] = []) {
  const command = commandIn(checkout);
  const key = setUp(command, place);
  const server = await startServer([...place, ...flags], command);
  const post: Side['post'] = async (path, body) => {
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  return { server, key, post } satisfies Side;
}

export interface Wanted {
  readonly method?: string;
  readonly path: string;
  readonly token: string;
  readonly body?: object;
}

/** A complete request. */
export function requestOf({ method = 'GET', path, token, body }: Wanted): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const content = text && `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${content}\r\n${text}`;
}
