/** The command lines where the person is signed in, with buttons to sign them out. */
import { useQuery } from '@tanstack/react-query';
import { get, remove } from '../../api/client.ts';
import type { LoginKey } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { Badge } from '../../ui/badge.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Mono } from '../../ui/facts.tsx';
import { Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';

const kinds: Readonly<Record<LoginKey['created'][number]['type'], string>> = {
  'api-key': 'API key',
  'access-key': 'access key',
  'public-token': 'public token',
  'secret-id': 'secret ID',
  identity: 'identity',
};

export function CommandLines() {
  const found = useQuery({
    queryKey: ['command-lines'],
    queryFn: () => get<{ data: LoginKey[] }>('/auth/device/keys'),
  });
  const keys = found.data?.data ?? [];
  return (
    <Section
      beside
      title="Command lines"
      intro="Where you signed in with strongroom login. Changing your password signs all of them out, and what they created stops working."
    >
      {keys.length === 0 ? (
        <p className="text-muted">
          None. Run <Mono>strongroom login</Mono> in a terminal.
        </p>
      ) : (
        <ul className="divide-y rounded-lg border">
          {keys.map(key => (
            <CommandLineRow key={key.id} of={key} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function CommandLineRow({ of }: { of: LoginKey }) {
  const { id, name, role, expiration_date, last_used_at, created } = of;
  const refresh = useRefresh();
  async function end() {
    await remove(`/auth/device/keys/${id}`);
    await refresh('command-lines', 'api-keys', 'access-keys');
    note('Command line signed out');
  }
  return (
    <li className="flex flex-wrap items-center justify-between gap-3 px-4 py-2.5">
      <span className="min-w-0">
        <span className="flex flex-wrap items-center gap-2 font-medium break-words">
          {name} <Badge>{role}</Badge>
        </span>
        <span className="block text-xs text-muted">
          last used <Ago at={last_used_at} />, expires <Ago at={expiration_date} />
        </span>
        {created.length > 0 && (
          <span className="block text-xs text-muted break-words">
            created {created.map(one => `${kinds[one.type]} “${one.name}”`).join(', ')}
          </span>
        )}
      </span>
      <ConfirmButton
        look="quiet"
        size="small"
        label="Sign out"
        name={`Sign out ${name}`}
        title={`Sign out “${name}”?`}
        text="Its API key is revoked immediately, and everything it created stops working."
        action="Sign out"
        onConfirm={end}
      />
    </li>
  );
}
