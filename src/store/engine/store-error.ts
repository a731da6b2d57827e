/** The database can't be used as it is. The message is one line for an operator, and holds nothing that was stored. */
export class StoreError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StoreError';
  }
}
