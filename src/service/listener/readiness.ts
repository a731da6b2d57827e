/**
 * Whether the service can do its work, tested with a real write that goes all the way to disk; changes by other replicas
 * must also arrive. The result is valid for a second, so that frequent checks cost at most one write per second. A write
 * that does not return is not repeated, and counts as failed in the meantime. The operator gets a report when the
 * service stops being ready, with each reason, and when it is ready again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe } from '../../base/described-error.ts';
import type { Store } from '../../store/store.ts';

const holdsFor = 1_000;
const patience = 2_000;
const deaf =
  'changes by other replicas do not arrive: the service does not receive its own notifications from PostgreSQL';

export function readinessOf(
  { hearsChanges, tryWrite }: Pick<Store, 'hearsChanges' | 'tryWrite'>,
  report: (line: string) => void,
): () => Promise<boolean> {
  let found: Promise<boolean> | null = null;
  let writing: Promise<string | null> | null = null;
  let told: string | null = null;

  /** Null if the service is ready. */
  async function fault(): Promise<string | null> {
    if (!hearsChanges()) return deaf;
    writing ??= tryWrite()
      .then(() => null, describe)
      .finally(() => {
        writing = null;
      });
    return Promise.race([writing, sleep(patience, 'a write does not return', { ref: false })]);
  }

  async function look(): Promise<boolean> {
    const why = await fault();
    if (why !== null && why !== told) report(`not ready: ${why}`);
    if (why === null && told !== null) report('ready again');
    told = why;
    setTimeout(() => {
      found = null;
    }, holdsFor).unref();
    return why === null;
  }

  return () => {
    found ??= look();
    return found;
  };
}
