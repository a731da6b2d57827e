/** The operator at the command line: with the root key they can act for any organization, and are recorded. */
import { userInfo } from 'node:os';
import { type Caller, trustedCaller } from '../../access/caller.ts';
import type { NewId } from '../../contract/id.ts';

export function operatorOf(organizationId: string, newId: NewId): Caller {
  const { username } = userInfo();
  return trustedCaller('operator', 'operator', username, organizationId, newId(), 'strongroom command');
}
