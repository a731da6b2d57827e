/** Texts for the recorded reasons why requests were refused. They are for operators; callers never see the reason. */
import type { RequestLog } from '../../api/types.ts';

const words: Readonly<Record<NonNullable<RequestLog['reason']>, string>> = {
  no_credential: 'No access key was sent.',
  unknown_credential: 'The access key is not known here.',
  wrong_kind: 'The credential is of the wrong kind, such as an API key.',
  revoked: 'The access key was revoked.',
  expired: 'The access key had expired.',
  outside_networks: 'The address is outside the access key’s networks.',
  wrong_vault: 'The access key is for another vault.',
  wrong_key: 'The public token is for another key.',
  used_up: 'The access key has no uses left.',
  identity_changed: 'The identity has changed since it was given the access key.',
  member_changed: 'The permissions or the sign-in of the member who allowed it have changed.',
  parent_not_valid: 'The access key or API key that it was created with is no longer valid.',
  vault_deleted: 'The vault was deleted.',
  rate_limit: 'Too many requests: the rate limit of the access key or the use rule was exceeded.',
  too_many_failures: 'Too many refused requests came from this address.',
  too_many_calls: 'The access key had too many calls in progress or waiting for approval.',
  names_only: 'The access key can only see names.',
  may_not_use: 'The access key may not use secrets or keys.',
  no_use_rule: 'No use rule allows this call.',
  approval_required: 'A person must approve this call first.',
  approval_refused: 'A person refused this call.',
  value_in_request:
    'The call contained part of the secret’s value. Three such calls in a week suspend the access key for the secret.',
  use_suspended:
    'The access key is suspended for this secret: its calls or their responses contained parts of the value.',
  over_budget: 'A budget of the run is used up.',
  run_ended: 'The run has ended.',
  restricted: 'It exists, but the access key is restricted to other kinds or names.',
  not_found: 'Nothing has this ID, name or path.',
  disabled: 'The requested resource is disabled.',
  not_active: 'The requested resource is not active yet.',
  resource_expired: 'The requested resource has expired.',
  unresolved: 'A reference in the requested secret can’t be resolved.',
  invalid_request: 'The request could not be understood.',
  not_allowed: 'The request is not allowed.',
  unavailable: 'The service could not record or answer the request at that time.',
  internal_error: 'The service failed to answer the request.',
};

export function reasonOf({ reason }: RequestLog): string {
  return reason === null ? 'Not recorded.' : words[reason];
}
