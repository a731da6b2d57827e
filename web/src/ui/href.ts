/** The addresses of resources. They contain only ids, never names or values. */

interface Placed {
  readonly id: string;
  readonly type: string;
  readonly vault_id: string | null;
}

/** Secrets, keys and certificates are shown within their vault. */
export function hrefOf({ id, type, vault_id }: Placed): string {
  return type === 'vault' ? `/vaults/${id}` : `/vaults/${vault_id}/${type}s/${id}`;
}
