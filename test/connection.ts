/** One connection to a service, kept open: what was proven on it before is known when the next request comes. */
import assert from 'node:assert/strict';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Answer } from './harness.ts';

export class Connection {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #used = false;

  constructor(url: string) {
    this.#url = url;
  }

  async call(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: unknown,
  ): Promise<Answer> {
    const sent = request(this.#url + path, {
      method,
      agent: this.#agent,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).once('error', reject);
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const response = await answered;
    assert.equal(sent.reusedSocket, this.#used, 'it is the same connection');
    this.#used = true;
    return answerOf(response);
  }

  /** The vault endpoint, with an access key. */
  read(vaultId: string, token: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call('GET', `/api/v1/vaults/${vaultId}`, { authorization: `Bearer ${token}`, ...headers });
  }

  close(): void {
    this.#agent.destroy();
  }
}

export async function answerOf(response: IncomingMessage): Promise<Answer> {
  const text = (await response.setEncoding('utf8').toArray()).join('');
  const isJson = response.headers['content-type']?.startsWith('application/json');
  const headers = new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
  return { status: response.statusCode!, headers, text, body: isJson ? JSON.parse(text) : text };
}
