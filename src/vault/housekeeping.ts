/** What nobody asks for but everybody expects: the trash is emptied after 30 days, and old counters go. */
import type { Caller } from '../access/caller.ts';
import type { ResourceType } from '../contract/resources.ts';
import type { Parts } from './parts.ts';
import type { Shelf } from './shelf.ts';
import { trashKept } from './trash.ts';

export interface Housekeeping {
  /** One small step; true where more may be left. */
  step(): Promise<boolean>;
}

const perStep = 50;
const windowsKept = 3_600;

export function housekeepingWith({ store, now, newId }: Parts, shelf: Shelf): Housekeeping {
  function service(organizationId: string): Caller {
    return {
      kind: 'operator',
      id: 'housekeeping',
      name: 'housekeeping',
      organizationId,
      role: 'owner',
      scopes: null,
      vaultIds: null,
      origin: { address: '', requestId: newId(), userAgent: '' },
    };
  }

  return {
    step: async () => {
      await store.limits.forget(Math.floor(now() / 1000) - windowsKept);
      const old = await store.resources.deletedBefore(now() - trashKept, perStep);
      for (const { organization_id, type, id } of old) {
        await shelf.remove(service(organization_id), type as ResourceType, id, true);
      }
      return old.length === perStep;
    },
  };
}
