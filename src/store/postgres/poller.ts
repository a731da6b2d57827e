/**
 * Hears the commits of other replicas by asking for them, where a pooler is in between and nobody can listen: each change
 * is kept for a minute in a table, stored with what it tells of. Between two questions nothing is missed and nothing heard twice,
 * because the database itself says what became visible since: order and clocks play no part. It hears while its newest answer
 * was asked for less than a second ago, and came from a server that takes writes. After each gap everything kept is stale,
 * and so it is once a minute, because whoever can write to the database can remove rows of that table.
 */
import type { QueryResult } from 'pg';
import { Chores } from '../../base/chores.ts';
import type { ChangeListener } from '../engine/engine.ts';
import type { PostgresPool } from './pool.ts';

const interval = 250;
/** How old the newest answer may be: less than the second within which a revocation takes effect. */
const answerHolds = 950;
/** By the database's clock. Changes are kept for a minute, so whoever was away for longer than this may have missed one. */
const longestGap = 30_000;
const beginEvery = 60_000;
/** How long a server may take to answer before it is asked whether it is there at all. */
const longestSilence = 2_000;

const facts = `pg_is_in_recovery() AS standby, pg_current_snapshot()::text AS seen,
  (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at`;
const beginning = `SELECT ${facts}`;
const question = `SELECT ${facts},
  pg_snapshot_xmax(pg_current_snapshot()) < pg_snapshot_xmax($1::pg_snapshot) AS "wentBack",
  ARRAY(SELECT touched FROM changes WHERE xid >= pg_snapshot_xmin($1::pg_snapshot)
    AND NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)) AS touched`;
/** Whoever did not hear of them by now begins anew. */
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
  /** The newest answer; null where the next one begins anew. */
  #heard: Heard | null = null;
  #begunAt = 0;
  /** When the newest answer was asked for. */
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
    // A server that knows less than the one before it took its place: what it then did may bear numbers that we have seen.
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
