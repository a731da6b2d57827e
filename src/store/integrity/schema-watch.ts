/**
 * Checks the schema of a served database regularly. While it differs from the migrations, nothing is written: requests
 * that must be logged are refused, and the service is not ready. It resumes once the schema is restored. The same
 * applies if the schema could not be checked for a while, because a lock on any of the tables prevents the check.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { Failure } from '../../contract/errors.ts';
import { StoreError } from '../engine/store-error.ts';
import type { EngineName } from '../migrations/migrations.ts';
import type { Schema } from '../schema/schema.ts';
import { schemaFault } from './schema-check.ts';
import { alteredBy } from './schema-difference.ts';

/** While the schema is right. While it is not, checks are as frequent as the retries of refused requests. */
const lookEvery = 10_000;
export const lookAgainEvery = 1_000;
const longestUnseen = 2 * lookEvery;
/** How long a change waits for an overdue check. */
const patience = 2_000;

export class SchemaWatch {
  readonly #db: Kysely<Schema>;
  readonly #engine: EngineName;
  #fault: string | null = null;
  #seenAt = performance.now();
  #looking: Promise<void> | null = null;

  constructor(db: Kysely<Schema>, engine: EngineName) {
    this.#db = db;
    this.#engine = engine;
  }

  /**
   * If the database can't be reached, the last result stands. If it can't answer the query, the schema counts as
   * altered.
   */
  readonly look = (): Promise<void> => {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  };

  readonly lookIfDue = async (): Promise<void> => {
    if (this.#fault !== null || performance.now() - this.#seenAt >= lookEvery) await this.look();
  };

  async #look(): Promise<void> {
    const askedAt = performance.now();
    this.#fault = await schemaFault(this.#db, this.#engine, true).catch(error => {
      if (error instanceof Failure) throw error;
      return 'it can’t be read';
    });
    this.#seenAt = askedAt;
  }

  get isOverdue(): boolean {
    return performance.now() - this.#seenAt > longestUnseen;
  }

  /** Takes a moment after the server was unreachable; never completes while a table is locked. */
  async seen(): Promise<void> {
    await Promise.race([this.look(), sleep(patience, undefined, { ref: false })]);
    if (!this.isOverdue) return;
    throw new Failure('UNAVAILABLE', {
      cause: new StoreError(
        'the schema of this database can’t be checked: a table is locked, or the server is too busy',
      ),
      retryAfter: 1,
    });
  }

  refuseIfAltered(): void {
    if (this.#fault === null) return;
    throw new Failure('UNAVAILABLE', { cause: new StoreError(alteredBy(this.#fault)), retryAfter: 1 });
  }
}
