/**
 * A standby that took over goes on with the log on a new timeline, and what it had not received is gone. The first replica
 * that finds another timeline than the one before says so in every organization's audit log, once, so that the verifier can
 * tell such a gap from a cut. A database that was moved to another server has no such gap.
 */
import { trustedCaller } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import { continuedAction } from '../../logs/logged-link.ts';
import type { Parts } from '../kernel/parts.ts';

export function timelineWith({ store, keyring, guard, newId }: Parts) {
  let known: string | null = null;
  const operator = (organizationId: string) =>
    trustedCaller('operator', 'operator', 'serve', organizationId, newId());

  /** Takes note of where the database is. */
  return async (): Promise<void> => {
    const found = (await store.server?.timeline()) ?? null;
    if (found === null || known === `${found.cluster} ${found.number}`) return;
    const before = await store.timelines.read();
    if (before?.cluster !== found.cluster) await store.timelines.set(found);
    else if (before.number !== found.number) {
      const organizations = (await store.organizations.all()).map(({ id }) => operator(id));
      const told = guard.operate([operator(''), ...organizations], continuedAction, {
        subject: { type: 'log', id: keyring.deployment, name: 'log' },
        details: { from: before.number, to: found.number },
        statements: [store.timelines.replace(before, found)],
        touches: [],
      });
      await told.catch(unlessTold);
    }
    known = `${found.cluster} ${found.number}`;
  };
}

/** Another replica was first. */
function unlessTold(error: unknown): void {
  if (!(error instanceof Failure && error.code === 'CONFLICT')) throw error;
}
