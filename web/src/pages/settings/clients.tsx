/** The MCP clients that the person gave access to a vault, with buttons to revoke it. */
import { useQuery } from '@tanstack/react-query';
import { ApiError, get, remove } from '../../api/client.ts';
import type { OAuthGrant } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { VaultName } from '../../shared/vault-name.tsx';
import { Badge } from '../../ui/badge.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';

export function Clients() {
  const found = useQuery({
    queryKey: ['oauth-grants'],
    queryFn: () => get<{ data: OAuthGrant[] }>('/auth/oauth/grants'),
  });
  // The list doesn't exist if the operator has not enabled this feature.
  if (found.error instanceof ApiError && found.error.status === 404) return null;
  const grants = found.data?.data ?? [];
  return (
    <Section
      beside
      title="Clients"
      intro="Programs that you gave access to a vault. Changing your password revokes their access."
    >
      {grants.length === 0 ? (
        <p className="text-muted">None.</p>
      ) : (
        <ul className="divide-y rounded-lg border">
          {grants.map(grant => (
            <ClientRow key={grant.id} of={grant} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function ClientRow({
  of: { id, client, vault_id, scopes, last_used_at, expiration_date },
}: {
  of: OAuthGrant;
}) {
  const refresh = useRefresh();
  async function end() {
    await remove(`/auth/oauth/grants/${id}`);
    await refresh('oauth-grants', 'access-keys');
    note('Access revoked');
  }
  return (
    <li className="flex flex-wrap items-center justify-between gap-3 px-4 py-2.5">
      <span className="min-w-0">
        <span className="flex flex-wrap items-center gap-2 font-medium break-words">
          {client.name}
          {scopes.map(scope => (
            <Badge key={scope}>{scope}</Badge>
          ))}
        </span>
        <span className="block text-xs text-muted">
          <VaultName id={vault_id} />, last used <Ago at={last_used_at} />, expires{' '}
          <Ago at={expiration_date} />
        </span>
      </span>
      <ConfirmButton
        look="quiet"
        size="small"
        label="Revoke"
        name={`Revoke ${client.name}`}
        title={`Revoke “${client.name}”?`}
        text="Its access key is revoked immediately."
        action="Revoke"
        onConfirm={end}
      />
    </li>
  );
}
