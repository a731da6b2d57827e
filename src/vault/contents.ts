/**
 * What lies sealed in a vault: tags and descriptions beside a resource, and the values of its versions. Everything is
 * bound to its place by the keyring; tags can be found by a blind index, and by nothing else.
 */
import type { Caller } from '../access/caller.ts';
import type { Tags } from '../contract/text.ts';
import type { Box } from '../keyring/keyring.ts';
import type { Statement } from '../store/engine.ts';
import type { ResourceRow } from '../store/resources.ts';
import type { Parts } from './parts.ts';

export interface Labels {
  readonly tags: Tags;
  readonly description: string;
}

/** A vault whose key is at hand. */
export interface OpenVault {
  readonly row: ResourceRow;
  readonly box: Box;
}

export const noLabels: Labels = { tags: {}, description: '' };

export type Contents = ReturnType<typeof contentsWith>;

export function contentsWith({ store, keyring, stamps, terms }: Parts) {
  async function openVaultRow(row: ResourceRow): Promise<OpenVault> {
    await terms.know(row.vault_key!);
    const place = { organization: row.organization_id, vault: row.id };
    return { row, box: keyring.openVault(place, row.vault_key!) };
  }

  function openLabels(row: ResourceRow, box: Box): Labels {
    if (row.labels === null) return noLabels;
    return JSON.parse(box.open(labelsPlace(row), row.labels).toString('utf8')) as Labels;
  }

  function sealLabels(row: Pick<ResourceRow, 'id' | 'type'>, box: Box, labels: Labels): Uint8Array | null {
    if (labels.description === '' && Object.keys(labels.tags).length === 0) return null;
    return box.seal(labelsPlace(row), Buffer.from(JSON.stringify(labels), 'utf8'));
  }

  function tagStatements(row: ResourceRow, tags: Tags): Statement[] {
    const indexes = Object.entries(tags).map(([name, value]) => tagIndex(row.organization_id, name, value));
    return store.resources.setTags(row.organization_id, row.id, indexes);
  }

  function tagIndex(organizationId: string, name: string, value: string): string {
    return keyring.blindIndex(organizationId, JSON.stringify([name, value]));
  }

  function versionStatement(caller: Caller, row: ResourceRow, box: Box, value: string): Statement {
    const place = valuePlace(row, row.version);
    return store.resources.insertVersion(
      stamps.stampVersion({
        resource_id: row.id,
        version: row.version,
        content_type: row.content_type,
        attributes: row.attributes,
        value: box.seal(place, Buffer.from(value, 'utf8')),
        created_at: row.updated_at,
        created_by: caller.id,
      }),
    );
  }

  function openValue(row: ResourceRow, box: Box, sealed: Uint8Array, version = row.version): string {
    return box.open(valuePlace(row, version), sealed).toString('utf8');
  }

  return { openVaultRow, openLabels, sealLabels, openValue, tagStatements, tagIndex, versionStatement };
}

function labelsPlace(row: Pick<ResourceRow, 'id' | 'type'>) {
  return { type: row.type, resource: row.id, field: 'labels', version: 0 };
}

function valuePlace(row: Pick<ResourceRow, 'id' | 'type'>, version: number) {
  return { type: row.type, resource: row.id, field: 'value', version };
}
