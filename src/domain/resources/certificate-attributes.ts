/** What is stored of a certificate beside its PEM, and how a certificate and its versions are shown. */
import type { Certificate, CertificateVersion } from '../../contract/resources.ts';
import { iso } from '../../contract/text.ts';
import { type CertificateFacts, expiryOf } from '../../material/certificate.ts';
import type { ResourceRow, VersionRow } from '../../store/records/resources.ts';
import { type Labelled, presentVersion } from './lookup.ts';

type CertificateAttributes = ReturnType<typeof attributesOf>;

export function attributesOf(facts: CertificateFacts, keyId: string | null) {
  return {
    key_id: keyId,
    subject: facts.subject,
    issuer: facts.issuer,
    sans: facts.sans,
    serial: facts.serial,
    fingerprint: facts.fingerprint,
    not_before: facts.notBefore.getTime(),
    public_pem: facts.publicPem,
  };
}

/** Of a certificate, or of one of its versions. */
export function certificateAttributes(row: Pick<ResourceRow, 'attributes'>): CertificateAttributes {
  return JSON.parse(row.attributes) as CertificateAttributes;
}

export function presentCertificate({ row, labels }: Labelled): Certificate {
  const { public_pem, not_before, sans, ...shown } = certificateAttributes(row);
  return {
    id: row.id,
    type: 'x509',
    name: row.name,
    vault_id: row.vault_id,
    ...shown,
    sans: [...sans],
    not_before: iso(not_before),
    expires_at: iso(row.expiration_date!),
    tags: labels.tags,
    version: row.version,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

export function presentCertificateVersion(
  version: VersionRow,
  row: ResourceRow,
  pem: string,
): CertificateVersion {
  const { serial, fingerprint, not_before } = certificateAttributes(version);
  return {
    ...presentVersion(version, row),
    serial,
    fingerprint,
    not_before: iso(not_before),
    expires_at: iso(expiryOf(pem).getTime()),
  };
}
