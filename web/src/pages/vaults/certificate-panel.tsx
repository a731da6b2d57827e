/** One certificate: its subject, issuer and validity, its PEM, which is not secret, its renewal and its versions. */
import { Pencil, RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Certificate } from '../../api/types.ts';
import { useRecord } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { DeleteItem, ItemPanel, PanelPart } from '../../shared/item-panel.tsx';
import { useAddress } from '../../ui/address.ts';
import { TagList } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Expiry } from '../../ui/expiry.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Exact } from '../../ui/time.tsx';
import { CertificateForm } from './certificate-form.tsx';
import { CertificateVersions } from './certificate-versions.tsx';
import { RenewalForm } from './renewal-form.tsx';
import { IdWithCopy } from './secret-panel.tsx';
import { SigningRequest } from './signing-request.tsx';

export function CertificatePanel({ id, onClose }: { id: string; onClose: () => void }) {
  const record = useRecord<Certificate>('certificates', id);
  const may = useMay();
  return (
    <ItemPanel record={record} onClose={onClose} kind="Certificate">
      {certificate => (
        <>
          {may('certificates:write') && <CertificateActions item={certificate} onClose={onClose} />}
          <PanelPart title="Details">
            <CertificateFacts certificate={certificate} />
          </PanelPart>
          {certificate.pem && (
            <PanelPart title="PEM">
              <CodeBlock text={certificate.pem} label="certificate" />
            </PanelPart>
          )}
          <CertificateVersions certificate={certificate} />
        </>
      )}
    </ItemPanel>
  );
}

function CertificateActions({ item, onClose }: { item: Certificate; onClose: () => void }) {
  const [form, setForm] = useState<'edit' | 'renew' | null>(
    useAddress().get('renew') === '' ? null : 'renew',
  );
  const may = useMay();
  const { id, subject, sans, vault_id } = item;
  return (
    <div className="flex flex-wrap gap-2">
      <Button size="small" onClick={() => setForm('renew')}>
        <RefreshCw className="size-4" aria-hidden /> Renew
      </Button>
      <Button size="small" onClick={() => setForm('edit')}>
        <Pencil className="size-4" aria-hidden /> Edit
      </Button>
      {item.key_id && may('keys:read') && (
        <SigningRequest collection="certificates" id={id} subject={subject} sans={sans} />
      )}
      <DeleteItem item={item} collection="certificates" onDone={onClose} />
      {form === 'edit' && <CertificateForm vaultId={vault_id} item={item} onClose={() => setForm(null)} />}
      {form === 'renew' && <RenewalForm item={item} onClose={() => setForm(null)} />}
    </div>
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
