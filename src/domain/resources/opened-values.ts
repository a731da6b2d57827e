/**
 * Opens the value of a secret for a caller of the general API, whether it is stored as it is or as a template. Whatever
 * a template contains is revealed with it, so each of its secrets gets an entry in the audit log too.
 */
import type { Caller } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { ResourceRow, VersionRow } from '../../store/records/resources.ts';
import type { Revealed } from '../kernel/subjects.ts';
import type { Records } from './records.ts';
import type { OpenVault } from './sealing.ts';
import { subjectOf } from './subject.ts';

type Current = ResourceRow & Pick<VersionRow, 'value'>;

interface OpenedValue {
  /** What is revealed along with the secret. */
  readonly targets: readonly Revealed<never>[];
  readonly value: () => string;
}

/** A template that can't be resolved now. To the caller, all reasons look the same. */
export class UnresolvedSecret extends Failure {
  readonly secret: string;

  constructor(secret: string) {
    super('CONFLICT', { field: 'value', reason: 'has a reference that can’t be resolved' });
    this.secret = secret;
  }
}

export function openedValuesWith(records: Records) {
  return {
    /** The current value, to compare it; null if it is a template that can't be resolved. */
    async current(row: Current, vault: OpenVault): Promise<string | null> {
      const template = records.references.opened(row, vault, row);
      if (template === null) return records.openValue(row, vault.sealer, row.value);
      const resolution = await records.references.resolution(row.organization_id, [template]);
      return resolution.resolve(template)?.value ?? null;
    },

    /** With `resolve`, throws if it is a template that can't be resolved. Otherwise its text is returned. */
    async value(
      caller: Caller,
      row: ResourceRow,
      vault: OpenVault,
      version: Pick<VersionRow, 'value' | 'version' | 'attributes'>,
      resolve = true,
    ): Promise<OpenedValue> {
      const template = records.references.opened(row, vault, version);
      if (template === null)
        return {
          targets: [],
          value: () => records.openValue(row, vault.sealer, version.value, version.version),
        };
      if (!resolve) {
        const text = await records.links.text(caller, vault.row, template.parts);
        return { targets: [], value: () => text };
      }
      const resolution = await records.references.resolution(row.organization_id, [template]);
      const resolved = resolution.resolve(template);
      if (resolved === null) throw new UnresolvedSecret(row.name);
      const via = { id: row.id, name: row.name };
      return {
        targets: resolution
          .reached(template)
          .map(target => ({ ...subjectOf(target), details: { version: target.version, via } })),
        value: () => resolved.value,
      };
    },
  };
}
