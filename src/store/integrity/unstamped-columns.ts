/**
 * The columns of tables that have no stamp: those of the logs, which their chain holds, and what counts, searches or waits. What is
 * exempt says why, as in `stamp-columns.ts`, which adds these to its own.
 */
import { because, shown } from './stamp-treatments.ts';

const total = because(
  'a total beside a list, so that it is no scan; what the list shows is believed row by row',
);
const counter = because(
  'which position comes next: one that was given is refused by the table that it is for, and a jump leaves a gap, on which nothing depends',
);
const window = because(
  'what a credential did within a minute, or a week: reset, it lets more through, such as requests, comparisons, or calls of a suspended access key, each with a credential of its own',
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

const linked = { id: 'logged', writer: 'logged', seq: 'logged', hash: 'logged', mark: 'logged' } as const;

export const unstampedColumns = {
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
  meta: { key: 'sealed', value: 'sealed' }, // The keyring, under the root key; the newest revisions, under a stamp of their own; marks that something was done.
} as const;
