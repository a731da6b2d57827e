/** Builds the request log entry of a request from what is found out while it is served. */
import { type Failure, statusOf } from '../../contract/errors.ts';
import type { RefusalReason } from '../../contract/refusals.ts';
import type { KeyNarrowing } from '../../contract/restrictions.ts';
import { isSuccess, logText, type RequestEntry } from '../../logs/entries.ts';
import type { Owner } from '../credentials/authentication.ts';
import type { RequestFacts } from './vault-request.ts';

/** Facts about a request that are found out while it is served, for its entry. */
export interface Findings {
  readonly started: number;
  requestId: string | null;
  credentialId: string | null;
  narrowing: KeyNarrowing | null;
  requested: string;
  organizationId: string | null;
  vaultId: string | null;
  /** Set if the log must not show the actual reason for the refusal. */
  reason: RefusalReason | null;
}

export function newFindings({ requestId }: RequestFacts): Findings {
  return {
    started: performance.now(),
    requestId,
    credentialId: null,
    narrowing: null,
    requested: '',
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
    requested: logText(requested),
    tool: request.tool,
    user_agent: logText(request.sender.userAgent),
    duration_ms: Math.round((performance.now() - started) * 1000) / 1000,
    request_id: requestId,
  };
}
