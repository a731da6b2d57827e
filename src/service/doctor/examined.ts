/**
 * The data under examination: opened once, when a check first needs it, and never written to. If something can't be
 * opened, one check reports it.
 */
import { once } from '../../base/memo.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import { openSnapshot, peekKeyring, type Snapshot } from '../../store/store.ts';
import { locationOf, requireDatabase } from '../opening/open-data.ts';
import { keyringWrapperOf } from '../opening/root-key-sources.ts';
import type { ServeConfig } from '../settings/config.ts';
import { messageOf, UsageError } from '../settings/report.ts';
import { NotChecked } from './check.ts';
import { type Answering, askService } from './service.ts';

export type Examined = ReturnType<typeof examined>;

export function examined(config: ServeConfig, now: () => number) {
  const location = locationOf(config, false);
  const opened: Snapshot[] = [];
  /** Throws if the database can't be read. */
  const snapshot = once(async () => {
    requireDatabase(config);
    const found = await openSnapshot(location);
    opened.push(found);
    return found;
  });
  /** Throws if the root key does not open it. */
  const keyring = once(async () => {
    requireDatabase(config);
    const stored = await peekKeyring(location);
    if (stored === undefined)
      throw new UsageError('the database contains no keyring: start the service once');
    return keyringWrapperOf(config).unwrap(stored);
  });
  /** The service that answers at the configured address; null if there is none. */
  const answering = once(() => askService(config));
  return {
    config,
    now,
    snapshot,
    keyring,
    answering,
    /** The same, but null if it is known to serve other data. */
    service: once(async () => {
      const found = await answering();
      return found === null || found.proof === null || (await isOwn(found, keyring)) ? found : null;
    }),
    /** For checks that don't report on them: throws `NotChecked` instead. */
    given: {
      snapshot: () => orNotChecked(snapshot(), 'the database can’t be read'),
      keyring: () => orNotChecked(keyring(), 'the keyring can’t be opened'),
    },
    close: async () => {
      for (const one of opened) await one.close();
    },
  };
}

/** True if the keyring can't be opened, which another check reports. */
async function isOwn({ challenge, proof }: Answering, keyring: () => Promise<Keyring>): Promise<boolean> {
  const own = await keyring().catch(() => null);
  return own === null || own.answerTo(challenge) === proof;
}

async function orNotChecked<T>(needed: Promise<T>, why: string): Promise<T> {
  try {
    return await needed;
  } catch (error) {
    throw new NotChecked(`${why}: ${await messageOf(error)}`);
  }
}
