/** One certificate: its subject, issuer and validity, and its PEM, which is not secret. */
import { Pencil } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Certificate } from '../../api/types.ts';
import { useRecord } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { DeleteItem, ItemPanel, PanelPart } from '../../shared/item-panel.tsx';
import { TagList } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Expiry } from '../../ui/expiry.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Exact } from '../../ui/time.tsx';
import { CertificateForm } from './certificate-form.tsx';
import { IdWithCopy } from './secret-panel.tsx';

export function CertificatePanel({ id, onClose }: { id: string; onClose: () => void }) {
  const record = useRecord<Certificate>('certificates', id);
  const [editing, setEditing] = useState(false);
  const may = useMay();
  return (
    <ItemPanel record={record} onClose={onClose} kind="Certificate">
      {certificate => (
        <>
          {may('certificates:write') && (
            <div className="flex flex-wrap gap-2">
              <Button size="small" onClick={() => setEditing(true)}>
                <Pencil className="size-4" aria-hidden /> Edit
              </Button>
              <DeleteItem item={certificate} collection="certificates" onDone={onClose} />
            </div>
          )}
          <PanelPart title="Details">
            <CertificateFacts certificate={certificate} />
          </PanelPart>
          {certificate.pem && (
            <PanelPart title="PEM">
              <CodeBlock text={certificate.pem} label="certificate" />
            </PanelPart>
          )}
          {editing && (
            <CertificateForm
              vaultId={certificate.vault_id}
              item={certificate}
              onClose={() => setEditing(false)}
            />
          )}
        </>
      )}
    </ItemPanel>
  );
}

function CertificateFacts({ certificate: one }: { certificate: Certificate }) {
  return (
    <Facts
      facts={[
        ['Expires', <Expiry key="expires" at={one.expires_at} />],
        ['Valid from', <Exact key="from" at={one.not_before} />],
        ['Valid until', <Exact key="until" at={one.expires_at} />],
        ['Subject', one.subject],
        ['Issuer', one.issuer],
        ['Alternative names', one.sans.length === 0 ? 'none' : one.sans.join(', ')],
        ['Serial number', <Mono key="serial">{one.serial}</Mono>],
        ['SHA-256 fingerprint', <Mono key="fingerprint">{one.fingerprint}</Mono>],
        [
          'Private key',
          one.key_id ? (
            <Link
              key="key"
              href={`/vaults/${one.vault_id}/keys/${one.key_id}`}
              className="underline underline-offset-4"
            >
              stored in this vault
            </Link>
          ) : (
            'not stored here'
          ),
        ],
        ['Version', one.version],
        ['Tags', Object.keys(one.tags).length === 0 ? 'none' : <TagList key="tags" tags={one.tags} />],
        ['Updated', <Exact key="updated" at={one.updated_at} />],
        ['ID', <IdWithCopy key="id" id={one.id} />],
      ]}
    />
  );
}
