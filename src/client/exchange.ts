/**
 * Sends one request and reads its answer, for the store, the general API and the command line. Redirects are not
 * followed, so that the credential goes only to the configured address.
 */

/** The part of `fetch` that is used, so that the types require neither those of the DOM nor of Node. */
export type Fetch = (
  url: string,
  init: {
    method: string;
    headers: Record<string, string>;
    body?: string;
    redirect: 'manual';
    // biome-ignore lint/suspicious/noExplicitAny: an AbortSignal, which every runtime declares in its own way
    signal: any;
  },
) => Promise<FetchAnswer>;

export interface FetchAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export interface ClientRequest {
  readonly method?: string;
  readonly body?: unknown;
  readonly etag?: string | null;
}

/** The answer, whatever its status. */
export interface Exchanged extends Omit<FetchAnswer, 'text'> {
  readonly text: string;
}

interface Peer {
  readonly url: string;
  /** Null for a request without a credential. */
  readonly key: string | null;
  readonly fetch: Fetch;
}

/** Rejects if there is no answer. The signal cancels a request in progress. */
export async function exchange(
  { url, key, fetch }: Peer,
  path: string,
  asked: ClientRequest,
  signal: unknown = null,
): Promise<Exchanged> {
  const answer = await fetch(url + path, { ...initOf(key, asked), signal });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

function initOf(key: string | null, { method = 'GET', body, etag }: ClientRequest) {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (key !== null) headers.authorization = `Bearer ${key}`;
  if (etag) headers['if-none-match'] = etag;
  if (body === undefined) return { method, headers, redirect: 'manual' } as const;
  headers['content-type'] = 'application/json';
  return { method, headers, body: JSON.stringify(body), redirect: 'manual' } as const;
}
