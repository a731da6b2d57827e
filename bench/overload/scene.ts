/** What every kind of pressure is given. */
import type { Data } from './data.ts';
import type { Exchanges } from './exchanges.ts';

export interface Scene {
  readonly data: Data;
  /** The reading load beside it, in requests per second. */
  readonly rate: number;
  readonly exchanges: Exchanges;
  /** Printed beside the kind. */
  note(text: string): void;
}
