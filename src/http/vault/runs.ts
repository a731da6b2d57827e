/**
 * The paths below a vault at which access keys start and end runs: `POST /api/v1/vaults/{vault_id}/runs`,
 * `POST …/runs/{id}/end`.
 */
import type { IncomingMessage } from 'node:http';
import { check } from '../../contract/check.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import { type RunCall, runRequest } from '../../contract/runs.ts';
import { failureOf } from '../listener/errors.ts';
import { operationIn } from './path.ts';

/** The operation that a request names, and how it is understood once its body is there. */
export interface RunPath {
  readonly operation: 'runs' | 'runs/{id}/end';
  /** Whether a body is required. */
  readonly hasBody: 'required' | 'none';
  read(sent: unknown): RunCall | Failure;
}

export function runPathIn(request: Pick<IncomingMessage, 'method' | 'url'>): RunPath | null {
  const path = operationIn(request);
  if (path === 'runs') return { operation: 'runs', hasBody: 'required', read: started };
  const [, id] = /^runs\/([^/]+)\/end$/.exec(path ?? '') ?? [];
  if (id === undefined || !isId(id)) return null;
  return { operation: 'runs/{id}/end', hasBody: 'none', read: () => ({ operation: 'end', id }) };
}

/** Returns a fault in the body instead of throwing it, so that the refusal is recorded with the request. */
function started(sent: unknown): RunCall | Failure {
  if (sent instanceof Failure) return sent;
  try {
    return { operation: 'start', call: check(runRequest, sent) };
  } catch (error) {
    return failureOf(error);
  }
}
