/** The type of a key in brief: `EC P-256`, `RSA 3072`. */
import type { Key } from '../../api/types.ts';

export function kindOf({ key_type, key_size, curve }: Pick<Key, 'key_type' | 'key_size' | 'curve'>): string {
  return curve ? `${key_type} ${curve}` : `${key_type} ${key_size}`;
}
