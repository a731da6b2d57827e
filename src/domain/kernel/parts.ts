/** What the domain is built from: handed in once, so that tests choose the clock and the randomness. */
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
  /** Where keys and certificates are made, unlocked and checked. */
  readonly workers: WorkerPool;
  readonly now: () => number;
  readonly newId: NewId;
  /** Where this plane counts. */
  readonly meter: Meter;
}
