/** The certificates of a vault, with what matters first: when they run out. */
import { Award, Plus } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import type { Certificate } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { useAddress } from '../../ui/address.ts';
import { TagList } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Expiry } from '../../ui/expiry.tsx';
import { Empty } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { CertificateForm } from './certificate-form.tsx';
import { CertificatePanel } from './certificate-panel.tsx';
import { ListBar } from './list-bar.tsx';

const columns: readonly Column<Certificate>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ id, vault_id, name }) => (
      <Link
        href={`/vaults/${vault_id}/certificates/${id}`}
        className="font-mono text-[13px] font-medium break-all hover:underline"
      >
        {name}
      </Link>
    ),
  },
  {
    id: 'subject',
    header: 'Subject',
    from: 'md',
    cell: ({ subject }) => <span className="break-words">{subject}</span>,
  },
  {
    id: 'issuer',
    header: 'Issuer',
    from: 'lg',
    cell: ({ issuer }) => <span className="break-words text-muted">{issuer}</span>,
  },
  { id: 'tags', header: 'Tags', from: 'lg', cell: ({ tags }) => <TagList tags={tags} /> },
  { id: 'expires', header: 'Expires', cell: ({ expires_at }) => <Expiry at={expires_at} /> },
];

export default function Certificates() {
  const { vault = '', item } = useParams<{ vault: string; item?: string }>();
  const address = useAddress();
  const may = useMay();
  const [, go] = useLocation();
  const [creating, setCreating] = useState(false);
  const filter = { q: address.get('q'), state: address.get('state') };
  const list = useList<Certificate>('certificates', { vault_id: vault, page: address.page, ...filter });
  const create = may('certificates:write') && (
    <Button look="primary" onClick={() => setCreating(true)}>
      <Plus className="size-4" aria-hidden /> New certificate
    </Button>
  );
  const isFiltered = filter.q !== '' || filter.state !== '';
  return (
    <>
      <ListBar what="certificates" action={create} />
      <div className="surface overflow-hidden">
        <DataTable
          label="Certificates"
          columns={columns}
          list={list}
          page={address.page}
          onPage={address.setPage}
          empty={
            <Empty
              icon={Award}
              title={isFiltered ? 'No certificate fits the filter' : 'No certificate in this vault yet'}
              action={!isFiltered && create}
            >
              {isFiltered ? '' : 'Import one as PEM or PKCS#12, or have a key of this vault sign its own.'}
            </Empty>
          }
        />
      </div>
      {creating && <CertificateForm vaultId={vault} onClose={() => setCreating(false)} />}
      {item && <CertificatePanel key={item} id={item} onClose={() => go(`/vaults/${vault}/certificates`)} />}
    </>
  );
}
