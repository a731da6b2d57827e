/**
 * The worker pool: generates keys, and decrypts and checks imported material. An RSA key takes seconds, a passphrase as
 * long as its file demands. The pool has its own threads, so that it never occupies a thread that serves requests, or
 * the pool that derives passwords. It leaves one core for serving requests.
 */
import type { Lane } from '../base/fair-line.ts';
import { spareCores, type ThreadPoolLimits, threadPool } from '../threads/pool.ts';
import { threadFile } from '../threads/thread.ts';
import type { Jobs } from './worker-thread.ts';

export type WorkerPool = Jobs & {
  /** The same, taking turns with the jobs of other lanes. */
  of(lane: Lane): Jobs;
  /** Jobs in progress end without a result. */
  close(): Promise<void>;
};

const file = threadFile(import.meta.url, 'worker-thread');
const longestLine = 32;

export function workerPoolWith({
  atOnce = spareCores(),
  waiting = longestLine,
  onWaiting,
}: Partial<ThreadPoolLimits> = {}): WorkerPool {
  const { take, close } = threadPool(file, { atOnce, waiting, onWaiting });
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
      operateKey: job('operateKey'),
      issueRoot: job('issueRoot'),
      issueIntermediate: job('issueIntermediate'),
      issueEndCertificate: job('issueEndCertificate'),
      issueList: job('issueList'),
    };
  };
  return { ...jobsOf(), of: jobsOf, close };
}
