/** Changes that lost to a concurrent change, and how they are retried. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../contract/errors.ts';

/** The record was changed between our read and our write: read it again and retry. */
export class StaleChange extends Failure {
  constructor() {
    super('CONFLICT', { message: 'The record was changed by someone else in the meantime' });
  }
}

const attempts = 12;
/** In milliseconds. The winning change may not be on disk yet, so an immediate retry would lose again. */
const longestPause = 10;

/** `change` is told whether it was tried before: then what it read from a cache is out of date. */
export async function retryingStale<T>(change: (again: boolean) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change(attempt > 1);
    } catch (error) {
      if (!(error instanceof StaleChange) || attempt === attempts) throw error;
      await sleep(Math.random() * longestPause * attempt);
    }
  }
}
