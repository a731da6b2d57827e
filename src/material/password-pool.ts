/**
 * Derives passwords on dedicated threads, so that a sign-in waits neither for keys being generated nor for files, and
 * other requests don't wait for sign-ins. The queue is short.
 */
import type { Argon2Parameters } from 'node:crypto';
import { spareCores, threadPool } from '../threads/pool.ts';
import { threadFile } from '../threads/thread.ts';

export type DeriveInput = Argon2Parameters;

export type PasswordPool = ReturnType<typeof passwordPool>;

const file = threadFile(import.meta.url, 'password-thread');
const waiting = 50;

export function passwordPool(onWaiting: (jobs: number) => void = () => {}) {
  const { take, close } = threadPool(file, { atOnce: spareCores(), waiting, onWaiting });
  return {
    /** Argon2id. Refuses with UNAVAILABLE if too many jobs are waiting. */
    derive: async (input: DeriveInput) => Buffer.from((await take('derive', [input])) as Uint8Array),
    close,
  };
}
