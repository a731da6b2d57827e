/**
 * Waits for changes made in this process, on the other plane or by another replica. A caller that begins a wait
 * before it reads misses nothing: a change that arrives during the read ends the wait immediately. If changes may
 * have been missed, every wait ends; while changes can't be received at all, every wait ends once a second, so that
 * callers read again.
 */
import type { Store } from '../../store/store.ts';

type Changes = Pick<Store, 'onChange' | 'hearsChanges'>;

export interface Wait {
  /** Resolves when one of the ids changes, the time has passed (null for no limit), or the signal aborts. */
  until(milliseconds: number | null, signal: AbortSignal): Promise<void>;
  end(): void;
}

const lookWhileDeaf = 1_000;

export class ChangeWaits {
  readonly #changes: Changes;
  readonly #waiting = new Map<string, Set<() => void>>();
  #looking: NodeJS.Timeout | null = null;

  constructor(changes: Changes) {
    this.#changes = changes;
    changes.onChange(touched => {
      if (touched === 'all') this.wakeAll();
      else for (const id of touched) this.#wake(id);
    });
  }

  /** Starts waiting now. The caller must call `end`. */
  begin(ids: readonly string[]): Wait {
    const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
    for (const id of ids) this.#waiting.set(id, (this.#waiting.get(id) ?? new Set()).add(wake));
    this.#looking ??= setInterval(() => this.#look(), lookWhileDeaf).unref();
    return {
      until: (milliseconds, signal) => {
        const timer = milliseconds === null ? undefined : setTimeout(wake, milliseconds);
        signal.addEventListener('abort', () => wake(), { once: true });
        if (signal.aborted) wake();
        return woken.finally(() => clearTimeout(timer));
      },
      end: () => {
        for (const id of ids) this.#forget(id, wake);
      },
    };
  }

  wakeAll(): void {
    for (const id of this.#waiting.keys()) this.#wake(id);
  }

  #look(): void {
    if (!this.#changes.hearsChanges()) this.wakeAll();
  }

  #wake(id: string): void {
    for (const wake of this.#waiting.get(id) ?? []) wake();
  }

  #forget(id: string, wake: () => void): void {
    const waiting = this.#waiting.get(id);
    waiting?.delete(wake);
    if (waiting?.size === 0) this.#waiting.delete(id);
    if (this.#waiting.size > 0 || this.#looking === null) return;
    clearInterval(this.#looking);
    this.#looking = null;
  }
}
