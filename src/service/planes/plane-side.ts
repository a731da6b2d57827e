/** A plane's own side of its channel: it begins with data that it receives, is notified of changes, and can be stopped. */
import type { MessagePort } from 'node:worker_threads';
import { describe } from '../../base/described-error.ts';
import type { Sibling } from '../../store/store.ts';
import { Channel, type Port, type Services } from '../../threads/channel.ts';
import { messageOf, UsageError } from '../settings/report.ts';
import type { PlaneServices, ReadingServices } from './messages.ts';

/** The reading plane, as another plane sees it. */
export interface ToReading<Near extends Services> {
  readonly channel: Channel<Near>;
  readonly sibling: Sibling;
  readonly tellFailed: (address: string) => void;
  readonly report: (line: string) => void;
  readonly onError: (error: unknown, requestId?: string) => void;
}

export interface BegunPlane<Begun> {
  readonly begun: Begun;
  /** Called when an address failed to authenticate on another plane. */
  failed(address: string): void;
  stop(): Promise<void>;
}

/** The state of the beginning. */
export interface Begin<Made> {
  /** Null until it has begun. */
  readonly made: Made | null;
  /** Rejects if it could not begin. */
  readonly whenMade: Promise<Made>;
}

interface PlaneSide<Data, Made, Near extends Services> {
  /** Opens what the plane needs, and closes it again on failure. */
  readonly begin: (data: Data, reading: ToReading<Near>) => Promise<Made>;
  /** Services in addition to those of every plane. */
  readonly services: (begin: Begin<Made>) => Services;
  readonly gather?: number;
}

export function planeSide<
  Data,
  Begun,
  Made extends BegunPlane<Begun>,
  Near extends ReadingServices & Services,
>(port: MessagePort, { begin, services, gather }: PlaneSide<Data, Made, Near>): void {
  const told: ((touched: readonly string[]) => void)[] = [];
  const { promise: whenMade, resolve, reject } = Promise.withResolvers<Made>();
  whenMade.catch(() => {});
  const state = { made: null as Made | null, whenMade };
  const every: PlaneServices<Data, Begun> = {
    begin: async data => {
      isBeginning = true;
      try {
        state.made = await begin(data, reading);
        resolve(state.made);
        return { begun: state.made.begun };
      } catch (error) {
        reject(error);
        return { refused: await messageOf(error), isUsage: error instanceof UsageError };
      }
    },
    touched: ids => {
      for (const listener of told) listener(ids);
    },
    failed: address =>
      void whenMade.then(
        made => made.failed(address),
        () => {},
      ),
    stop: () => void stop(),
  };
  let isBeginning = false;
  const channel = new Channel<Near>(port as Port, { ...every, ...services(state) }, { gather });
  const near = channel as Channel<Services> as Channel<ReadingServices>;
  const onError = (error: unknown, requestId?: string) => near.notify('report', describe(error), requestId);
  const reading: ToReading<Near> = {
    channel,
    sibling: { tell: ids => near.notify('touched', ids), onTold: listener => void told.push(listener) },
    tellFailed: address => near.notify('failed', address),
    report: line => near.notify('report', line),
    onError,
  };

  async function stop(): Promise<void> {
    const made = isBeginning ? await whenMade.catch(() => null) : null;
    await made?.stop().catch(onError);
    port.close();
  }
}
