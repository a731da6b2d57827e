/**
 * Cryptographic keys. `reveal` and the vault endpoint return the private key, unless the key is not exportable: then
 * no surface returns it, and the PEM contains the public key.
 */
import type { List, PageQuery } from '../../contract/common.ts';
import { Failure, invalid } from '../../contract/errors.ts';
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
          ...newKeyResource(body.name, material, body.exportable ?? true),
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
        return { name, tags, activationDate: activation_date, expirationDate: expiration_date };
      });
      return presentKey(revised);
    },

    async reveal(permit: Permit<'keys:reveal'>, id: string): Promise<RevealedKey> {
      const row = await records.find(permit, 'key', id);
      const { exportable, holds } = keyAttributes(row);
      if (!exportable && holds === 'private') {
        throw new Failure('FORBIDDEN', { message: 'The key is not exportable' });
      }
      const open = await records.currentValue(row);
      const shown = presentKey(await records.labelled(row));
      return guard.reveal(permit, 'key.revealed', [revealedOf(row)], () => ({ ...shown, pem: open() }));
    },

    /** Creates a new version from the given material, or from new material of the same kind. */
    async rotate(permit: Permit<'keys:write'>, id: string, body: KeyRotate): Promise<Key> {
      const before = await records.find(permit, 'key', id);
      const { exportable } = keyAttributes(before);
      const material = await materialFrom(
        workers,
        body.pem === undefined ? { generate: body.generate ?? sameKind(before) } : body,
      );
      const revised = await records.revise(
        permit,
        'key',
        id,
        () => ({ value: material.pem, attributes: attributesOf(material, exportable) }),
        'key.rotated',
      );
      return presentKey(revised);
    },

    versions: (permit: Permit<'keys:read'>, id: string, query: PageQuery): Promise<List<Version>> =>
      records.versions(permit, 'key', id, query),
  };
}

type Source = Pick<KeyCreate, 'generate' | 'pem' | 'passphrase'>;

function materialFrom(workers: WorkerPool, { generate, pem, passphrase }: Source): Promise<KeyMaterial> {
  return generate === undefined ? workers.importKey(pem!, passphrase) : workers.generateKey(generate);
}

export function newKeyResource(name: string, material: KeyMaterial, exportable: boolean): NewResource<'key'> {
  return { type: 'key', name, value: material.pem, attributes: attributesOf(material, exportable) };
}

export type KeyAttributes = ReturnType<typeof attributesOf>;

function attributesOf(material: KeyMaterial, exportable: boolean) {
  return {
    holds: material.holds,
    key_type: material.keyType,
    key_size: material.keySize,
    curve: material.curve,
    exportable,
    public_pem: material.publicPem,
  };
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
export function heldBy({ holds, exportable }: KeyAttributes): 'private' | 'public' {
  return exportable ? holds : 'public';
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
    public_pem: attributes.public_pem,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
