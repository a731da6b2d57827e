/** Facts about this service: its version and database, its backups, and its encryption keys. */
import type { AboutRecord } from '../../api/types.ts';
import { useOptional } from '../../api/use.ts';
import { useSession } from '../../session/session.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Section } from '../../ui/page.tsx';
import { Exact } from '../../ui/time.tsx';
import { Backups } from './backups.tsx';

const engines: Readonly<Record<string, string>> = { sqlite: 'SQLite, embedded', postgres: 'PostgreSQL' };

const replications: Readonly<Record<string, string>> = {
  none: 'None known to PostgreSQL',
  asynchronous: 'Asynchronous: a failover can lose acknowledged changes and log entries',
  synchronous: 'Synchronous',
};

export default function About() {
  const { state } = useSession();
  const { data } = useOptional<AboutRecord>('/v1/about');
  return (
    <>
      <Section beside title="This service">
        <Facts
          facts={[
            ['Version', state.version],
            ['Address', <Mono key="address">{state.base_url}</Mono>],
            ...(data
              ? ([
                  ['Engine', engines[data.engine] ?? data.engine],
                  ...(data.replication === null
                    ? []
                    : ([['Replication', replications[data.replication] ?? data.replication]] as const)),
                  ['Deployment', <Mono key="deployment">{data.deployment}</Mono>],
                ] as const)
              : []),
          ]}
        />
        <p className="mt-4 text-muted">
          The API is documented at{' '}
          <a href="/docs" className="text-accent-strong underline underline-offset-4">
            /docs
          </a>
          .
        </p>
      </Section>
      {data && <Backups backups={data.backups} />}
      {data && (
        <Section
          beside
          title="Encryption keys"
          intro="The root key encrypts the keyring; the current keyring version encrypts each vault’s own key. An operator can rotate both from the command line while the service runs."
        >
          <Facts
            facts={[
              ['Root key', data.root_key_provider],
              ['Keyring version', data.keyring_term],
              ['Last rotated', lastRotated(data)],
              ['Vault keys', vaultKeys(data)],
            ]}
          />
          <h3 className="mt-5 mb-2 font-medium">Log public key</h3>
          <CodeBlock text={data.log_public_key.trim()} label="log public key" />
          <p className="mt-3 text-xs text-muted">
            With this public key and a checkpoint, anyone can verify the logs offline.
          </p>
        </Section>
      )}
    </>
  );
}

function lastRotated({ keyring_rotated_at: at }: AboutRecord) {
  return at === null ? 'Never' : <Exact at={at} />;
}

function vaultKeys({ keyring_term: term, vault_keys_on_older_terms: older }: AboutRecord): string {
  if (older === 0) return `All under keyring version ${term}`;
  return `${older} still under an older version: run “strongroom keyring rotate” to move ${older === 1 ? 'it' : 'them'}`;
}
