/** Column types that tables share. */
import type { Stamp } from '../../base/bytes.ts';

export type Flag = 0 | 1;

export interface Stamped {
  created_at: number;
  updated_at: number;
  revision: number;
  stamp: Stamp;
}
