/** What happens in a vault: its reads over time, which access keys read which secrets, and how old the secrets are. */
import { useParams } from 'wouter';
import { ReadsChart } from '../../charts/reads-chart.tsx';
import { Section } from '../../ui/page.tsx';
import { AgeMap } from './age-map.tsx';
import { ReadersMatrix } from './readers-matrix.tsx';

export default function VaultActivity() {
  const { vault = '' } = useParams<{ vault: string }>();
  return (
    <>
      <Section
        title="Reads"
        intro="Requests for this vault, by outcome. Click a bar, or drag, to see its entries."
      >
        <ReadsChart vaultId={vault} />
      </Section>
      <Section title="Who reads what" intro="Which access keys were given which values, and how often.">
        <ReadersMatrix vaultId={vault} />
      </Section>
      <Section title="Age" intro="When each secret was last changed: the older, the darker.">
        <AgeMap vaultId={vault} />
      </Section>
    </>
  );
}
