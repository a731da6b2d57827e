/**
 * Every metric of the service, with its help text and all possible label values. Because all series are known in
 * advance, each has a fixed place in an array of numbers, and counting is an addition. Labels never contain names, ids
 * or addresses.
 */

import { planes } from './planes.ts';

export const routeClasses = [
  'vault_read',
  'use',
  'dialect',
  'tool',
  'health',
  'api',
  'auth',
  'held',
  'dashboard',
] as const;
export type RouteClass = (typeof routeClasses)[number];

/** Any other status counts as `other`. */
const codes = [
  200, 204, 206, 302, 303, 304, 400, 401, 403, 404, 405, 408, 409, 410, 413, 429, 500, 503,
] as const;
export const statuses = [...codes.map(code => `${code}` as const), 'other'] as const;

export const livingLeaseStates = ['creating', 'active', 'revoking', 'disabled'] as const;

export const soon = ['1d', '7d', '30d'] as const;

type Labels = Readonly<Record<string, readonly string[]>>;

export interface Metric<Of extends Labels = Labels> {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: Of;
  /** Upper bounds of a histogram's buckets. */
  readonly buckets: readonly number[];
}

const metric =
  (kind: Metric['kind']) =>
  <const Of extends Labels>(help: string, labels: Of, buckets: readonly number[] = []): Metric<Of> => ({
    kind,
    help,
    labels,
    buckets,
  });
const counter = metric('counter');
const gauge = metric('gauge');
const histogram = metric('histogram');

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export const catalogue = {
  strongroom_requests_total: counter('Requests that were answered.', {
    class: routeClasses,
    status: statuses,
  }),
  strongroom_request_seconds: histogram(
    'Time from request to answer; for vault reads, including the durable log entry.',
    { class: routeClasses },
    seconds,
  ),
  strongroom_log_commit_seconds: histogram('Time to store one group of log entries durably.', {}, seconds),
  strongroom_log_group_entries: histogram(
    'Log entries and changes that shared one sync.',
    {},
    [1, 2, 5, 10, 20, 50, 100, 200, 400],
  ),
  strongroom_log_queue_entries: gauge('Log entries and changes waiting for the next sync.', {
    plane: planes,
  }),
  strongroom_answer_cache_total: counter('Vault reads by whether their answer was cached.', {
    result: ['hit', 'miss'],
  }),
  strongroom_authentication_failures_total: counter('Credentials that were refused.', {}),
  strongroom_spans_total: counter('Trace spans by whether they reached the collector.', {
    result: ['sent', 'dropped'],
  }),
  strongroom_open_connections: gauge('Open client connections.', {}),
  strongroom_event_loop_delay_seconds: gauge('Event loop delay since the last scrape.', {
    plane: planes,
    // `quantile` is reserved for summaries: some programs reject it on a gauge.
    share: ['0.5', '0.99', '1'],
  }),
  strongroom_event_loop_utilization_ratio: gauge('Share of time in which the event loop was busy.', {
    plane: planes,
  }),
  strongroom_jobs_waiting: gauge('Password derivations and key operations waiting for a thread.', {
    pool: ['passwords', 'material'],
  }),
  strongroom_webhook_deliveries: gauge('Webhook deliveries that are pending or abandoned.', {
    state: ['pending', 'dead'],
  }),
  strongroom_leases: gauge('Short-lived credentials that are not gone.', { state: livingLeaseStates }),
  strongroom_leases_late: gauge(
    'Short-lived credentials that resist being revoked, or should have ended.',
    {},
  ),
  strongroom_issuers_failing: gauge(
    'Issuers whose connection fails while credentials are to be revoked.',
    {},
  ),
  strongroom_resources_expiring: gauge('Secrets, keys and certificates that expire within the given time.', {
    within: soon,
  }),
  strongroom_checkpoint_timestamp_seconds: gauge('When the newest checkpoint of the logs was signed.', {}),
  strongroom_log_proof_ok: gauge('Whether the newest verification of the logs found no fault: 1 or 0.', {}),
  strongroom_log_proof_timestamp_seconds: gauge('When the logs were last verified.', {}),
  strongroom_backup_timestamp_seconds: gauge('Timestamp of the newest backup.', {}),
  strongroom_backup_proof_timestamp_seconds: gauge('When the newest backup was restored and verified.', {}),
  strongroom_readers: gauge('Threads that answer vault reads and are ready.', {}),
  strongroom_management_up: gauge('Whether the management plane answers: 1 or 0.', {}),
  process_resident_memory_bytes: gauge('Resident memory of the process.', {}),
  process_cpu_seconds_total: counter('CPU time of the process.', {}),
  process_start_time_seconds: gauge('When the process started, in Unix time.', {}),
} as const satisfies Readonly<Record<string, Metric>>;

export type Name = keyof typeof catalogue;
/** The labels of a metric, with their possible values. */
export type LabelsOf<N extends Name> = {
  readonly [L in keyof (typeof catalogue)[N]['labels']]: (typeof catalogue)[N]['labels'][L] extends readonly (infer V)[]
    ? V
    : never;
};
