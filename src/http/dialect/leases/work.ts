/**
 * What a call about a lease asks of the domain, and the answer in Vault's form. Durations are seconds, or Go's form of
 * them; what is shorter or longer than a lease may live is brought within its bounds, as Vault does.
 */
import { z } from 'zod';
import { check } from '../../../contract/check.ts';
import { Failure, invalid } from '../../../contract/errors.ts';
import { isId } from '../../../contract/id.ts';
import type {
  EndedLease,
  FoundLease,
  IssuedLease,
  LeaseCall,
  RenewedLease,
} from '../../../contract/issuers.ts';
import { longestLife, shortestLife } from '../../../contract/issuers.ts';
import { iso } from '../../../contract/text.ts';
import { type DialectAnswer, objectIn } from '../calls.ts';
import { duration, secondsIn } from '../durations.ts';
import { type LeaseTarget, leaseIdOf } from './target.ts';

export type LeaseAnswer = IssuedLease | RenewedLease | EndedLease | FoundLease;

export interface LeaseWork {
  readonly asked: LeaseCall;
  readonly answer: (result: LeaseAnswer) => DialectAnswer;
}

const longestLeaseId = 1_024;
const body = z.looseObject({ lease_id: z.string().max(longestLeaseId).nullish(), increment: duration });

/** `sent` is the body, or undefined. */
export function leaseWorkIn(target: LeaseTarget, sent: unknown, now: () => number): LeaseWork {
  if (target.call === 'issue') return issuing(target.role.normalize('NFC'), now);
  const { lease_id, increment } = check(body, objectIn(sent));
  const leaseId = lease_id || target.leaseId;
  const id = leaseId.slice(leaseId.lastIndexOf('/') + 1);
  if (leaseId === '') throw invalid('lease_id', 'is required');
  if (!isId(id)) throw noLease();
  switch (target.call) {
    case 'renew':
      return renewing(leaseId, id, secondsIn('increment', increment), now);
    case 'revoke':
      return { asked: { operation: 'revoke', id }, answer: () => ({ status: 204 }) };
    case 'lookup':
      return lookingUp(leaseId, id, now);
  }
}

function issuing(role: string, now: () => number): LeaseWork {
  return {
    asked: { operation: 'issue', call: { name: role } },
    answer: result => {
      const { lease, data } = result as IssuedLease;
      return {
        status: 200,
        data: JSON.stringify(data),
        lease: leaseOf(leaseIdOf(role, lease.id), lease, now()),
        mountType: 'database',
      };
    },
  };
}

function renewing(leaseId: string, id: string, increment: number | null, now: () => number): LeaseWork {
  const ttl = increment === null ? {} : { ttl: Math.min(Math.max(increment, shortestLife), longestLife) };
  return {
    asked: { operation: 'renew', id, call: ttl },
    answer: result => ({ status: 200, lease: leaseOf(leaseId, (result as RenewedLease).lease, now()) }),
  };
}

function lookingUp(leaseId: string, id: string, now: () => number): LeaseWork {
  return {
    asked: { operation: 'find', id },
    answer: result => {
      const { lease } = result as FoundLease;
      const { id: lease_id, renewable, duration: ttl } = leaseOf(leaseId, lease, now());
      const expire_time = iso(Date.parse(lease.expires_at));
      return {
        status: 200,
        data: JSON.stringify({
          id: lease_id,
          issue_time: lease.created_at,
          expire_time,
          last_renewal: null,
          renewable,
          ttl,
        }),
      };
    },
  };
}

function leaseOf(
  id: string,
  { expires_at, renewable }: { readonly expires_at: string; readonly renewable: boolean },
  now: number,
) {
  const left = Math.floor((Date.parse(expires_at) - now) / 1_000);
  return { id, renewable, duration: Math.max(0, left) };
}

/** Vault answers 400 where there is no such role or lease, and its clients tell a wrong path from that. */
export function leaseRefusal({ call }: LeaseTarget, failure: Failure): Failure {
  if (call === 'issue') {
    if (failure.code !== 'NOT_FOUND') return failure;
    return new Failure('INVALID_REQUEST', { message: 'unknown role' });
  }
  // One that has ended can't be renewed.
  return failure.code === 'NOT_FOUND' || failure.code === 'CONFLICT' ? noLease() : failure;
}

function noLease(): Failure {
  return new Failure('INVALID_REQUEST', { message: 'lease not found' });
}
