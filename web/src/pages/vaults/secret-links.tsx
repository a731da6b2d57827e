/** What a template refers to, and which templates contain a secret: in its panel, and before it is changed or deleted. */
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../../api/client.ts';
import type { Secret, SecretLinks } from '../../api/types.ts';
import { PanelPart } from '../../shared/item-panel.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Name } from '../../ui/name.tsx';

type Linked = SecretLinks['used_by'][number];

export function useLinks(secret: Pick<Secret, 'id' | 'version'>) {
  return useQuery({
    queryKey: ['secrets', 'references', secret.id, secret.version],
    queryFn: () => get<SecretLinks>(`/v1/secrets/${secret.id}/references`),
  });
}

/** Nothing if there are no references in either direction. */
export function SecretReferences({ secret }: { secret: Secret }) {
  const { data } = useLinks(secret);
  if (data === undefined) return null;
  return (
    <>
      {data.refers_to.length > 0 && (
        <PanelPart title="Refers to">
          <LinkedSecrets list={data.refers_to} secret={secret} />
        </PanelPart>
      )}
      {data.used_by.length > 0 && (
        <PanelPart title="Used by">
          <LinkedSecrets list={data.used_by} secret={secret} />
          {!data.complete && <p className="text-xs text-muted">There are more.</p>}
        </PanelPart>
      )}
    </>
  );
}

function LinkedSecrets({ list, secret }: { list: readonly Linked[]; secret: Secret }) {
  return (
    <ul className="flex flex-col gap-1.5">
      {list.map(one => (
        <li key={one.id} className="flex flex-wrap items-center gap-1.5">
          <Link
            href={`/vaults/${one.vault_id}/secrets/${one.id}`}
            className="font-mono text-xs break-all hover:underline"
          >
            <Name text={one.name} />
          </Link>
          {one.vault_id !== secret.vault_id && <Badge>{one.vault_name ?? 'another vault'}</Badge>}
          {!one.direct && <Badge>indirectly</Badge>}
          {!one.active && <Badge tone="bad">not active</Badge>}
        </li>
      ))}
    </ul>
  );
}

/** Says what a change or a deletion reaches; nothing if no template contains the secret. */
export function Reached({ secret, deleted = false }: { secret: Secret; deleted?: boolean }) {
  const { data } = useLinks(secret);
  if (data === undefined || data.used_by.length === 0) return null;
  const { used_by, complete } = data;
  const shown = used_by.slice(0, 5).map(one => nameOf(one, secret));
  const count = used_by.length - shown.length;
  const more = complete ? (count > 0 ? ` and ${count} more` : '') : ' and many more';
  const isOne = used_by.length === 1;
  const changes = isOne ? 'and changes with it' : 'and change with it';
  return (
    <p className="rounded-lg border bg-sunken px-4 py-3 text-sm" role="note">
      {complete ? used_by.length : 'More than 100'} {isOne ? 'template contains' : 'templates contain'} this
      secret {deleted ? 'and can then no longer be read' : changes}: {shown.join(', ')}
      {more}.
    </p>
  );
}

function nameOf({ name, vault_id, vault_name }: Linked, secret: Secret): string {
  return vault_id === secret.vault_id ? name : `${name} (${vault_name ?? 'another vault'})`;
}
