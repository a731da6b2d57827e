/** How the operator changes the stored keyring: in one unit with an entry in every organization's audit log. */
import type { Caller } from '../../access/caller.ts';
import type { Sealed } from '../../base/bytes.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import type { KeyringWrapper } from '../../keyring/stored-keyring.ts';
import { keyringTouch, storedKeyring } from '../kernel/keyring-sync.ts';
import type { Parts } from '../kernel/parts.ts';

export type Operator = (organizationId: string) => Caller;
type Change = Parameters<Parts['guard']['operate']>[2]['statements'];
type ChangeParts = Pick<Parts, 'store' | 'keyring' | 'guard' | 'keyringSync'> & {
  readonly wrapper: Pick<KeyringWrapper, 'unwrap'>;
};

export function keyringChangesWith({ store, keyring, guard, keyringSync, wrapper }: ChangeParts) {
  return {
    /** The keyring as it is stored now. */
    async load(): Promise<{ stored: Sealed; ring: Keyring }> {
      const stored = await storedKeyring(store);
      return { stored, ring: await wrapper.unwrap(stored) };
    },

    async tell(operator: Operator, verb: AuditAction, details: object, change: Change): Promise<void> {
      const organizations = (await store.organizations.all()).map(({ id }) => id);
      await guard.operate([operator(''), ...organizations.map(operator)], verb, {
        subject: { type: 'keyring', id: keyring.deployment, name: 'keyring' },
        details: { ...details },
        statements: change,
        touches: [keyringTouch],
      });
      await keyringSync.refresh();
    },
  };
}
