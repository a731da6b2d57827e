/**
 * Opens what a Config names: the store, the keyring under its root key, and the domain over both. The first
 * start makes root key and keyring; every later one must find the same, or it stops and changes nothing.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import packageJson from '../package.json' with { type: 'json' };
import {
  databasePath,
  inData,
  type Place,
  type RootKeyPlace,
  type ServeConfig,
  UsageError,
} from './config.ts';
import { idGenerator, type NewId } from './contract/id.ts';
import { Keyring } from './keyring/keyring.ts';
import { keyFile } from './keyring/root-key/key-file.ts';
import { passphrase } from './keyring/root-key/passphrase.ts';
import { RootKeyError, type RootKeySource } from './keyring/root-key/root-key.ts';
import { KeyringLock } from './keyring/stored-keyring.ts';
import { type Location, openStore, peekMeta, type Store } from './store/store.ts';
import { type Domain, domainWith } from './vault/domain.ts';

export interface Strongroom {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly domain: Domain;
  readonly now: () => number;
  readonly newId: NewId;
  /** Settles what is under way, then closes. */
  close(): Promise<void>;
}

/** The store alone, for reading what is public by nature: the logs, which are proven without any key of ours. */
export function openLogs(place: Place): Promise<Store> {
  const url = place['database-url'];
  if (url !== null) return openStore({ engine: 'postgres', url });
  if (!existsSync(databasePath(place))) throw new UsageError('--data holds no database');
  return openStore({ engine: 'sqlite', path: databasePath(place), serves: false });
}

type Ask = () => Promise<string>;

export async function openStrongroom(
  place: Place & Partial<Pick<ServeConfig, 'allow-private-webhooks' | 'log-retention-days'>>,
  serves: boolean,
  now: () => number = Date.now,
): Promise<Strongroom> {
  const lock = new KeyringLock(rootKeySource(place));
  refuseOrphan(place);
  const location = locationOf(place, serves);
  // The key is tried before anything is opened for writing, so that a wrong one changes nothing.
  const stored = await peekMeta(location, 'keyring');
  const opened = stored && { keyring: await lock.unwrap(stored), storedKeyring: stored };
  const store = await openStore(location);
  try {
    const { keyring, storedKeyring } = opened ?? (await createKeyring(store, lock));
    const newId = idGenerator(now);
    const domain = domainWith({
      store,
      keyring,
      lock,
      storedKeyring,
      now,
      newId,
      privateWebhooks: place['allow-private-webhooks'],
      facts: { version: packageJson.version, logRetentionDays: place['log-retention-days'] ?? 0 },
    });
    const close = async () => {
      await domain.ledger.drain();
      await store.close();
    };
    return { store, keyring, domain, now, newId, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function locationOf(place: Place, serves: boolean): Location {
  const url = place['database-url'];
  return url === null ? { engine: 'sqlite', path: databasePath(place), serves } : { engine: 'postgres', url };
}

/** Where the root key comes from, as the flags say. */
export function rootKeySource(place: RootKeyPlace, ask: Ask = askPassphrase): RootKeySource {
  const file = place['passphrase-file'];
  if (file !== null) return passphrase(() => readFile(file, 'utf8').catch(noPassphraseFile(file)));
  if (place['passphrase-prompt']) return passphrase(askedOnce(ask));
  if (place.passphrase !== null) return passphrase(async () => place.passphrase!);
  return keyFile(place['root-key-file'] ?? inData(place, 'root.key'));
}

function noPassphraseFile(file: string): (cause: unknown) => never {
  return cause => {
    throw new RootKeyError(`the passphrase file ${file} can’t be read`, cause);
  };
}

/** A log without its database is a database half moved: a fresh start beside it would hide what is missing. */
function refuseOrphan(place: Place): void {
  if (place['database-url'] !== null || existsSync(databasePath(place))) return;
  if (existsSync(`${databasePath(place)}-wal`)) {
    throw new UsageError(`--data holds the log of a database, but not the database itself`);
  }
}

async function createKeyring(
  store: Store,
  lock: KeyringLock,
): Promise<{ keyring: Keyring; storedKeyring: Uint8Array }> {
  if ((await store.organizations.all()).length > 0) {
    throw new RootKeyError('this database holds data but no keyring: restore it from a backup');
  }
  await store.terms.setKeyringOnce(await lock.wrap(Keyring.create(randomUUID())));
  // Another process may have been first: what is stored is the one that counts.
  const storedKeyring = (await store.terms.keyring())!;
  return { keyring: await lock.unwrap(storedKeyring), storedKeyring };
}

/** A service that reads its keyring again must not wait for somebody at the terminal. */
function askedOnce(ask: Ask): Ask {
  let answer: Promise<string> | null = null;
  return () => {
    answer ??= ask();
    return answer;
  };
}

/** A slip of the finger in a new passphrase would lock everybody out. */
export async function askNewPassphrase(): Promise<string> {
  const first = await askPassphrase('New passphrase');
  if (first !== (await askPassphrase('Once more'))) throw new RootKeyError('the two passphrases differ');
  return first;
}

async function askPassphrase(question = 'Passphrase'): Promise<string> {
  if (!process.stdin.isTTY) throw new RootKeyError('asking for a passphrase needs a terminal');
  process.stderr.write(`${question}: `);
  const prompt = createInterface({ input: process.stdin, terminal: true });
  const line = await prompt.question('');
  prompt.close();
  process.stderr.write('\n');
  return line;
}
