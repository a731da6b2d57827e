/** What an access key is to the vault endpoint, as its record says it. */
import type { Reader } from '../../access/caller.ts';
import type { CredentialRow } from '../../store/credentials.ts';
import type { Narrowing } from './authentication.ts';

export function readerOf(row: CredentialRow, narrowing: Narrowing): Reader {
  return {
    kind: 'access-key',
    id: row.id,
    name: row.name,
    organizationId: row.organization_id,
    vaultId: row.vault_id!,
    kinds: narrowing.kinds ?? null,
    names: narrowing.names ?? null,
    namesOnly: narrowing.names_only ?? false,
    mayUse: narrowing.may_use ?? false,
    cidrs: narrowing.cidrs ?? null,
    rateLimit: narrowing.rate_limit ?? null,
    maxUses: row.max_uses,
    expirationDate: row.expiration_date,
    countedAs: row.id,
    byOAuth: narrowing.grant !== undefined,
    view: viewOf(narrowing),
  };
}

/**
 * Of one that was created with another access key: it is another key, with its own end and its own number of uses;
 * everything else is its parent's.
 */
export function childReader({ id, name, maxUses, expirationDate }: Reader, parent: Reader): Reader {
  return { ...parent, id, name, maxUses, expirationDate };
}

function viewOf({ kinds = null, names = null, names_only = false }: Narrowing): string {
  return kinds === null && names === null && !names_only ? '' : JSON.stringify([kinds, names, names_only]);
}
