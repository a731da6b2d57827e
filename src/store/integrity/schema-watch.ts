/**
 * Looks at the schema of a database that is being served, now and then. While it is not what the migrations made of it,
 * nothing is written: what must be logged is not answered, and the service is not ready. Once it is put right, all goes on. The
 * same where it could not be looked at for a while: a lock on any of the tables keeps everybody from looking.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { Failure } from '../../contract/errors.ts';
import { StoreError } from '../engine/store-error.ts';
import type { EngineName } from '../migrations/migrations.ts';
import type { Schema } from '../schema/schema.ts';
import { schemaFault } from './schema-check.ts';
import { alteredBy } from './schema-difference.ts';

/** While it is right; while it is not, service resumes as soon as those that were refused were told to come back. */
const lookEvery = 10_000;
export const lookAgainEvery = 1_000;
const longestUnseen = 2 * lookEvery;
/** How long a change waits for a look that is overdue. */
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

  /** A database that is away says nothing new; one that does not understand what it is asked is not ours any more. */
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
      return 'it can’t be described';
    });
    this.#seenAt = askedAt;
  }

  get isOverdue(): boolean {
    return performance.now() - this.#seenAt > longestUnseen;
  }

  /** After a server was away this takes a moment; behind a lock it does not end. */
  async seen(): Promise<void> {
    await Promise.race([this.look(), sleep(patience, undefined, { ref: false })]);
    if (!this.isOverdue) return;
    throw new Failure('UNAVAILABLE', {
      cause: new StoreError(
        'the schema of this database can’t be looked at: a table is locked, or the server is too busy',
      ),
      retryAfter: 1,
    });
  }

  refuseIfAltered(): void {
    if (this.#fault === null) return;
    throw new Failure('UNAVAILABLE', { cause: new StoreError(alteredBy(this.#fault)), retryAfter: 1 });
  }
}
