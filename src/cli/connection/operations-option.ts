/** The flag that names operations with keys. */
import { type GrantedOperation, grantedOperations } from '../../contract/use-names.ts';
import { list, type Option } from '../../service/settings/options.ts';

export function operationsOption(help: string): Option<readonly GrantedOperation[]> {
  return list(
    'OPERATION',
    part => grantedOperations.some(one => one === part),
    `must be one or more of: ${grantedOperations.join(', ')}`,
    help,
  ) as Option<readonly GrantedOperation[]>;
}
