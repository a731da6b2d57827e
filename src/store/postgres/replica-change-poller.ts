/**
 * Receives the commits of other replicas by polling, for use behind a pooler, where LISTEN does not work. Each change
 * is stored in a table, together with the data it concerns, and kept for a minute. Between two polls nothing is missed
 * or received twice, because the database's snapshots determine what became visible since; order and clocks play no
 * part. Changes count as received while the newest answer was requested less than a second ago, from a server that
 * accepts writes. After each gap everything cached is stale. It also becomes stale once a minute, because anyone who
 * can write to the database can delete rows from that table.
 */
import type { QueryResult } from 'pg';
import { Chores } from '../../base/chores.ts';
import type { ChangeListener } from '../engine/engine.ts';
import type { PostgresPool } from './pool.ts';

const interval = 250;
/** The maximum age of the newest answer: less than the second within which a revocation takes effect. */
const answerHolds = 950;
/** By the database's clock. Changes are kept for a minute, so after a longer gap than this one may have been missed. */
const longestGap = 30_000;
const beginEvery = 60_000;
/** How long a server may take to answer before its connection is tested. */
const longestSilence = 2_000;

const facts = `pg_is_in_recovery() AS standby, pg_current_snapshot()::text AS seen,
  (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at`;
const beginning = `SELECT ${facts}`;
const question = `SELECT ${facts},
  pg_snapshot_xmax(pg_current_snapshot()) < pg_snapshot_xmax($1::pg_snapshot) AS "wentBack",
  ARRAY(SELECT touched FROM changes WHERE xid >= pg_snapshot_xmin($1::pg_snapshot)
    AND NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)) AS touched`;
/** A replica that has not received these changes by now starts over. */
export const forgetChanges = `DELETE FROM changes WHERE at < extract(epoch FROM clock_timestamp()) * 1000 - 60000`;

interface Heard {
  readonly standby: boolean;
  readonly seen: string;
  readonly at: number;
  readonly wentBack?: boolean;
  readonly touched?: readonly string[];
}

export class PostgresPoller {
  readonly #pool: PostgresPool;
  readonly #announce: ChangeListener;
  readonly #chores = new Chores(() => this.#forget());
  /** The newest answer; null if the next one starts over. */
  #heard: Heard | null = null;
  #begunAt = 0;
  /** When the newest answer was requested. */
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(pool: PostgresPool, announce: ChangeListener) {
    this.#pool = pool;
    this.#announce = announce;
  }

  get hears(): boolean {
    return performance.now() - this.#askedAt < answerHolds;
  }

  async start(): Promise<void> {
    await this.#ask().catch(() => this.#forget());
    this.#chores.every(interval, () => this.#ask());
  }

  stop(): Promise<void> {
    return this.#chores.stop();
  }

  async #ask(): Promise<void> {
    const askedAt = performance.now();
    const before = this.#heard;
    const asked = before === null ? { text: beginning } : { text: question, values: [before.seen] };
    const limited = { ...asked, query_timeout: longestSilence };
    const { rows }: QueryResult<Heard> = await this.#pool.query<Heard>(limited).catch(error => {
      void this.#pool.cutIfSilent();
      return this.#pool.fail(error);
    });
    const heard = rows[0]!;
    if (heard.standby) throw new Error('the server is a standby');
    this.#tell(before, heard);
    this.#heard = heard.at - this.#begunAt > beginEvery ? null : heard;
    this.#askedAt = askedAt;
  }

  #tell(before: Heard | null, { at, wentBack = false, touched = [] }: Heard): void {
    // A server with less history than the one before it has taken over. Its later transactions may reuse ids that we
    // have seen.
    if (before === null || wentBack || at - before.at > longestGap) {
      this.#begunAt = at;
      this.#announce('all');
      return;
    }
    for (const payload of touched) this.#announce(payload === 'all' ? 'all' : payload.split(','));
  }

  #forget(): void {
    this.#heard = null;
    this.#askedAt = Number.NEGATIVE_INFINITY;
  }
}
