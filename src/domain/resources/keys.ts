/**
 * Cryptographic keys. `reveal` and the vault endpoint return the private key, unless the key is not exportable: then
 * no surface returns it, and the PEM contains the public key. Symmetric keys are never exportable.
 */
import type { List, PageQuery } from '../../contract/common.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { abilitiesOf } from '../../contract/key-abilities.ts';
import {
  type Key,
  type KeyCreate,
  type KeyRotate,
  type KeySpecification,
  type KeyUpdate,
  type RevealedKey,
  rsaSizes,
  type Version,
} from '../../contract/resources.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { KeyMaterial } from '../../material/key-material.ts';
import { importSymmetric } from '../../material/symmetric-key.ts';
import type { WorkerPool } from '../../material/worker-pool.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Labelled } from './lookup.ts';
import type { Records } from './records.ts';
import { checkDates } from './secrets.ts';
import { revealedOf } from './subject.ts';
import type { NewResource } from './writes.ts';

export type Keys = ReturnType<typeof keysWith>;

export function keysWith({ guard, workers }: Parts, records: Records) {
  return {
    ...records.collectionOf('key', presentKey),

    async create(permit: Permit<'keys:write'>, body: KeyCreate): Promise<Key> {
      const vault = await records.openVault(permit, body.vault_id);
      const material = await materialFrom(workers, body);
      const [created] = await records.create(vault, [
        {
          permit,
          ...newKeyResource(body.name, material, { exportable: exportableOf(material, body) }),
          tags: body.tags,
          activationDate: body.activation_date,
          expirationDate: body.expiration_date,
        },
      ]);
      return presentKey(created!);
    },

    async update(permit: Permit<'keys:write'>, id: string, body: KeyUpdate): Promise<Key> {
      const revised = await records.revise(permit, 'key', id, row => {
        checkDates(row, body);
        const { name, tags, activation_date, expiration_date } = body;
        const dates = { activationDate: activation_date, expirationDate: expiration_date };
        return { name, tags, ...dates, attributes: withMinVersion(row, body.min_version) };
      });
      return presentKey(revised);
    },

    async reveal(permit: Permit<'keys:reveal'>, id: string): Promise<RevealedKey> {
      const row = await records.find(permit, 'key', id);
      const { exportable, holds } = keyAttributes(row);
      if (!exportable && holds === 'private') {
        throw notExportable();
      }
      const open = await records.currentValue(row);
      const shown = presentKey(await records.labelled(row));
      return guard.reveal(permit, 'key.revealed', [revealedOf(row)], () => ({ ...shown, pem: open() }));
    },

    /** Creates a new version from the given material, or from new material of the same kind. */
    async rotate(permit: Permit<'keys:write'>, id: string, body: KeyRotate): Promise<Key> {
      const before = await records.find(permit, 'key', id);
      const isGiven = body.pem !== undefined || body.oct !== undefined;
      const material = await materialFrom(
        workers,
        isGiven ? body : { generate: body.generate ?? sameKind(before) },
      );
      if (isSymmetric(material.keyType) !== isSymmetric(keyAttributes(before).key_type))
        throw invalid('generate', 'must be a symmetric key exactly if the key is one');
      const revised = await records.revise(
        permit,
        'key',
        id,
        row => ({ value: material.pem, attributes: attributesOf(material, keptOf(row)) }),
        'key.rotated',
      );
      return presentKey(revised);
    },

    versions: (permit: Permit<'keys:read'>, id: string, query: PageQuery): Promise<List<Version>> =>
      records.versions(permit, 'key', id, query),
  };
}

type Source = Pick<KeyCreate, 'generate' | 'pem' | 'passphrase' | 'oct'>;

async function materialFrom(workers: WorkerPool, source: Source): Promise<KeyMaterial> {
  const { generate, pem, passphrase, oct } = source;
  if (oct !== undefined) return importSymmetric(oct.key_type, oct.k);
  return generate === undefined ? workers.importKey(pem!, passphrase) : workers.generateKey(generate);
}

function exportableOf({ keyType }: KeyMaterial, { exportable }: KeyCreate): boolean {
  if (!isSymmetric(keyType)) return exportable ?? true;
  if (exportable === true) throw invalid('exportable', 'can’t be true for a symmetric key');
  return false;
}

export function isSymmetric(keyType: string): boolean {
  return keyType === 'AES' || keyType === 'HMAC';
}

export function newKeyResource(name: string, material: KeyMaterial, kept: Kept): NewResource<'key'> {
  return { type: 'key', name, value: material.pem, attributes: attributesOf(material, kept) };
}

export type KeyAttributes = ReturnType<typeof attributesOf>;

/** What all versions of a key have in common. */
interface Kept {
  readonly exportable: boolean;
  /** Omitted for the first. */
  readonly min_version?: number;
}

export function keptOf(row: ResourceRow): Kept {
  const { exportable, min_version } = keyAttributes(row);
  return min_version === undefined ? { exportable } : { exportable, min_version };
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

/** The oldest version that still verifies and decrypts. */
export function minVersionOf(row: ResourceRow): number {
  return keyAttributes(row).min_version ?? 1;
}

/** Undefined if it doesn't change. */
function withMinVersion(row: ResourceRow, wanted: number | undefined) {
  if (wanted === undefined || wanted === minVersionOf(row)) return undefined;
  if (wanted > row.version) throw invalid('min_version', 'must be at most the current version');
  return { ...keyAttributes(row), min_version: wanted };
}

export function keyAttributes(row: ResourceRow): KeyAttributes {
  return JSON.parse(row.attributes) as KeyAttributes;
}

function sameKind(row: ResourceRow): KeySpecification {
  const { key_type, key_size, curve } = keyAttributes(row);
  // An imported key can have a size that is not offered for generation, because it would take too long or has no use.
  if (key_type === 'RSA' && !rsaSizes.some(size => size === key_size)) {
    throw invalid('generate', 'is required: keys of the current size can’t be generated');
  }
  const named = curve === null ? { key_type, key_size } : { key_type, curve };
  return named as KeySpecification;
}

/** Whether the PEM that is returned contains a private or a public key. */
export function heldBy({ holds, exportable, key_type }: KeyAttributes): HeldBy {
  if (isSymmetric(key_type)) return 'symmetric';
  return exportable ? holds : 'public';
}

export type HeldBy = 'private' | 'public' | 'symmetric';

export function notExportable(): Failure {
  return new Failure('FORBIDDEN', { message: 'The key is not exportable', because: 'not_allowed' });
}

export function abilitiesIn({ key_type, key_size, curve, holds }: KeyAttributes) {
  return abilitiesOf({ key_type, key_size, curve, has_private_key: holds === 'private' });
}

function presentKey({ row, labels }: Labelled): Key {
  const attributes = keyAttributes(row);
  return {
    id: row.id,
    type: heldBy(attributes),
    name: row.name,
    vault_id: row.vault_id,
    key_type: attributes.key_type,
    key_size: attributes.key_size,
    curve: attributes.curve,
    activation_date: isoOrNull(row.activation_date),
    expiration_date: isoOrNull(row.expiration_date),
    exportable: attributes.exportable,
    has_private_key: attributes.holds === 'private',
    tags: labels.tags,
    version: row.version,
    min_version: minVersionOf(row),
    operations: Object.fromEntries(
      Object.entries(abilitiesIn(attributes)).map(([operation, names]) => [operation, [...names]]),
    ),
    public_pem: attributes.public_pem,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
