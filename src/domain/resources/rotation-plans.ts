/**
 * The plan by which a secret rotates. It is part of the secret's stamped attributes, so that it is written, reviewed and
 * restored with it, and earlier releases keep it when they change something else. A template has no plan.
 */
import { periodOf, type Rotation } from '../../contract/rotations.ts';
import type { Secret } from '../../contract/secrets.ts';
import { isoOrNull } from '../../contract/text.ts';
import type { ResourceRow } from '../../store/records/resources.ts';

/** A plan as it was judged. */
export interface PlannedRotation {
  readonly plan: Rotation;
  /** The use rules that it names, with the revisions that were judged. */
  readonly rules: Readonly<Record<string, number>>;
  /** The server that the value led to; a new password is put into no address of another one. */
  readonly server: string | null;
}

interface Attributes {
  readonly rotation?: PlannedRotation;
  readonly rotates_at?: number;
  readonly rotated_at?: number;
}

type Described = Pick<ResourceRow, 'attributes'>;

const mark = '"rotates_at":';

function attributesOf({ attributes }: Described): Attributes {
  return attributes.includes(mark) ? (JSON.parse(attributes) as Attributes) : {};
}

export function plannedRotation(row: Described): PlannedRotation | null {
  return attributesOf(row).rotation ?? null;
}

/** Null if it doesn't rotate. */
export function nextRotation(row: Described): number | null {
  return attributesOf(row).rotates_at ?? null;
}

export function lastRotation(row: Described): number | null {
  return attributesOf(row).rotated_at ?? null;
}

export function presentRotation(row: Described): Pick<Secret, 'rotation' | 'next_rotation_at'> {
  const { rotation, rotates_at } = attributesOf(row);
  return { rotation: rotation?.plan ?? null, next_rotation_at: isoOrNull(rotates_at ?? null) };
}

/** A change of the plan, or the news that the secret was rotated. */
export interface RotationChange {
  /** Null for none. */
  readonly planned?: PlannedRotation | null;
  readonly at: number;
}

/** The attributes of the next revision, as text. */
export function withRotation(attributes: string, change: RotationChange | undefined): string {
  if (change === undefined) return attributes;
  const { rotation, rotates_at: _, rotated_at, ...others } = JSON.parse(attributes) as Attributes;
  const planned = change.planned === undefined ? rotation : change.planned;
  if (planned == null) return JSON.stringify(others);
  const rotated = change.planned === undefined ? change.at : rotated_at;
  return JSON.stringify({
    ...others,
    rotation: planned,
    rotates_at: change.at + periodOf(planned.plan.every),
    ...(rotated !== undefined && { rotated_at: rotated }),
  });
}

export function isSamePlan(plan: Rotation | null, before: PlannedRotation | null): boolean {
  return JSON.stringify(plan) === JSON.stringify(before?.plan ?? null);
}

/** Whether it obtains values that its author doesn't choose, or sends them somewhere. */
export function reachesOut({ by }: Rotation): boolean {
  return by.kind !== 'random' || by.confirm !== undefined;
}

/** How long the previous value stays valid, in milliseconds. */
export function overlapOf({ overlap }: Pick<Rotation, 'overlap'>): number {
  return overlap === '0' ? 0 : periodOf(overlap);
}
