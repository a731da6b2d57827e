/**
 * The paths below a vault at which access keys obtain credentials that live for a short time, extend and end them:
 * `POST /api/v1/vaults/{vault_id}/leases`, `POST …/leases/{id}/renew`, `DELETE …/leases/{id}`.
 */
import type { IncomingMessage } from 'node:http';
import { check } from '../../contract/check.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import { type LeaseCall, leaseRenew, leaseRequest } from '../../contract/issuers.ts';
import { failureOf } from '../listener/errors.ts';
import { segmentsBelow } from './path.ts';

/** The operation that a request names, and how it is understood once its body is there. */
export interface LeasePath {
  readonly operation: 'leases' | 'leases/{id}/renew' | 'leases/{id}';
  /** Whether a body is required. */
  readonly hasBody: 'required' | 'optional' | 'none';
  read(sent: unknown): LeaseCall | Failure;
}

export function leasePathIn(request: Pick<IncomingMessage, 'method' | 'url'>): LeasePath | null {
  const [place, id = '', action, ...more] = segmentsBelow(request) ?? [];
  if (place !== 'leases' || more.length > 0) return null;
  const { method } = request;
  if (method === 'POST' && id === '' && action === undefined)
    return {
      operation: 'leases',
      hasBody: 'required',
      read: understoodBy(sent => ({ operation: 'issue', call: check(leaseRequest, sent) })),
    };
  if (!isId(id)) return null;
  if (method === 'POST' && action === 'renew')
    return {
      operation: 'leases/{id}/renew',
      hasBody: 'optional',
      read: understoodBy(sent => ({ operation: 'renew', id, call: check(leaseRenew, sent ?? {}) })),
    };
  if (method === 'DELETE' && action === undefined)
    return { operation: 'leases/{id}', hasBody: 'none', read: () => ({ operation: 'revoke', id }) };
  return null;
}

/** Returns a fault in the body instead of throwing it, so that the refusal is recorded with the request. */
function understoodBy(understand: (sent: unknown) => LeaseCall): LeasePath['read'] {
  return sent => {
    if (sent instanceof Failure) return sent;
    try {
      return understand(sent);
    } catch (error) {
      return failureOf(error);
    }
  };
}
