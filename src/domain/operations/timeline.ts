/**
 * After a failover, the standby continues the log on a new timeline, and anything it had not received is lost. The
 * first replica that finds a different timeline than before records that once in every organization's audit log, so
 * that the verifier can distinguish such a gap from deleted entries. A database that was moved to another server has
 * no such gap.
 */
import { trustedCaller } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import { continuedAction } from '../../logs/logged-link.ts';
import type { Parts } from '../kernel/parts.ts';

export function timelineWith({ store, keyring, guard, newId }: Parts) {
  let known: string | null = null;
  const operator = (organizationId: string) =>
    trustedCaller('operator', 'operator', 'serve', organizationId, newId());

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

/** Ignores the conflict if another replica was first. */
function unlessTold(error: unknown): void {
  if (!(error instanceof Failure && error.code === 'CONFLICT')) throw error;
}
