/** What every kind of pressure is given. */
import type { Data } from './data.ts';
import type { Exchanges } from './exchanges.ts';
import type { SteadyLoad } from './steady-load.ts';

export interface Scene {
  readonly data: Data;
  /** The reading load beside it, in requests per second. */
  readonly rate: number;
  readonly exchanges: Exchanges;
  /** Printed beside the kind. */
  note(text: string): void;
}

/** Resolves once all is answered; most never end by themselves. May give a reading load of its own. */
export type Press = (scene: Scene) => Promise<void> | SteadyLoad | undefined;
