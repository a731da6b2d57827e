/** Why a request was refused, for operators, in words. The service recorded it then; the caller is never told. */
import type { RequestLog } from '../../api/types.ts';

const words: Readonly<Record<NonNullable<RequestLog['reason']>, string>> = {
  no_credential: 'No access key was sent.',
  unknown_credential: 'The access key is not known here.',
  wrong_kind: 'The credential is of another kind, such as an API key.',
  revoked: 'The access key was revoked.',
  expired: 'The access key had expired.',
  outside_networks: 'The address is outside the networks of the access key.',
  wrong_vault: 'The access key is for another vault.',
  wrong_key: 'The public token is for another key.',
  used_up: 'The access key was used up.',
  identity_changed: 'The identity that the access key was given to has changed since.',
  member_changed: 'The member who allowed it has other rights now, or signs in differently.',
  parent_not_valid: 'The access key or API key that it was created with is not valid any more.',
  vault_deleted: 'The vault was deleted.',
  rate_limit: 'Too many requests: the rate limit of the access key or the use rule.',
  too_many_failures: 'Too many refused requests came from this address.',
  too_many_calls: 'Too many calls of the access key were in progress or waiting for approval.',
  names_only: 'The access key sees names only.',
  may_not_use: 'The access key may not use secrets or keys.',
  no_use_rule: 'No use rule allows this call.',
  approval_required: 'A person has to approve this call first.',
  approval_refused: 'A person refused this call.',
  value_in_request:
    'The call contained part of the value of the secret. Three in a week suspend the access key for it.',
  use_suspended:
    'The access key is suspended for this secret: its calls or their answers contained parts of the value.',
  restricted: 'It exists, but the access key is restricted to other kinds or names.',
  not_found: 'Nothing has this id, name or path.',
  disabled: 'What was asked for is disabled.',
  not_active: 'What was asked for is not active yet.',
  resource_expired: 'What was asked for has expired.',
  invalid_request: 'The request could not be understood.',
  not_allowed: 'The request is not allowed.',
  unavailable: 'The service could not record or answer it at that moment.',
  internal_error: 'The service failed to answer it.',
};

export function reasonOf({ reason }: RequestLog): string {
  return reason === null ? 'Not recorded.' : words[reason];
}
