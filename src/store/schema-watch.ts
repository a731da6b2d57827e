/**
 * Looks at the schema of a database that is being served, now and then. While it is not what the migrations made of it,
 * nothing is written: what must be logged is not answered, and the service is not ready. Once it is put right, all goes on.
 */
import type { Kysely } from 'kysely';
import { Failure } from '../contract/errors.ts';
import type { EngineName } from './migrations/migrations.ts';
import type { Schema } from './schema.ts';
import { schemaFault } from './schema-check.ts';
import { alteredBy } from './schema-difference.ts';
import { StoreError } from './store-error.ts';

export const lookEvery = 10_000;

export class SchemaWatch {
  readonly #db: Kysely<Schema>;
  readonly #engine: EngineName;
  #fault: string | null = null;

  constructor(db: Kysely<Schema>, engine: EngineName) {
    this.#db = db;
    this.#engine = engine;
  }

  /** A database that is away says nothing new; one that does not understand what it is asked is not ours any more. */
  readonly look = async (): Promise<void> => {
    this.#fault = await schemaFault(this.#db, this.#engine).catch(error => {
      if (error instanceof Failure) throw error;
      return 'it can’t be described';
    });
  };

  refuseIfAltered(): void {
    if (this.#fault === null) return;
    throw new Failure('UNAVAILABLE', { cause: new StoreError(alteredBy(this.#fault)), retryAfter: 1 });
  }
}
