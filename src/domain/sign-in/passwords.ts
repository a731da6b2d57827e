/**
 * Passwords. The salt is derived from the email address, under the keyring, so one derivation covers every
 * organization that has the address, and also an unknown address: the work is always the same. Stored is a keyed
 * digest of argon2id's output, bound to the account: without the keyring, a stolen database allows no guessing.
 */
import type { Argon2Parameters } from 'node:crypto';
import type { Digest } from '../../base/bytes.ts';
import { equalBytes, type Keyring } from '../../keyring/keyring.ts';
import type { PasswordPool } from '../../material/password-pool.ts';
import type { AccountRow } from '../../store/records/accounts.ts';

/** RFC 9106's second recommended option. A different form would get a new number, and both would be read. */
const form = 1;
export const passwordCosts: PasswordCosts = { memory: 64 * 1024, passes: 3, parallelism: 4 };
const tagLength = 32;

/** The cost of one derivation; memory in KiB. */
export type PasswordCosts = Pick<Argon2Parameters, 'memory' | 'passes' | 'parallelism'>;

export type Passwords = ReturnType<typeof passwordsWith>;

export function passwordsWith(keyring: Keyring, pool: PasswordPool, costs: PasswordCosts) {
  /** The value that is stored. */
  const mark = (accountId: string, derived: Uint8Array) => {
    const stamp = keyring.stamp('password', [accountId, form, derived]);
    return Buffer.concat([Buffer.from([form]), stamp]) as Uint8Array as Digest;
  };
  return {
    derive: (emailKey: string, password: string): Promise<Buffer> =>
      pool.derive({
        ...costs,
        tagLength,
        message: Buffer.from(password, 'utf8'),
        nonce: keyring.stamp('password-salt', [form, emailKey]).subarray(0, 16),
      }),
    mark,
    matches: ({ id, password }: AccountRow, derived: Uint8Array): boolean =>
      password !== null && equalBytes(mark(id, derived), password),
  };
}
