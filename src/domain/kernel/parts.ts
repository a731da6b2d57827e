/** The parts that the domain is built from, passed in once so that tests can choose the clock and the randomness. */
import type { NewId } from '../../contract/id.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import type { WorkerPool } from '../../material/worker-pool.ts';
import type { Meter } from '../../metrics/meter.ts';
import type { Store } from '../../store/store.ts';
import type { Guard } from './guard.ts';
import type { KeyringSync } from './keyring-sync.ts';
import type { Stamps } from './stamps.ts';

export interface Parts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly stamps: Stamps;
  readonly keyringSync: KeyringSync;
  readonly guard: Guard;
  /** Creates, unlocks and checks keys and certificates. */
  readonly workers: WorkerPool;
  readonly now: () => number;
  readonly newId: NewId;
  readonly meter: Meter;
}
