/** What an access key is narrowed to, in few words. */
import type { AccessKey } from '../../api/types.ts';
import { Badge } from '../../ui/badge.tsx';

export function Narrowings({ of }: { of: AccessKey }) {
  const words = wordsOf(of);
  if (words.length === 0) return <span className="text-muted">the whole vault</span>;
  return (
    <span className="flex flex-wrap gap-1">
      {words.map(word => (
        <Badge key={word}>{word}</Badge>
      ))}
    </span>
  );
}

function wordsOf(key: AccessKey): string[] {
  const words: (string | false | undefined)[] = [
    key.kinds?.map(kind => `${kind}s`).join(', '),
    key.names !== null && (key.names.length > 2 ? `${key.names.length} name patterns` : key.names.join(', ')),
    key.names_only && 'names only',
    key.cidrs !== null && (key.cidrs.length > 2 ? `${key.cidrs.length} networks` : key.cidrs.join(', ')),
    key.max_uses !== null && `${key.uses} of ${key.max_uses} uses`,
    key.rate_limit !== null && `${key.rate_limit} a minute`,
  ];
  return words.filter(word => typeof word === 'string');
}
