/**
 * A service that is sealed: none of the slots that are configured opens its data, but shares can, or a key service that
 * does not answer now. It listens where the service would, says so, takes shares, and tries the other slots again by
 * itself. Once a slot opens, the service starts in its place; the sealed listener is closed only when the service is
 * ready to listen, so no connection is refused for longer than a moment.
 */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { Chores } from '../base/chores.ts';
import { describe } from '../base/described-error.ts';
import { Failure } from '../contract/errors.ts';
import { idGenerator } from '../contract/id.ts';
import { addressReader } from '../http/listener/request.ts';
import { createListener } from '../http/listener/server.ts';
import { sealedListener } from '../http/sealed.ts';
import { notSealed, type SealState } from '../http/surface/seal-state.ts';
import { type NoSlotOpens, RootKeyError } from '../keyring/root-key/root-key.ts';
import { shamirSettingsOf } from '../keyring/root-key/shamir.ts';
import { ShareCollector } from '../keyring/root-key/share-collector.ts';
import { ShareError } from '../keyring/root-key/share-text.ts';
import { KeyringWrapper, slotFactsOf } from '../keyring/stored-keyring.ts';
import { peekKeyring } from '../store/store.ts';
import type { ServeParts } from './context.ts';
import { bind, connectionsOf, dashboardUrlOf, isEncrypted, urlOf } from './listener/listening.ts';
import { locationOf } from './opening/open-data.ts';
import { keyringWrapperOf } from './opening/root-key-sources.ts';
import type { Running } from './running.ts';
import type { ServeConfig } from './settings/config.ts';

/** Starts the service with a keyring that is already open. `beforeListening` is called once it could listen. */
export type StartOpen = (
  config: ServeConfig,
  wrapper: KeyringWrapper,
  beforeListening: () => Promise<void>,
) => Promise<Running>;

const tryEvery = 15_000;

/** Whether waiting can help: there are shares to be given, or a key service that may answer later. */
export function canBeUnsealed({ slots, failures }: NoSlotOpens): boolean {
  return (
    slots.some(slot => shamirSettingsOf(slot) !== null) || failures.some(({ isUnreachable }) => isUnreachable)
  );
}

export async function serveSealed(
  given: ServeConfig,
  parts: ServeParts,
  why: NoSlotOpens,
  startOpen: StartOpen,
): Promise<Running> {
  const { report } = parts;
  const tls = isEncrypted(given) ? await (await import('./listener/tls.ts')).openTls(given) : null;
  const connections = connectionsOf(given, tls !== null);
  const collector = new ShareCollector(why.slots, Date.now);
  // It has been asked for, and can't be asked for again in the background.
  let config: ServeConfig = { ...given, 'passphrase-prompt': false };
  let open: Promise<Running> | null = null;
  let isOpen = false;
  let isStopping = false;

  const state = (): SealState => {
    if (isOpen) return notSealed;
    const slots = collector.slots.map(slot => {
      const { shares, threshold } = shamirSettingsOf(slot)!;
      return { id: slot.id, provider: slot.provider, shares, threshold };
    });
    return { sealed: true, slots, progress: collector.progress };
  };

  /** One start at a time. Returns whether the service is open now. */
  async function start(wrapperOf: () => KeyringWrapper): Promise<boolean> {
    if (open !== null || isStopping) return open !== null && (await open.then(() => true));
    const wrapper = wrapperOf();
    const stored = await peekKeyring(locationOf(config, true));
    if (stored === undefined) throw new RootKeyError('the keyring is gone from the database');
    collector.replaceSlots(slotFactsOf(stored));
    await wrapper.unwrap(stored);
    open ??= startOpen(config, wrapper, () => listener.close());
    try {
      await open;
      isOpen = true;
      collector.clear();
      report('unsealed');
    } catch (error) {
      open = null;
      await listener.listen();
      throw error;
    }
    return true;
  }

  async function give(share: string): Promise<SealState> {
    try {
      if (collector.add(share)) await start(() => new KeyringWrapper(collector.source()));
    } catch (error) {
      if (error instanceof ShareError)
        throw new Failure('INVALID_REQUEST', { field: 'share', reason: error.message });
      // All shares are right, so they would open nothing a second time either.
      collector.clear();
      report(`the service could not be unsealed: ${describe(error)}`);
      throw new Failure('UNAVAILABLE', { cause: error, retryAfter: 1 });
    }
    return state();
  }

  const listen = sealedListener({
    encrypted: tls !== null,
    newId: idGenerator(Date.now),
    now: Date.now,
    addressOf: addressReader(given['behind-proxy'], connections.peerOf),
    state,
    give,
  });
  const listener = listenerOf(() =>
    createListener({ tls: tls?.current ?? null, connections, timeouts: parts.timeouts }, listen),
  );
  const app = await listener.listen();
  const url = urlOf(app, given, tls !== null);
  // The service that follows listens on the same port, even if any free one was asked for.
  if (given.socket === null) config = { ...config, port: (app.server.address() as AddressInfo).port };
  report(`sealed: ${why.message}`);
  const chores = new Chores(error => report(`still sealed: ${describe(error)}`)).every(
    parts.unsealEvery ?? tryEvery,
    () => start(() => keyringWrapperOf(config)).then(() => {}),
  );

  function listenerOf(make: () => Server) {
    let bound: { readonly app: FastifyInstance; readonly unbind: () => void } | null = null;
    return {
      async listen(): Promise<FastifyInstance> {
        if (bound !== null) return bound.app;
        const app = Fastify({ logger: false, serverFactory: () => make() });
        bound = { app, unbind: await bind(app, config) };
        return app;
      },
      /** Stops listening. Requests in progress, such as the one with the last share, are still answered. */
      async close(): Promise<void> {
        const closing = bound;
        bound = null;
        closing?.app.server.close();
        closing?.unbind();
      },
      end: () => bound?.app.server.closeAllConnections(),
    };
  }

  const running = async (): Promise<Running | null> => (open === null ? null : open.catch(() => null));
  return {
    url,
    dashboardUrl: dashboardUrlOf(url, given),
    setupUrl: null,
    metricsUrl: null,
    routes: [],
    isSealed: () => !isOpen,
    reload: async () => {
      await tls?.reload();
      await (await running())?.reload();
    },
    stop: async () => {
      isStopping = true;
      await chores.stop();
      const service = await running();
      await listener.close();
      collector.clear();
      tls?.close();
      await service?.stop();
    },
  };
}
