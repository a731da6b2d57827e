/**
 * One rotation of a secret, step by step: a draft is recorded, the new value is created and tried, and one transaction
 * puts it into use; once the overlap has ended, the previous value is taken away. Every step depends on the state that
 * was stored before it and on this process still working on the secret, and may be repeated. If the secret got another
 * value or another plan before the new value is used, that is taken away instead.
 */
import { type Caller, trustedCaller } from '../../access/caller.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { RotationState } from '../../contract/names.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { RotationRow } from '../../store/records/rotations.ts';
import { eventOf } from '../kernel/events.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Records } from '../resources/records.ts';
import {
  nextRotation,
  overlapOf,
  type PlannedRotation,
  plannedRotation,
} from '../resources/rotation-plans.ts';
import type { OpenVault } from '../resources/sealing.ts';
import { kindOf } from '../resources/templates.ts';
import { placesOf } from '../resources/writes.ts';
import {
  type Made,
  type Method,
  type Methods,
  nothingMade,
  RotationImpossible,
  type Task,
} from './methods.ts';
import {
  openRotation,
  type RotationContent,
  rotationRecordsWith,
  rotationSubject,
} from './rotation-records.ts';

/** A secret that this process works on. */
export interface Place {
  readonly row: ResourceRow;
  readonly vault: OpenVault;
  /** The permit of whoever asked for it; without one, it is due. */
  readonly asked: Permit<'secrets:write'> | null;
  /** Refuses a unit once another process works on the secret. */
  readonly held: Statement;
}

/** A rotation with what it contains. */
export interface Run {
  readonly rotation: RotationRow;
  readonly content: RotationContent;
}

export type RotationSteps = ReturnType<typeof rotationStepsWith>;

export const serviceId = 'rotations';

export function rotationStepsWith(parts: Parts, records: Records, methods: Methods) {
  const { store, stamps, guard, now, newId } = parts;
  const rows = rotationRecordsWith(parts);

  function service(organizationId: string): Caller {
    return trustedCaller('service', serviceId, serviceId, organizationId, newId());
  }

  async function keep(
    { row, held, asked }: Place,
    verb: AuditAction,
    rotation: RotationRow,
    statements: readonly Statement[],
    details: object = {},
  ): Promise<void> {
    const permit = asked ?? (await guard.admit(service(row.organization_id), 'secrets:write'));
    await guard.change(permit, verb, {
      subjects: [rotationSubject(rotation, row.name, details)],
      statements: [held, ...statements],
      touches: [rotation.id],
    });
  }

  async function proceed(
    place: Place,
    { rotation, content }: Run,
    verb: AuditAction,
    state: RotationState,
    { details, ...changes }: Partial<RotationContent> & { readonly details?: object } = {},
  ): Promise<Run> {
    const next = { ...content, ...changes };
    const row = rows.next(rotation, place.vault.sealer, next, { state });
    await keep({ ...place, asked: null }, verb, row, [store.rotations.update(row)], details);
    return { rotation: row, content: next };
  }

  async function taskOf(place: Place, id: string, of: Pick<RotationContent, 'by' | 'planned'>) {
    const { row, vault } = place;
    const current = (await valueAt(place, row.version)) ?? '';
    return { id, row, vault, by: of.by, planned: of.planned, current } satisfies Task;
  }

  /** The value of a version, even of a secret in the trash; null for a template. */
  async function valueAt({ row, vault }: Place, number: number): Promise<string | null> {
    const version = await records.version(row, number);
    if (version === null || kindOf(version) === 'template') return null;
    return records.openValue(row, vault.sealer, version.value, version.version);
  }

  /** What the current value is to the service that created it. */
  async function previousOf({ row, vault }: Place): Promise<Made> {
    const found = await store.rotations.last(row.id);
    const last = found && stamps.rotation.believe(found);
    if (last === undefined || last.version !== row.version) return nothingMade;
    return openRotation(vault.sealer, last).made;
  }

  /** Whether the secret is still what the rotation began with. */
  function isCurrent({ row }: Place, { content }: Run): boolean {
    const planned = plannedRotation(row);
    const isSame = planned !== null && JSON.stringify(planned.plan.by) === JSON.stringify(content.by);
    return row.deleted_at === null && row.version === content.from && isSame;
  }

  const methodOf = ({ by }: Pick<Task, 'by'>) => methods[by.kind] as Method;

  /** Puts the new value into use, with everything that a write of a secret does. */
  async function use(place: Place, { rotation, content }: Run): Promise<Run> {
    const { row, vault, held } = place;
    const by = service(row.organization_id);
    const planned = plannedRotation(row)!;
    const at = now();
    const { value, ...made } = content.made;
    const write = records.revisionOf<never>(by, row, vault, { value: value!, rotation: { at } });
    const used = { ...content, made: { ...made, value: null } };
    const overlapUntil = at + overlapOf(planned.plan);
    const next = rows.next(rotation, vault.sealer, used, {
      state: 'overlapping' satisfies RotationState,
      version: write.row.version,
      overlap_until: overlapUntil,
    });
    const permit = await guard.admit(by, 'secrets:write');
    const event = eventOf('secret.rotated', write.row, at, newId);
    await guard.change(permit, 'secret.rotated', {
      reviewed: await records.review.pass(permit, placesOf('secret.rotated', [write])),
      subjects: [write.subject, rotationSubject(next, row.name)],
      statements: [
        held,
        ...records.statementsOf([write]),
        store.rotations.update(next),
        store.rotations.queues.succeeded(row.id, overlapUntil, nextRotation(write.row)!),
        store.outbox.add(stamps.stampEvent(event)),
      ],
      touches: [row.vault_id],
    });
    return { rotation: next, content: used };
  }

  /** If what is needed for it was deleted, it is left where it is, and that is recorded. */
  async function takeAway(place: Place, run: Run, gone: Made): Promise<{ left?: true }> {
    const task = await taskOf(place, run.rotation.id, run.content);
    try {
      await methodOf(task).remove(task, gone);
      return {};
    } catch (error) {
      if (error instanceof RotationImpossible) return { left: true };
      throw error;
    }
  }

  return {
    service,

    async begin(place: Place, { plan, rules, server }: PlannedRotation): Promise<Run> {
      const id = newId();
      const of = { by: plan.by, planned: { rules, server } };
      const task = await taskOf(place, id, of);
      const made = methodOf(task).draft(task);
      const content = { ...of, from: place.row.version, made, previous: await previousOf(place) };
      const { row, vault, asked } = place;
      const startedBy = asked?.caller.id ?? serviceId;
      const rotation = rows.begun({ id, row, sealer: vault.sealer, content, startedBy });
      await keep(place, 'rotation.started', rotation, [store.rotations.insert(rotation)]);
      return { rotation, content };
    },

    async living({ row, vault }: Pick<Place, 'row' | 'vault'>): Promise<Run | null> {
      const found = await store.rotations.living(row.id);
      if (found === undefined) return null;
      const rotation = stamps.rotation.believe(found);
      return { rotation, content: openRotation(vault.sealer, rotation) };
    },

    /** The next step of a rotation that is not over. */
    async advance(place: Place, run: Run): Promise<Run> {
      const { rotation, content } = run;
      const state = rotation.state as RotationState;
      if (state === 'overlapping') {
        const value = await valueAt(place, content.from);
        const details = await takeAway(place, run, { ...content.previous, value });
        return proceed(place, run, 'rotation.ended', 'done', { details });
      }
      if (state === 'abandoning') {
        const details = await takeAway(place, run, content.made);
        return proceed(place, run, 'rotation.abandoned', 'abandoned', { details, made: nothingMade });
      }
      if (!isCurrent(place, run)) return proceed(place, run, 'rotation.abandoned', 'abandoning');
      const task = await taskOf(place, rotation.id, content);
      if (state === 'creating') {
        const made = await methodOf(task).create(task, content.made);
        return proceed(place, run, 'rotation.prepared', 'created', { made });
      }
      await methodOf(task).tryOut(task, content.made);
      return use(place, run);
    },
  };
}
