/**
 * The HTTP client that every page uses. The session is a cookie that scripts can't read; nothing is stored here. When the
 * session has ended, or the service requires fresh proof of identity, the request waits for the person and is then sent
 * again, so that no form loses its input.
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

/** The write waits for someone else to confirm it, and nothing was written yet. It was already reported. */
export class SentForReview extends Error {}

/** Replaces the message of an API error that has this status; returns other errors unchanged. */
export function reworded(error: unknown, status: number, message: string): unknown {
  if (!(error instanceof ApiError) || error.status !== status) return error;
  return new ApiError(status, { error: { code: error.code, message } });
}

/** One sentence for a person, with the reason if the service gave one. */
export function sentence(error: unknown): string {
  if (error instanceof SentForReview) return 'Sent for review.';
  if (!(error instanceof ApiError)) return 'Can’t reach the service.';
  if (error.reason === '') return `${error.message}.`.replace('..', '.');
  const field = error.field === '' ? '' : `${error.field.replaceAll('_', ' ')} `;
  return `${error.message}: ${field}${error.reason}.`;
}

/** Asks the person for what a request needs. Resolves to false if they cancel. */
export type Ask = () => Promise<boolean>;
let renew: Ask | null = null;
let prove: Ask | null = null;
let warn: ((text: string) => void) | null = null;
let tellSent: (() => void) | null = null;

/** Paths where a 401 means that the proof is wrong, not that the session has ended. */
const signIns = new Set([
  '/auth/password',
  '/auth/passkey',
  '/auth/passkey/options',
  '/auth/oidc/choices',
  '/auth/oidc/choose',
]);

/** Registers the function that asks the person to sign in when the session has ended. */
export function onSessionEnd(ask: Ask | null): void {
  renew = ask;
}

/** Registers the function that asks for proof of identity when a session is not enough. */
export function onProofRequired(ask: Ask | null): void {
  prove = ask;
}

/** Registers the function that shows warnings from responses. */
export function onWarning(show: (text: string) => void): void {
  warn = show;
}

/** Registers the function that reports a write that became a proposal. */
export function onSentForReview(tell: () => void): void {
  tellSent = tell;
}

export async function send<T>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await read<T>(await once(method, path, body, signal));
  } catch (error) {
    const ask = whomToAsk(error, path);
    if (ask === null || !(await ask())) throw error;
    return send(method, path, body, signal);
  }
}

function whomToAsk(error: unknown, path: string): Ask | null {
  if (!(error instanceof ApiError)) return null;
  if (error.status === 401) return signIns.has(path) ? null : renew;
  return error.code === 'PROOF_REQUIRED' ? prove : null;
}

export const get = <T>(path: string, signal?: AbortSignal) => send<T>('GET', path, undefined, signal);
export const post = <T>(path: string, body?: unknown) => send<T>('POST', path, body);
export const put = <T>(path: string, body?: unknown) => send<T>('PUT', path, body);
export const remove = <T>(path: string) => send<T>('DELETE', path);

/** Builds a query string; empty parameters are left out. */
export function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

function once(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  return fetch(path, {
    method,
    credentials: 'same-origin',
    cache: 'no-store',
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
  });
}

async function read<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  const warning = answer.headers.get('strongroom-warning');
  if (warning !== null) warn?.(warning);
  const isJson = answer.headers.get('content-type')?.includes('json') ?? false;
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : {};
  if (!answer.ok) throw new ApiError(answer.status, body as ErrorBody);
  if (answer.status === 202) {
    tellSent?.();
    // Of many writes, each has its own result.
    if (!('results' in (body as object) || 'data' in (body as object))) throw new SentForReview();
  }
  return body as T;
}

function messageFor(status: number): string {
  if (status === 401) return 'You are not signed in';
  if (status === 403) return 'You don’t have permission to do this';
  if (status === 404) return 'Not found';
  if (status === 429) return 'Too many attempts. Wait a moment and try again';
  return 'Something went wrong on the server';
}
