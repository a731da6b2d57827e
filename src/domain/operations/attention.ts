/**
 * What needs the attention of a person: what has expired or is about to, what fails, what waits for them to decide, and
 * what nobody uses. Computed from the records each time, so that it ends when its cause does. Every row it names is
 * verified first. Callers learn only of what they may see, and of what waits only if they may decide.
 */
import { type Caller, memberBehind } from '../../access/caller.ts';
import { type Action, allows, holds, vaultsAllowing } from '../../access/policy.ts';
import type { Attention, Matter } from '../../contract/attention.ts';
import type { List } from '../../contract/common.ts';
import { type AttentionKind, attentionKinds } from '../../contract/names.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { Approval, ApprovalQuery } from '../../contract/uses.ts';
import { hourLength } from '../../logs/hourly-counts.ts';
import type { Ledger } from '../../logs/ledger.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { RoleRequests } from '../people/role-requests.ts';
import { stateAt } from '../resources/lifecycle.ts';
import { type Proposals, shownByProposals } from '../resources/proposals.ts';
import type { VerifyLogs } from './log-verification.ts';
import { brief, type Facts, seenCredentials, seenResources, unusedFor } from './overview.ts';

const day = 24 * hourLength;
const soon = 7 * day;
const mostOfKind = 50;
/** Refusals per hour that are too few to report, whatever is usual. */
const fewRefusals = 20;
const muchMore = 3;
/** The current hour and the one before are compared with the hours before them. */
const comparedHours = 46;

export type AttentionService = ReturnType<typeof attentionWith>;

interface AttentionParts extends Parts {
  readonly ledger: Pick<Ledger, 'writeHourCounts'>;
  readonly facts: Facts;
  readonly verifyLogs: Pick<VerifyLogs, 'isBroken'>;
  readonly approvals: {
    readonly list: (permit: Permit<'approvals:read'>, query: ApprovalQuery) => Promise<List<Approval>>;
  };
  readonly roleRequests: Pick<RoleRequests, 'list'>;
  readonly proposals: Pick<Proposals, 'list'>;
}

type Found = readonly Matter[];
type Row = Parameters<typeof brief>[0] & { readonly expiration_date: number | null };

const page = { page: 1, limit: 100 } as const;
const pending = { ...page, state: 'pending' } as const;

export function attentionWith(parts: AttentionParts) {
  const { store, stamps, guard, now, ledger, facts, verifyLogs } = parts;

  /** What ends in this period, of what the caller may see. Disabled resources are not in use, so they are left out. */
  async function ending(caller: Caller, kind: 'expired' | 'expiring'): Promise<Found> {
    const at = now();
    const period = kind === 'expired' ? { from: 0, to: at } : { from: at, to: at + soon };
    const resources = await seenResources(store, caller, period, mostOfKind);
    const credentials = await seenCredentials(caller, kinds =>
      store.overview.expiringCredentials(caller.organizationId, kinds, period, mostOfKind),
    );
    const rows: Row[] = [
      ...resources
        .map(row => ({ ...stamps.resource.believe(row), type: row.type }))
        .filter(row => stateAt(row, row.expiration_date!) === 'expired'),
      ...credentials.map(row => ({ ...stamps.credential.believe(row), type: row.kind })),
    ];
    return rows
      .sort((a, b) => a.expiration_date! - b.expiration_date!)
      .map(row => about(kind, brief(row), iso(row.expiration_date!)));
  }

  async function unused(caller: Caller): Promise<Found> {
    const rows = await seenCredentials(caller, kinds =>
      store.overview.unusedSince(caller.organizationId, kinds, now() - unusedFor, mostOfKind),
    );
    return rows
      .map(stamps.credential.believe)
      .filter(row => row.expiration_date === null || row.expiration_date > now())
      .map(row =>
        about('unused', brief({ ...row, type: row.kind }), iso(row.last_used_at ?? row.created_at)),
      );
  }

  async function webhooks(caller: Caller): Promise<Found> {
    if (!allows(caller, 'webhooks:read')) return [];
    const rows = (await store.overview.ailingWebhooks(caller.organizationId, mostOfKind)).map(
      ({ failing_since, ...row }) => ({ ...stamps.webhook.believe(row), failing_since }),
    );
    return rows.map(({ id, name, url, enabled, failing_since }) => {
      const subject = { id, type: 'webhook', name: name || url, vault_id: null };
      return about(enabled === 1 ? 'webhook_failing' : 'webhook_disabled', subject, isoOrNull(failing_since));
    });
  }

  /** Secrets whose last attempt to rotate them failed. */
  async function rotations(caller: Caller): Promise<Found> {
    const vaultIds = vaultsAllowing(caller, 'secrets:read');
    if (vaultIds?.length === 0) return [];
    const filter = {
      organizationId: caller.organizationId,
      vaultIds: vaultIds ?? undefined,
      isFailing: true,
    };
    const { rows } = await store.rotations.queues.page(filter, { page: 1, limit: mostOfKind });
    const found = await Promise.all(
      rows.map(async ({ resource_id, failing_since }) => {
        const row = await store.resources.byId(caller.organizationId, resource_id);
        return row && { ...stamps.resource.believe(row), failing_since };
      }),
    );
    return found
      .filter(row => row !== undefined)
      .map(row => about('rotation_failing', brief(row), isoOrNull(row.failing_since)));
  }

  /** Refusals in the current hour and the one before, if they are far more than is usual in two hours. */
  async function refusals(caller: Caller): Promise<Found> {
    const subjects = vaultsAllowing(caller, 'logs:read');
    if (subjects?.length === 0) return [];
    await ledger.writeHourCounts();
    const recent = Math.floor(now() / hourLength) * hourLength - hourLength;
    const from = recent - comparedHours * hourLength;
    const { organizationId } = caller;
    const scope = subjects === null ? { kind: 'all' } : { kind: 'vault', subjects };
    const hours = await store.overview.byHour({ organizationId, from, ...scope });
    const failures = (isCounted: (hour: number) => boolean) =>
      hours.reduce((sum, row) => sum + (isCounted(Number(row.hour)) ? Number(row.failures) : 0), 0);
    const count = failures(hour => hour >= recent);
    const usual = Math.round((failures(hour => hour < recent) * 2) / comparedHours);
    if (count < fewRefusals || count <= usual * muchMore) return [];
    return [{ kind: 'refusals', subject: null, since: iso(recent), count, usual }];
  }

  /** Facts about the service are for those who manage the organization. */
  function service(caller: Caller): Found {
    const broken =
      allows(caller, 'logs:read') && verifyLogs.isBroken() ? [about('log_broken', null, null)] : [];
    if (!allows(caller, 'organization:write')) return broken;
    const backups = facts.backups();
    if (backups === null) return [...broken, about('backup_missing', null, null)];
    if (backups.failed_at !== null) return [...broken, about('backup_failed', null, backups.failed_at)];
    return backups.last_at === null ? [...broken, about('backup_missing', null, null)] : broken;
  }

  /** What waits, and may be decided by the caller. */
  async function waiting(caller: Caller): Promise<Found> {
    const own = memberBehind(caller);
    const [calls, roles, proposed] = await Promise.all([
      offered(caller, ['approvals:read', 'approvals:write'], async () => {
        const permit = await guard.admit(caller, 'approvals:read');
        const { data } = await parts.approvals.list(permit, pending);
        return data.filter(({ vault_id }) => allows(caller, 'approvals:write', vault_id));
      }),
      offered(caller, ['members:read', 'members:write'], async () => {
        const { data } = await parts.roleRequests.list(await guard.admit(caller, 'members:read'), page);
        return data.filter(({ member }) => member.id !== own);
      }),
      offered(caller, [...shownByProposals, 'proposals:write'], async () => {
        const { data } = await parts.proposals.list(await guard.admit(caller, 'proposals:read'), pending);
        return data.filter(one => !one.own && allows(caller, 'proposals:write', one.vault_id));
      }),
    ]);
    return [
      ...gathered('approvals_waiting', calls),
      ...gathered('role_requests_waiting', roles),
      ...gathered('proposals_waiting', proposed),
    ];
  }

  return async ({ caller }: Permit<'organization:read'>): Promise<Attention> => {
    const found = await Promise.all([
      ending(caller, 'expired'),
      ending(caller, 'expiring'),
      unused(caller),
      webhooks(caller),
      rotations(caller),
      refusals(caller),
      waiting(caller),
      service(caller),
    ]);
    const all = found.flat();
    const matters = attentionKinds.flatMap(kind => all.filter(one => one.kind === kind).slice(0, mostOfKind));
    return {
      matters,
      complete: matters.length === all.length && found.every(one => one.length < mostOfKind),
    };
  };
}

/** Nothing for callers without one of the permissions: being unable to decide is not a refusal to record. */
async function offered<T>(caller: Caller, needs: readonly Action[], find: () => Promise<readonly T[]>) {
  return needs.every(action => holds(caller, action)) ? find() : [];
}

function about(kind: AttentionKind, subject: Matter['subject'], since: string | null): Matter {
  return { kind, subject, since, count: 1, usual: null };
}

/** One matter for all that wait, since the oldest. */
function gathered(kind: AttentionKind, waiting: readonly { readonly created_at: string }[]): Found {
  if (waiting.length === 0) return [];
  const since = waiting.map(({ created_at }) => created_at).sort()[0]!;
  return [{ kind, subject: null, since, count: waiting.length, usual: null }];
}
