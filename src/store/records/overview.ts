/** Data for the overview: requests per hour, expiring resources and unused credentials. */
import { type Selectable, sql } from 'kysely';
import type { Overview } from '../../contract/overview.ts';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { countOf } from '../engine/page.ts';
import { auditedRevision } from '../integrity/audited.ts';
import { livingVaults } from '../lists/resource-filter.ts';
import type { LogHourTable } from '../schema/schema.ts';
import { type AuditedCredential, opensSomething } from './credentials.ts';
import type { AuditedResource } from './resources.ts';
import type { AuditedWebhook } from './webhooks.ts';

export type LogHourRow = Selectable<LogHourTable>;

/** After `from` and up to `to`. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

export interface HourFilter {
  readonly organizationId: string;
  readonly kind: string;
  readonly from: number;
  readonly subjects?: readonly string[] | undefined;
}

type AilingWebhook = AuditedWebhook & { readonly failing_since: number | null };

export interface Busy {
  readonly subject: string;
  readonly successes: number;
  readonly failures: number;
}

/** Not issued for a sign-in, to a machine or by another key: those end by themselves, and new ones are issued. */
const isKept = sql<boolean>`(credentials.identity_id IS NULL AND credentials.narrowing NOT LIKE '%"login":%'
  AND credentials.narrowing NOT LIKE '%"parent":%')`;

export function overview({ lists: db }: Engine) {
  const expiring = ({ from, to }: Period) =>
    db
      .selectFrom('resources')
      .where('deleted_at', 'is', null)
      .where('expiration_date', '>', from)
      .where('expiration_date', '<=', to);
  /** Of these kinds, those that are not revoked, open something, and were not issued for a sign-in or to a machine. */
  const credentials = (organizationId: string, kinds: readonly string[]) =>
    db
      .selectFrom('credentials')
      .selectAll()
      .select(auditedRevision())
      .where('organization_id', '=', organizationId)
      .where('kind', 'in', kinds)
      .where('revoked_at', 'is', null)
      .where(opensSomething)
      .where(isKept);

  function hours({ organizationId, kind, from, subjects }: HourFilter) {
    const found = db
      .selectFrom('log_hours')
      .where('log_hours.organization_id', '=', organizationId)
      .where('log_hours.kind', '=', kind)
      .where('hour', '>=', from);
    return subjects === undefined ? found : found.where('subject', 'in', [...subjects]);
  }
  const sums = [
    sql<number>`CAST(sum(successes) AS bigint)`.as('successes'),
    sql<number>`CAST(sum(failures) AS bigint)`.as('failures'),
  ] as const;

  async function livingAmong(organizationId: string, ids: readonly string[]): Promise<string[]> {
    const found = livingVaults(db, organizationId).where('id', 'in', ids).select('id');
    return (await found.execute()).map(({ id }) => id);
  }

  return {
    /** Adds to the counters of an hour. The rows must be distinct. */
    countHours: (rows: readonly LogHourRow[]): Statement =>
      statement(
        db
          .insertInto('log_hours')
          .values(rows)
          .onConflict(on =>
            on.columns(['organization_id', 'kind', 'hour', 'subject']).doUpdateSet({
              successes: sql`log_hours.successes + excluded.successes`,
              failures: sql`log_hours.failures + excluded.failures`,
            }),
          ),
      ),

    forgetHours: (before: number): Statement =>
      statement(db.deleteFrom('log_hours').where('hour', '<', before)),

    byHour: (filter: HourFilter): Promise<{ hour: number; successes: number; failures: number }[]> =>
      hours(filter).select('hour').select(sums).groupBy('hour').orderBy('hour').execute(),

    /** The busiest first. */
    busiest: (filter: HourFilter, limit: number): Promise<Busy[]> =>
      hours(filter)
        .select('subject')
        .select(sums)
        .groupBy('subject')
        .orderBy(sql`sum(successes) + sum(failures)`, 'desc')
        .limit(limit)
        .execute(),

    mostFailures: (filter: HourFilter, limit: number): Promise<{ subject: string; failures: number }[]> =>
      hours(filter)
        .select(['subject', sums[1]])
        .groupBy('subject')
        .orderBy(sql`sum(failures)`, 'desc')
        .limit(limit)
        .execute(),

    expiringResources: (
      organizationId: string,
      types: readonly string[],
      vaultIds: readonly string[] | null,
      period: Period,
      limit: number,
    ): Promise<AuditedResource[]> => {
      let found = expiring(period)
        .selectAll()
        .select(auditedRevision())
        .where('organization_id', '=', organizationId)
        .where('type', 'in', types)
        .where(eb =>
          eb.exists(
            eb
              .selectFrom('resources as vaults')
              .select('vaults.id')
              .whereRef('vaults.id', '=', 'resources.vault_id')
              .where('vaults.deleted_at', 'is', null),
          ),
        );
      if (vaultIds !== null) found = found.where('vault_id', 'in', [...vaultIds]);
      return found.orderBy('expiration_date').limit(limit).execute();
    },

    /** In all organizations. */
    expiringWithin: (period: Period): Promise<number> => countOf(expiring(period)),

    expiringCredentials: (
      organizationId: string,
      kinds: readonly string[],
      period: Period,
      limit: number,
    ): Promise<AuditedCredential[]> =>
      credentials(organizationId, kinds)
        .where('expiration_date', '>', period.from)
        .where('expiration_date', '<=', period.to)
        .orderBy('expiration_date')
        .limit(limit)
        .execute(),

    /** Created before that time, and not used since. */
    unusedSince: (
      organizationId: string,
      kinds: readonly string[],
      moment: number,
      limit: number,
    ): Promise<AuditedCredential[]> =>
      credentials(organizationId, kinds)
        .where('created_at', '<', moment)
        .where(eb => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', moment)]))
        .orderBy('id')
        .limit(limit)
        .execute(),

    async livingCounts(
      organizationId: string,
      vaultIds: readonly string[] | null,
    ): Promise<Map<string, number>> {
      const among = vaultIds === null ? [organizationId] : await livingAmong(organizationId, vaultIds);
      if (among.length === 0) return new Map();
      const rows = await db
        .selectFrom('counts')
        .where('organization_id', '=', organizationId)
        .where('vault_id', 'in', among)
        .select(['type', sql<number>`CAST(sum(living) AS bigint)`.as('living')])
        .groupBy('type')
        .execute();
      const counts = new Map(rows.map(({ type, living }) => [type, Number(living)]));
      return vaultIds === null ? counts : counts.set('vault', among.length);
    },

    /** Those that are failing, and those that the service disabled. */
    ailingWebhooks: (organizationId: string, limit: number): Promise<AilingWebhook[]> =>
      db
        .selectFrom('webhooks')
        .innerJoin('webhook_queues', 'webhook_queues.webhook_id', 'webhooks.id')
        .selectAll('webhooks')
        .select('webhook_queues.failing_since')
        .select(auditedRevision())
        .where('organization_id', '=', organizationId)
        .where(eb =>
          eb.or([
            eb.and([eb('enabled', '=', 1), eb('failing_since', 'is not', null)]),
            eb.and([eb('enabled', '=', 0), eb('disabled_reason', 'is not', null)]),
          ]),
        )
        .orderBy('webhooks.id')
        .limit(limit)
        .execute(),

    /** The number of webhooks, of enabled ones that are failing, and of disabled ones. */
    webhookHealth: (organizationId: string): Promise<Overview['webhooks']> =>
      db
        .selectFrom('webhooks')
        .leftJoin('webhook_queues', 'webhook_queues.webhook_id', 'webhooks.id')
        .where('organization_id', '=', organizationId)
        .select(({ fn }) => [
          fn.countAll<number>().as('total'),
          sql<number>`count(CASE WHEN enabled = 1 AND failing_since IS NOT NULL THEN 1 END)`.as('failing'),
          sql<number>`count(CASE WHEN enabled = 0 THEN 1 END)`.as('disabled'),
        ])
        .executeTakeFirstOrThrow(),
  };
}
