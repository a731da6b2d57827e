/** A summary of an access key's restrictions, or of those on the access keys that an identity receives. */
import type { AccessKey } from '../api/types.ts';
import { Badge } from '../ui/badge.tsx';

type Restricted = Pick<
  AccessKey,
  'kinds' | 'names' | 'names_only' | 'may_use' | 'operations' | 'cidrs' | 'max_uses' | 'rate_limit'
> & {
  readonly uses?: number;
};

export function Restrictions({ of }: { of: Restricted }) {
  const words = wordsOf(of);
  if (words.length === 0) return <span className="text-muted">none</span>;
  return (
    <span className="flex flex-wrap gap-1">
      {words.map(word => (
        <Badge key={word}>{word}</Badge>
      ))}
    </span>
  );
}

function wordsOf(key: Restricted): string[] {
  const words: (string | false | undefined)[] = [
    key.kinds?.map(kind => `${kind}s`).join(', '),
    key.names !== null && (key.names.length > 2 ? `${key.names.length} name patterns` : key.names.join(', ')),
    key.names_only && 'names only',
    key.may_use && 'can use',
    key.operations !== null && `keys: ${key.operations.join(', ')}`,
    key.cidrs !== null && (key.cidrs.length > 2 ? `${key.cidrs.length} networks` : key.cidrs.join(', ')),
    key.max_uses !== null &&
      (key.uses === undefined ? `${key.max_uses} uses` : `${key.uses} of ${key.max_uses} uses`),
    key.rate_limit !== null && `${key.rate_limit} per minute`,
  ];
  return words.filter(word => typeof word === 'string');
}
