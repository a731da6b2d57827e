/** Credentials that have not been used for 90 days: candidates for revocation. */
import { Link } from 'wouter';
import type { Overview } from '../../api/types.ts';
import { Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';

type Unused = Overview['unused_keys'][number];

export function UnusedKeys({ keys }: { keys: readonly Unused[] }) {
  return (
    <Section
      title="Unused for 90 days"
      intro={keys.length === 0 ? undefined : 'Revoke the keys that are no longer needed.'}
    >
      {keys.length === 0 && (
        <p className="text-muted">No API key or access key has gone unused for 90 days.</p>
      )}
      <ul className="flex flex-col gap-2">
        {keys.slice(0, 6).map(key => (
          <li key={key.id} className="flex items-baseline justify-between gap-4">
            <Link href={placeOf(key)} className="min-w-0 truncate font-medium hover:underline">
              {key.name}
            </Link>
            <span className="shrink-0 text-[13px] text-muted">
              last used <Ago at={key.last_used_at} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function placeOf({ type }: Unused): string {
  return type.startsWith('api') ? '/settings/api-keys' : '/access/keys';
}
