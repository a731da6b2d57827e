/**
 * A reader: one of several threads that answer vault reads, tool calls and probes, each with its own domain over the
 * same data, its own caches, and its own chains in the log. The main thread accepts connections and gives each to one
 * of them. Requests for other planes go to these directly.
 */
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import { Chores } from '../../base/chores.ts';
import { giveBackSpareMemory } from '../../base/spare-memory.ts';
import { readingDomainWith } from '../../domain/reading.ts';
import { lateAnswers } from '../../http/client-errors.ts';
import type { CertificatePair } from '../../http/listener/server.ts';
import { buildReadingApp } from '../../http/reading-app.ts';
import { unavailableWith } from '../../http/unavailable.ts';
import type { Ledger } from '../../logs/ledger.ts';
import { requestsByPath } from '../../metrics/requests.ts';
import { connectionsOf } from '../listener/listening.ts';
import { readerGauges } from './gauges.ts';
import type { ForReaders, ReaderData } from './messages.ts';
import { openInPlane } from './plane-data.ts';
import { type BegunPlane, planeSide, type ToReading } from './plane-side.ts';
import { ReaderConnections } from './reader-connections.ts';
import { type Connect, ManagementLink, UsesLink } from './reader-links.ts';
import { surfaceOf, tracingOf } from './reading-surface.ts';
import { newsIn, type SharedNews } from './shared-news.ts';

interface Made extends BegunPlane<readonly string[]> {
  readonly ledger: Ledger;
  readonly connections: ReaderConnections;
  useCertificate(pair: CertificatePair): void;
  drain(): Promise<void>;
}

type Main = ToReading<ForReaders>;
type Opened = Awaited<ReturnType<typeof openInPlane>>;

const noteUsesEvery = 10_000;
/** So that a reader without requests does not miss what is published. */
const catchUpEvery = 1_000;

export function readerPlane(port: MessagePort): void {
  planeSide<ReaderData, readonly string[], Made, ForReaders>(port, {
    begin,
    services: state => ({
      // The main thread sends these only once the reader has begun.
      connection: (socket: Socket, id: number) => state.made!.connections.take(socket, id),
      shed: () => state.made?.connections.shed(),
      cut: () => state.made?.connections.cut(),
      certificate: (pair: CertificatePair) => state.made?.useCertificate(pair),
      drain: async () => (await state.whenMade).drain(),
      settle: async () => (await state.whenMade).ledger.settle(),
      writeHourCounts: async () => (await state.whenMade).ledger.writeHourCounts(),
    }),
  });
}

async function begin(data: ReaderData, main: Main): Promise<Made> {
  const news = newsIn(data)!;
  const opened = await openInPlane(data, news.beside(main.sibling));
  return serveOver(data, opened, news, main).catch(async error => {
    await opened.store.close();
    throw error;
  });
}

async function serveOver(data: ReaderData, opened: Opened, news: SharedNews, main: Main): Promise<Made> {
  const { config, encrypted, readers } = data;
  const { channel, onError } = main;
  let isDraining = false;
  const connect: Connect = (plane, port) => channel.notifyMoving([port], 'connect', plane, port);
  const connections = new ReaderConnections({
    encrypted,
    load: data.load,
    tellClosed: ids => channel.notify('closed', ids),
  });
  const uses = new UsesLink(connect, readers);
  const { tellFailed, tellOpened } = news;
  const domain = readingDomainWith({ ...opened, share: readers, other: { tellFailed, tellOpened } });
  news.onCounted('failed', address => domain.attempts.learn(address));
  news.onCounted('opened', domain.toolSessions.learnOpened);
  const { accessKey, accessKeyAnywhere } = domain.authenticate;
  uses.orders.begin({
    identify: ({ token, vaultId, sender }) =>
      vaultId === null ? accessKeyAnywhere(token, sender) : accessKey(token, vaultId, sender),
    refuse: domain.vaultReads.refuse,
  });
  const routes: string[] = [];
  const tracing = await tracingOf(config, opened, main.report);
  const surface = surfaceOf(domain, {
    ...{
      config,
      opened,
      certificate: data.certificate,
      timeouts: data.timeouts,
      report: main.report,
      onError,
    },
    // The main thread has already decided who may connect.
    connections: { ...connectionsOf(config, encrypted), admits: () => true, isProxy: () => true },
    uses: uses.orders,
    isManagementUp: () => management.isUp,
    routes,
    draining: () => isDraining,
    around: listen => connections.counting(tracing?.around(listen) ?? listen),
  });
  const countRefused = requestsByPath(opened.meter);
  const answerUnavailable = unavailableWith(surface);
  const management = new ManagementLink(
    connect,
    {
      refuse: (request, response) => {
        countRefused(request.url!, 503, 0);
        answerUnavailable(request, response);
      },
      onLate: lateAnswers(surface),
    },
    readers,
  );
  const app = buildReadingApp(surface, management.forward);
  await app.ready();
  connections.attach(app.server);
  await management.open();
  const chores = new Chores(onError)
    .every(noteUsesEvery, () => domain.authenticate.noteUses())
    .every(catchUpEvery, async () => news.catchUp());
  const isMeasured = config['metrics-port'] !== null;
  const gauges = isMeasured ? readerGauges(opened.meter, data.number, domain.ledger, chores) : null;
  if (data.sparing) void giveBackSpareMemory();
  return {
    begun: routes,
    ledger: domain.ledger,
    connections,
    failed: () => {}, // The news bring them.
    useCertificate: pair => (app.server as TlsServer).setSecureContext(pair),
    drain: () => {
      isDraining = true;
      return connections.drain();
    },
    stop: async () => {
      gauges?.stop();
      await chores.stop();
      connections.cut();
      await app.close();
      await tracing?.stop();
      await domain.authenticate.noteUses().catch(onError);
      await domain.ledger.drain();
      await domain.ledger.writeHourCounts().catch(onError);
      management.close();
      uses.close();
      await opened.store.close();
    },
  };
}
