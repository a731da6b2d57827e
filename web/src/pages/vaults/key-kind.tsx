/** The short form of a key's type (`EC P-256`, `RSA 3072`), and a badge that says which part of it is stored. */
import type { Key } from '../../api/types.ts';
import { Badge } from '../../ui/badge.tsx';

export function kindOf({ key_type, key_size, curve }: Pick<Key, 'key_type' | 'key_size' | 'curve'>): string {
  return curve ? `${key_type} ${curve}` : `${key_type} ${key_size}`;
}

export function KeyHolds({ of: { type, has_private_key, exportable } }: { of: Key }) {
  if (type === 'symmetric') return <Badge>symmetric, not exportable</Badge>;
  if (!has_private_key) return <Badge>public</Badge>;
  return <Badge>{exportable ? 'private' : 'private, not exportable'}</Badge>;
}
