/** A thread that only derives passwords. */
import { argon2Sync } from 'node:crypto';
import { carryOutJobs } from '../threads/pool.ts';
import type { DeriveInput } from './password-pool.ts';

carryOutJobs({
  derive: (input: DeriveInput) => argon2Sync('argon2id', input),
});
