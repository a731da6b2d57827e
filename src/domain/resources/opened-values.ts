/**
 * Opens the value of a secret for a caller of the general API, whether it is stored as it is or as a template. Whatever
 * a template contains is revealed with it, so each of its secrets gets an entry in the audit log too: one for each
 * request, with the templates through which it was read.
 */
import type { Caller } from '../../access/caller.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type { ResourceRow, VersionRow } from '../../store/records/resources.ts';
import type { Revealed } from '../kernel/subjects.ts';
import type { Records } from './records.ts';
import type { Resolution } from './references.ts';
import type { OpenVault } from './sealing.ts';
import { subjectOf } from './subject.ts';

type Current = ResourceRow & Pick<VersionRow, 'value'>;

/** A secret whose value is revealed as part of a template. */
interface Target {
  readonly row: ResourceRow;
  readonly via: { readonly id: string; readonly name: string };
}

export interface OpenedValue {
  /** What is revealed along with the secret. */
  readonly targets: readonly Target[];
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

/** Other secrets whose values the templates of one request contain. */
const mostContained = 1_000;

/** What is revealed along with secrets: each once, with all templates through which it was read. */
export function revealedAlong(opened: readonly Pick<OpenedValue, 'targets'>[]): Revealed<never>[] {
  const byId = new Map<string, { row: ResourceRow; via: Target['via'][] }>();
  for (const { row, via } of opened.flatMap(({ targets }) => targets)) {
    const found = byId.get(row.id) ?? { row, via: [] };
    byId.set(row.id, found);
    found.via.push(via);
  }
  if (byId.size > mostContained)
    throw invalid('secret_ids', `must not contain templates of more than ${mostContained} other secrets`);
  return [...byId.values()].map(({ row, via }) => ({
    ...subjectOf(row),
    details: { version: row.version, via },
  }));
}

export function openedValuesWith(records: Records) {
  return {
    /** The current value, to compare it; null if it is a template that can't be resolved. */
    async current(row: Current, vault: OpenVault, shared: Resolution): Promise<string | null> {
      const template = records.references.opened(row, vault, row);
      if (template === null) return records.openValue(row, vault.sealer, row.value);
      await shared.load([template]);
      return shared.resolve(template)?.value ?? null;
    },

    /** With `resolve`, throws if it is a template that can't be resolved. Otherwise its text is returned. */
    async value(
      caller: Caller,
      row: ResourceRow,
      vault: OpenVault,
      version: Pick<VersionRow, 'value' | 'version' | 'attributes'>,
      resolve = true,
      shared?: Resolution,
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
      const resolution = shared ?? records.references.shared(row.organization_id);
      await resolution.load([template]);
      const resolved = resolution.resolve(template);
      if (resolved === null) throw new UnresolvedSecret(row.name);
      const via = { id: row.id, name: row.name };
      return {
        targets: resolution.reached(template).map(target => ({ row: target, via })),
        value: () => resolved.value,
      };
    },
  };
}
