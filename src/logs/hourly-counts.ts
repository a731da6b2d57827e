/**
 * Counts vault requests per hour, for display. Durable entries are counted in memory and written every few seconds: a
 * crash loses some counts but no entries, and reads never wait for them. The size is limited: beyond it the counts are
 * written early.
 */
import type { LogHourRow } from '../store/records/overview.ts';
import type { Store } from '../store/store.ts';
import type { BlockPart } from './blocks.ts';
import { isSuccess } from './entries.ts';

export const hourLength = 3_600_000;
const kept = 48 * hourLength;
const mostPending = 5_000;
const largestStatement = 200;

type Counting = Pick<Store, 'commit' | 'overview'>;

export class HourCounts {
  readonly #store: Counting;
  readonly #now: () => number;
  #hour = 0;
  #forgotten = 0;
  #pending = new Map<string, LogHourRow>();

  constructor(store: Counting, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  note({ organization_id, status, vault_id, access_key_id, ip_address, ...part }: BlockPart): void {
    if (organization_id === null) return;
    const requests = part.requests ?? part.entries;
    this.#hour = Math.floor(this.#now() / hourLength) * hourLength;
    const success = isSuccess(status);
    const counts = { successes: success ? requests : 0, failures: success ? 0 : requests };
    const count = (kind: string, subject: string) =>
      this.#keep({ organization_id, hour: this.#hour, kind, subject, ...counts });
    count('all', '');
    if (vault_id !== null) count('vault', vault_id);
    if (access_key_id !== null) count('access-key', access_key_id);
    if (!success) count('address', ip_address);
    if (this.#pending.size > mostPending) this.write().catch(() => {});
  }

  /** Counts that could not be written are added to the next batch. */
  async write(): Promise<void> {
    if (this.#pending.size === 0) return;
    const batch = this.#pending;
    this.#pending = new Map();
    // In the same order everywhere, so that two replicas can't deadlock.
    const keys = [...batch.keys()].sort();
    try {
      await this.#store.commit([{ statements: this.#statements(keys.map(key => batch.get(key)!)) }]);
    } catch (error) {
      for (const row of batch.values()) this.#keep(row);
      throw error;
    }
  }

  #statements(rows: readonly LogHourRow[]) {
    const { overview } = this.#store;
    const statements = [];
    for (let at = 0; at < rows.length; at += largestStatement) {
      statements.push(overview.countHours(rows.slice(at, at + largestStatement)));
    }
    if (this.#hour !== this.#forgotten) statements.push(overview.forgetHours(this.#hour - kept));
    this.#forgotten = this.#hour;
    return statements;
  }

  #keep(row: LogHourRow): void {
    const key = `${row.organization_id} ${row.kind} ${row.hour} ${row.subject}`;
    const before = this.#pending.get(key);
    if (before === undefined) {
      if (this.#pending.size < mostPending * 2) this.#pending.set(key, row);
      return;
    }
    before.successes += row.successes;
    before.failures += row.failures;
  }
}
