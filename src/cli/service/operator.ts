/** The operator at the command line, who can act for any organization with the root key. Their actions are recorded. */
import { userInfo } from 'node:os';
import { type Caller, trustedCaller } from '../../access/caller.ts';
import type { NewId } from '../../contract/id.ts';

export function operatorOf(organizationId: string, newId: NewId): Caller {
  const { username } = userInfo();
  return trustedCaller('operator', 'operator', username, organizationId, newId(), 'strongroom command');
}
