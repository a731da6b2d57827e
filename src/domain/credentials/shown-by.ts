/** What a credential's restrictions leave for its holder to see. */
import type { Shown } from '../../access/policy.ts';
import type { Restrictions } from './credential.ts';

/** What an access key gives away, as policy sees it. */
export function shownBy({ kinds = null, names_only = false, may_use = false }: Restrictions): Shown {
  return { kinds, namesOnly: names_only, mayUse: may_use };
}
