/**
 * What stands between clients and the planes of a service: one reader on the main thread, or several in threads of their
 * own, for which the main thread only accepts connections.
 */
import type { Server as TlsServer } from 'node:https';
import { promisify } from 'node:util';
import { readingDomainWith } from '../domain/reading.ts';
import { lateAnswers } from '../http/client-errors.ts';
import type { CertificatePair } from '../http/listener/server.ts';
import { buildReadingApp } from '../http/reading-app.ts';
import { unavailableWith } from '../http/unavailable.ts';
import type { OtherLedger } from '../logs/ledger.ts';
import { requestsByPath } from '../metrics/requests.ts';
import type { ServiceContext } from './context.ts';
import { Acceptor } from './listener/acceptor.ts';
import { connectionsOf, type Listener } from './listener/listening.ts';
import type { ReadingSide } from './planes/management.ts';
import type { Readers } from './planes/readers.ts';
import { surfaceOf, tracingOf } from './planes/reading-surface.ts';

interface Surroundings {
  readonly draining: () => boolean;
  readonly onError: (error: unknown, requestId?: string) => void;
}

export interface Front extends Pick<ReadingSide, 'refuse' | 'onLate'> {
  readonly domain: ReturnType<typeof readingDomainWith>;
  readonly listener: Listener;
  /** The routes served here, known once the listener is open. */
  readonly routes: readonly string[];
  /** Called once the management plane answers. */
  begin(): Promise<void>;
  openConnections(): Promise<number>;
  useCertificate(pair: CertificatePair): void;
  /** Finishes requests in progress; connections that remain are cut after this many milliseconds. */
  drain(longest: number): Promise<void>;
  /** Called when nothing uses the plane of uses any more. */
  close(): Promise<void>;
}

export function frontOf(context: ServiceContext, surroundings: Surroundings): Promise<Front> {
  const { readers } = context;
  return readers === null ? readingHere(context, surroundings) : readingInThreads(context, readers);
}

async function readingHere(context: ServiceContext, { draining, onError }: Surroundings): Promise<Front> {
  const { config, tls, parts, management, uses, opened } = context;
  const { tellFailed } = management.plane;
  const domain = readingDomainWith({ ...opened, other: { ledger: uses, tellFailed } });
  uses.begin({
    data: context.usesData,
    identify: ({ token, vaultId, sender }) =>
      vaultId === null
        ? domain.authenticate.accessKeyAnywhere(token, sender)
        : domain.authenticate.accessKey(token, vaultId, sender),
    refuse: domain.vaultReads.refuse,
  });
  const routes: string[] = [];
  const tracing = await tracingOf(config, opened, parts.report);
  const surface = surfaceOf(domain, {
    ...{ config, opened, uses, routes, draining, onError },
    certificate: tls?.current ?? null,
    connections: connectionsOf(config, tls !== null),
    timeouts: parts.timeouts,
    report: parts.report,
    isManagementUp: () => management.isUp,
    around: tracing?.around,
  });
  const app = buildReadingApp(surface, management.forward);
  const countRefused = requestsByPath(opened.meter);
  const answerUnavailable = unavailableWith(surface);
  return {
    domain,
    listener: app,
    routes,
    refuse: (request, response) => {
      countRefused(request.url!, 503, 0);
      answerUnavailable(request, response);
    },
    onLate: lateAnswers(surface),
    // Reports a fault to the operator without waiting for a probe.
    begin: async () => void surface.storeReady(),
    openConnections: promisify(app.server.getConnections.bind(app.server)),
    useCertificate: pair => (app.server as TlsServer).setSecureContext(pair),
    drain: async longest => {
      const cut = setTimeout(() => app.server.closeAllConnections(), longest);
      await app.close();
      clearTimeout(cut);
      await tracing?.stop();
    },
    close: async () => {},
  };
}

async function readingInThreads(context: ServiceContext, readers: Readers): Promise<Front> {
  const { config, tls, management, uses, opened, loads, readerData } = context;
  const { tellFailed } = management.plane;
  const domain = readingDomainWith({ ...opened, other: { ledger: together(uses, readers), tellFailed } });
  // The readers identify the callers, and give their orders directly.
  uses.begin({ data: context.usesData, identify: nobodyHere, refuse: nobodyHere });
  const listener = new Acceptor({
    connections: connectionsOf(config, tls !== null),
    openConnections: () => readers.openConnections,
    deal: (socket, leave) => readers.deal(socket, leave),
  });
  return {
    domain,
    listener,
    get routes() {
      return readers.routes;
    },
    refuse: () => {},
    onLate: () => {},
    begin: () => readers.begin(readerData, loads),
    openConnections: async () => readers.openConnections,
    useCertificate: pair => readers.useCertificate(pair),
    drain: async longest => {
      await listener.close();
      await readers.drain(longest);
    },
    close: () => readers.stop(),
  };
}

/** No request is answered on the main thread. */
function nobodyHere(): never {
  throw new Error('the readers identify callers');
}

function together(...ledgers: readonly OtherLedger[]): OtherLedger {
  return {
    settle: async () => void (await Promise.all(ledgers.map(one => one.settle()))),
    writeHourCounts: async () => void (await Promise.all(ledgers.map(one => one.writeHourCounts()))),
  };
}
