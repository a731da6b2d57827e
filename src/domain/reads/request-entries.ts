/** Builds the request log entry of a request from what is found out while it is served. */
import { type Failure, statusOf } from '../../contract/errors.ts';
import type { RefusalReason } from '../../contract/refusals.ts';
import type { KeyNarrowing } from '../../contract/restrictions.ts';
import { isSuccess, logText, longestFullText, type RequestEntry } from '../../logs/entries.ts';
import type { Owner } from '../credentials/authentication.ts';
import type { Contained } from './answer-cache.ts';
import type { RequestFacts } from './vault-request.ts';

/** Facts about a request that are found out while it is served, for its entry. */
export interface Findings {
  readonly started: number;
  requestId: string | null;
  credentialId: string | null;
  narrowing: KeyNarrowing | null;
  requested: string;
  /** Whether what is requested is recorded at greater length. */
  isFull: boolean;
  contained: readonly Contained[];
  organizationId: string | null;
  vaultId: string | null;
  /** Set if the log must not show the actual reason for the refusal. */
  reason: RefusalReason | null;
}

export const none: readonly Contained[] = [];

export function newFindings({ requestId }: RequestFacts): Findings {
  return {
    started: performance.now(),
    requestId,
    credentialId: null,
    narrowing: null,
    requested: '',
    isFull: false,
    contained: none,
    organizationId: null,
    vaultId: null,
    reason: null,
  };
}

export function identify(findings: Findings, { id, organizationId, vaultId, narrowing }: Owner): void {
  findings.credentialId = id;
  findings.narrowing = narrowing;
  findings.organizationId = organizationId;
  findings.vaultId = vaultId;
}

export function refusalOf(request: RequestFacts, findings: Findings, failure: Failure): RequestEntry {
  const reason = findings.reason ?? failure.because;
  return { ...entryOf(request, findings, statusOf[failure.code]), reason };
}

/** The entry for an answer; a refusal also has a reason. */
export function entryOf(request: RequestFacts, findings: Findings, status: number): RequestEntry {
  const { started, requestId, credentialId, narrowing, requested, organizationId, vaultId } = findings;
  return {
    organization_id: organizationId,
    success: isSuccess(status),
    resource_type: 'vault',
    ip_address: request.sender.address,
    route: request.route,
    method: request.method,
    status,
    vault_id: vaultId,
    access_key_id: credentialId,
    narrowing: narrowing ?? undefined,
    requested: findings.isFull ? logText(requested, longestFullText) : logText(requested),
    tool: request.tool,
    user_agent: logText(request.sender.userAgent),
    duration_ms: Math.round((performance.now() - started) * 1000) / 1000,
    request_id: requestId,
  };
}

const mostInEntry = 100;

/**
 * The entries for values of other secrets that an answer contains: by the vault they are in, each with the secrets and
 * the template through which each was read.
 */
export function containedEntries(request: RequestFacts, findings: Findings, status: number): RequestEntry[] {
  const entry = { ...entryOf(request, findings, status), requested: 'secrets=referred' };
  const byVault = Map.groupBy(findings.contained, ({ vaultId }) => vaultId);
  return [...byVault].flatMap(([vault_id, found]) => {
    const via = [...new Map(found.map(({ secretId, via }) => [secretId, via]))];
    const parts: RequestEntry[] = [];
    for (let at = 0; at < via.length; at += mostInEntry)
      parts.push({ ...entry, vault_id, via: via.slice(at, at + mostInEntry) });
    return parts;
  });
}
