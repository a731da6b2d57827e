/**
 * The columns of tables without a stamp: the logs, which are protected by their chain, and tables for counts, searches
 * and queues. Exemptions state a reason, as in `stamp-columns.ts`, which includes these columns.
 */
import { each } from '../schema/common.ts';
import { because, shown } from './stamp-treatments.ts';

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
const kept = because(
  'a cached answer: its encryption binds it to its vault and to the rows it was built from; in another place, or with other rows, it is not used, and the answer is built again',
);
const change = because(
  'tells replicas behind a pooler what is stale: a forged row costs them a query; if one is removed, a replica may miss a change for up to a minute, after which it treats everything as stale anyway',
);
const notice = because(
  'whether an expiry was announced: if removed, it is announced again; if forged, it is not announced',
);

const linked = each('logged', 'id', 'writer', 'seq', 'hash', 'mark');

export const unstampedColumns = {
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
  kept_answers: { vault_id: kept, answer: kept, sealed: 'sealed', read_at: kept },
  expiry_notices: each(notice, 'resource_id', 'version', 'expiration_date', 'days'),
  rate_windows: { subject_id: window, window_start: window, count: window },
  used_challenges: { challenge, expires_at: challenge },
  last_positions: { name: counter, position: counter },
  changes: { id: change, xid: change, at: change, touched: change },
  // The keyring, sealed with the root key; the newest revisions, with their own stamp; and markers.
  meta: { key: 'sealed', value: 'sealed' },
} as const;
