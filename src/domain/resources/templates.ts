/**
 * What is stored of a template: its text with the ids of the secrets in place of their names, sealed like a value but
 * under another field, so that an earlier release can't return it as a value; and its kind and the ids in the stamped
 * attributes of its row and version.
 */
import type { SecretKind, TemplatePart } from '../../contract/templates.ts';
import type { ResourceRow } from '../../store/records/resources.ts';

/** A secret's vault and id. */
export type StoredReference = readonly [vaultId: string, id: string];
export type StoredPart = TemplatePart<StoredReference>;

type Described = Pick<ResourceRow, 'attributes'>;

interface SecretAttributes {
  readonly kind?: SecretKind;
  /** The ids of the secrets that it refers to. */
  readonly references?: readonly string[];
}

/** Whatever else is in the attributes stays. */
export type OtherAttributes = Readonly<Record<string, unknown>>;

const none = '{}';

function attributesOf({ attributes }: Described): SecretAttributes & OtherAttributes {
  return attributes === none ? {} : (JSON.parse(attributes) as SecretAttributes & OtherAttributes);
}

export function kindOf(secret: Described): SecretKind {
  return attributesOf(secret).kind ?? 'value';
}

export function targetIdsOf(secret: Described): readonly string[] {
  return attributesOf(secret).references ?? [];
}

/** The attributes of a secret's next version. */
export function attributesWith(before: Described, references: readonly string[] | null): OtherAttributes {
  const { kind: _, references: __, ...others } = attributesOf(before);
  return references === null ? others : { ...others, kind: 'template', references };
}

export function referencesIn(parts: readonly StoredPart[]): StoredReference[] {
  return parts.filter(part => typeof part !== 'string');
}

export function distinctIds(references: readonly StoredReference[]): string[] {
  return [...new Set(references.map(([, id]) => id))];
}

interface VaultAttributes {
  readonly referable_from?: readonly string[];
}

export function vaultAttributes({ attributes }: Described): VaultAttributes & OtherAttributes {
  return attributes === none ? {} : (JSON.parse(attributes) as VaultAttributes & OtherAttributes);
}

/** The vaults whose templates may refer to the secrets of a vault. */
export function referableFrom(vault: Described): readonly string[] {
  return vaultAttributes(vault).referable_from ?? [];
}
