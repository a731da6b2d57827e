/** What the domain is built from: handed in once, so that tests choose the clock and the randomness. */
import type { NewId } from '../contract/id.ts';
import type { Keyring } from '../keyring/keyring.ts';
import type { Store } from '../store/store.ts';
import type { Guard } from './guard.ts';
import type { Stamps } from './stamps.ts';
import type { Terms } from './terms.ts';

export interface Parts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly stamps: Stamps;
  readonly terms: Terms;
  readonly guard: Guard;
  readonly now: () => number;
  readonly newId: NewId;
}
