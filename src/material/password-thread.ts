/** A thread that derives passwords, and does nothing else. */
import { argon2Sync } from 'node:crypto';
import type { DeriveInput } from './password-pool.ts';
import { carryOutOrders } from './thread-pool.ts';

carryOutOrders({
  derive: (input: DeriveInput) => argon2Sync('argon2id', input),
});
