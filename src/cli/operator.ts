/** The operator at the command line: whoever holds the root key acts for any organization, and is written down. */
import { userInfo } from 'node:os';
import type { Caller } from '../access/caller.ts';
import type { NewId } from '../contract/id.ts';

export function operatorOf(organizationId: string, newId: NewId): Caller {
  return {
    kind: 'operator',
    id: 'operator',
    name: userInfo().username,
    organizationId,
    role: 'owner',
    scopes: null,
    vaultIds: null,
    origin: { address: '', requestId: newId(), userAgent: 'strongroom command' },
  };
}
