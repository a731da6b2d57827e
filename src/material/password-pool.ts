/**
 * Where passwords are derived: on threads that do nothing else, so that a sign-in waits neither for keys that are being
 * made nor for files, and those who serve wait for no sign-in. Behind them a short line waits.
 */
import type { Argon2Parameters } from 'node:crypto';
import { spareCores, threadPool } from '../threads/pool.ts';
import { threadFile } from '../threads/thread.ts';

export type DeriveInput = Argon2Parameters;

export interface PasswordPool {
  /** Argon2id. Refuses, with UNAVAILABLE, where too many wait. */
  derive(input: DeriveInput): Promise<Buffer>;
  close(): Promise<void>;
}

const file = threadFile(import.meta.url, 'password-thread');
const waiting = 50;

export function passwordPool(onWaiting: (jobs: number) => void = () => {}): PasswordPool {
  const { take, close } = threadPool(file, {
    atOnce: spareCores(),
    waiting,
    onWaiting,
  });
  return { derive: async input => Buffer.from((await take('derive', [input])) as Uint8Array), close };
}
