/** What the HTTP surfaces are built from: that of the reading plane, and that of the management plane. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { NewId } from '../../contract/id.ts';
import type { Domain } from '../../domain/domain.ts';
import type { ReadingDomain, Uses } from '../../domain/reading.ts';
import type { SingleSignOn } from '../../domain/sign-in/single-sign-on.ts';
import type { AddressSettings } from '../../mcp/addresses.ts';
import type { Meter } from '../../metrics/meter.ts';
import type { SiteOf } from '../listener/browser.ts';
import type { CountRequests } from '../listener/plan-limit.ts';
import type { AddressOf } from '../listener/request.ts';
import type { ListenerParts, Timeouts } from '../listener/server.ts';
import type { OAuthSurface } from './oauth-issuer.ts';

/** What both have. */
export interface SurfaceParts {
  readonly now: () => number;
  readonly newId: NewId;
  /** Where this plane counts. */
  readonly meter: Meter;
  readonly addressOf: AddressOf;
  /** Whether clients reach us over our own TLS. */
  readonly encrypted: boolean;
  readonly timeouts?: Timeouts | undefined;
  readonly version: string;
  readonly draining: () => boolean;
  /** Told of every route as it is registered. */
  readonly onRoute?:
    | ((route: { readonly method: string | string[]; readonly url: string }) => void)
    | undefined;
  /** For the operator's eyes: what went wrong inside. */
  readonly onError: (error: unknown, requestId: string) => void;
}

export interface ReadingSurfaceParts extends SurfaceParts, ListenerParts {
  readonly domain: ReadingDomain & Uses;
  /** Whether the store answers right now, and hears what other replicas change. */
  readonly storeReady: () => Promise<boolean>;
  /** What only the keyring of the data makes of a challenge. */
  readonly proveData: (challenge: string) => string;
  /** Under which addresses this service is known. */
  readonly addresses: AddressSettings;
  /** Null where the operator did not turn it on. */
  readonly oauth: OAuthSurface | null;
}

export interface AppParts extends SurfaceParts {
  readonly domain: Domain;
  readonly countRequests: CountRequests;
  readonly siteOf: SiteOf;
  readonly singleSignOn: SingleSignOn | null;
  /** Null where the operator did not turn it on. */
  readonly oauth: OAuthSurface | null;
}

/** Answers with a page. */
export type ServePage = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
