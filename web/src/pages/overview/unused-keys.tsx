/** Credentials that have not been used for 90 days, which could be revoked. */
import { Link } from 'wouter';
import type { Overview } from '../../api/types.ts';
import { Name } from '../../ui/name.tsx';
import { Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';

type Unused = Overview['unused_keys'][number];

export function UnusedKeys({ keys }: { keys: readonly Unused[] }) {
  return (
    <Section title="Unused for 90 days">
      {keys.length === 0 && (
        <p className="text-muted">No API key or access key has gone unused for 90 days.</p>
      )}
      <ul className="-mx-2 -my-1.5 flex flex-col empty:hidden">
        {keys.slice(0, 5).map(key => (
          <li key={key.id}>
            <Link href={placeOf(key)} className="row-link block px-2 py-1.5">
              <span className="block font-medium">
                <Name text={key.name} />
              </span>
              <span className="block text-xs text-muted">
                last used <Ago at={key.last_used_at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function placeOf({ type }: Unused): string {
  return type.startsWith('api') ? '/settings/api-keys' : '/access/keys';
}
