/** Issuers of short-lived credentials, the leases that they gave, and the claims of replicas on ending them. */
import { type Compilable, type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { containing, type Page, type PageOf, pageOf } from '../engine/page.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { removeRevised, updateRevised } from '../integrity/revisions.ts';
import type { IssuerQueueTable, IssuerTable, LeaseTable } from '../schema/leases.ts';

export type IssuerRow = Selectable<IssuerTable>;
export type LeaseRow = Selectable<LeaseTable>;
export type AuditedIssuer = IssuerRow & Audited;
export type AuditedLease = LeaseRow & Audited;
type QueueRow = Selectable<IssuerQueueTable>;

export interface IssuerFilter {
  readonly organizationId: string;
  /** All vaults if undefined. */
  readonly vaultIds?: readonly string[] | undefined;
  readonly q?: string | undefined;
}

export interface LeaseFilter extends Pick<IssuerFilter, 'organizationId' | 'vaultIds'> {
  readonly issuerId?: string | undefined;
  readonly accessKeyId?: string | undefined;
  readonly states?: readonly string[] | undefined;
}

/** The leases that one access key holds of one issuer. */
export interface Holding {
  readonly access_key_id: string;
  readonly issuer_id: string;
  readonly issuer_name: string;
  readonly organization_id: string;
  readonly vault_id: string;
}

export interface LeaseCounts {
  readonly states: ReadonlyMap<string, number>;
  readonly late: number;
  /** Whose connections fail. */
  readonly failingIssuers: number;
}

export function issuers({ db, lists }: Engine) {
  const audited = (from = db) => from.selectFrom('issuers').selectAll('issuers').select(auditedRevision());

  return {
    byId: (organizationId: string, id: string): Promise<AuditedIssuer | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** Looks up by id only: to end leases, which has no caller. */
    anywhere: (id: string): Promise<AuditedIssuer | undefined> =>
      audited().where('id', '=', id).executeTakeFirst(),

    byName: (vaultId: string, name: string): Promise<AuditedIssuer | undefined> =>
      audited().where('vault_id', '=', vaultId).where('name', '=', name).executeTakeFirst(),

    async page({ organizationId, vaultIds, q }: IssuerFilter, page: Page): Promise<PageOf<AuditedIssuer>> {
      let found = audited(lists).where('organization_id', '=', organizationId);
      if (vaultIds !== undefined) found = found.where('vault_id', 'in', vaultIds);
      if (q !== undefined) found = found.where(sql<boolean>`name_search LIKE ${containing(q)} ESCAPE '\\'`);
      return pageOf(found, page);
    },

    insert: (row: IssuerRow): Statement[] => [
      statement(db.insertInto('issuers').values(row)),
      statement(db.insertInto('issuer_queues').values({ ...idle, issuer_id: row.id })),
    ],
    update: (row: IssuerRow): Statement => updateRevised(db, 'issuers', row),
    remove: (id: string, revision: number): Statement => removeRevised(db, 'issuers', { id, revision }),
    /** For a vault that is deleted permanently. */
    removeIn: (vaultId: string): Statement[] => [
      statement(db.deleteFrom('leases').where('vault_id', '=', vaultId)),
      statement(db.deleteFrom('issuers').where('vault_id', '=', vaultId)),
    ],

    /** Since when the connections of those that fail do so. */
    async failing(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
      if (ids.length === 0) return new Map();
      const rows = await lists
        .selectFrom('issuer_queues')
        .select(['issuer_id', 'failing_since'])
        .where('issuer_id', 'in', [...ids])
        .where('failing_since', 'is not', null)
        .execute();
      return new Map(rows.map(({ issuer_id, failing_since }) => [issuer_id, failing_since!]));
    },
  };
}

const idle = { resume_at: 0, failing_since: null, failures: 0, claimed_by: null, claimed_until: null };
const gone = 'gone';

export function leases({ db, lists, commit, name }: Engine) {
  const audited = (from = db) => from.selectFrom('leases').selectAll('leases').select(auditedRevision());

  const update = (row: LeaseRow): Statement => updateRevised(db, 'leases', row);

  return {
    byId: (organizationId: string, id: string): Promise<AuditedLease | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    async page(filter: LeaseFilter, page: Page): Promise<PageOf<AuditedLease>> {
      const { organizationId, vaultIds, issuerId, accessKeyId, states } = filter;
      let found = audited(lists).where('organization_id', '=', organizationId);
      if (vaultIds !== undefined) found = found.where('vault_id', 'in', vaultIds);
      if (issuerId !== undefined) found = found.where('issuer_id', '=', issuerId);
      if (accessKeyId !== undefined) found = found.where('access_key_id', '=', accessKeyId);
      if (states !== undefined) found = found.where('state', 'in', states);
      return pageOf(found, page);
    },

    /** Those of an issuer that something is to be done about, the longest due first. */
    due: (issuerId: string, now: number, most: number): Promise<AuditedLease[]> =>
      audited()
        .where('issuer_id', '=', issuerId)
        .where('due_at', '<=', now)
        .orderBy('due_at')
        .limit(most)
        .execute(),

    /** How many of an issuer's or a vault's are not gone, counted up to `most`. */
    async living(of: 'issuer_id' | 'vault_id' | 'access_key_id', id: string, most: number): Promise<number> {
      const found = await db
        .selectFrom('leases')
        .select('id')
        .where(of, '=', id)
        .where('state', '<>', gone)
        .limit(most)
        .execute();
      return found.length;
    },

    /** Requires that none is left; otherwise the unit is refused as stale. */
    noneLiving(of: 'issuer_id' | 'vault_id', id: string): Statement {
      const query = sql`SELECT 1 WHERE NOT EXISTS
        (SELECT 1 FROM leases WHERE ${sql.ref(of)} = ${id} AND state <> ${gone})`;
      return statement({ compile: () => query.compile(db) }, { unless: 'stale' });
    },

    /** The active ones of an issuer, or those that an access key holds of it. */
    active: (issuerId: string, accessKeyId: string | null, most: number): Promise<AuditedLease[]> => {
      const all = audited().where('issuer_id', '=', issuerId).where('state', 'in', ['creating', 'active']);
      return (accessKeyId === null ? all : all.where('access_key_id', '=', accessKeyId))
        .limit(most)
        .execute();
    },

    /** Which access keys hold active ones, in order, or those of these access keys only. */
    holdings(after: string | readonly string[], most: number): Promise<Holding[]> {
      const all = db
        .selectFrom('leases')
        .select(['access_key_id', 'issuer_id', 'issuer_name', 'organization_id', 'vault_id'])
        .distinct()
        .where('state', '=', 'active');
      const some =
        typeof after === 'string'
          ? all.where('access_key_id', '>', after)
          : all.where('access_key_id', 'in', [...after]);
      return some.orderBy('access_key_id').limit(most).execute();
    },

    /** How many that are not gone are in each state, and how many of them should have ended before then or resist it. */
    async counts(before: number): Promise<LeaseCounts> {
      const left = lists.selectFrom('leases').where('state', '<>', gone);
      const states = await left
        .select(({ fn }) => ['state', fn.countAll<number>().as('total')])
        .groupBy('state')
        .execute();
      const late = await left
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .where(eb => eb.or([eb('expires_at', '<', before), eb('failing_since', 'is not', null)]))
        .executeTakeFirstOrThrow();
      const queues = await lists
        .selectFrom('issuer_queues')
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .where('failing_since', 'is not', null)
        .executeTakeFirstOrThrow();
      return {
        states: new Map(states.map(row => [row.state, Number(row.total)])),
        late: Number(late.total),
        failingIssuers: Number(queues.total),
      };
    },

    insert: (row: LeaseRow): Statement => statement(db.insertInto('leases').values(row)),
    /** Refused as stale if another change came first. */
    update,

    /** When something is to be done next, without a change to the lease itself. */
    postpone: (id: string, dueAt: number, failure: { attempts: number; since: number } | null): Statement =>
      statement(
        db
          .updateTable('leases')
          .set({
            due_at: dueAt,
            ...(failure && { attempts: failure.attempts, failing_since: failure.since }),
          })
          .where('id', '=', id)
          .where('state', '<>', gone),
      ),

    /** Deletes those that are gone since then; they remain in the audit log. Returns how many. */
    async forget(before: number, most: number): Promise<number> {
      const over = db.selectFrom('leases').select('id').where('state', '=', gone);
      const found = await over.where('updated_at', '<', before).limit(most).execute();
      if (found.length === 0) return 0;
      const ids = found.map(({ id }) => id);
      await commit([{ statements: [statement(db.deleteFrom('leases').where('id', 'in', ids))] }]);
      return found.length;
    },

    queues: queuesIn({ db, commit, name }),
  };
}

/** One process at a time ends the leases of an issuer; its claim expires if it dies. */
function queuesIn({ db, commit, name }: Pick<Engine, 'db' | 'commit' | 'name'>) {
  const postgres = name === 'postgres';
  const databaseNow = postgres
    ? sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`
    : sql<number>`CAST(unixepoch('subsec') * 1000 AS INTEGER)`;
  const claimedFor = (length: number) => sql<number>`${databaseNow} + ${sql.lit(length)}`;
  const queue = (id: string) => db.updateTable('issuer_queues').where('issuer_id', '=', id);

  const waiting = (now: number) =>
    db
      .selectFrom('issuer_queues')
      .select('issuer_id')
      .where('resume_at', '<=', now)
      .where(eb => eb.or([eb('claimed_until', 'is', null), eb('claimed_until', '<', databaseNow)]))
      .where(eb =>
        eb.exists(
          eb
            .selectFrom('leases')
            .select('leases.id')
            .whereRef('leases.issuer_id', '=', 'issuer_queues.issuer_id')
            .where('leases.due_at', '<=', now),
        ),
      );

  async function claiming(change: Compilable): Promise<string[]> {
    const [rows] = await commit([{ statements: [statement(change, { returning: true })] }]);
    return rows![0]!.map(row => String(row.issuer_id));
  }

  return {
    of: (id: string): Promise<QueueRow | undefined> =>
      db.selectFrom('issuer_queues').selectAll().where('issuer_id', '=', id).executeTakeFirst(),

    /** Claims issuers with leases that are due, each for one process only. */
    async claim(holder: string, now: number, length: number, most: number): Promise<string[]> {
      if ((await waiting(now).limit(1).executeTakeFirst()) === undefined) return [];
      const free = waiting(now).limit(most);
      return claiming(
        db
          .updateTable('issuer_queues')
          .returning('issuer_id')
          .set({ claimed_by: holder, claimed_until: claimedFor(length) })
          .where('issuer_id', 'in', postgres ? free.forUpdate().skipLocked() : free),
      );
    },

    /** Whether the holder still has it, and keeps it for longer. */
    async renew(id: string, holder: string, length: number): Promise<boolean> {
      const held = queue(id).returning('issuer_id').where('claimed_by', '=', holder);
      return (await claiming(held.set({ claimed_until: claimedFor(length) }))).length === 1;
    },

    async release(id: string, holder: string): Promise<void> {
      const held = queue(id).where('claimed_by', '=', holder);
      await commit([{ statements: [statement(held.set({ claimed_by: null, claimed_until: null }))] }]);
    },

    /** Releases all claims of one holder, or of everyone if no other process can be running. */
    async abandon(holder: string | null): Promise<void> {
      const all = db.updateTable('issuer_queues').set({ claimed_by: null, claimed_until: null });
      const held = holder === null ? all : all.where('claimed_by', '=', holder);
      await commit([{ statements: [statement(held)] }]);
    },

    /** The first failure after a success sets the time. */
    failed: (id: string, now: number, resumeAt: number): Statement =>
      statement(
        queue(id).set({
          resume_at: resumeAt,
          failures: sql`failures + 1`,
          failing_since: sql`COALESCE(failing_since, ${now})`,
        }),
      ),

    succeeded: (id: string): Statement =>
      statement(queue(id).set({ resume_at: 0, failing_since: null, failures: 0 })),
  };
}
