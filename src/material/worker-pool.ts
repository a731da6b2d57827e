/**
 * The worker pool: where keys are made, and what others made is unlocked and checked. An RSA key takes seconds, a
 * passphrase as long as its file demands. It has threads of its own, so that neither a thread that serves nor the
 * pool on which passwords are derived is ever busy with it. They leave a core for those who serve.
 */
import type { Lane } from '../base/fair-line.ts';
import { spareCores, type ThreadPoolLimits, threadPool } from '../threads/pool.ts';
import { threadFile } from '../threads/thread.ts';
import type { Jobs } from './worker-thread.ts';

export type WorkerPool = Jobs & {
  /** The same, where jobs of others take turns with these. */
  of(lane: Lane): Jobs;
  /** What is still being done ends without a result. */
  close(): Promise<void>;
};

const file = threadFile(import.meta.url, 'worker-thread');
const longestLine = 32;

export function workerPoolWith({
  atOnce = spareCores(),
  waiting = longestLine,
  onWaiting,
}: Partial<ThreadPoolLimits> = {}): WorkerPool {
  const { take, close } = threadPool(file, {
    atOnce,
    waiting,
    onWaiting,
  });
  const jobsOf = (lane?: Lane): Jobs => {
    const job =
      <Name extends keyof Jobs>(name: Name) =>
      (...input: Parameters<Jobs[Name]>) =>
        take(name, input, lane) as ReturnType<Jobs[Name]>;
    return {
      generateKey: job('generateKey'),
      importKey: job('importKey'),
      importCertificatePem: job('importCertificatePem'),
      importPkcs12: job('importPkcs12'),
      selfSign: job('selfSign'),
      signingRequest: job('signingRequest'),
      signWith: job('signWith'),
      verifyWith: job('verifyWith'),
      decryptWith: job('decryptWith'),
    };
  };
  return {
    ...jobsOf(),
    of: jobsOf,
    close,
  };
}
