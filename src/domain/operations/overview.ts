/**
 * The overview: recent reads, what is about to expire, and what is unused. It uses counters and short, bounded
 * queries, so that it takes as long with a million log entries as with ten. Every row it names is verified first.
 * Parts that the caller may not see are empty.
 */
import { type Caller, resourceKinds } from '../../access/caller.ts';
import { type Action, allows, type Grant, holds, vaultsAllowing } from '../../access/policy.ts';
import { type ResourceType, resourceTypes } from '../../contract/names.ts';
import type { About, Overview } from '../../contract/overview.ts';
import { rateWindowAt } from '../../contract/rate-window.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import { parentMark } from '../../keyring/sealing/envelope.ts';
import { hourLength } from '../../logs/hourly-counts.ts';
import type { Ledger } from '../../logs/ledger.ts';
import type { AuditedCredential, CredentialRow } from '../../store/records/credentials.ts';
import type { Busy, Period } from '../../store/records/overview.ts';
import type { AuditedResource } from '../../store/records/resources.ts';
import type { Store } from '../../store/store.ts';
import { credentialKinds } from '../credentials/credential.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Organizations } from '../people/organizations.ts';
import { actionOn } from '../resources/subject.ts';

const day = 24 * hourLength;
const hours = 24;
const ahead = 90 * day;
export const unusedFor = 90 * day;
const mostExpiring = 50;
const mostBusy = 10;

const noLog = { reads: [], busiest_vaults: [], busiest_keys: [], failed_addresses: [] };
const noWebhooks = { total: 0, failing: 0, disabled: 0 };

export interface Facts {
  readonly version: string;
  readonly logRetentionDays: number;
  readonly auditRetentionDays: number;
  readonly backups: () => About['backups'];
}

type NamedRow = Pick<CredentialRow, 'name' | 'organization_id' | 'vault_id'>;
type Reading = Permit<'organization:read'>;

export type Overviews = ReturnType<typeof overviewsWith>;

interface OverviewParts extends Parts {
  readonly organizations: Organizations;
  readonly ledger: Pick<Ledger, 'writeHourCounts'>;
  readonly facts: Facts;
}

export function overviewsWith(parts: OverviewParts) {
  const { store, keyring, stamps, keyringSync, now, organizations, ledger, facts } = parts;

  /** The counters contain only ids. The names of records that still exist are added if the caller may see them. */
  async function named(
    caller: Caller,
    action: Action,
    busy: readonly Busy[],
    find: (id: string) => Promise<NamedRow | undefined>,
  ): Promise<Overview['busiest_vaults']> {
    const isSeen = holds(caller, action);
    const rows = await Promise.all(busy.map(({ subject }) => (isSeen ? find(subject) : undefined)));
    return busy.map(({ subject, successes, failures }, index) => {
      const row = rows[index];
      const isTheirs =
        row?.organization_id === caller.organizationId && allows(caller, action, row.vault_id ?? undefined);
      const name = isTheirs ? row.name : '';
      return { id: subject, name, reads: Number(successes) + Number(failures) };
    });
  }

  async function vault(id: string, { organizationId }: Caller): Promise<NamedRow | undefined> {
    const row = await store.resources.byId(organizationId, id);
    return row && stamps.resource.believe(row);
  }

  async function credential(id: string): Promise<NamedRow | undefined> {
    const row = await store.credentials.byId(id);
    return row && stamps.credential.believe(row);
  }

  async function readsOf(caller: Caller) {
    const given = vaultsAllowing(caller, 'logs:read');
    if (given?.length === 0) return noLog;
    await ledger.writeHourCounts();
    const { organizationId } = caller;
    const from = Math.floor(now() / hourLength) * hourLength - (hours - 1) * hourLength;
    const whole = given === null;
    const subjects = given ?? undefined;
    const vaults = { organizationId, from, kind: 'vault', subjects };
    const byHour = await store.overview.byHour(whole ? { organizationId, from, kind: 'all' } : vaults);
    const of = (kind: string) => ({ organizationId, from, kind });
    return {
      reads: everyHour(from, byHour),
      busiest_vaults: await named(caller, 'vaults:read', await store.overview.busiest(vaults, mostBusy), id =>
        vault(id, caller),
      ),
      // Keys and addresses are counted across all vaults, so callers with access to only some see neither.
      busiest_keys: whole
        ? await named(
            caller,
            'access-keys:read',
            await store.overview.busiest(of('access-key'), mostBusy),
            credential,
          )
        : [],
      failed_addresses: whole
        ? (await store.overview.mostFailures(of('address'), mostBusy)).map(({ subject, failures }) => ({
            ip_address: subject,
            failures: Number(failures),
          }))
        : [],
    };
  }

  async function expiringFor(caller: Caller): Promise<Overview['expiring']> {
    const { organizationId } = caller;
    const period = { from: now(), to: now() + ahead };
    const resources = await seenResources(store, caller, period, mostExpiring);
    const credentials = await seenCredentials(caller, kinds =>
      store.overview.expiringCredentials(organizationId, kinds, period, mostExpiring),
    );
    return [
      ...resources.map(row => ({ ...stamps.resource.believe(row), type: row.type })),
      ...credentials.map(row => ({ ...stamps.credential.believe(row), type: row.kind })),
    ]
      .sort((a, b) => a.expiration_date! - b.expiration_date!)
      .slice(0, mostExpiring)
      .map(row => ({ ...brief(row), expires_at: iso(row.expiration_date!) }));
  }

  async function unusedFor90Days(caller: Caller): Promise<Overview['unused_keys']> {
    const rows = await seenCredentials(caller, kinds =>
      store.overview.unusedSince(caller.organizationId, kinds, now() - unusedFor, mostExpiring),
    );
    return rows.map(stamps.credential.believe).map(row => ({
      ...brief({ ...row, type: row.kind }),
      last_used_at: isoOrNull(row.last_used_at),
    }));
  }

  /** Counts are shown only for resources that the caller may see. */
  async function countsFor(caller: Caller): Promise<Overview['counts']> {
    const found = readableTypes(caller, resourceTypes).map(async ({ types, vaults }) => {
      const counts = await store.overview.livingCounts(caller.organizationId, vaults);
      return types.map(type => [`${type}s`, counts.get(type) ?? 0] as const);
    });
    const none = { vaults: 0, secrets: 0, keys: 0, certificates: 0 };
    return { ...none, ...Object.fromEntries((await Promise.all(found)).flat()) };
  }

  /** The figure covers all vaults of the organization, so it requires access to all of them. */
  async function vaultsBehind(caller: Caller): Promise<number> {
    if (!allows(caller, 'vaults:read')) return 0;
    return store.keyring.vaultsBehind(caller.organizationId, parentMark(keyring.term));
  }

  async function webhooksFor(caller: Caller): Promise<Overview['webhooks']> {
    const seen = allows(caller, 'webhooks:read');
    return seen ? store.overview.webhookHealth(caller.organizationId) : noWebhooks;
  }

  async function planOf(permit: Reading): Promise<Overview['plan']> {
    const { caller } = permit;
    const { plan, rate_limit } = await organizations.get(permit);
    if (!allows(caller, 'vaults:read')) return { name: plan, limit: rate_limit, used: null };
    const used = await store.limits.taken(caller.organizationId, rateWindowAt(now()).start);
    return { name: plan, limit: rate_limit, used };
  }

  return {
    async overview(permit: Reading): Promise<Overview> {
      const { caller } = permit;
      return {
        ...(await readsOf(caller)),
        expiring: await expiringFor(caller),
        unused_keys: await unusedFor90Days(caller),
        webhooks: await webhooksFor(caller),
        counts: await countsFor(caller),
        plan: await planOf(permit),
      };
    },

    async about({ caller }: Reading): Promise<About> {
      await keyringSync.refresh();
      return {
        version: facts.version,
        engine: store.engine,
        replication: (await store.server?.replication()) ?? null,
        root_key_provider: keyringSync.rootKeyProvider(),
        keyring_term: keyring.term,
        keyring_rotated_at: isoOrNull(keyring.terms.at(-1)!.started),
        vault_keys_on_older_terms: await vaultsBehind(caller),
        deployment: keyring.deployment,
        log_public_key: keyring.logPublicKey,
        log_retention_days: facts.logRetentionDays,
        audit_retention_days: facts.auditRetentionDays,
        backups: facts.backups(),
      };
    },
  };
}

/** Of the resources that expire in a period, those that the caller may see. */
export async function seenResources(
  store: Store,
  { organizationId, ...grant }: Caller,
  period: Period,
  limit: number,
): Promise<AuditedResource[]> {
  const found = readableTypes(grant, resourceKinds).map(({ types, vaults }) =>
    store.overview.expiringResources(organizationId, types, vaults, period, limit),
  );
  return (await Promise.all(found)).flat();
}

/** Finds credentials of the kinds that the caller may see. */
export async function seenCredentials(
  caller: Caller,
  find: (kinds: readonly string[]) => Promise<AuditedCredential[]>,
): Promise<AuditedCredential[]> {
  const kinds = credentialsFor(caller);
  return kinds.length === 0 ? [] : find(kinds);
}

/** Credentials are not tied to vaults in general, so callers with access to only some vaults see none here. */
function credentialsFor(caller: Caller): string[] {
  const needs = {
    [credentialKinds.api]: 'api-keys:read',
    [credentialKinds.vault]: 'access-keys:read',
  } as const;
  return Object.entries(needs).flatMap(([kind, action]) => (allows(caller, action) ? kind : []));
}

/** The types that the caller may read, grouped by the vaults in which they may read them. */
function readableTypes<T extends ResourceType>(grant: Grant, types: readonly T[]) {
  const found = new Map<string, { readonly vaults: readonly string[] | null; readonly types: T[] }>();
  for (const type of types) {
    const vaults = vaultsAllowing(grant, actionOn(type, 'read'));
    if (vaults?.length === 0) continue;
    const alike = found.get(String(vaults)) ?? { vaults, types: [] };
    alike.types.push(type);
    found.set(String(vaults), alike);
  }
  return [...found.values()];
}

/** Includes hours in which nothing happened. */
function everyHour(
  from: number,
  rows: readonly { hour: number; successes: number; failures: number }[],
): Overview['reads'] {
  const found = new Map(rows.map(row => [Number(row.hour), row]));
  return Array.from({ length: hours }, (_, index) => {
    const hour = from + index * hourLength;
    const { successes = 0, failures = 0 } = found.get(hour) ?? {};
    return { at: iso(hour), success: Number(successes), failure: Number(failures) };
  });
}

type Brief = Pick<Overview['expiring'][number], 'id' | 'type' | 'name' | 'vault_id'>;

export function brief({ id, type, name, vault_id }: Brief): Brief {
  return { id, type, name, vault_id };
}
