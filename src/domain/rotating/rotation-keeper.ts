/**
 * Rotates secrets when they are due, or when someone asks. Each secret is worked on by one replica at a time; the claim of
 * a process that died ends after a minute, and another one goes on from the state that was stored. A rotation that fails
 * leaves the working value in place and is tried again with growing delays, up to an hour.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { once } from '../../base/memo.ts';
import { Failure } from '../../contract/errors.ts';
import { ProviderFailure } from '../../issuers/provider.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { reasonOf } from '../issuing/providers.ts';
import { StaleChange } from '../kernel/conflict-retries.ts';
import { eventOf } from '../kernel/events.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { stateAt } from '../resources/lifecycle.ts';
import type { Records } from '../resources/records.ts';
import { nextRotation, plannedRotation } from '../resources/rotation-plans.ts';
import { kindOf } from '../resources/templates.ts';
import { type Methods, RotationFailure } from './methods.ts';
import { type Place, type RotationSteps, type Run, rotationStepsWith } from './rotation-steps.ts';

const claim = 60_000;
const mostAtOnce = 8;
/** In milliseconds. */
const firstDelay = 30_000;
const longestDelay = 3_600_000;
/** When a secret that is not active is looked at again. */
const inactiveDelay = 3_600_000;
/** A request waits so often, and so many milliseconds each time, for a secret that is being looked at. */
const mostAttempts = 10;
const pause = 100;
/** Steps of one secret in a row: one rotation, and what an earlier one left. */
const mostSteps = 12;

export type RotationKeeper = ReturnType<typeof rotationKeeperWith>;

/** A person or a program asks for a rotation now. */
interface Asking {
  readonly permit: Permit<'secrets:write'>;
  /** Ends the overlap of an earlier one first. */
  readonly endsPrevious: boolean;
}

export function rotationKeeperWith(parts: Parts, records: Records, methods: Methods) {
  const { store, stamps, now, newId } = parts;
  const { queues } = store.rotations;
  const steps: RotationSteps = rotationStepsWith(parts, records, methods);
  const holder = newId();
  const working = new Map<string, Promise<void>>();
  /** Only one process works on an embedded database, so an existing claim was left by one that died. */
  const clean = once(async () => (store.engine === 'sqlite' ? queues.abandon() : undefined));
  let stopping = false;

  const write = (...statements: Parameters<typeof store.commit>[0][number]['statements'][number][]) =>
    store.commit([{ statements }]);

  /** The secret as it is now; null once it was deleted permanently. */
  async function placeOf(id: string, asking: Asking | null): Promise<Place | null> {
    const queue = await queues.of(id);
    const found = queue && (await store.resources.byId(queue.organization_id, id));
    if (found === undefined) {
      await write(...store.rotations.removeOf(id));
      return null;
    }
    const row = stamps.resource.believe(found);
    const vault = await records.vaultById(row.organization_id, row.vault_id);
    return { row, vault, asked: asking?.permit ?? null, held: queues.held(id, holder) };
  }

  function isRotatable(row: ResourceRow): boolean {
    return stateAt(row, now()) === 'active' && kindOf(row) === 'value' && plannedRotation(row) !== null;
  }

  /** What is to be done now: a rotation to begin or to go on with, or the time at which something is due. */
  function dueOf(row: ResourceRow, run: Run | null, asking: Asking | null): 'now' | 'never' | number {
    if (run !== null) {
      const { state, overlap_until: until } = run.rotation;
      if (state !== 'overlapping' || asking?.endsPrevious === true || until! <= now()) return 'now';
      return until!;
    }
    const next = nextRotation(row);
    if (next === null) return 'never';
    if (!isRotatable(row)) return now() + inactiveDelay;
    return asking !== null || next <= now() ? 'now' : next;
  }

  /** One step. Returns whether there may be another one, and whether what was asked for is still to be done. */
  async function turn(id: string, asking: Asking | null): Promise<{ asking: Asking | null } | null> {
    const place = await placeOf(id, asking);
    if (place === null) return null;
    const run = await steps.living(place);
    const due = dueOf(place.row, run, asking);
    if (due !== 'now') {
      await write(due === 'never' ? queues.remove(id) : queues.succeeded(id, due));
      return null;
    }
    if (run === null) {
      await steps.begin(place, plannedRotation(place.row)!);
      return { asking: null };
    }
    const { rotation } = await steps.advance(place, run);
    // One that had begun earlier is the one that was asked for.
    return { asking: rotation.state === 'overlapping' ? null : asking };
  }

  /** Does what is due about a secret, for as long as this process has the claim. */
  async function work(id: string, asking: Asking | null): Promise<void> {
    let next: { asking: Asking | null } | null = { asking };
    for (let step = 0; next !== null && step < mostSteps && !stopping; step++) {
      if (!(await queues.renew(id, holder, claim))) return;
      next = await turn(id, next.asking);
    }
  }

  async function failed(id: string, reason: string): Promise<void> {
    const queue = await queues.of(id);
    if (queue === undefined) return;
    const failures = queue.failures + 1;
    const state = {
      failures,
      failing_since: queue.failing_since ?? now(),
      reason,
      due_at: now() + Math.min(firstDelay * 2 ** Math.min(failures - 1, 20), longestDelay),
    };
    const found = await store.resources.byId(queue.organization_id, id);
    const told = failures === 1 && found !== undefined && found.deleted_at === null;
    const event =
      told && stamps.stampEvent(eventOf('rotation.failed', stamps.resource.believe(found), now(), newId));
    await write(queues.set(id, state), ...(event ? [store.outbox.add(event)] : []));
  }

  /** Works on a secret that was claimed. Rejects with what failed, once that is recorded. */
  async function workOn(id: string, asking: Asking | null, onError: (error: unknown) => void): Promise<void> {
    try {
      await work(id, asking);
    } catch (error) {
      // Another change came first: what is due is found again at the next look.
      if (error instanceof StaleChange) throw error;
      const isOurs = !isExpected(error);
      if (isOurs) onError(error);
      await failed(id, isOurs ? 'An internal error' : reasonFor(error));
      throw error;
    } finally {
      await queues.release(id, holder).catch(onError);
    }
  }

  /** Something else may just be looking at what is due. */
  async function claimSoon(id: string): Promise<void> {
    for (let attempt = 1; !stopping; attempt++) {
      await working.get(id);
      if (!working.has(id) && (await queues.claimOne(id, holder, claim))) return;
      if (attempt === mostAttempts) break;
      await sleep(pause);
    }
    throw underWay();
  }

  function tracked(id: string, work: Promise<void>): Promise<void> {
    const done = work.catch(() => {}).finally(() => working.delete(id));
    working.set(id, done);
    return work;
  }

  return {
    /** Begins what is due. */
    async step(onError: (error: unknown) => void): Promise<boolean> {
      await clean();
      const room = mostAtOnce - working.size;
      const claimed = room > 0 && !stopping ? await queues.claim(holder, now(), claim, room) : [];
      for (const id of claimed) void tracked(id, workOn(id, null, onError)).catch(() => {});
      return false;
    },

    /** Rotates a secret now. */
    async rotate(permit: Permit<'secrets:write'>, id: string, endsPrevious: boolean): Promise<void> {
      const row = await records.find(permit, 'secret', id);
      if (plannedRotation(row) === null)
        throw new Failure('CONFLICT', { message: 'The secret has no rotation' });
      if (!isRotatable(row)) throw new Failure('CONFLICT', { message: 'Only an active secret is rotated' });
      const vault = await records.vaultOf(row);
      const run = await steps.living({ row, vault });
      const isOverlapping = run?.rotation.state === 'overlapping' && run.rotation.overlap_until! > now();
      if (isOverlapping && !endsPrevious) throw stillValid();
      await clean();
      await claimSoon(id);
      const asking = { permit, endsPrevious };
      await tracked(
        id,
        workOn(id, asking, () => {}),
      ).catch(error => {
        if (error instanceof StaleChange) throw underWay();
        if (error instanceof Failure) throw error;
        throw new Failure('UNAVAILABLE', { message: notRotated(error), retryAfter: 30, cause: error });
      });
    },

    /** Resolves once nothing is being done any more. */
    async stop(): Promise<void> {
      stopping = true;
      await Promise.all(working.values());
    },

    /** Resolves once everything that was begun is done, for tests that use the domain alone. */
    idle: async (): Promise<void> => void (await Promise.all(working.values())),
  };
}

/** The other service refused or could not be reached; anything else is a fault of this one. */
function isExpected(error: unknown): boolean {
  if (error instanceof RotationFailure || error instanceof ProviderFailure) return true;
  if (error instanceof Failure) return error.code !== 'INTERNAL_ERROR';
  const { code, message } = error as Error & { code?: unknown };
  return typeof code === 'string' || /address is not allowed|timeout|terminated|closed/i.test(message);
}

function reasonFor(error: unknown): string {
  if (error instanceof RotationFailure) return error.message;
  if (error instanceof Failure) return 'The plan can’t be carried out as it is';
  return reasonOf(error);
}

function notRotated(error: unknown): string {
  const reason = isExpected(error) ? reasonFor(error) : 'an internal error';
  return `The secret was not rotated, and its value is the one it had: ${reason}`;
}

function stillValid(): Failure {
  return new Failure('CONFLICT', {
    message: 'The previous value is still valid: wait until it ends, or end it first with end_previous',
  });
}

function underWay(): Failure {
  return new Failure('CONFLICT', { message: 'The secret is being rotated already' });
}
