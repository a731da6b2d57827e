/**
 * Restriction keys: the start of the chains of restricted access keys. A restriction key is derived from the access
 * key while that is available, and stored sealed with the key of its vault, bound to the record and to the digest of
 * that token. The database by itself reveals nothing that opens anything, and each token has a different restriction
 * key.
 */
import { restrictionKeyOf } from '../../access/restricted-token.ts';
import type { Sealed } from '../../base/bytes.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { Parts } from '../kernel/parts.ts';
import { type OpenVault, type SealingParts, sealingWith } from '../resources/sealing.ts';

export type RestrictionKeyParts = SealingParts & Pick<Parts, 'store'>;

type Keyed = Pick<CredentialRow, 'id' | 'organization_id' | 'vault_id' | 'digest'>;

export type RestrictionKeys = ReturnType<typeof restrictionKeysWith>;

export function restrictionKeysWith(parts: RestrictionKeyParts) {
  const { store, stamps } = parts;
  const { openVaultRow } = sealingWith(parts);

  async function vaultOf({ organization_id, vault_id }: Keyed): Promise<OpenVault | null> {
    const row = vault_id === null ? undefined : await store.resources.byId(organization_id, vault_id);
    return row === undefined ? null : openVaultRow(stamps.resource.believe(row));
  }

  /** The same for a restriction key that was derived before. */
  async function seal(row: Keyed, restrictionKey: Uint8Array): Promise<Sealed | null> {
    return (await vaultOf(row))?.sealer.seal(placeOf(row), restrictionKey) ?? null;
  }

  return {
    seal,
    /** The sealed restriction key of a token; null if there is no vault to open. */
    sealed: (row: Keyed, token: string): Promise<Sealed | null> => seal(row, restrictionKeyOf(token)),
    /** Null if none is stored. */
    open: async (row: CredentialRow): Promise<Uint8Array | null> => {
      const { narrowing_key: sealed } = row;
      const vault = sealed === null ? null : await vaultOf(row);
      return vault === null ? null : vault.sealer.open(placeOf(row), sealed!);
    },
  };
}

function placeOf({ id, digest }: Keyed) {
  const field = `narrowing-key ${Buffer.from(digest).toString('base64url')}`;
  return { type: 'credential', resource: id, field, version: 0 };
}
