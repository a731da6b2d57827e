/** Who has read the current version of a secret, and when last: access keys, and members and API keys that revealed it. */
import { useQuery } from '@tanstack/react-query';
import { History } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { get, query } from '../../api/client.ts';
import type { SecretReaders as Answer, Secret } from '../../api/types.ts';
import { PanelPart } from '../../shared/item-panel.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loading, Wrong } from '../../ui/page.tsx';
import { Rows } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';

type Reader = Answer['data'][number];

export function SecretReaders({ secret }: { secret: Secret }) {
  const [asked, setAsked] = useState(false);
  const readers = useQuery({
    queryKey: ['secrets', 'readers', secret.id, secret.version],
    queryFn: () => get<Answer>(`/v1/secrets/${secret.id}/readers${query({ version: secret.version })}`),
    enabled: asked,
  });
  return (
    <PanelPart
      title={`Who has read version ${secret.version}`}
      actions={
        !asked && (
          <Button size="small" onClick={() => setAsked(true)}>
            <History className="size-4" aria-hidden /> Show who has read it
          </Button>
        )
      }
    >
      {asked && readers.isPending && <Loading lines={2} />}
      {readers.error && <Wrong error={readers.error} retry={() => void readers.refetch()} />}
      {readers.data && <Found secret={secret} readers={readers.data} />}
    </PanelPart>
  );
}

function Found({ secret, readers: { data, since, complete } }: { secret: Secret; readers: Answer }) {
  if (data.length === 0) return <p className="text-muted">Not read yet.</p>;
  return (
    <>
      <div className="rounded-lg border">
        <Rows
          label="Readers"
          rows={data}
          columns={[
            {
              id: 'name',
              header: 'Who',
              cell: reader => <ReaderName reader={reader} vaultId={secret.vault_id} since={since} />,
            },
            { id: 'reads', header: 'Reads', cell: ({ reads }) => reads.toLocaleString('en') },
            { id: 'last', header: 'Last', cell: ({ last_at }) => <Ago at={last_at} /> },
          ]}
        />
      </div>
      {!complete && <p className="text-xs text-muted">Only the newest log entries were searched.</p>}
    </>
  );
}

function ReaderName({ reader, vaultId, since }: { reader: Reader; vaultId: string; since: string }) {
  const { id, kind, name, via } = reader;
  const href =
    kind === 'access-key'
      ? `/logs/requests${query({ access_key_id: id, vault_id: vaultId, from: since })}`
      : `/logs/audit${query({ actor_id: id, action: 'secret.revealed' })}`;
  return (
    <span className="flex flex-wrap items-center gap-1.5">
      <Link href={href} className="break-words hover:underline">
        {name || `${id.slice(0, 8)}…`}
      </Link>
      <Badge>{kind.replaceAll(/[-_]/g, ' ')}</Badge>
      {via.length > 0 && (
        <span className="text-xs text-muted">through {via.map(one => one.name).join(', ')}</span>
      )}
    </span>
  );
}
