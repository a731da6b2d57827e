/**
 * The overview: who has been reading, what is about to expire, what nobody uses. Made of counters and of short,
 * bounded queries, so that it takes as long with a million log entries as with ten. Each part is there for
 * those who may see it, and empty for others.
 */
import type { Caller } from '../access/caller.ts';
import { type Action, holds } from '../access/policy.ts';
import type { About, Overview } from '../contract/overview.ts';
import { iso, isoOrNull } from '../contract/text.ts';
import { parentMark } from '../keyring/envelope.ts';
import { type HourCounts, hourLength } from '../logs/hours.ts';
import type { Busy } from '../store/overview.ts';
import { credentialKinds } from './authenticate.ts';
import type { Organizations } from './organizations.ts';
import type { Parts } from './parts.ts';

const day = 24 * hourLength;
const hours = 24;
const ahead = 90 * day;
const unusedFor = 90 * day;
const mostExpiring = 50;
const mostBusy = 10;
const planWindow = 60;

const noLog = { reads: [], busiest_vaults: [], busiest_keys: [], failed_addresses: [] };
const noWebhooks = { total: 0, failing: 0, disabled: 0 };

export interface Facts {
  readonly version: string;
  readonly logRetentionDays: number;
}

export interface Overviews {
  overview(caller: Caller): Promise<Overview>;
  about(caller: Caller): Promise<About>;
}

export interface OverviewParts extends Parts {
  readonly organizations: Organizations;
  readonly hourCounts: HourCounts;
  readonly facts: Facts;
}

export function overviewsWith(parts: OverviewParts): Overviews {
  const { store, keyring, terms, guard, now, organizations, hourCounts, facts } = parts;

  async function readsOf(caller: Caller) {
    if (!holds(caller, 'logs:read') || caller.vaultIds?.length === 0) return noLog;
    await hourCounts.write();
    const { organizationId } = caller;
    const from = Math.floor(now() / hourLength) * hourLength - (hours - 1) * hourLength;
    const whole = caller.vaultIds === null;
    const subjects = caller.vaultIds ?? undefined;
    const vaults = { organizationId, from, kind: 'vault', subjects };
    const byHour = await store.overview.byHour(whole ? { organizationId, from, kind: 'all' } : vaults);
    const of = (kind: string) => ({ organizationId, from, kind });
    return {
      reads: everyHour(from, byHour),
      busiest_vaults: (await store.overview.busiest(vaults, 'resources', mostBusy)).map(presentBusy),
      // Keys and addresses are counted over all vaults, so who is given some of them sees neither.
      busiest_keys: whole
        ? (await store.overview.busiest(of('access-key'), 'credentials', mostBusy)).map(presentBusy)
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
    const { organizationId, vaultIds } = caller;
    const period = { from: now(), to: now() + ahead };
    const types = allowed(caller, {
      secret: 'secrets:read',
      key: 'keys:read',
      certificate: 'certificates:read',
    });
    const resources =
      types.length === 0 || vaultIds?.length === 0
        ? []
        : await store.overview.expiringResources(organizationId, types, vaultIds, period, mostExpiring);
    const kinds = credentialsFor(caller);
    const credentials =
      kinds.length === 0
        ? []
        : await store.overview.expiringCredentials(organizationId, kinds, period, mostExpiring);
    return [...resources, ...credentials]
      .sort((a, b) => a.expires_at - b.expires_at)
      .slice(0, mostExpiring)
      .map(item => ({ ...item, expires_at: iso(item.expires_at) }));
  }

  async function unusedFor90Days(caller: Caller): Promise<Overview['unused_keys']> {
    const kinds = credentialsFor(caller);
    if (kinds.length === 0) return [];
    const rows = await store.overview.unusedSince(
      caller.organizationId,
      kinds,
      now() - unusedFor,
      mostExpiring,
    );
    return rows.map(row => ({ ...row, last_used_at: isoOrNull(row.last_used_at) }));
  }

  async function countsFor({ organizationId, vaultIds }: Caller): Promise<Overview['counts']> {
    const counts =
      vaultIds?.length === 0 ? new Map() : await store.overview.livingCounts(organizationId, vaultIds);
    const of = (type: string): number => counts.get(type) ?? 0;
    const vaults = vaultIds === null ? of('vault') : vaultIds.length;
    return { vaults, secrets: of('secret'), keys: of('key'), certificates: of('certificate') };
  }

  async function webhooksFor(caller: Caller): Promise<Overview['webhooks']> {
    const seen = caller.vaultIds === null && holds(caller, 'webhooks:read');
    return seen ? store.overview.webhookHealth(caller.organizationId) : noWebhooks;
  }

  async function planOf(caller: Caller): Promise<Overview['plan']> {
    const { plan, rate_limit } = await organizations.get(caller);
    const seconds = Math.floor(now() / 1000);
    const used = await store.overview.used(caller.organizationId, seconds - (seconds % planWindow));
    return { name: plan, limit: rate_limit, used };
  }

  return {
    async overview(caller) {
      await guard.admit(caller, 'organization:read');
      return {
        ...(await readsOf(caller)),
        expiring: await expiringFor(caller),
        unused_keys: await unusedFor90Days(caller),
        webhooks: await webhooksFor(caller),
        counts: await countsFor(caller),
        plan: await planOf(caller),
      };
    },

    async about(caller) {
      await guard.admit(caller, 'organization:read');
      await terms.refresh();
      return {
        version: facts.version,
        engine: store.engine,
        root_key_provider: terms.rootKeyProvider(),
        keyring_term: keyring.term,
        keyring_rotated_at: isoOrNull(keyring.terms.at(-1)!.started),
        vault_keys_on_older_terms: await store.terms.vaultsBehind(
          caller.organizationId,
          parentMark(keyring.term),
        ),
        deployment: keyring.deployment,
        log_public_key: keyring.logPublicKey,
        log_retention_days: facts.logRetentionDays,
      };
    },
  };
}

/** Credentials belong to no vault in general, so who is given some vaults sees none of them here. */
function credentialsFor(caller: Caller): string[] {
  if (caller.vaultIds !== null) return [];
  return allowed(caller, {
    [credentialKinds.api]: 'api-keys:read',
    [credentialKinds.vault]: 'access-keys:read',
  });
}

function allowed(caller: Caller, needs: Readonly<Record<string, Action>>): string[] {
  return Object.keys(needs).filter(name => holds(caller, needs[name]!));
}

/** Hours in which nothing happened are part of the picture. */
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

function presentBusy({ subject, name, successes, failures }: Busy) {
  return { id: subject, name: name ?? '', reads: Number(successes) + Number(failures) };
}
