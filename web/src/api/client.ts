/**
 * The one way to the service. The session travels as a cookie that scripts can't see; nothing is kept here.
 * When a session has ended, the request waits for a new sign-in and is then sent again, so that a form loses
 * nothing.
 */

export interface ErrorBody {
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly details?: { readonly field?: string; readonly reason?: string };
  };
}

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string;
  readonly reason: string;

  constructor(status: number, { error }: ErrorBody) {
    super(error?.message ?? messageFor(status));
    this.name = 'ApiError';
    this.status = status;
    this.code = error?.code ?? '';
    this.field = error?.details?.field ?? '';
    this.reason = error?.details?.reason ?? '';
  }
}

/** The same failure in words that fit the place; other failures stay as they are. */
export function reworded(error: unknown, status: number, message: string): unknown {
  if (!(error instanceof ApiError) || error.status !== status) return error;
  return new ApiError(status, { error: { code: error.code, message } });
}

/** One sentence for a person: the reason where the service gave one. */
export function sentence(error: unknown): string {
  if (!(error instanceof ApiError)) return 'The service can’t be reached. What you typed is still here.';
  if (error.reason === '') return `${error.message}.`.replace('..', '.');
  const field = error.field === '' ? '' : `${error.field.replaceAll('_', ' ')} `;
  return `${error.message}: ${field}${error.reason}.`;
}

type Renew = () => Promise<boolean>;
let renew: Renew | null = null;

/** Where a 401 says that the proof is wrong, not that the session has ended. */
const signIns = new Set(['/auth/password', '/auth/passkey', '/auth/passkey/options']);

/** Who asks for a new sign-in when the session has ended. */
export function onSessionEnd(ask: Renew | null): void {
  renew = ask;
}

export async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await once(method, path, body);
  if (answer.status !== 401 || renew === null || signIns.has(path)) return read(answer);
  if (await renew()) return read(await once(method, path, body));
  return read(answer);
}

export const get = <T>(path: string) => send<T>('GET', path);
export const post = <T>(path: string, body?: unknown) => send<T>('POST', path, body);
export const put = <T>(path: string, body?: unknown) => send<T>('PUT', path, body);
export const remove = <T>(path: string) => send<T>('DELETE', path);

/** A query of what is given; what is empty is left out. */
export function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

function once(method: string, path: string, body: unknown): Promise<Response> {
  return fetch(path, {
    method,
    credentials: 'same-origin',
    cache: 'no-store',
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
}

async function read<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.includes('json') ?? false;
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : {};
  if (!answer.ok) throw new ApiError(answer.status, body as ErrorBody);
  return body as T;
}

function messageFor(status: number): string {
  if (status === 401) return 'You are not signed in';
  if (status === 403) return 'You may not do this';
  if (status === 404) return 'Not found';
  if (status === 429) return 'Too many attempts: wait a moment';
  return 'Something went wrong on the server';
}
