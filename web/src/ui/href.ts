/** Where a resource is shown. Addresses contain only ids, never names or values. */

interface Placed {
  readonly id: string;
  readonly type: string;
  readonly vault_id: string | null;
}

/** A certificate among certificates, a key among keys; a vault by itself. */
export function hrefOf({ id, type, vault_id }: Placed): string {
  return type === 'vault' ? `/vaults/${id}` : `/vaults/${vault_id}/${type}s/${id}`;
}
