/** The list of a vault's certificates. */
import { Award } from 'lucide-react';
import { useLocation, useParams } from 'wouter';
import type { Certificate } from '../../api/types.ts';
import { Collection } from '../../shared/collection.tsx';
import { nameColumn, tagsColumn } from '../../ui/columns.tsx';
import { Expiry } from '../../ui/expiry.tsx';
import type { Column } from '../../ui/table.tsx';
import { CertificateForm } from './certificate-form.tsx';
import { CertificatePanel } from './certificate-panel.tsx';
import { ListBar, resourceFilters } from './list-bar.tsx';

const columns: readonly Column<Certificate>[] = [
  nameColumn('certificates'),
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
  tagsColumn,
  { id: 'expires', header: 'Expires', sort: 'expires', cell: ({ expires_at }) => <Expiry at={expires_at} /> },
];

export default function Certificates() {
  const { vault = '', item } = useParams<{ vault: string; item?: string }>();
  const [, go] = useLocation();
  return (
    <>
      <Collection<Certificate>
        collection="certificates"
        label="Certificates"
        columns={columns}
        within={{ vault_id: vault }}
        filters={resourceFilters}
        arranged
        bar={action => <ListBar what="certificates" action={action} />}
        create={{
          scope: 'certificates:write',
          label: 'New certificate',
          form: close => <CertificateForm vaultId={vault} onClose={close} />,
        }}
        empty={{
          icon: Award,
          title: 'No certificates in this vault yet',
          hint: 'Import one as PEM or PKCS#12, or create a self-signed one with a key in this vault.',
          filtered: 'No certificates match the filter',
        }}
      />
      {item && <CertificatePanel key={item} id={item} onClose={() => go(`/vaults/${vault}/certificates`)} />}
    </>
  );
}
