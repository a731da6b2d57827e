/** The parts of the HTTP surface that serves reads, on the main thread or in a reader. */
import packageJson from '../../../package.json' with { type: 'json' };
import type { ReadingDomain, Uses } from '../../domain/reading.ts';
import type { ForwardAdmitted } from '../../http/listener/admitted-request.ts';
import { addressReader } from '../../http/listener/request.ts';
import type { CertificatePair, Connections, Timeouts } from '../../http/listener/server.ts';
import { oauthSurface } from '../../http/surface/oauth-issuer.ts';
import type { ReadingSurfaceParts } from '../../http/surface/surface-parts.ts';
import { readinessOf } from '../listener/readiness.ts';
import { addressesOf, oauthSettingsOf, siteReaderOf } from '../listener/sign-on.ts';
import type { Opened } from '../opening/open-data.ts';
import type { ServeConfig } from '../settings/config.ts';
import type { Report } from '../settings/report.ts';

interface Surroundings extends Pick<ReadingSurfaceParts, 'draining' | 'onError' | 'around'> {
  readonly config: ServeConfig;
  readonly certificate: CertificatePair | null;
  readonly connections: Connections;
  readonly timeouts: Timeouts | undefined;
  readonly report: Report;
  readonly opened: Omit<Opened, 'accepted'>;
  readonly uses: Uses & { readonly gateway: ForwardAdmitted };
  readonly isManagementUp: () => boolean;
  /** Collects the routes as they are registered. */
  readonly routes: string[];
}

/** Collects the domain, the addresses and the limits of the listener. */
export function surfaceOf(domain: ReadingDomain, given: Surroundings): ReadingSurfaceParts {
  const { config, certificate, connections, uses, opened, routes } = given;
  const encrypted = certificate !== null;
  const isReady = readinessOf(opened.store, given.report);
  return {
    draining: given.draining,
    onError: given.onError,
    around: given.around,
    domain: {
      ...domain,
      vaultUses: uses.vaultUses,
      keyUses: uses.keyUses,
      leaseUses: uses.leaseUses,
      runUses: uses.runUses,
    },
    gateway: uses.gateway,
    now: opened.now,
    newId: opened.newId,
    meter: opened.meter,
    encrypted,
    tls: certificate,
    clientCertificates: config['client-certificates'],
    timeouts: given.timeouts,
    connections,
    storeReady: async () => (await isReady()) && given.isManagementUp(),
    proveData: challenge => opened.keyring.answerTo(challenge),
    addressOf: addressReader(config['behind-proxy'], connections.peerOf),
    addresses: addressesOf(config),
    oauth: oauthSurface(oauthSettingsOf(config, siteReaderOf(config, encrypted, connections.peerOf))),
    version: packageJson.version,
    onRoute: ({ method, url }) => routes.push(...[method].flat().map(one => `${one} ${url}`)),
  };
}

/** What reading, as an observer sees it, is: tracing around each request. Its code is loaded only if it is configured. */
export async function tracingOf(
  { tracing }: Pick<ServeConfig, 'tracing'>,
  { meter }: Pick<Opened, 'meter'>,
  report: Report,
) {
  if (tracing === null) return null;
  const { startTracing } = await import('../../tracing/tracing.ts');
  return startTracing({ settings: tracing, version: packageJson.version, meter, report });
}
