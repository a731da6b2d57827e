/**
 * Passwords. The salt is made from the address that signs in, under the keyring, so one derivation answers for
 * every organization that knows the address, and for an address that nobody knows: the work is the same by
 * structure. What is stored is a keyed mark over argon2id's output, bound to the account: a thief of the
 * database has nothing to guess against without the keyring.
 *
 * Derivations run two at a time; behind them a short line waits, and whoever finds it full is told to come back.
 */
import { type Argon2Parameters, argon2 } from 'node:crypto';
import { promisify } from 'node:util';
import { Failure } from '../../contract/errors.ts';
import { equalBytes, type Keyring } from '../../keyring/keyring.ts';
import type { AccountRow } from '../../store/accounts.ts';

/** RFC 9106's second recommended choice. Another form gets another number, and both are read. */
const form = 1;
const costs = { memory: 64 * 1024, passes: 3, parallelism: 4, tagLength: 32 } as const;
const atOnce = 2;
const longestLine = 50;

const run = promisify((parameters: Argon2Parameters, done: (error: Error | null, key: Buffer) => void) =>
  argon2('argon2id', parameters, done),
);

export interface Passwords {
  derive(emailKey: string, password: string): Promise<Buffer>;
  /** What is stored of it. */
  mark(accountId: string, derived: Uint8Array): Buffer;
  matches(account: AccountRow, derived: Uint8Array): boolean;
}

export function passwordsWith(keyring: Keyring): Passwords {
  const narrows = new Narrows(atOnce, longestLine);
  const mark = (accountId: string, derived: Uint8Array) =>
    Buffer.concat([Buffer.from([form]), keyring.stamp('password', [accountId, form, derived])]);
  return {
    derive: (emailKey, password) =>
      narrows.take(() =>
        run({
          ...costs,
          message: Buffer.from(password, 'utf8'),
          nonce: keyring.stamp('password-salt', [form, emailKey]).subarray(0, 16),
        }),
      ),
    mark,
    matches: ({ id, password }, derived) => password !== null && equalBytes(mark(id, derived), password),
  };
}

/** So many at once, so many waiting, and no more. */
class Narrows {
  readonly #atOnce: number;
  readonly #longest: number;
  readonly #line: (() => void)[] = [];
  #running = 0;

  constructor(atOnce: number, longest: number) {
    this.#atOnce = atOnce;
    this.#longest = longest;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) {
      if (this.#line.length >= this.#longest) throw new Failure('UNAVAILABLE', { retryAfter: 2 });
      await new Promise<void>(resolve => this.#line.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#line.shift();
      if (next === undefined) this.#running--;
      else next(); // The turn is handed on, so the number of those running stays.
    }
  }
}
