/** Changes that another one overtook, and how they are made after all. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../contract/errors.ts';

/** Somebody else changed the same record between our read and our write: read again, and try again. */
export class StaleChange extends Failure {
  constructor() {
    super('CONFLICT', { message: 'The record was changed by someone else meanwhile' });
  }
}

const attempts = 12;
/** The winner's change may still be on its way to the disk, so a loser that reads again at once loses again. */
const longestPause = 10;

export async function retryingStale<T>(change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof StaleChange) || attempt === attempts) throw error;
      await sleep(Math.random() * longestPause * attempt);
    }
  }
}
