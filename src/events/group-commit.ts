/**
 * Stores statements from many sources together, a few times per second. A vault read may have to wait for each sync to
 * disk, so syncs are few, and shared where possible.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Statement } from '../store/engine/engine.ts';
import type { Store } from '../store/store.ts';

interface Waiting {
  readonly statements: readonly Statement[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const largestGroup = 500;
const fillTime = 50;

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
      this.#queue.push({ statements, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async drain(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      await sleep(fillTime);
      await this.#commit(this.#queue.splice(0, largestGroup));
    }
    this.#running = null;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    try {
      const statements = group.flatMap(one => one.statements);
      await this.#store.commit([{ statements }], { patience: fillTime });
      for (const { resolve } of group) resolve();
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
