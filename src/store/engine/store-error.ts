/**
 * The database can't be used in its current state. The message is one line for the operator and contains no stored
 * data.
 */
export class StoreError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StoreError';
  }
}
