/** Organizations and their plans, which set the limit of requests. */
import type { Caller } from '../../access/caller.ts';
import type { Organization, OrganizationUpdate, Plan } from '../../contract/access.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import { Failure } from '../../contract/errors.ts';
import { iso } from '../../contract/text.ts';
import type { OrganizationRow } from '../../store/records/organizations.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { RowCache } from '../kernel/row-cache.ts';

export interface PlanChoice {
  readonly plan: Plan;
  /** Requests per minute on the enterprise plan; 0 is unlimited. */
  readonly enterpriseLimit: number;
}

const planLimits: Record<Exclude<Plan, 'enterprise'>, number> = { free: 100, pro: 1000 };

/** Requests per minute, or null if unlimited. */
export function limitOf({ plan, enterprise_limit }: OrganizationRow): number | null {
  if (plan !== 'enterprise') return planLimits[plan as 'free' | 'pro'];
  return enterprise_limit === 0 ? null : enterprise_limit;
}

export type Organizations = ReturnType<typeof organizationsWith>;

export function organizationsWith({ store, stamps, guard, now, newId }: Parts) {
  const kept = new RowCache<OrganizationRow>(store, 1_000);

  async function load(id: string): Promise<OrganizationRow | undefined> {
    const row = await store.organizations.byId(id);
    return row && stamps.organization.believe(row);
  }

  async function believed(id: string): Promise<OrganizationRow> {
    const row = kept.get(id) ?? (await kept.load(id, () => load(id)));
    if (row === undefined) throw new Failure('NOT_FOUND');
    return row;
  }

  async function update(
    permit: Permit<'organization:write'>,
    verb: AuditAction,
    changes: Partial<OrganizationRow>,
  ): Promise<Organization> {
    return retryingStale(async () => {
      const before = await load(permit.caller.organizationId);
      if (before === undefined) throw new Failure('NOT_FOUND');
      const row = stamps.organization.revise(before, changes, now());
      await guard.change(permit, verb, {
        subjects: [{ type: 'organization', id: row.id, name: row.name, revision: row.revision }],
        statements: [store.organizations.update(row)],
        touches: [row.id],
      });
      return present(row);
    });
  }

  return {
    /** `operator` returns the operator as the caller acting for the new organization. */
    async create(
      operator: (organizationId: string) => Caller,
      name: string,
      choice: PlanChoice,
    ): Promise<Organization> {
      const row = stamps.organization.create(now(), {
        id: newId(),
        name,
        plan: choice.plan,
        enterprise_limit: choice.enterpriseLimit,
      });
      const permit = await guard.admit(operator(row.id), 'organization:write');
      await guard.change(permit, 'organization.created', {
        subjects: [{ type: 'organization', id: row.id, name, revision: 1 }],
        statements: [store.organizations.insert(row)],
      });
      return present(row);
    },

    async byName(name: string): Promise<Organization | null> {
      const row = await store.organizations.byName(name);
      return row === undefined ? null : present(stamps.organization.believe(row));
    },

    async all(): Promise<Organization[]> {
      const rows = await store.organizations.all();
      return rows.map(row => present(stamps.organization.believe(row)));
    },

    async setPlan(operator: Caller, { plan, enterpriseLimit }: PlanChoice): Promise<Organization> {
      const permit = await guard.admit(operator, 'organization:write');
      return update(permit, 'organization.plan_changed', { plan, enterprise_limit: enterpriseLimit });
    },

    async get({ caller }: Permit<'organization:read'>): Promise<Organization> {
      return present(await believed(caller.organizationId));
    },

    async change(permit: Permit<'organization:write'>, changes: OrganizationUpdate): Promise<Organization> {
      const { caller } = permit;
      const { plan, ...others } = changes;
      const wanted: OrganizationUpdate =
        plan === (await believed(caller.organizationId)).plan ? others : changes;
      const changesPlan = wanted.plan !== undefined || wanted.enterprise_limit !== undefined;
      if (changesPlan && !maySetPlan(caller)) throw notForKeys();
      return update(
        permit,
        changesPlan ? 'organization.plan_changed' : 'organization.updated',
        given(wanted),
      );
    },

    limit: async (id: string): Promise<number | null> => limitOf(await believed(id)),
  };
}

/** Only a signed-in owner can change the plan, so that a leaked API key can't raise a limit. */
function maySetPlan({ kind, role }: Caller): boolean {
  return kind === 'member' && role === 'owner';
}

function notForKeys(): Failure {
  return new Failure('FORBIDDEN', {
    message: 'Only an owner in the dashboard, or the operator, can change the plan',
  });
}

function given(changes: OrganizationUpdate): Partial<OrganizationRow> {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

function present(row: OrganizationRow): Organization {
  return {
    id: row.id,
    name: row.name,
    plan: row.plan as Plan,
    rate_limit: limitOf(row),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
