/**
 * A thread of the worker pool. Its jobs run synchronously, so they never occupy the runtime's own thread pool, on which
 * others wait.
 */
import { carryOutJobs } from '../threads/pool.ts';
import { issueEndCertificate, issueIntermediate, issueList, issueRoot } from './authority-issue.ts';
import { importCertificatePem, importPkcs12, selfSign, signingRequest } from './certificate.ts';
import { generateKey, importKey } from './key-material.ts';
import { operateKey } from './operations/key-operations.ts';

/** Jobs that may take long, because of their input or by their nature. */
const jobs = {
  generateKey,
  importKey,
  importCertificatePem,
  importPkcs12,
  selfSign,
  signingRequest,
  operateKey,
  issueRoot,
  issueIntermediate,
  issueEndCertificate,
  issueList,
};
export type Jobs = typeof jobs;

carryOutJobs(jobs);
