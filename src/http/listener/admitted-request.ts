/** A request to the gateway on its way from the plane that identified its access key to the plane of uses. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Reader } from '../../access/caller.ts';
import type { RequestFacts } from '../../domain/reads/vault-request.ts';

/** A request whose access key was identified and taken off. */
export interface AdmittedRequest {
  readonly facts: RequestFacts;
  readonly reader: Reader;
  readonly rule: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The address of the dashboard, for approvals. */
  readonly dashboard: string;
}

/** Passes a request on to the plane of uses, or calls `unavailable`. */
export type ForwardAdmitted = (
  request: IncomingMessage,
  response: ServerResponse,
  admitted: AdmittedRequest,
  unavailable: () => void,
) => void;
