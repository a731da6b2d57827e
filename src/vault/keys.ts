/**
 * Cryptographic keys. A private half is handed out by `reveal` and by the vault endpoint, unless the key is
 * not exportable: then nobody gets it, on any surface, and what the PEM holds is the public half.
 */
import type { Caller } from '../access/caller.ts';
import type { List, PageQuery } from '../contract/common.ts';
import { Failure, invalid } from '../contract/errors.ts';
import {
  type Key,
  type KeyCreate,
  type KeyRotate,
  type KeySpecification,
  type KeyUpdate,
  type ResourceQuery,
  type RevealedKey,
  rsaSizes,
  type Version,
} from '../contract/resources.ts';
import { iso, isoOrNull } from '../contract/text.ts';
import { generateKey, importKey, type KeyMaterial } from '../material/key-material.ts';
import type { ResourceRow } from '../store/resources.ts';
import type { Labelled } from './catalogue.ts';
import { type Collection, listOf } from './collection.ts';
import type { Parts } from './parts.ts';
import { checkDates, presentVersion } from './secrets.ts';
import type { Draft, Shelf } from './shelf.ts';
import { subjectOf } from './subject.ts';

export interface Keys extends Collection<Key, KeyCreate, KeyUpdate, ResourceQuery> {
  reveal(caller: Caller, id: string): Promise<RevealedKey>;
  /** A new version: the material given, or new material of the same kind. */
  rotate(caller: Caller, id: string, body: KeyRotate): Promise<Key>;
  versions(caller: Caller, id: string, query: PageQuery): Promise<List<Version>>;
}

/** What a key's record shows of its material. */
export interface KeyAttributes {
  readonly holds: 'private' | 'public';
  readonly key_type: Key['key_type'];
  readonly key_size: number;
  readonly curve: string | null;
  readonly exportable: boolean;
  readonly public_pem: string;
}

export function keysWith({ store, stamps, guard }: Parts, shelf: Shelf): Keys {
  return {
    async list(caller, query) {
      await guard.admit(caller, 'keys:read');
      const { items, total } = await shelf.list(caller, 'key', query);
      return listOf(items.map(presentKey), total, query);
    },

    async get(caller, id) {
      await guard.admit(caller, 'keys:read');
      return presentKey(await shelf.labelled(await shelf.find(caller, 'key', id)));
    },

    async create(caller, body) {
      await guard.admit(caller, 'keys:write');
      const vault = await shelf.openVault(caller, body.vault_id);
      const material = await materialFrom(body);
      const [created] = await shelf.create(caller, vault, [
        {
          ...keyDraft(body.name, material, body.exportable ?? true),
          tags: body.tags,
          activationDate: body.activation_date,
          expirationDate: body.expiration_date,
        },
      ]);
      return presentKey(created!);
    },

    async update(caller, id, body) {
      await guard.admit(caller, 'keys:write');
      const revised = await shelf.revise(caller, 'key', id, row => {
        checkDates(row, body);
        const { name, tags, activation_date, expiration_date } = body;
        return { name, tags, activationDate: activation_date, expirationDate: expiration_date };
      });
      return presentKey(revised);
    },

    async remove(caller, id, purge) {
      await guard.admit(caller, 'keys:write');
      await shelf.remove(caller, 'key', id, purge);
    },

    async reveal(caller, id) {
      await guard.admit(caller, 'keys:reveal');
      const row = await shelf.find(caller, 'key', id);
      const { exportable, holds } = keyAttributes(row);
      if (!exportable && holds === 'private') {
        throw new Failure('FORBIDDEN', { message: 'The key is not exportable' });
      }
      const { box, row: vault } = await shelf.vaultOf(row);
      const stored = await store.resources.withValue(vault.id, id);
      if (stored === undefined) throw new Failure('NOT_FOUND');
      const { value } = stamps.resource.believe(stored);
      const labels = shelf.openLabels(row, box);
      return guard.reveal(caller, 'keys:reveal', 'key.revealed', subjectOf(row), () => ({
        ...presentKey({ row, labels }),
        pem: shelf.openValue(row, box, value),
      }));
    },

    async rotate(caller, id, body) {
      await guard.admit(caller, 'keys:write');
      const before = await shelf.find(caller, 'key', id);
      const { exportable } = keyAttributes(before);
      const material = await materialFrom(
        body.pem === undefined ? { generate: body.generate ?? sameKind(before) } : body,
      );
      const revised = await shelf.revise(
        caller,
        'key',
        id,
        () => ({ value: material.pem, attributes: attributesOf(material, exportable) }),
        'key.rotated',
      );
      return presentKey(revised);
    },

    async versions(caller, id, query) {
      await guard.admit(caller, 'keys:read');
      const row = await shelf.find(caller, 'key', id);
      const { rows, total } = await store.resources.versionPage(id, query);
      return listOf(
        rows.map(version => presentVersion(stamps.believeVersion(version), row)),
        total,
        query,
      );
    },
  };
}

type Source = Pick<KeyCreate, 'generate' | 'pem' | 'passphrase'>;

function materialFrom({ generate, pem, passphrase }: Source): Promise<KeyMaterial> {
  return generate === undefined ? importKey(pem!, passphrase) : generateKey(generate);
}

export function keyDraft(name: string, material: KeyMaterial, exportable: boolean): Draft {
  return { type: 'key', name, value: material.pem, attributes: { ...attributesOf(material, exportable) } };
}

function attributesOf(material: KeyMaterial, exportable: boolean): KeyAttributes & Record<string, unknown> {
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
  // An import may be of a size that is not generated: it would take too long, or serve nobody.
  if (key_type === 'RSA' && !rsaSizes.some(size => size === key_size)) {
    throw invalid('generate', 'must be given: keys of the present size are not generated');
  }
  const named = curve === null ? { key_type, key_size } : { key_type, curve };
  return named as KeySpecification;
}

/** What the PEM that is handed out holds. */
export function heldBy({ holds, exportable }: KeyAttributes): 'private' | 'public' {
  return exportable ? holds : 'public';
}

export function presentKey({ row, labels }: Labelled): Key {
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
    tags: labels.tags,
    version: row.version,
    public_pem: attributes.public_pem,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
