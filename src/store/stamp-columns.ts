/**
 * The columns of each table, and what holds each of them: a new one does not compile until somebody decided. The order of the stamped ones
 * is the order in which they are stamped, and never changes; what comes later is marked so. What is exempt
 * says why, in words that must stand in an audit; a generated test edits, nulls, swaps and puts back all of them.
 */
import type { Selectable } from 'kysely';
import type { Schema } from './schema.ts';

/** Stamped since a later migration. A row that was stamped before it is believed with this value in the column. */
export interface Later<Row> {
  /** The migration's number. */
  readonly since: number;
  readonly before: (row: Row) => unknown;
}

/**
 * Sealed, and under the stamp too for a while: rows that were stamped then are believed. No new stamp covers it, because an earlier
 * release that runs beside this one knows no such column, and would take every row that has one for edited.
 */
export interface OnceStamped {
  /** The migration's number. */
  readonly sealedStamped: number;
}

/**
 * The schema of the oldest release that may run beside this one. A row that has nothing in the columns that came later is stamped
 * as that release stamps it, so that it goes on serving what it served.
 */
export const oldestBeside = 9;

export interface Exempt {
  readonly exempt: string;
}

export type Treatment<Row> =
  /** Under the row's stamp. */
  | 'stamped'
  | Later<Row>
  | OnceStamped
  /** The stamp itself. */
  | 'stamp'
  /** Bound to its place by its encryption: elsewhere, or edited, it does not open. */
  | 'sealed'
  /** Under the log's chain and checkpoints, or compared with what is. */
  | 'logged'
  /** Says the same as a stamped row of another table, or as another column of its own, and is compared with it. */
  | 'compared'
  | Exempt;

type ColumnsOf<Row> = { readonly [C in keyof Row]: Treatment<Row> };
/** Every column of every table, and no other. */
export type TableColumns<Tables = Schema> = {
  readonly [T in keyof Tables]: ColumnsOf<Selectable<Tables[T]>>;
};

const because = (exempt: string): Exempt => ({ exempt });
const shown = because('shown to people beside what is believed; nothing is decided by it');
const total = because(
  'a total beside a list, so that it is no scan; what the list shows is believed row by row',
);
const queue = because(
  'the state of a delivery: whoever sets it makes one come late, again or never. What is sent, and to whom, is stamped',
);
const counter = because(
  'which position comes next: one that was given is refused by the table that it is for, and a jump leaves a gap, on which nothing depends',
);
const window = because(
  'requests of one minute: reset, it lets more of them through for that minute, each with a credential of its own',
);
const challenge = because(
  'of a proof that is good once: to use it again takes the signature or the token that was sent over TLS, before it expires, and a passkey that counts refuses even that',
);
const head = because(
  'what is signed next: only what was written with the keyring is, and anything else is told to the operator; entries that are never signed are found',
);
const filing = because(
  'where filing goes on after a crash; what is filed is compared with the log, whoever filed it',
);
const search = because(
  'a blind index to search by; the tags themselves are sealed with the row that is found',
);
const kept = because(
  'an answer that was made before: its encryption binds it to its vault and to all rows that it was made of, so that in any other place or of any other rows it is not used, and the answer is made anew',
);
const change = because(
  'tells replicas behind a pooler what is stale: made up, it costs them a look; removed, one of them may not hear of a change for the minute after which it takes everything for stale anyway',
);
const notice = because('whether an expiry was told: removed, it is told again; made up, it is not told');

const revised = {
  created_at: 'stamped',
  updated_at: 'stamped',
  revision: 'stamped',
  stamp: 'stamp',
} as const;
const linked = { id: 'logged', writer: 'logged', seq: 'logged', hash: 'logged', mark: 'logged' } as const;

export const columns = {
  organizations: { id: 'stamped', name: 'stamped', plan: 'stamped', enterprise_limit: 'stamped', ...revised },
  members: {
    id: 'stamped',
    organization_id: 'stamped',
    email: 'stamped',
    email_key: 'stamped',
    role: 'stamped',
    state: 'stamped',
    ...revised,
    grants: { since: 12, before: () => '[]' },
  },
  member_groups: {
    id: 'stamped',
    organization_id: 'stamped',
    name: 'stamped',
    grants: 'stamped',
    member_ids: 'stamped',
    single_sign_on: 'stamped',
    signed_on_ids: 'stamped',
    ...revised,
    name_search: 'compared',
  },
  accounts: {
    id: 'stamped',
    organization_id: 'stamped',
    member_id: 'stamped',
    password: 'stamped',
    totp: 'stamped',
    totp_pending: 'stamped',
    totp_step: 'stamped',
    recovery: 'stamped',
    invitation: 'stamped',
    invitation_expires: 'stamped',
    epoch: 'stamped',
    ...revised,
    oidc_issuer: { since: 6, before: () => null },
    oidc_subject: { since: 6, before: () => null },
  },
  passkeys: {
    id: 'stamped',
    organization_id: 'stamped',
    member_id: 'stamped',
    name: 'stamped',
    credential_id: 'stamped',
    public_key: 'stamped',
    transports: 'stamped',
    counter: 'stamped',
    ...revised,
    used_at: shown,
  },
  sessions: {
    id: 'stamped',
    organization_id: 'stamped',
    member_id: 'stamped',
    digest: 'stamped',
    epoch: 'stamped',
    method: 'stamped',
    ip_address: 'stamped',
    user_agent: 'stamped',
    ...revised,
    proven_at: { since: 6, before: () => null },
    // Each use stamps the row anew, without a revision: an earlier one put back only ends the session sooner.
    used_at: { since: 6, before: row => row.updated_at },
  },
  resources: {
    id: 'stamped',
    organization_id: 'stamped',
    vault_id: 'stamped',
    type: 'stamped',
    name: 'stamped',
    enabled: 'stamped',
    activation_date: 'stamped',
    expiration_date: 'stamped',
    content_type: 'stamped',
    attributes: 'stamped',
    labels: 'stamped',
    vault_key: 'stamped',
    version: 'stamped',
    deleted_at: 'stamped',
    ...revised,
    name_search: 'compared',
  },
  versions: {
    resource_id: 'stamped',
    version: 'stamped',
    content_type: 'stamped',
    attributes: 'stamped',
    created_at: 'stamped',
    created_by: 'stamped',
    value: 'sealed',
    stamp: 'stamp',
  },
  credentials: {
    id: 'stamped',
    organization_id: 'stamped',
    kind: 'stamped',
    name: 'stamped',
    digest: 'stamped',
    vault_id: 'stamped',
    key_id: 'stamped',
    role: 'stamped',
    narrowing: 'stamped',
    expiration_date: 'stamped',
    max_uses: 'stamped',
    uses: 'stamped',
    created_by: 'stamped',
    revoked_at: 'stamped',
    ...revised,
    name_search: 'compared',
    last_used_at: shown,
    identity_id: { since: 9, before: () => null },
    identity_revision: { since: 9, before: () => null },
    narrowing_key: { sealedStamped: 18 },
  },
  identities: {
    id: 'stamped',
    organization_id: 'stamped',
    name: 'stamped',
    method: 'stamped',
    trust: 'stamped',
    narrowing: 'stamped',
    lifetime: 'stamped',
    max_uses: 'stamped',
    expiration_date: 'stamped',
    created_by: 'stamped',
    ...revised,
    name_search: 'compared',
    last_login_at: shown,
  },
  use_rules: {
    id: 'stamped',
    organization_id: 'stamped',
    vault_id: 'stamped',
    resource_id: 'stamped',
    resource_type: 'stamped',
    name: 'stamped',
    rule: 'stamped',
    created_by: 'stamped',
    ...revised,
    name_search: 'compared',
  },
  approvals: {
    id: 'stamped',
    organization_id: 'stamped',
    vault_id: 'stamped',
    rule_id: 'stamped',
    access_key_id: 'stamped',
    fingerprint: 'stamped',
    scope_fingerprint: 'stamped',
    request: 'stamped',
    scope: 'stamped',
    state: 'stamped',
    decided_by: 'stamped',
    expires_at: 'stamped',
    ...revised,
  },
  webhooks: {
    id: 'stamped',
    organization_id: 'stamped',
    name: 'stamped',
    url: 'stamped',
    events: 'stamped',
    vault_ids: 'stamped',
    enabled: 'stamped',
    disabled_reason: 'stamped',
    secret: 'stamped',
    secret_version: 'stamped',
    previous_secret: 'stamped',
    previous_until: 'stamped',
    ...revised,
  },
  events: {
    id: 'stamped',
    organization_id: 'stamped',
    vault_id: 'stamped',
    resource_id: 'stamped',
    type: 'stamped',
    payload: 'stamped',
    created_at: 'stamped',
    stamp: 'stamp',
    position: queue,
    fanned: queue,
  },
  deliveries: {
    id: queue,
    organization_id: 'compared',
    webhook_id: because(
      'who is sent it: a webhook of the same organization that asks for such events, or nobody',
    ),
    event_id: 'compared',
    event: 'compared',
    vault_id: 'compared',
    resource_id: 'compared',
    event_position: queue,
    state: queue,
    tries: queue,
    attempts: queue,
    next_attempt_at: queue,
    finished_at: queue,
    created_at: queue,
  },
  webhook_queues: {
    webhook_id: queue,
    begins_after: queue,
    due_at: queue,
    resume_at: queue,
    failing_since: queue,
    arrivals: queue,
    leased_by: queue,
    leased_until: queue,
  },
  mcp_sessions: {
    id: 'stamped',
    digest: 'stamped',
    state: 'stamped',
    credential_id: 'stamped',
    created_at: 'stamped',
    used_at: 'stamped',
    stamp: 'stamp',
  },
  lock_outs: { subject: 'stamped', failures: 'stamped', last_at: 'stamped', stamp: 'stamp' },
  device_logins: {
    id: 'stamped',
    user_code: 'stamped',
    digest: 'stamped',
    request: 'stamped',
    state: 'stamped',
    approval: 'stamped',
    created_at: 'stamped',
    expires_at: 'stamped',
    stamp: 'stamp',
  },
  oauth_grants: {
    id: 'stamped',
    organization_id: 'stamped',
    member_id: 'stamped',
    epoch: 'stamped',
    access_key_id: 'stamped',
    vault_id: 'stamped',
    scope: 'stamped',
    client: 'stamped',
    redirect_uri: 'stamped',
    resource: 'stamped',
    challenge: 'stamped',
    code: 'stamped',
    code_expires_at: 'stamped',
    refresh: 'stamped',
    rotations: 'stamped',
    expires_at: 'stamped',
    ...revised,
  },
  audit_logs: {
    ...linked,
    position: 'logged',
    entry: 'logged',
    organization_id: 'logged',
    action: 'logged',
    subject_id: 'logged',
    subject_revision: 'logged',
  },
  request_blocks: { ...linked, text: 'logged' },
  request_index: {
    organization_id: 'logged',
    block_id: 'logged',
    part: 'logged',
    vault_id: 'logged',
    access_key_id: 'logged',
    status: 'logged',
    ip_address: 'logged',
    entries: 'logged',
    requests: 'logged',
  },
  checkpoints: { number: 'logged', body: 'logged', signature: 'logged' },
  log_heads: { writer: head, stream: head, seq: head, hash: head, mark: head },
  unfiled: { writer: filing, from_id: filing },
  log_counts: { organization_id: total, stream: total, total },
  log_hours: {
    organization_id: shown,
    hour: shown,
    kind: shown,
    subject: shown,
    successes: shown,
    failures: shown,
  },
  counts: { organization_id: total, type: total, vault_id: total, living: total },
  tags: { organization_id: search, tag_index: search, resource_id: search },
  kept_answers: { vault_id: kept, answer: kept, sealed: 'sealed', read_at: kept },
  expiry_notices: { resource_id: notice, version: notice, expiration_date: notice, days: notice },
  rate_windows: { subject_id: window, window_start: window, count: window },
  used_challenges: { challenge, expires_at: challenge },
  last_positions: { name: counter, position: counter },
  changes: { id: change, xid: change, at: change, touched: change },
  meta: { key: 'sealed', value: 'sealed' }, // The keyring, under the root key; the other rows are marks that something was done.
} as const satisfies TableColumns;

/**
 * Stamped rows of which an earlier one is believed, because its change was no revision, with what is gained by that. A
 * revision put back is always found.
 */
export const putBack: { readonly [T in keyof Schema]?: string } = {
  sessions:
    'an earlier time of use, which ends the session sooner; or one of an earlier epoch, which signs nobody in',
  mcp_sessions:
    'an earlier time of use, or a session that is nobody’s yet; a session authorises nothing, each call brings its own credential',
  lock_outs:
    'the attempts made since then; each failed one is in the audit log, and the network address is limited too',
  device_logins:
    'a sign-in of the last ten minutes that waits once more; its API key has its id, so there is never a second one',
  versions:
    'a version of what was purged, to which no row leads; a living one’s is written once and never changed',
  events: 'an event that is delivered once more, or not; what it says is stamped',
};
