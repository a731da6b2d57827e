/** One identity: how it logs in, what it may read, its secret IDs, and why logins were refused. */
import { Pencil } from 'lucide-react';
import { useState } from 'react';
import { remove } from '../../api/client.ts';
import type { AuditLog, Identity } from '../../api/types.ts';
import { useList, useRecord, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { ItemPanel, PanelPart } from '../../shared/item-panel.tsx';
import { Restrictions } from '../../shared/restrictions.tsx';
import { VaultName } from '../../shared/vault-name.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Ago, Exact } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { IdentityForm } from './identity-form.tsx';
import { methodNames } from './method-names.ts';
import { SecretIds } from './secret-ids.tsx';

export function IdentityPanel({ id, onClose }: { id: string; onClose: () => void }) {
  const record = useRecord<Identity>('identities', id);
  const may = useMay();
  return (
    <ItemPanel record={record} onClose={onClose} kind="Identity">
      {identity => (
        <>
          {may('identities:write') && <Actions identity={identity} onClose={onClose} />}
          <PanelPart title="Details">
            <Facts facts={factsOf(identity)} />
          </PanelPart>
          {identity.method === 'secret_id' && <SecretIds identity={identity} />}
          {may('logs:read') && <Refusals id={identity.id} />}
        </>
      )}
    </ItemPanel>
  );
}

function factsOf(identity: Identity) {
  const { id, method, issuer, audience, subjects, claims, lifetime, vault_ids } = identity;
  const conditions = Object.entries(claims).map(([name, patterns]) => `${name}=${patterns.join(' or ')}`);
  const optional: (readonly [string, React.ReactNode, boolean])[] = [
    ['Issuer', <Mono key="issuer">{issuer}</Mono>, issuer !== null],
    ['Public keys', 'pasted', identity.jwks !== null],
    ['Audience', <Mono key="audience">{audience}</Mono>, audience !== null],
    ['Subjects', <Lines key="subjects" of={subjects ?? []} />, subjects !== null],
    ['Claims', <Lines key="claims" of={conditions} />, conditions.length > 0],
    ['Tokens', 'valid for one login each', identity.single_use],
    ['Expires', <Exact key="ends" at={identity.expiration_date ?? ''} />, identity.expiration_date !== null],
  ];
  return [
    ['ID', <Id key="id" id={id} />],
    ['Login method', methodNames[method]],
    ...optional.flatMap(([name, value, isThere]) => (isThere ? [[name, value] as const] : [])),
    ['Vaults', <Vaults key="vaults" ids={vault_ids} />],
    ['Restrictions', <Restrictions key="restrictions" of={identity} />],
    ['Access key lifetime', `${lifetime} seconds`],
    ['Last login', <Ago key="login" at={identity.last_login_at} />],
    ['Created', <Exact key="created" at={identity.created_at} />],
  ] as const;
}

function Id({ id }: { id: string }) {
  return (
    <span className="flex items-center gap-2">
      <Mono>{id}</Mono>
      <CopyButton text={id} label="Copy ID" />
    </span>
  );
}

function Lines({ of }: { of: readonly string[] }) {
  return of.map(line => (
    <span key={line} className="block">
      <Mono>{line}</Mono>
    </span>
  ));
}

function Vaults({ ids }: { ids: readonly string[] }) {
  return (
    <span className="flex flex-wrap gap-x-3">
      {ids.map(id => (
        <VaultName key={id} id={id} />
      ))}
    </span>
  );
}

function Actions({ identity, onClose }: { identity: Identity; onClose: () => void }) {
  const [editing, setEditing] = useState(false);
  const refresh = useRefresh();
  async function discard() {
    await remove(`/v1/identities/${identity.id}`);
    onClose();
    await refresh('identities', 'access-keys');
    note('Identity deleted');
  }
  return (
    <div className="flex flex-wrap gap-2">
      <Button size="small" onClick={() => setEditing(true)}>
        <Pencil className="size-4" aria-hidden /> Edit
      </Button>
      <ConfirmButton
        size="small"
        label="Delete"
        title={`Delete ${identity.name}?`}
        text="Its access keys and secret IDs stop working immediately. This can’t be undone."
        action="Delete"
        onConfirm={discard}
      />
      {editing && <IdentityForm identity={identity} onClose={() => setEditing(false)} />}
    </div>
  );
}

/** The reasons for refused logins, which are not reported to the machines. */
function Refusals({ id }: { id: string }) {
  const action = 'identity.login_refused';
  const list = useList<AuditLog>('audit-logs', { subject_id: id, action, limit: 10 }, { every: 5_000 });
  const found = list.data?.data ?? [];
  return (
    <PanelPart title="Refused logins">
      {list.isSuccess && found.length === 0 && <p className="text-muted">None.</p>}
      <ul className="flex flex-col gap-2">
        {found.map(({ id: entry, created_at, ip_address, details }) => (
          <li key={entry}>
            <span className="block break-words">{String(details.reason ?? '')}</span>
            <span className="block text-xs text-muted">
              <Ago at={created_at} /> from {ip_address}
            </span>
          </li>
        ))}
      </ul>
    </PanelPart>
  );
}
