/** The input of every kind of pressure. */
import type { Data } from './data.ts';
import type { Exchanges } from './exchanges.ts';
import type { SteadyLoad } from './steady-load.ts';

export interface Scene {
  readonly data: Data;
  /** The simultaneous reading load, in requests per second. */
  readonly rate: number;
  readonly exchanges: Exchanges;
  /** Printed next to the kind. */
  note(text: string): void;
}

/** Resolves once everything is answered; most kinds never end by themselves. May return its own reading load. */
export type Press = (scene: Scene) => Promise<void> | SteadyLoad | undefined;
