/**
 * Calls the transit engine of another vault: one address, which the operator configured, and one token, which is read
 * from its file for each call, because an agent may renew it. An answer must arrive within five seconds, without
 * redirects, and be short. Nothing of an answer is repeated in an error.
 */
import { readFile } from 'node:fs/promises';
import { boundedFetch } from './bounded-fetch.ts';
import { transitAddress } from './transit-address.ts';

export interface TransitEngine {
  /** The key’s own address, such as https://vault.example.com/v1/transit/keys/strongroom. */
  readonly key: string;
  readonly tokenFile: string;
  readonly patience?: number;
}

/** The message is for the operator. `isUnreachable`: a later attempt may succeed. */
export class EngineFailure extends Error {
  readonly isUnreachable: boolean;

  constructor(message: string, cause?: unknown, isUnreachable = false) {
    super(message, { cause });
    this.isUnreachable = isUnreachable;
  }
}

/** Sends a call, and returns a field of its answer's `data`. Throws `EngineFailure`. */
type EngineCall = (
  operation: 'encrypt' | 'decrypt',
  sent: Readonly<Record<string, string>>,
  field: string,
) => Promise<string>;

const defaultPatience = 5_000;

export function transitCalls({ key, tokenFile, patience = defaultPatience }: TransitEngine): EngineCall {
  return async (operation, sent, field) => {
    const headers = { 'x-vault-token': await tokenIn(tokenFile), 'content-type': 'application/json' };
    const options = { method: 'POST', headers, body: JSON.stringify(sent), redirect: 'manual' };
    const signal = AbortSignal.timeout(patience);
    const answer = await boundedFetch(transitAddress(key, operation)!, { ...options, signal }).catch(
      cause => {
        throw new EngineFailure(`the transit engine does not answer (${reasonOf(cause)})`, cause, true);
      },
    );
    refuse(answer.status);
    const value = ((await bodyOf(answer))?.data as Record<string, unknown> | undefined)?.[field];
    if (typeof value !== 'string') throw new EngineFailure('the transit engine gave an unexpected answer');
    return value;
  };
}

async function tokenIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(cause => {
    throw new EngineFailure(`the token file ${file} can’t be read`, cause);
  });
  const token = text.trim();
  if (!/^[\x21-\x7e]{1,4096}$/.test(token))
    throw new EngineFailure(`the token file ${file} contains no token`);
  return token;
}

/** A sealed or overloaded engine may be available again later. */
function refuse(status: number): void {
  if (status === 200) return;
  if (status >= 500 || status === 429)
    throw new EngineFailure(`the transit engine is not available (status ${status})`, undefined, true);
  if (status === 401 || status === 403) throw new EngineFailure('the transit engine refused the token');
  throw new EngineFailure(`the transit engine refused the call (status ${status}): is it the right key?`);
}

async function bodyOf(answer: Response): Promise<Record<string, unknown> | null> {
  try {
    return (await answer.json()) as Record<string, unknown> | null;
  } catch {
    return null;
  }
}

function reasonOf(error: Error & { cause?: { code?: string } }): string {
  return error.name === 'TimeoutError' ? 'timed out' : (error.cause?.code ?? 'the connection failed');
}
