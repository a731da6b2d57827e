/** Deletes a vault after showing what it contains and which access keys and templates use it, and asking for its name. */
import { useQuery } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useLocation } from 'wouter';
import { get, query, remove } from '../../api/client.ts';
import type { AccessKey, List, Vault, VaultLinks } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { useRestore } from '../../shared/restore.ts';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { note } from '../../ui/toast.tsx';
import { useVaultCounts } from './vault-counts.tsx';

const month = 30 * 86_400_000;
const mostKeys = 100;

export function DeleteVault({ vault }: { vault: Vault }) {
  const [, go] = useLocation();
  const refresh = useRefresh();
  const restore = useRestore('vaults');
  async function discard() {
    await remove(`/v1/vaults/${vault.id}`);
    go('/vaults');
    await refresh('vaults', 'resources');
    note(`Vault “${vault.name}” deleted`, { undo: () => void restore(vault) });
  }
  return (
    <ConfirmButton
      label={<Trash2 className="size-4" aria-hidden />}
      name="Delete vault"
      title={`Delete “${vault.name}”?`}
      text={<Dependents vault={vault} />}
      action="Delete vault"
      typed={vault.name}
      onConfirm={discard}
    />
  );
}

function Dependents({ vault }: { vault: Vault }) {
  const may = useMay();
  const counts = useVaultCounts([vault.id]).get(vault.id);
  const keys = useQuery({
    queryKey: ['access-keys', 'of', vault.id],
    queryFn: () => get<List<AccessKey>>(`/v1/access-keys${query({ vault_id: vault.id, limit: mostKeys })}`),
    enabled: may('access-keys:read'),
  });
  const links = useQuery({
    queryKey: ['secrets', 'references', 'of', vault.id],
    queryFn: () => get<VaultLinks>(`/v1/vaults/${vault.id}/references`),
    enabled: may('secrets:read'),
  });
  const used = (keys.data?.data ?? []).filter(
    ({ last_used_at }) => last_used_at !== null && Date.now() - Date.parse(last_used_at) < month,
  );
  return (
    <div className="flex flex-col gap-3">
      <ul className="list-disc pl-5 text-ink">
        <li>{held(counts)}</li>
        {keys.data && (
          <li>
            {plural(used.length, 'access key')} used in the last 30 days
            {used.length > 0 && `: ${named(used)}`}
          </li>
        )}
        {links.data && links.data.used_by.length > 0 && (
          <li>
            {plural(links.data.used_by.length, 'template')}
            {!links.data.complete && ' or more'} in other vaults can’t be read without it:{' '}
            {named(
              links.data.used_by.map(one => ({ name: `${one.name} (${one.vault_name ?? 'another vault'})` })),
            )}
          </li>
        )}
      </ul>
      <p>
        Everything in it becomes unreadable immediately, and its access keys stop working. It can be restored
        from the trash for 30 days.
      </p>
    </div>
  );
}

const mostNamed = 5;

function named(keys: readonly Pick<AccessKey, 'name'>[]): string {
  const names = keys.slice(0, mostNamed).map(({ name }) => name);
  return keys.length > mostNamed ? `${names.join(', ')} and others` : names.join(', ');
}

type Counts = ReturnType<ReturnType<typeof useVaultCounts>['get']>;

function held(counts: Counts): string {
  if (counts === undefined) return 'Counting its contents…';
  const parts = [
    plural(counts.secrets ?? 0, 'secret'),
    plural(counts.keys ?? 0, 'key'),
    plural(counts.certificates ?? 0, 'certificate'),
  ];
  return parts.join(', ');
}

function plural(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}
