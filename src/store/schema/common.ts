/** What the tables share. */
import type { Stamp } from '../../base/bytes.ts';

export type Flag = 0 | 1;

export interface Stamped {
  created_at: number;
  updated_at: number;
  revision: number;
  stamp: Stamp;
}

/** A row of an organization, with revisions. */
export interface Owned extends Stamped {
  id: string;
  organization_id: string;
}

export interface Named extends Owned {
  name: string;
  /** The name in lower case, for searching. */
  name_search: string;
}

/** A fact that holds for several columns, in this order. */
export function each<const T, Name extends string>(
  fact: T,
  ...columns: readonly Name[]
): { readonly [N in Name]: T } {
  return Object.fromEntries(columns.map(name => [name, fact])) as { readonly [N in Name]: T };
}
