/**
 * The paths of short-lived credentials: `database/creds/{role}`, which creates one, and `sys/leases/…` with its older
 * forms below `sys/`. The id of a lease contains the path that created it, as Vault's clients expect, but only its last
 * segment identifies the lease.
 */
const operations = ['renew', 'revoke', 'lookup'] as const;
type LeaseOperation = (typeof operations)[number];

export type LeaseTarget =
  | { readonly of: 'lease'; readonly call: 'issue'; readonly role: string }
  /** The id in the path; empty if it is in the body. */
  | { readonly of: 'lease'; readonly call: LeaseOperation; readonly leaseId: string };

/** The engine that a role of any provider is reached at. */
export const databaseMount = 'database';
const creation = [databaseMount, 'creds'];

/** Null if it is another path. `isStore` says whether the path is one of a key/value store, which then comes first. */
export function roleIn(segments: readonly string[], isStore: boolean): LeaseTarget | null {
  const [first, second, ...rest] = segments;
  if (first !== creation[0] || second !== creation[1]) return null;
  const role = rest.join('/').replace(/\/$/, '');
  if (role === '' || (isStore && rest.length > 1)) return null;
  return { of: 'lease', call: 'issue', role };
}

/** `path` is what follows `sys/`. */
export function leaseOperationIn(path: string): LeaseTarget | null {
  const [, leases, verb, leaseId = ''] = /^(leases\/)?(renew|revoke|lookup)(?:\/(.+))?$/.exec(path) ?? [];
  // Looking up has no older form.
  if (verb === undefined || (verb === 'lookup' && leases === undefined)) return null;
  return { of: 'lease', call: verb as LeaseOperation, leaseId };
}

/** For the log, without the name of the issuer and the id of the lease. */
export function leaseRoute(target: LeaseTarget): string {
  if (target.call === 'issue') return `/vault/v1/${creation.join('/')}/{role}`;
  return `/vault/v1/sys/leases/${target.call}`;
}

export const leaseIdOf = (role: string, id: string): string => `${creation.join('/')}/${role}/${id}`;

/** What clients look up before they read: this engine creates credentials, and is no key/value store. */
export const databaseMountForm = (vaultId: string) => ({
  accessor: `database_${vaultId.slice(0, 8)}`,
  config: { default_lease_ttl: 0, force_no_cache: false, max_lease_ttl: 0 },
  description: '',
  external_entropy_access: false,
  local: false,
  options: null,
  path: `${databaseMount}/`,
  plugin_version: '',
  running_plugin_version: '',
  running_sha256: '',
  seal_wrap: false,
  type: databaseMount,
  uuid: vaultId,
});
