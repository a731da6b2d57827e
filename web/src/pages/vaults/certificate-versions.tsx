/** The versions of a certificate, with the dates of each, and the return to an earlier one. */
import type { Certificate, CertificateVersion } from '../../api/types.ts';
import { useMay } from '../../session/session.tsx';
import { PanelPart } from '../../shared/item-panel.tsx';
import { Badge } from '../../ui/badge.tsx';
import { dayOf } from '../../ui/time.tsx';
import { Rollback } from './rollback.tsx';
import { useVersions, VersionList } from './version-list.tsx';

export function CertificateVersions({ certificate }: { certificate: Certificate }) {
  const may = useMay();
  const versions = useVersions<CertificateVersion>('certificates', certificate.id, certificate.version);
  const actions = ({ current, version, expires_at }: CertificateVersion) => {
    if (current) return <Badge tone="accent">current</Badge>;
    if (Date.parse(expires_at) <= Date.now()) return <Badge tone="neutral">expired</Badge>;
    if (!may('certificates:write')) return null;
    const beside =
      certificate.key_id === null
        ? ''
        : ' If its private key has changed since then, the key is rolled back too.';
    return (
      <Rollback
        collection="certificates"
        item={certificate}
        version={version}
        what="certificate"
        beside={beside}
      />
    );
  };
  return (
    <PanelPart title="Versions">
      <VersionList
        list={versions}
        details={({ not_before, expires_at, serial }) => (
          <span className="block break-all">
            {dayOf(not_before)} to {dayOf(expires_at)}, serial number {serial}
          </span>
        )}
        actions={actions}
      />
    </PanelPart>
  );
}
