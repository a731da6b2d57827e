/**
 * Seals the contents of a vault: the tags and description of a resource, and the values of its versions. The keyring
 * binds everything to its place. Tags can be searched only through a blind index.
 */
import type { Caller } from '../../access/caller.ts';
import type { Sealed } from '../../base/bytes.ts';
import type { Tags } from '../../contract/text.ts';
import type { Sealer } from '../../keyring/keyring.ts';
import type { TagRow } from '../../store/records/resource-changes.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import { kindOf, type StoredPart } from './templates.ts';

export interface Labels {
  readonly tags: Tags;
  readonly description: string;
}

export interface OpenVault {
  readonly row: ResourceRow;
  readonly sealer: Sealer;
}

export const noLabels: Labels = { tags: {}, description: '' };

export type SealingParts = Pick<Parts, 'keyring' | 'stamps' | 'keyringSync'>;
export type Sealing = ReturnType<typeof sealingWith>;

export function sealingWith({ keyring, stamps, keyringSync }: SealingParts) {
  async function openVaultRow(row: ResourceRow): Promise<OpenVault> {
    await keyringSync.ensureKeysFor(row.vault_key!);
    const place = { organization: row.organization_id, vault: row.id };
    return { row, sealer: keyring.openVault(place, row.vault_key!) };
  }

  function openLabels(row: ResourceRow, sealer: Sealer): Labels {
    if (row.labels === null) return noLabels;
    return JSON.parse(sealer.open(placeOf(row, 'labels'), row.labels).toString('utf8')) as Labels;
  }

  function sealLabels(row: Pick<ResourceRow, 'id' | 'type'>, sealer: Sealer, labels: Labels): Sealed | null {
    if (labels.description === '' && Object.keys(labels.tags).length === 0) return null;
    return sealer.seal(placeOf(row, 'labels'), Buffer.from(JSON.stringify(labels), 'utf8'));
  }

  function tagRows({ id, organization_id }: ResourceRow, tags: Tags): TagRow[] {
    return Object.entries(tags).map(([name, value]) => ({
      organization_id,
      tag_index: tagIndex(organization_id, name, value),
      resource_id: id,
    }));
  }

  function tagIndex(organizationId: string, name: string, value: string): string {
    return keyring.blindIndex(organizationId, JSON.stringify([name, value]));
  }

  /** The text is a value, or the stored form of a template if the row says so. */
  function versionOf(caller: Pick<Caller, 'id'>, row: ResourceRow, sealer: Sealer, text: string) {
    const field = kindOf(row) === 'template' ? 'template' : 'value';
    return stamps.stampVersion({
      resource_id: row.id,
      version: row.version,
      content_type: row.content_type,
      attributes: row.attributes,
      value: sealer.seal(placeOf(row, field, row.version), Buffer.from(text, 'utf8')),
      created_at: row.updated_at,
      created_by: caller.id,
    });
  }

  function openValue(row: ResourceRow, sealer: Sealer, sealed: Sealed, version = row.version): string {
    return sealer.open(placeOf(row, 'value', version), sealed).toString('utf8');
  }

  /** A template can't be opened as a value, nor a value as a template, whatever a row says. */
  function openTemplate(
    row: ResourceRow,
    sealer: Sealer,
    sealed: Sealed,
    version = row.version,
  ): StoredPart[] {
    const text = sealer.open(placeOf(row, 'template', version), sealed).toString('utf8');
    return JSON.parse(text) as StoredPart[];
  }

  return { openVaultRow, openLabels, sealLabels, openValue, openTemplate, tagRows, tagIndex, versionOf };
}

/** Labels have no versions. */
function placeOf(row: Pick<ResourceRow, 'id' | 'type'>, field: 'labels' | 'value' | 'template', version = 0) {
  return { type: row.type, resource: row.id, field, version };
}

/** Whether a vault demands review. */
export function isReviewed({ attributes }: Pick<ResourceRow, 'attributes'>): boolean {
  return attributes !== '{}' && (JSON.parse(attributes) as { review?: boolean }).review === true;
}
