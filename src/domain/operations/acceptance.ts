/**
 * Records what an operator accepts when they restore a backup, or start the service although the log contradicts it:
 * that a backup was restored, or that the clock was wrong before. The entry is in every organization's audit log.
 */
import { trustedCaller } from '../../access/caller.ts';
import type { Parts } from '../kernel/parts.ts';

export interface Acceptance {
  readonly verb: 'log.restore_accepted' | 'log.clock_accepted' | 'backup.restored';
  readonly details: Readonly<Record<string, unknown>>;
}

export function acceptanceWith({ store, keyring, guard, newId }: Parts) {
  const operator = (organizationId: string) =>
    trustedCaller('operator', 'operator', 'serve', organizationId, newId());

  return async ({ verb, details }: Acceptance): Promise<void> => {
    const organizations = (await store.organizations.all()).map(({ id }) => operator(id));
    await guard.operate([operator(''), ...organizations], verb, {
      subject: { type: 'log', id: keyring.deployment, name: 'log' },
      details,
      statements: [],
      touches: [],
    });
  };
}
