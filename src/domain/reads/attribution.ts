/**
 * Decides in whose log a refused request is recorded: that of the organization whose vault was requested, if it
 * exists; otherwise that of the organization whose credential was used, valid or not. The response shows none of
 * this, and the steps are the same whether or not the vault exists.
 */
import type { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import type { RefusalReason } from '../../contract/refusals.ts';
import type { KeyNarrowing } from '../../contract/restrictions.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Store } from '../../store/store.ts';
import { type Authenticator, type Owner, Refused } from '../credentials/authentication.ts';
import type { RequestFacts } from './vault-request.ts';

interface Attribution {
  readonly organizationId: string | null;
  readonly vaultId: string | null;
  readonly credentialId: string | null;
  readonly narrowing: KeyNarrowing | null;
  /** Replaces the actual reason where that would disclose a credential that belongs elsewhere. */
  readonly reason: RefusalReason | null;
}

type VaultPlace = Pick<Attribution, 'organizationId' | 'vaultId'>;

export function attributionWith(store: Store, authenticate: Authenticator) {
  async function vaultNamed({ vaultId, keyId }: RequestFacts): Promise<VaultPlace | null> {
    if (vaultId !== null) return isId(vaultId) ? placeOf(await store.resources.vault(vaultId)) : null;
    return keyId !== null && isId(keyId) ? placeOf(await store.resources.key(keyId)) : null;
  }

  function ownerShown({ token, sender }: RequestFacts, failure: Failure): Promise<Owner | null> {
    if (failure instanceof Refused) return Promise.resolve(failure.owner);
    return authenticate.ownerOf(token, sender);
  }

  return async (request: RequestFacts, failure: Failure): Promise<Attribution> => {
    const named = await vaultNamed(request);
    const shown = await ownerShown(request, failure);
    if (named !== null) {
      const its = shown?.vaultId === named.vaultId ? shown : null;
      return { ...named, ...credentialIn(its), reason: reasonFor(named, shown, failure) };
    }
    if (shown === null) return { organizationId: null, vaultId: null, ...credentialIn(null), reason: null };
    // The named vault doesn't exist, and the credential's own vault was not requested.
    const vaultId = request.vaultId === null ? shown.vaultId : null;
    return { organizationId: shown.organizationId, vaultId, ...credentialIn(shown), reason: null };
  };
}

function credentialIn(shown: Owner | null): Pick<Attribution, 'credentialId' | 'narrowing'> {
  return { credentialId: shown?.id ?? null, narrowing: shown?.narrowing ?? null };
}

/** A vault's log says that a credential is not its own, and not that other organizations' ones exist. */
function reasonFor(named: VaultPlace, shown: Owner | null, failure: Failure): RefusalReason | null {
  if (!(failure instanceof Refused) || failure.code !== 'UNAUTHORIZED') return null;
  if (shown === null || shown.vaultId === named.vaultId) return null;
  if (shown.organizationId !== named.organizationId) return 'unknown_credential';
  return failure.because === 'wrong_kind' ? null : 'wrong_vault';
}

function placeOf(row: ResourceRow | undefined): VaultPlace | null {
  if (row === undefined) return null;
  return { organizationId: row.organization_id, vaultId: row.type === 'vault' ? row.id : row.vault_id };
}
