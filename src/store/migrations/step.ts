/** The type of a migration step, and the column types in which the engines differ. */
import type { Kysely, RawBuilder } from 'kysely';
import type { Engine } from '../engine/engine.ts';

export type EngineName = Engine['name'];

export interface ColumnTypes {
  readonly id: 'uuid' | 'text';
  readonly bytes: 'bytea' | 'blob';
  readonly time: 'bigint' | 'integer';
  /** A number that increments automatically. */
  readonly serial: 'bigserial' | 'integer';
  /** Ends the definition of a table that is stored in the order of its key. */
  readonly clustered: RawBuilder<unknown>;
}

export type Step = (db: Kysely<unknown>, types: ColumnTypes) => Promise<void>;
