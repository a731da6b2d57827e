/** Where a resource is shown. Addresses hold ids alone: names and values stay out of them. */
import type { GenericResource } from '../api/types.ts';

const tabs = { secret: 'secrets', key: 'keys', certificate: 'certificates' } as const;

export function hrefOf({ id, type, vault_id }: Pick<GenericResource, 'id' | 'type' | 'vault_id'>): string {
  return type === 'vault' ? `/vaults/${id}` : `/vaults/${vault_id}/${tabs[type]}/${id}`;
}
