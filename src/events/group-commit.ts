/** Small units from many hands, stored together: while one group is synced, the next one fills. */
import type { Statement, Unit } from '../store/engine.ts';
import type { Store } from '../store/store.ts';

interface Waiting {
  readonly unit: Unit;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const largestGroup = 200;

export class GroupCommit {
  readonly #store: Pick<Store, 'commit'>;
  #queue: Waiting[] = [];
  #running: Promise<void> | null = null;

  constructor(store: Pick<Store, 'commit'>) {
    this.#store = store;
  }

  /** Resolves once they are durable. */
  add(statements: readonly Statement[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ unit: { statements }, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async drain(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    await new Promise(setImmediate); // What this turn of the loop still brings goes along.
    while (this.#queue.length > 0) await this.#commit(this.#queue.splice(0, largestGroup));
    this.#running = null;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const statements = group.flatMap(({ unit }) => unit.statements);
    try {
      await this.#store.commit([{ statements }]);
      for (const { resolve } of group) resolve();
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
