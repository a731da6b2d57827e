/**
 * The row of a rotation: how it begins and changes its state. Each state is stored before the step that it announces, so
 * that after a crash at any moment the service knows what may exist elsewhere, and which value is in use.
 */

import type { RotationKind, RotationState } from '../../contract/names.ts';
import type { PastRotation, RotationBy } from '../../contract/rotations.ts';
import { iso } from '../../contract/text.ts';
import type { Sealer } from '../../keyring/keyring.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { RotationRow } from '../../store/records/rotations.ts';
import type { Parts } from '../kernel/parts.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import type { PlannedRotation } from '../resources/rotation-plans.ts';
import type { Made } from './methods.ts';

/** What is sealed. Once the new value is used, it is only in the secret. */
export interface RotationContent {
  readonly by: RotationBy;
  readonly planned: Pick<PlannedRotation, 'rules' | 'server'>;
  /** The version that was in use when it began. */
  readonly from: number;
  readonly made: Made;
  /** What the new value replaces, as the other service knows it. */
  readonly previous: Made;
}

interface Begun {
  readonly id: string;
  readonly row: ResourceRow;
  readonly sealer: Sealer;
  readonly content: RotationContent;
  readonly startedBy: string;
}

type Revision = Pick<RotationRow, 'id' | 'revision'>;

export type RotationRecords = ReturnType<typeof rotationRecordsWith>;

export function rotationRecordsWith({ stamps, now }: Pick<Parts, 'stamps' | 'now'>) {
  return {
    begun: ({ id, row, sealer, content, startedBy }: Begun): RotationRow =>
      stamps.rotation.create(now(), {
        id,
        organization_id: row.organization_id,
        vault_id: row.vault_id,
        resource_id: row.id,
        kind: content.by.kind,
        state: 'creating' satisfies RotationState,
        content: seal(sealer, { id, revision: 1 }, content),
        started_by: startedBy,
        version: null,
        overlap_until: null,
      }),

    next: (
      before: RotationRow,
      sealer: Sealer,
      content: RotationContent,
      changes: Pick<RotationRow, 'state'> & Partial<Pick<RotationRow, 'version' | 'overlap_until'>>,
    ): RotationRow => {
      const revision = { id: before.id, revision: before.revision + 1 };
      return stamps.rotation.revise(before, { ...changes, content: seal(sealer, revision, content) }, now());
    },
  };
}

function contentPlace({ id, revision }: Revision) {
  return { type: 'rotation', resource: id, field: 'content', version: revision };
}

function seal(sealer: Sealer, revision: Revision, content: RotationContent) {
  return sealer.seal(contentPlace(revision), Buffer.from(JSON.stringify(content), 'utf8'));
}

export function openRotation(sealer: Sealer, row: RotationRow): RotationContent {
  return JSON.parse(sealer.open(contentPlace(row), row.content).toString('utf8')) as RotationContent;
}

export function rotationSubject(row: RotationRow, name: string, more: object = {}): SubjectChange {
  const { id, vault_id: vaultId, revision, resource_id: secret_id, kind, version } = row;
  const used = version === null ? {} : { version };
  return { type: 'rotation', id, name, vaultId, revision, details: { secret_id, kind, ...used, ...more } };
}

export function presentPast(row: RotationRow): PastRotation {
  return {
    id: row.id,
    secret_id: row.resource_id,
    kind: row.kind as RotationKind,
    state: row.state as RotationState,
    started_by: row.started_by,
    version: row.version,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
