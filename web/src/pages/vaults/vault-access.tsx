/** A vault's access keys, and how to use them. */
import { useParams } from 'wouter';
import { useSession } from '../../session/session.tsx';
import { AccessKeys } from '../../shared/access-keys.tsx';
import { TryLines } from '../../shared/try-lines.tsx';
import { Section } from '../../ui/page.tsx';

export default function VaultAccess() {
  const { vault = '' } = useParams<{ vault: string }>();
  const { state } = useSession();
  return (
    <>
      <AccessKeys vaultId={vault} />
      <Section
        title="How to read this vault"
        intro="Set STRONGROOM_ACCESS_KEY to an access key of this vault, or replace the variable with the key."
      >
        <TryLines connection={{ baseUrl: state.base_url, vaultId: vault }} />
      </Section>
    </>
  );
}
