/**
 * Why a vault request was refused, as the request log records it for operators. It is named where the refusal is
 * decided. No answer ever contains it: to the caller, all bad credentials are the same.
 */
export type FailureCode =
  | 'INVALID_REQUEST'
  | 'CONFLICT'
  | 'UNAUTHORIZED'
  | 'SECOND_FACTOR_REQUIRED'
  | 'PROOF_REQUIRED'
  | 'FORBIDDEN'
  | 'NOT_ACTIVE'
  | 'NOT_FOUND'
  | 'EXPIRED'
  | 'REQUEST_TIMEOUT'
  | 'EXPECTATION_FAILED'
  | 'RATE_LIMITED'
  | 'INTERNAL_ERROR'
  | 'UNAVAILABLE';

export const refusalReasons = [
  // The credential.
  'no_credential',
  'unknown_credential',
  'wrong_kind',
  'revoked',
  'expired',
  'outside_networks',
  'wrong_vault',
  'wrong_key',
  'used_up',
  'identity_changed',
  'member_changed',
  'parent_not_valid',
  'vault_deleted',
  // Its limits, and the address's.
  'rate_limit',
  'too_many_failures',
  'too_many_calls',
  // What was asked for.
  'names_only',
  'may_not_use',
  'no_use_rule',
  'approval_required',
  'approval_refused',
  'value_in_request',
  'use_suspended',
  'restricted',
  'not_found',
  'disabled',
  'not_active',
  'resource_expired',
  'invalid_request',
  'not_allowed',
  // The service.
  'unavailable',
  'internal_error',
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

/** Where a failure of the kind has one cause only, or none that is known more closely. */
export const usualReasons: Readonly<Record<FailureCode, RefusalReason>> = {
  INVALID_REQUEST: 'invalid_request',
  CONFLICT: 'invalid_request',
  UNAUTHORIZED: 'unknown_credential',
  SECOND_FACTOR_REQUIRED: 'not_allowed',
  PROOF_REQUIRED: 'not_allowed',
  FORBIDDEN: 'not_allowed',
  NOT_ACTIVE: 'not_active',
  NOT_FOUND: 'not_found',
  EXPIRED: 'resource_expired',
  REQUEST_TIMEOUT: 'invalid_request',
  EXPECTATION_FAILED: 'invalid_request',
  RATE_LIMITED: 'rate_limit',
  INTERNAL_ERROR: 'internal_error',
  UNAVAILABLE: 'unavailable',
};
