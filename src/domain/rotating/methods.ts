/**
 * Where new values come from. A method knows no records: it drafts a value, creates it elsewhere, tries it, and takes
 * away one that is over. What it drafts is stored before it creates anything, and each of its steps may be repeated.
 */
import type { RotationBy } from '../../contract/rotations.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { PlannedRotation } from '../resources/rotation-plans.ts';
import type { OpenVault } from '../resources/sealing.ts';

/** A value, and how the other service knows it. */
export interface Made {
  /** Null as long as it is unknown. */
  readonly value: string | null;
  /** The user whose password it is. */
  readonly username: string | null;
  /** The id that the service gave it. */
  readonly remoteId: string | null;
}

export const nothingMade: Made = { value: null, username: null, remoteId: null };

/** A rotation under way. */
export interface Task<By extends RotationBy = RotationBy> {
  /** The id of the rotation, the same for each attempt. */
  readonly id: string;
  readonly row: ResourceRow;
  readonly vault: OpenVault;
  readonly by: By;
  readonly planned: Pick<PlannedRotation, 'rules' | 'server'>;
  /** The secret's value. */
  readonly current: string;
}

export interface Method<By extends RotationBy = RotationBy> {
  draft(task: Task<By>): Made;
  create(task: Task<By>, draft: Made): Promise<Made>;
  /** Throws if the new value doesn't work. */
  tryOut(task: Task<By>, made: Made): Promise<void>;
  /** Takes away a value that is over, or that was created and not used. One that is gone already is no failure. */
  remove(task: Task<By>, gone: Made): Promise<void>;
}

export type Methods = { readonly [K in RotationBy['kind']]: Method<Extract<RotationBy, { kind: K }>> };

/** A step failed. The reason contains nothing that is secret, and is shown to people who see the secret. */
export class RotationFailure extends Error {}

/** What a step needs was deleted, so that it can never be done. */
export class RotationImpossible extends RotationFailure {}
