/** What the HTTP surface is built from. */
import type { NewId } from '../contract/id.ts';
import type { AddressSettings } from '../mcp/addresses.ts';
import type { SingleSignOn } from '../vault/accounts/single-sign-on.ts';
import type { Domain } from '../vault/domain.ts';
import type { SiteOf } from './browser.ts';
import type { CountRequests } from './plan-limit.ts';
import type { AddressOf } from './request.ts';
import type { CertificatePair, Timeouts } from './server.ts';

export interface AppParts {
  readonly domain: Domain;
  readonly countRequests: CountRequests;
  /** Whether the store answers right now, and hears what other replicas change. */
  readonly storeReady: () => Promise<boolean>;
  readonly now: () => number;
  readonly newId: NewId;
  readonly addressOf: AddressOf;
  readonly siteOf: SiteOf;
  readonly singleSignOn: SingleSignOn | null;
  /** Under which addresses this service is known. */
  readonly addresses: AddressSettings;
  readonly version: string;
  readonly tls: CertificatePair | null;
  readonly draining: () => boolean;
  /** Told of every route as it is registered. */
  readonly onRoute?: (route: { readonly method: string | string[]; readonly url: string }) => void;
  readonly timeouts?: Timeouts;
  /** For the operator's eyes: what went wrong inside. */
  readonly onError: (error: unknown, requestId: string) => void;
}
