/**
 * What is stored of a key beside its value: its type, its public key, and what all of its versions have in common. An SSH
 * profile is part of the latter, and so is what is revoked.
 */
import { abilitiesOf, type KeyAbilities } from '../../contract/key-abilities.ts';
import type { SshProfile } from '../../contract/ssh.ts';
import type { KeyMaterial } from '../../material/key-material.ts';
import type { ResourceRow } from '../../store/records/resources.ts';

export type KeyAttributes = ReturnType<typeof attributesOf>;

/** What is revoked, and when, in milliseconds. Public keys are named by their fingerprints. */
export interface SshRevocation {
  readonly by: 'serial' | 'key_id' | 'public_key';
  readonly value: string;
  readonly at: number;
}

/** What all versions of a key have in common. */
interface Kept {
  readonly exportable: boolean;
  /** Omitted for the first. */
  readonly min_version?: number | undefined;
  /** Omitted for a key that signs no SSH certificates. */
  readonly ssh?: SshProfile | undefined;
  readonly ssh_revoked?: readonly SshRevocation[] | undefined;
}

/** With each of its fields, so that it replaces whatever an earlier version had. Undefined ones are not stored. */
export function keptOf(row: ResourceRow): Kept {
  const { exportable, min_version, ssh, ssh_revoked } = keyAttributes(row);
  return { exportable, min_version, ssh, ssh_revoked };
}

function attributesOf(material: KeyMaterial, kept: Kept) {
  return {
    holds: material.holds,
    key_type: material.keyType,
    key_size: material.keySize,
    curve: material.curve,
    public_pem: material.publicPem,
    ...kept,
  };
}

export function newKeyResource(name: string, material: KeyMaterial, kept: Kept) {
  return { type: 'key' as const, name, value: material.pem, attributes: attributesOf(material, kept) };
}

export function keyAttributes(row: Pick<ResourceRow, 'attributes'>): KeyAttributes {
  return JSON.parse(row.attributes) as KeyAttributes;
}

export function isSymmetric(keyType: string): boolean {
  return keyType === 'AES' || keyType === 'HMAC';
}

/** The oldest version that still verifies and decrypts. */
export function minVersionOf(row: ResourceRow): number {
  return keyAttributes(row).min_version ?? 1;
}

/** Whether the PEM that is returned contains a private or a public key. */
export function heldBy({ holds, exportable, key_type }: KeyAttributes): HeldBy {
  if (isSymmetric(key_type)) return 'symmetric';
  return exportable ? holds : 'public';
}

export type HeldBy = 'private' | 'public' | 'symmetric';

/** A key with an SSH profile signs nothing else: among other bytes could be a certificate that the profile forbids. */
export function abilitiesIn({ key_type, key_size, curve, holds, ssh }: KeyAttributes): KeyAbilities {
  const { sign, ...others } = abilitiesOf({
    key_type,
    key_size,
    curve,
    has_private_key: holds === 'private',
  });
  return sign === undefined || ssh !== undefined ? others : { sign, ...others };
}
