import { Failure, sentenceOf } from '../src/contract/errors.ts';

/** What a refusal says: its code and its sentence; or that there was none. */
export async function refusalOf(done: Promise<unknown>): Promise<string> {
  try {
    await done;
    return 'done';
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return `${error.code}: ${sentenceOf(error)}`;
  }
}
