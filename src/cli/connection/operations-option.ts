/** The flag that names operations with keys. */
import { type KeyOperation, keyOperations } from '../../contract/use-names.ts';
import { list, type Option } from '../../service/settings/options.ts';

export function operationsOption(help: string): Option<readonly KeyOperation[]> {
  return list(
    'OPERATION',
    part => keyOperations.some(one => one === part),
    `must be one or more of: ${keyOperations.join(', ')}`,
    help,
  ) as Option<readonly KeyOperation[]>;
}
