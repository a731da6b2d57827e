/**
 * Cryptographic keys. `reveal` and the vault endpoint return the private key, unless the key is not exportable: then
 * no surface returns it, and the PEM contains the public key. Symmetric keys are never exportable.
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
import { importSymmetric } from '../../material/symmetric-key.ts';
import type { WorkerPool } from '../../material/worker-pool.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import {
  abilitiesIn,
  heldBy,
  isSymmetric,
  type KeyAttributes,
  keptOf,
  keyAttributes,
  minVersionOf,
  newKeyResource,
} from './key-attributes.ts';
import type { Labelled } from './lookup.ts';
import type { Records, Revise } from './records.ts';
import { checkDates } from './secrets.ts';
import { authorityOf, withSshProfile } from './ssh-profiles.ts';
import { revealedOf } from './subject.ts';

export type Keys = ReturnType<typeof keysWith>;

export function keysWith({ guard, workers }: Parts, records: Records) {
  /** A profile decides what others may have signed, so setting one takes the permission to use the key. */
  async function mayProfile(permit: Permit<'keys:write'>, id: string): Promise<void> {
    const { vault_id } = await records.find(permit, 'key', id);
    await guard.mayShow(permit.caller, ['keys:use'], [vault_id]);
  }

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
      const { name, tags, activation_date, expiration_date, ssh } = body;
      if (ssh !== undefined) await mayProfile(permit, id);
      const change: Revise = row => {
        checkDates(row, body);
        const dates = { activationDate: activation_date, expirationDate: expiration_date };
        return { name, tags, ...dates, attributes: changedAttributes(row, body) };
      };
      const verb = ssh === undefined ? 'key.updated' : 'key.ssh_updated';
      return presentKey(await records.revise(permit, 'key', id, change, verb));
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
      if (keyAttributes(before).ssh !== undefined)
        authorityOf({ public_pem: material.publicPem, holds: material.holds });
      const revised = await records.revise(
        permit,
        'key',
        id,
        row => ({
          value: material.pem,
          attributes: newKeyResource(row.name, material, keptOf(row)).attributes,
        }),
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

/** Undefined if they don't change. */
function changedAttributes(row: ResourceRow, { min_version, ssh }: KeyUpdate): KeyAttributes | undefined {
  const before = keyAttributes(row);
  if (min_version !== undefined && min_version > row.version)
    throw invalid('min_version', 'must be at most the current version');
  const isLowest = min_version === undefined || min_version === minVersionOf(row);
  const raised = isLowest ? before : { ...before, min_version };
  const changed = ssh === undefined ? raised : withSshProfile(raised, ssh);
  return changed === before ? undefined : changed;
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

export function notExportable(): Failure {
  return new Failure('FORBIDDEN', { message: 'The key is not exportable', because: 'not_allowed' });
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
    ssh: attributes.ssh ?? null,
    operations: Object.fromEntries(
      Object.entries(abilitiesIn(attributes)).map(([operation, names]) => [operation, [...names]]),
    ),
    public_pem: attributes.public_pem,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
