/**
 * Opens the store that a Config names, and the keyring with its root key. The first start creates the root key and the
 * keyring; every later start must find the same ones, or it stops and changes nothing.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Sealed } from '../../base/bytes.ts';
import { clockWith, type SignedTime } from '../../base/clock.ts';
import { idGenerator } from '../../contract/id.ts';
import type { Acceptance } from '../../domain/operations/acceptance.ts';
import type { ReadingParts } from '../../domain/reading.ts';
import type { PasswordCosts } from '../../domain/sign-in/passwords.ts';
import { Keyring } from '../../keyring/keyring.ts';
import { RootKeyError } from '../../keyring/root-key/root-key.ts';
import type { KeyringWrapper } from '../../keyring/stored-keyring.ts';
import { Meter } from '../../metrics/meter.ts';
import { addressIn } from '../../store/postgres/address.ts';
import {
  isEmpty,
  type Location,
  openSnapshot,
  openStore,
  peekKeyring,
  type Sibling,
  type Snapshot,
  type Store,
} from '../../store/store.ts';
import { type DataPlace, databasePath, inData, type ServeConfig, UsageError } from '../settings/config.ts';
import { keyringWrapperOf } from './root-key-sources.ts';
import { checkClock, checkDatabase, signedTime } from './start-checks.ts';

/** A snapshot of the logs, which can be verified without any secret key. */
export async function openLogs(place: DataPlace): Promise<Snapshot> {
  requireDatabase(place);
  return openSnapshot(locationOf(place, false));
}

export function requireDatabase(place: DataPlace): void {
  if (place['database-url'] === null && !existsSync(databasePath(place)))
    throw new UsageError('--data contains no database');
}

/** For commands on existing data, so that a mistyped folder or database is not filled with a new one. */
export async function requireData(place: DataPlace): Promise<void> {
  requireDatabase(place);
  if (await isEmpty(locationOf(place, false)))
    throw new UsageError(`${place['database-url'] === null ? '--data' : '--database-url'} contains no data`);
}

/** Settings of a serving process; other commands have none of these. */
export type ServePlace = Partial<Omit<ServeConfig, keyof DataPlace>>;

interface OpenedKeyring {
  readonly keyring: Keyring;
  /** The keyring in its stored form. */
  readonly storedKeyring: Sealed;
}

export interface OpenParts {
  /** A monotonic clock, in milliseconds. */
  readonly elapsed?: (() => number) | undefined;
  /** One line for the operator. */
  readonly report?: ((line: string) => void) | undefined;
  readonly passwordCosts?: PasswordCosts | undefined;
  /** Refuses a database that `serve` would refuse, because it is older than the kept checkpoint. */
  readonly isChecked?: boolean;
  /** A wrapper that has already opened the keyring, with shares that were given one by one. */
  readonly wrapper?: KeyringWrapper | undefined;
}

/** The basis of a domain: store, keyring and clock. */
export interface Opened extends Omit<ReadingParts, 'other'> {
  /** The time used to judge ages before something is removed permanently. */
  readonly aged: () => number;
  /** The newest signed time, from which the clock continues; null if there is none, or if it was set aside. */
  readonly signed: SignedTime | null;
  /** The risks that the operator accepts with this start. */
  readonly accepted: readonly Acceptance[];
}

/** Opens the store and the keyring, and determines the start time of the clock. */
export async function openData(
  place: DataPlace & ServePlace,
  serves: boolean,
  wall: () => number,
  parts: OpenParts,
  sibling: Sibling | null = null,
): Promise<Opened> {
  const { elapsed = () => performance.now(), report = () => {}, isChecked = serves } = parts;
  const wrapper = parts.wrapper ?? keyringWrapperOf(place);
  refuseOrphan(place);
  const location = locationOf(place, serves);
  const opened = await openKeyring(place, wrapper, location);
  const logKey = opened?.keyring.logPublicKey ?? null;
  const restored = isChecked
    ? await checkDatabase(checkpointFile(place), logKey, location, place['accept-restore'] ?? 0)
    : null;
  const store = await openStore(location, sibling);
  try {
    const { keyring, storedKeyring } = opened ?? (await createKeyring(store, wrapper));
    const found = await signedTime(store, keyring.logPublicKey);
    const setBack = serves ? checkClock(found, wall(), place['accept-clock'] ?? 0) : null;
    const signed = setBack === null ? found : null;
    const onBehind = (by: number) =>
      report(`the clock is ${Math.ceil(by / 1000)} s behind the log: continuing from the log’s time`);
    const clock = clockWith({ wall, elapsed, signed, onBehind });
    const accepted = [restored, setBack].filter(one => one !== null);
    return {
      store,
      keyring,
      wrapper,
      storedKeyring,
      ...clock,
      newId: idGenerator(clock.now),
      meter: new Meter(),
      signed,
      accepted,
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The root key is tried before anything is opened for writing, so that a wrong key changes nothing. */
async function openKeyring(
  place: ServePlace,
  wrapper: KeyringWrapper,
  location: Location,
): Promise<OpenedKeyring | undefined> {
  const stored = await peekKeyring(location);
  if (stored !== undefined) return { keyring: await wrapper.unwrap(stored), storedKeyring: stored };
  if (!place['new-database']) await refuseLost(wrapper, location);
  return undefined;
}

/** The file with the newest checkpoint, outside of the database. */
export function checkpointFile(place: Pick<DataPlace, 'data'> & ServePlace): string {
  return place['checkpoint-file'] ?? inData(place, 'checkpoint.json');
}

/** The folder for archives of the audit log. */
export function archiveFolder(place: Pick<DataPlace, 'data'> & Pick<ServeConfig, 'audit-archive'>): string {
  return place['audit-archive'] ?? inData(place, 'audit-archive');
}

export function locationOf(place: DataPlace, serves: boolean): Location {
  const url = place['database-url'];
  const { 'database-listen-url': listenUrl, 'database-password-file': passwordFile } = place;
  if (url === null && listenUrl !== null)
    throw new UsageError('--database-listen-url requires --database-url');
  if (url === null && passwordFile !== null)
    throw new UsageError('--database-password-file requires --database-url');
  if (url === null) return { engine: 'sqlite', path: databasePath(place), serves };
  if (passwordFile !== null && [url, listenUrl].some(one => one !== null && addressIn(one).password !== null))
    throw new UsageError('--database-password-file can’t be combined with a password in the URL');
  return { engine: 'postgres', url, listenUrl, passwordFile, environment: place.postgresEnvironment };
}

/** A write-ahead log without its database means a partly moved database: a new database would hide the loss. */
function refuseOrphan(place: DataPlace): void {
  if (place['database-url'] !== null || existsSync(databasePath(place))) return;
  if (existsSync(`${databasePath(place)}-wal`)) {
    throw new UsageError(`--data contains the write-ahead log of a database, but not the database itself`);
  }
}

/**
 * A root key without data is a sign of a lost database or a partly restored backup, which an empty vault would hide. The
 * tables are created before the key, so that an interrupted first start is not mistaken for this.
 */
async function refuseLost(wrapper: KeyringWrapper, location: Location): Promise<void> {
  if (!(await wrapper.hasRootKey()) || !(await isEmpty(location))) return;
  throw new RootKeyError(
    'there is a root key, but the database is empty: restore the database, or use --new-database to create a new one',
  );
}

async function createKeyring(store: Store, wrapper: KeyringWrapper): Promise<OpenedKeyring> {
  if ((await store.organizations.all()).length > 0) {
    throw new RootKeyError('this database contains data but no keyring: restore it from a backup');
  }
  await store.keyring.setOnce(await wrapper.wrap(Keyring.create(randomUUID())));
  // Another process may have been faster: the stored keyring counts.
  const storedKeyring = (await store.keyring.read())!;
  return { keyring: await wrapper.unwrap(storedKeyring), storedKeyring };
}
