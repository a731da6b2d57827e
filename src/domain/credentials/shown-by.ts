/** What the holder of a credential can see under its restrictions. */
import type { Shown } from '../../access/policy.ts';
import type { Restrictions } from './credential.ts';

/** What an access key shows, as the policy describes it. */
export function shownBy({ kinds = null, names_only = false, may_use = false }: Restrictions): Shown {
  return { kinds, namesOnly: names_only, mayUse: may_use };
}
