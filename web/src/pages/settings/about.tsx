/** What this service is and how it keeps its keys. */
import { useOptional } from '../../api/use.ts';
import { useSession } from '../../session/session.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Section } from '../../ui/page.tsx';

interface AboutFacts {
  readonly version: string;
  readonly engine: string;
  readonly root_key_provider: string;
  readonly keyring_term: number;
  readonly deployment: string;
  readonly log_public_key: string;
}

const engines: Readonly<Record<string, string>> = { sqlite: 'SQLite, embedded', postgres: 'PostgreSQL' };

export default function About() {
  const { state } = useSession();
  const { data } = useOptional<AboutFacts>('/v1/about');
  return (
    <>
      <Section title="This service">
        <Facts
          facts={[
            ['Version', state.version],
            ['Address', <Mono key="address">{state.base_url}</Mono>],
            ...(data
              ? ([
                  ['Engine', engines[data.engine] ?? data.engine],
                  ['Deployment', <Mono key="deployment">{data.deployment}</Mono>],
                ] as const)
              : []),
          ]}
        />
        <p className="mt-4 text-muted">
          The API is described at{' '}
          <a href="/docs" className="text-accent-strong underline underline-offset-4">
            /docs
          </a>
          .
        </p>
      </Section>
      {data && (
        <Section
          title="Keys at rest"
          intro="The root key wraps the keyring; the keyring’s current term wraps each vault’s key. An operator rotates both on the command line, while the service runs."
        >
          <Facts
            facts={[
              ['Root key', data.root_key_provider],
              ['Keyring term', data.keyring_term],
              [
                'Log key (public)',
                <span key="log" className="flex items-start gap-1">
                  <Mono>{data.log_public_key}</Mono>
                  <CopyButton text={data.log_public_key} label="Copy the log’s public key" />
                </span>,
              ],
            ]}
          />
          <p className="mt-3 text-[13px] text-muted">
            With the log key and a checkpoint anyone can verify the audit log offline.
          </p>
        </Section>
      )}
    </>
  );
}
