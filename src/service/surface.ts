/** The parts of the reading plane's HTTP surface, from an open context. */
import packageJson from '../../package.json' with { type: 'json' };
import type { ReadingDomain } from '../domain/reading.ts';
import { addressReader } from '../http/listener/request.ts';
import { oauthSurface } from '../http/surface/oauth-issuer.ts';
import type { ReadingSurfaceParts } from '../http/surface/surface-parts.ts';
import type { ServiceContext } from './context.ts';
import { connectionsOf } from './listener/listening.ts';
import { readinessOf } from './listener/readiness.ts';
import { addressesOf, oauthSettingsOf, siteReaderOf } from './listener/sign-on.ts';

interface Surroundings extends Pick<ReadingSurfaceParts, 'draining' | 'onError' | 'around'> {
  /** Collects the routes as they are registered. */
  readonly routes: string[];
}

/** Collects the domain, the addresses and the limits of the listener. */
export function surfaceOf(
  { config, tls, parts, management, uses, opened }: ServiceContext,
  domain: ReadingDomain,
  { routes, ...surroundings }: Surroundings,
): ReadingSurfaceParts {
  const isReady = readinessOf(opened.store, parts.report);
  const connections = connectionsOf(config, tls !== null);
  return {
    ...surroundings,
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
    encrypted: tls !== null,
    tls: tls?.current ?? null,
    clientCertificates: config['client-certificates'],
    timeouts: parts.timeouts,
    connections,
    storeReady: async () => (await isReady()) && management.isUp,
    proveData: challenge => opened.keyring.answerTo(challenge),
    addressOf: addressReader(config['behind-proxy'], connections.peerOf),
    addresses: addressesOf(config),
    oauth: oauthSurface(oauthSettingsOf(config, siteReaderOf(config, tls !== null, connections.peerOf))),
    version: packageJson.version,
    onRoute: ({ method, url }) => routes.push(...[method].flat().map(one => `${one} ${url}`)),
  };
}
