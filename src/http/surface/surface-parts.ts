/** The dependencies of the HTTP surfaces of the reading plane and the management plane. */
import type { NewId } from '../../contract/id.ts';
import type { Domain } from '../../domain/domain.ts';
import type { ReadingDomain, Uses } from '../../domain/reading.ts';
import type { SingleSignOn } from '../../domain/sign-in/single-sign-on.ts';
import type { AddressSettings } from '../../mcp/addresses.ts';
import type { Meter } from '../../metrics/meter.ts';
import type { ForwardAdmitted } from '../listener/admitted-request.ts';
import type { SiteOf } from '../listener/browser.ts';
import type { CountRequests } from '../listener/plan-limit.ts';
import type { AddressOf } from '../listener/request.ts';
import type { ListenerParts, Timeouts } from '../listener/server.ts';
import type { OAuthSurface } from './oauth-issuer.ts';

/** The parts that both surfaces need. */
export interface SurfaceParts {
  readonly now: () => number;
  readonly newId: NewId;
  /** The metrics of this plane. */
  readonly meter: Meter;
  readonly addressOf: AddressOf;
  /** Whether the service terminates TLS itself. */
  readonly encrypted: boolean;
  readonly timeouts?: Timeouts | undefined;
  readonly version: string;
  readonly draining: () => boolean;
  /** Called for every route when it is registered. */
  readonly onRoute?:
    | ((route: { readonly method: string | string[]; readonly url: string }) => void)
    | undefined;
  /** Reports an internal error to the operator's log. */
  readonly onError: (error: unknown, requestId: string) => void;
}

export interface ReadingSurfaceParts extends SurfaceParts, ListenerParts {
  readonly domain: ReadingDomain & Uses;
  readonly gateway: ForwardAdmitted;
  /** Whether the store currently answers and receives the changes of other replicas. */
  readonly storeReady: () => Promise<boolean>;
  /** Answers a challenge with a proof that only the keyring of this data can compute. */
  readonly proveData: (challenge: string) => string;
  /** The addresses under which this service is known. */
  readonly addresses: AddressSettings;
  /** Null if the operator did not turn it on. */
  readonly oauth: OAuthSurface | null;
}

export interface AppParts extends SurfaceParts {
  readonly domain: Domain;
  readonly countRequests: CountRequests;
  readonly siteOf: SiteOf;
  readonly singleSignOn: SingleSignOn | null;
  /** Null if the operator did not turn it on. */
  readonly oauth: OAuthSurface | null;
}
