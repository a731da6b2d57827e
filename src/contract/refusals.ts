/**
 * Reasons for refusing a vault request, as the request log records them for operators. A reason is set where the
 * refusal is decided. It is never part of a response: to the caller, all bad credentials look the same.
 */
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
  // Its limits and those of the address.
  'rate_limit',
  'too_many_failures',
  'too_many_calls',
  // The request.
  'names_only',
  'may_not_use',
  'no_use_rule',
  'approval_required',
  'approval_refused',
  'value_in_request',
  'use_suspended',
  'over_budget',
  'run_ended',
  'restricted',
  'not_found',
  'disabled',
  'not_active',
  'resource_expired',
  'unresolved',
  'invalid_request',
  'not_allowed',
  // The service.
  'unavailable',
  'internal_error',
] as const;
export type RefusalReason = (typeof refusalReasons)[number];
