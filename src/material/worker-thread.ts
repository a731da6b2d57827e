/** A thread of the worker pool. What it does it does at once, and so never takes a turn on the pool that others wait for. */

import { carryOutJobs } from '../threads/pool.ts';
import { importCertificatePem, importPkcs12, selfSign, signingRequest } from './certificate.ts';
import { generateKey, importKey } from './key-material.ts';
import { decryptWith, signWith, verifyWith } from './key-operations.ts';

/** What is done here: whatever may take its time, by what it was sent or by its nature. */
const jobs = {
  generateKey,
  importKey,
  importCertificatePem,
  importPkcs12,
  selfSign,
  signingRequest,
  signWith,
  verifyWith,
  decryptWith,
};
export type Jobs = typeof jobs;

carryOutJobs(jobs);
