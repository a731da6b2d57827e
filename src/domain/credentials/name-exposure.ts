/**
 * A name decides which narrowed access keys see what bears it, those that an identity is yet to be given included. So a
 * new name can show a value to whoever holds such a key, the one who renames perhaps: that takes the permission to read
 * the value, as making the key did. A name that no such key sees anew is anybody's to give who may write.
 */
import { type Reader, type ResourceKind, readerSeesKind, readerSeesName } from '../../access/caller.ts';
import { allows, readsValue } from '../../access/policy.ts';
import type { ResourceRow } from '../../store/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import type { CheckName } from '../resources/records.ts';
import { credentialKinds, credentialOf, isUsable, type Narrowing } from './credential.ts';

type View = Pick<Reader, 'kinds' | 'names' | 'namesOnly' | 'mayUse'>;

export function checkNameWith({ store, stamps, guard, now }: Parts): CheckName {
  async function isSeenAnew(kind: ResourceKind, before: ResourceRow, name: string): Promise<boolean> {
    const { organization_id, vault_id } = before;
    const views = [
      ...(await keyViews(organization_id, vault_id)),
      ...(await identityViews(organization_id, vault_id)),
    ];
    return views
      .filter(view => (!view.namesOnly || view.mayUse) && readerSeesKind(view, kind))
      .some(view => readerSeesName(view, name) && !readerSeesName(view, before.name));
  }

  async function keyViews(organizationId: string, vaultId: string): Promise<View[]> {
    const rows = await store.credentials.ofVault(organizationId, credentialKinds.vault, vaultId);
    return rows
      .map(row => credentialOf(stamps.credential.believe(row)))
      .flatMap(({ row, reader }) => (isUsable(row, now()) ? reader! : []));
  }

  async function identityViews(organizationId: string, vaultId: string): Promise<View[]> {
    const rows = await store.identities.ofVault(organizationId, vaultId);
    return rows.map(row => viewIn(JSON.parse(stamps.identity.believe(row).narrowing) as Narrowing));
  }

  return async (caller, before, name) => {
    if (before.type === 'vault' || name === undefined || name === before.name) return;
    const kind = before.type as ResourceKind;
    const needed = readsValue[kind];
    if (allows(caller, needed, before.vault_id)) return;
    if (await isSeenAnew(kind, before, name)) await guard.mayShow(caller, [needed], [before.vault_id]);
  };
}

function viewIn({ kinds = null, names = null, names_only = false, may_use = false }: Narrowing): View {
  return { kinds, names: names === null ? [] : [names], namesOnly: names_only, mayUse: may_use };
}
