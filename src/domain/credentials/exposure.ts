/**
 * Checks what a change newly exposes to existing access keys, including those that identities will still be issued:
 * by renaming, enabling or restoring, by dates, and by rolling back to an earlier value. The holder of such a key,
 * perhaps the person making the change, could then read it. So the change requires the permission to read the value,
 * as creating the key did. A change that exposes nothing new to such keys requires only the permission to write, and
 * so does a value that the writer provides.
 */
import {
  type Reader,
  type ResourceKind,
  readerSeesKind,
  readerSeesName,
  resourceKinds,
} from '../../access/caller.ts';
import { type Action, allows, readsValue } from '../../access/policy.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import { stateAt } from '../resources/lifecycle.ts';
import type { CheckExposure } from '../resources/subject.ts';
import { credentialKinds, credentialOf, isUsable, type Restrictions, shownBy } from './credential.ts';

type View = Pick<Reader, 'kinds' | 'names' | 'namesOnly' | 'mayUse' | 'operations'>;

export function checkExposureWith({ store, stamps, guard, now }: Parts): CheckExposure {
  async function viewsOf({ organization_id, vault_id }: ResourceRow): Promise<View[]> {
    const views = [
      ...(await keyViews(organization_id, vault_id)),
      ...(await identityViews(organization_id, vault_id)),
    ];
    return views.filter(view => !view.namesOnly || view.mayUse || view.operations !== null);
  }

  async function keyViews(organizationId: string, vaultId: string): Promise<View[]> {
    const rows = await store.credentials.ofVault(organizationId, credentialKinds.vault, vaultId);
    return rows
      .map(row => credentialOf(stamps.credential.believe(row)))
      .flatMap(({ row, reader }) => (isUsable(row, now()) ? reader! : []));
  }

  async function identityViews(organizationId: string, vaultId: string): Promise<View[]> {
    const rows = await store.identities.ofVault(organizationId, vaultId);
    return rows.map(row => {
      const narrowing = JSON.parse(stamps.identity.believe(row).narrowing) as Restrictions;
      const { operations = null, ...shown } = shownBy(narrowing);
      return { ...shown, operations, names: narrowing.names ? [narrowing.names] : [] };
    });
  }

  /** Whether it could already be read at every time at which it can be read after the change. */
  function couldBeRead(before: ResourceRow, after: ResourceRow): boolean {
    const state = stateAt(before, now());
    const isLater = (after.activation_date ?? 0) >= before.activation_date!;
    return state === 'active' || (state === 'not-active' && isLater);
  }

  /** Whether templates contain it, whose readers could then read it. */
  async function isReferredTo({ id, type }: ResourceRow): Promise<boolean> {
    if (type === 'vault') return store.references.hasReferrersInto(id);
    return type === 'secret' && store.references.hasReferrers(id);
  }

  return async (caller, before, after, value) => {
    const isVault = before.type === 'vault';
    const kinds = isVault ? resourceKinds : [before.type as ResourceKind];
    const isHeld = (kind: ResourceKind) =>
      gained(kind, true).every(action => allows(caller, action, before.vault_id));
    const isOver = ['disabled', 'deleted', 'expired'].includes(stateAt(after, now()));
    const isShown = value === 'new' || (value === 'same' && couldBeRead(before, after));
    const isSame = isShown && (isVault || after.name === before.name);
    if (isSame || isOver || kinds.every(isHeld)) return;
    const isAnew = (view: View) =>
      isVault || (readerSeesName(view, after.name) && !(isShown && readerSeesName(view, before.name)));
    const views = (await viewsOf(before)).filter(isAnew);
    const isReferred = !isShown && (await isReferredTo(before));
    const shown = kinds.filter(
      kind => (isReferred && kind === 'secret') || views.some(view => readerSeesKind(view, kind)),
    );
    await guard.mayShow(
      caller,
      shown.flatMap(kind =>
        gained(
          kind,
          views.some(view => operates(view)),
        ),
      ),
      [before.vault_id],
      { because: 'Existing access keys could then read what you may not read yourself' },
    );
  };
}

const operates = ({ operations }: View): boolean => operations !== null;

/** What the holder of an access key gains: reading the value and, for some keys, operations with it. */
function gained(kind: ResourceKind, isOperated: boolean): Action[] {
  return kind === 'key' && isOperated ? [readsValue.key, 'keys:use'] : [readsValue[kind]];
}
