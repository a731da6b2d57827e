/**
 * The columns of every table, and how each is protected: a new column does not compile until it is listed here. The
 * order of the stamped columns is the order in which they are stamped, and never changes; columns added later are
 * marked with their migration. Exemptions state a reason that must convince an auditor. A generated test edits, nulls,
 * swaps and puts back every column.
 */
import { each } from '../schema/common.ts';
import type { Schema } from '../schema/schema.ts';
import { because, shown, stamped, type TableColumns } from './stamp-treatments.ts';

const queue = because(
  'the state of a delivery: changing it makes one late, repeated or lost. What is sent, and to whom, is stamped',
);

const total = because(
  'the total of a list, stored to avoid a scan; the rows of the list are verified one by one',
);
const counter = because(
  'the next position: one already assigned is refused by its table, and a jump leaves a gap, on which nothing depends',
);
const window = because(
  'what a credential did within a minute or a week: resetting it permits more requests, comparisons, or calls with a suspended access key, each of which still needs a credential',
);
const challenge = because(
  'a proof that is valid once: replaying it requires the signature or the token that was sent over TLS, before it expires, and a passkey with a counter prevents even that',
);
const head = because(
  'what is signed next: only entries written with the keyring are signed, and any others are reported to the operator; entries that are never signed are detected',
);
const filing = because('where filing resumes after a crash; filed rows are always compared with the log');
const search = because(
  'a blind index for searching; the tags themselves are sealed in the row that it finds',
);
const reference = because(
  'an index of who refers to a secret: what a template refers to is sealed in its value and stamped in its row, and each entry is compared with it before it is shown; without an entry, a use is not shown, and a chain that is too long is refused when it is read instead of when it is written',
);
const kept = because(
  'a cached answer: its encryption binds it to its vault and to the rows it was built from; in another place, or with other rows, it is not used, and the answer is built again',
);
const change = because(
  'tells replicas behind a pooler what is stale: a forged row costs them a query; if one is removed, a replica may miss a change for up to a minute, after which it treats everything as stale anyway',
);
const notice = because(
  'whether an expiry was announced: if removed, it is announced again; if forged, it is not announced',
);

const missing = because(
  'whether a missing name was reported: if removed, it is reported again; if forged, it is not reported',
);
const taking = because(
  'whether an organization’s tags were taken over as stages: if removed, they are not, and people create the stages; if forged, they are taken over again, as people with the permission wrote them',
);

const mail = because(
  'the state of a mail: changing it makes one late, repeated or lost. What it tells, and to which member, is sealed together with its id and its organization',
);
const told = because(
  'what a member is told by mail: changing it sends them more or fewer mails, always to the address of their own record and never about what they may not see',
);

const ending = because(
  'the state of ending leases: changing it makes one end late, until its provider ends it by itself a minute after its end, or be ended repeatedly. Which leases there are, and when they end, is stamped',
);

const rotating = because(
  'the state of rotating secrets: changing it makes a rotation late or early, or shows another reason for a failure. What rotates, how, and what was begun is stamped',
);

const linked = each('logged', 'id', 'writer', 'seq', 'hash', 'mark');

const revised = { ...stamped('created_at', 'updated_at', 'revision'), stamp: 'stamp' } as const;

const runIndex = because(
  'an index of the access keys of runs: which keys and vaults a run has is stamped in its row, and each entry is compared with that before it is shown; without an entry, a request is shown without its run',
);

export const columns = {
  organizations: { ...stamped('id', 'name', 'plan', 'enterprise_limit'), ...revised },
  members: {
    ...stamped('id', 'organization_id', 'email', 'email_key', 'role', 'state'),
    ...revised,
    grants: { since: 12, before: () => '[]' },
  },
  member_groups: {
    ...stamped('id', 'organization_id', 'name', 'grants', 'member_ids', 'single_sign_on', 'signed_on_ids'),
    ...revised,
    name_search: 'compared',
  },
  accounts: {
    ...stamped('id', 'organization_id', 'member_id', 'password', 'totp', 'totp_pending', 'totp_step'),
    ...stamped('recovery', 'invitation', 'invitation_expires', 'epoch'),
    ...revised,
    oidc_issuer: { since: 6, before: () => null },
    oidc_subject: { since: 6, before: () => null },
  },
  passkeys: {
    ...stamped('id', 'organization_id', 'member_id', 'name'),
    ...stamped('credential_id', 'public_key', 'transports', 'counter'),
    ...revised,
    used_at: shown,
  },
  sessions: {
    ...stamped('id', 'organization_id', 'member_id', 'digest', 'epoch', 'method', 'ip_address', 'user_agent'),
    ...revised,
    proven_at: { since: 6, before: () => null },
    // Each use renews the stamp without a new revision. Restoring an earlier row only ends the session sooner.
    used_at: { since: 6, before: row => row.updated_at },
  },
  resources: {
    ...stamped('id', 'organization_id', 'vault_id', 'type', 'name', 'enabled'),
    ...stamped('activation_date', 'expiration_date', 'content_type', 'attributes', 'labels'),
    ...stamped('vault_key', 'version', 'deleted_at'),
    ...revised,
    name_search: 'compared',
  },
  stages: {
    ...stamped('id', 'organization_id', 'name', 'vault_ids'),
    ...revised,
    name_search: 'compared',
  },
  versions: {
    ...stamped('resource_id', 'version', 'content_type', 'attributes', 'created_at', 'created_by'),
    value: 'sealed',
    stamp: 'stamp',
  },
  credentials: {
    ...stamped('id', 'organization_id', 'kind', 'name', 'digest', 'vault_id', 'key_id', 'role', 'narrowing'),
    ...stamped('expiration_date', 'max_uses', 'uses', 'created_by', 'revoked_at'),
    ...revised,
    name_search: 'compared',
    last_used_at: shown,
    identity_id: { since: 9, before: () => null },
    identity_revision: { since: 9, before: () => null },
    narrowing_key: { sealedStamped: 18 },
  },
  identities: {
    ...stamped('id', 'organization_id', 'name', 'method', 'trust', 'narrowing', 'lifetime', 'max_uses'),
    ...stamped('expiration_date', 'created_by'),
    ...revised,
    name_search: 'compared',
    last_login_at: shown,
  },
  use_rules: {
    ...stamped('id', 'organization_id', 'vault_id', 'resource_id', 'resource_type'),
    ...stamped('name', 'rule', 'created_by'),
    ...revised,
    name_search: 'compared',
  },
  approvals: {
    ...stamped('id', 'organization_id', 'vault_id', 'rule_id', 'access_key_id', 'fingerprint'),
    ...stamped('scope_fingerprint', 'request', 'scope', 'state', 'decided_by', 'expires_at'),
    ...revised,
  },
  role_requests: {
    ...stamped('id', 'organization_id', 'member_id', 'vault_id', 'role', 'ends_at', 'reason', 'state'),
    ...stamped('decided_by', 'expires_at'),
    ...revised,
  },
  proposals: {
    ...stamped('id', 'organization_id', 'vault_id', 'author_kind', 'author_id', 'content'),
    ...stamped('state', 'decided_by', 'expires_at'),
    ...revised,
  },
  issuers: {
    ...stamped('id', 'organization_id', 'vault_id', 'name', 'provider', 'content'),
    ...stamped('default_ttl', 'max_ttl', 'state', 'created_by'),
    ...revised,
    name_search: 'compared',
  },
  issuer_queues: {
    ...each(ending, 'issuer_id', 'resume_at', 'failing_since', 'failures', 'claimed_by', 'claimed_until'),
  },
  leases: {
    ...stamped('id', 'organization_id', 'vault_id', 'issuer_id', 'issuer_name', 'access_key_id'),
    ...stamped('narrowing', 'account', 'state', 'ended', 'expires_at', 'ends_at'),
    ...revised,
    ...each(ending, 'due_at', 'attempts', 'failing_since'),
  },
  authorities: {
    ...stamped('id', 'organization_id', 'vault_id', 'name', 'kind', 'parent_id', 'subject', 'key'),
    ...stamped('public_pem', 'certificate', 'chain', 'request', 'expires_at', 'created_by'),
    ...revised,
    name_search: 'compared',
  },
  profiles: {
    ...stamped('id', 'organization_id', 'vault_id', 'authority_id', 'name', 'allowed_names', 'max_days'),
    ...stamped('usages', 'acme', 'created_by'),
    ...revised,
    name_search: 'compared',
  },
  issued_certificates: {
    ...stamped('id', 'organization_id', 'vault_id', 'authority_id', 'profile_id', 'profile_name', 'serial'),
    ...stamped('names', 'certificate', 'not_before', 'expires_at', 'requester_kind', 'requester_id'),
    ...stamped('revoked_at', 'revocation_reason'),
    ...revised,
  },
  runs: {
    ...stamped('id', 'organization_id', 'purpose', 'access_keys', 'rules', 'budgets', 'uses', 'writes'),
    ...stamped('bytes', 'state', 'ended_by', 'ends_at', 'member_id', 'client', 'created_by'),
    ...revised,
  },
  run_access_keys: {
    ...each(runIndex, 'access_key_id', 'run_id', 'vault_id'),
  },
  acme_accounts: {
    ...stamped('id', 'organization_id', 'vault_id', 'profile_id', 'access_key_id', 'thumbprint', 'jwk'),
    ...stamped('contacts', 'state'),
    ...revised,
  },
  acme_orders: {
    ...stamped('id', 'organization_id', 'vault_id', 'profile_id', 'account_id', 'names', 'state'),
    ...stamped('expires_at', 'certificate_id', 'replaces'),
    ...revised,
  },
  rotation_queues: {
    ...each(rotating, 'resource_id', 'organization_id', 'vault_id', 'next_at', 'due_at', 'failures'),
    ...each(rotating, 'failing_since', 'reason', 'claimed_by', 'claimed_until'),
  },
  rotations: {
    ...stamped('id', 'organization_id', 'vault_id', 'resource_id', 'kind', 'state', 'content'),
    ...stamped('started_by', 'version', 'overlap_until'),
    ...revised,
  },
  webhooks: {
    ...stamped('id', 'organization_id', 'name', 'url', 'events', 'vault_ids', 'enabled', 'disabled_reason'),
    ...stamped('secret', 'secret_version', 'previous_secret', 'previous_until'),
    ...revised,
    format: { since: 37, before: () => null },
  },
  events: {
    ...stamped('id', 'organization_id', 'vault_id', 'resource_id', 'type', 'payload', 'created_at'),
    stamp: 'stamp',
    position: queue,
    fanned: queue,
  },
  deliveries: {
    id: queue,
    organization_id: 'compared',
    webhook_id: because(
      'the receiver: it must be a webhook of the same organization that subscribes to such events',
    ),
    ...each('compared', 'event_id', 'event', 'vault_id', 'resource_id'),
    ...each(queue, 'event_position', 'state', 'tries', 'attempts'),
    ...each(queue, 'next_attempt_at', 'finished_at', 'created_at'),
  },
  webhook_queues: {
    ...each(queue, 'webhook_id', 'begins_after', 'due_at', 'resume_at', 'failing_since', 'arrivals'),
    ...each(queue, 'leased_by', 'leased_until'),
  },
  mcp_sessions: {
    ...stamped('id', 'digest', 'state', 'credential_id', 'created_at', 'used_at'),
    stamp: 'stamp',
  },
  lock_outs: { ...stamped('subject', 'failures', 'last_at'), stamp: 'stamp' },
  device_logins: {
    ...stamped('id', 'user_code', 'digest', 'request', 'state', 'approval', 'created_at', 'expires_at'),
    stamp: 'stamp',
  },
  oauth_grants: {
    ...stamped('id', 'organization_id', 'member_id', 'epoch', 'access_key_id', 'vault_id', 'scope'),
    ...stamped('client', 'redirect_uri', 'resource', 'challenge', 'code', 'code_expires_at'),
    ...stamped('refresh', 'rotations', 'expires_at'),
    ...revised,
  },
  // The logs, which are protected by their chain, and tables for counts, searches and queues have no stamp.
  audit_logs: {
    ...linked,
    ...each('logged', 'position', 'entry', 'organization_id', 'action', 'subject_id', 'subject_revision'),
  },
  request_blocks: { ...linked, text: 'logged' },
  request_index: {
    ...each('logged', 'organization_id', 'block_id', 'part', 'vault_id', 'access_key_id', 'status'),
    ...each('logged', 'ip_address', 'entries', 'requests'),
  },
  checkpoints: each('logged', 'number', 'body', 'signature'),
  log_heads: each(head, 'writer', 'stream', 'seq', 'hash', 'mark'),
  unfiled: { writer: filing, from_id: filing },
  log_counts: { organization_id: total, stream: total, total },
  log_hours: each(shown, 'organization_id', 'hour', 'kind', 'subject', 'successes', 'failures'),
  counts: each(total, 'organization_id', 'type', 'vault_id', 'living'),
  tags: { organization_id: search, tag_index: search, resource_id: search },
  secret_references: { referrer_id: reference, target_id: reference },
  kept_answers: { vault_id: kept, answer: kept, sealed: 'sealed', read_at: kept },
  mails: {
    ...each(mail, 'id', 'organization_id', 'member_id', 'due_at', 'tries', 'claimed_until', 'created_at'),
    content: 'sealed',
  },
  mail_settings: each(told, 'member_id', 'choices', 'places'),
  expiry_notices: each(notice, 'resource_id', 'version', 'expiration_date', 'days'),
  stage_notices: each(missing, 'stage_id', 'name'),
  stage_tags: { organization_id: taking },
  rate_windows: { subject_id: window, window_start: window, count: window },
  used_challenges: { challenge, expires_at: challenge },
  last_positions: { name: counter, position: counter },
  changes: { id: change, xid: change, at: change, touched: change },
  // The keyring, sealed with the root key; the newest revisions, with their own stamp; and markers.
  meta: { key: 'sealed', value: 'sealed' },
} as const satisfies TableColumns;

/**
 * Stamped rows that can be put back undetected because their changes are not revisions, with the effect of doing so. An
 * earlier revision of any other row is always detected.
 */
export const putBack: { readonly [T in keyof Schema]?: string } = {
  sessions:
    'an earlier time of use, which ends the session sooner; or a session of an earlier epoch, which is invalid',
  mcp_sessions:
    'an earlier time of use, or a session not yet bound to a credential; a session authorizes nothing, each call presents its own credential',
  lock_outs:
    'the count without the attempts since then; each failure is in the audit log, and the network address is limited too',
  device_logins:
    'a sign-in of the last ten minutes that is pending again; its API key has the same id, so there is never a second one',
  versions:
    'a version of a purged resource, to which no row refers; versions of existing resources are written once and never changed',
  events: 'an event that is delivered again, or not at all; its content is stamped',
};
