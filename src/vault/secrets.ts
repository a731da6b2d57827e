/** Secrets: values with versions. Reading about one and reading its value are two permissions. */
import type { Caller } from '../access/caller.ts';
import type { List, PageQuery } from '../contract/common.ts';
import { invalid } from '../contract/errors.ts';
import {
  datesOutOfOrder,
  type ResourceQuery,
  type RevealedSecret,
  type Secret,
  type SecretCreate,
  type SecretUpdate,
  type Version,
} from '../contract/resources.ts';
import { iso, isoOrNull } from '../contract/text.ts';
import type { ResourceRow, VersionRow } from '../store/resources.ts';
import type { Labelled } from './catalogue.ts';
import { type Collection, listOf } from './collection.ts';
import type { Parts } from './parts.ts';
import type { Shelf } from './shelf.ts';
import { subjectOf } from './subject.ts';

export interface Secrets extends Collection<Secret, SecretCreate, SecretUpdate, ResourceQuery> {
  reveal(caller: Caller, id: string, version: number | undefined): Promise<RevealedSecret>;
  versions(caller: Caller, id: string, query: PageQuery): Promise<List<Version>>;
  rollback(caller: Caller, id: string, version: number): Promise<Secret>;
  /** Refuses whoever may change no secret at all. */
  admitWrites(caller: Caller): Promise<void>;
}

const defaultContentType = 'text/plain';

export function secretsWith({ store, stamps, guard }: Parts, shelf: Shelf): Secrets {
  async function versionOf(row: ResourceRow, version: number): Promise<VersionRow> {
    const found = await store.resources.version(row.id, version);
    if (found === undefined) throw invalid('version', 'names no version of this secret');
    return stamps.believeVersion(found);
  }

  return {
    admitWrites: caller => guard.admit(caller, 'secrets:write'),

    async list(caller, query) {
      await guard.admit(caller, 'secrets:read');
      const { items, total } = await shelf.list(caller, 'secret', query);
      return listOf(items.map(presentSecret), total, query);
    },

    async get(caller, id) {
      await guard.admit(caller, 'secrets:read');
      return presentSecret(await shelf.labelled(await shelf.find(caller, 'secret', id)));
    },

    async create(caller, body) {
      await guard.admit(caller, 'secrets:write');
      const vault = await shelf.openVault(caller, body.vault_id);
      const [created] = await shelf.create(caller, vault, [
        {
          type: 'secret',
          name: body.name,
          value: body.value,
          contentType: body.content_type ?? defaultContentType,
          tags: body.tags,
          enabled: body.enabled,
          activationDate: body.activation_date,
          expirationDate: body.expiration_date,
        },
      ]);
      return presentSecret(created!);
    },

    async update(caller, id, body) {
      await guard.admit(caller, 'secrets:write');
      const revised = await shelf.revise(caller, 'secret', id, row => {
        checkDates(row, body);
        return {
          name: body.name,
          value: body.value,
          contentType: body.content_type,
          tags: body.tags,
          enabled: body.enabled,
          activationDate: body.activation_date,
          expirationDate: body.expiration_date,
        };
      });
      return presentSecret(revised);
    },

    async remove(caller, id, purge) {
      await guard.admit(caller, 'secrets:write');
      await shelf.remove(caller, 'secret', id, purge);
    },

    async reveal(caller, id, wanted) {
      await guard.admit(caller, 'secrets:reveal');
      const row = await shelf.find(caller, 'secret', id);
      const version = await versionOf(row, wanted ?? row.version);
      const { box } = await shelf.vaultOf(row);
      const labels = shelf.openLabels(row, box);
      return guard.reveal(caller, 'secrets:reveal', 'secret.revealed', subjectOf(row), () => ({
        ...presentSecret({ row, labels }),
        version: version.version,
        content_type: contentTypeOf(version, row),
        value: shelf.openValue(row, box, version.value, version.version),
      }));
    },

    async versions(caller, id, query) {
      await guard.admit(caller, 'secrets:read');
      const row = await shelf.find(caller, 'secret', id);
      const { rows, total } = await store.resources.versionPage(id, query);
      const items = rows.map(version => presentVersion(stamps.believeVersion(version), row));
      return listOf(items, total, query);
    },

    async rollback(caller, id, wanted) {
      await guard.admit(caller, 'secrets:write');
      const revision = async (row: ResourceRow) => {
        const version = await versionOf(row, wanted);
        const { box } = await shelf.vaultOf(row);
        const value = shelf.openValue(row, box, version.value, version.version);
        return { value, contentType: version.content_type };
      };
      return presentSecret(await shelf.revise(caller, 'secret', id, revision, 'secret.rolled_back'));
    },
  };
}

/** The current version's is the secret's own, which may have changed since the value was written. */
function contentTypeOf(version: VersionRow, row: ResourceRow): string {
  const current = version.version === row.version ? row.content_type : version.content_type;
  return current ?? defaultContentType;
}

/** A change of one date is held against the other one, as it is stored. */
export function checkDates(
  row: ResourceRow,
  body: { activation_date?: number | null | undefined; expiration_date?: number | null | undefined },
): void {
  const activation = body.activation_date === undefined ? row.activation_date : body.activation_date;
  const expiration = body.expiration_date === undefined ? row.expiration_date : body.expiration_date;
  if (activation !== null && expiration !== null && activation >= expiration) {
    throw invalid('expiration_date', datesOutOfOrder);
  }
}

export function presentSecret({ row, labels }: Labelled): Secret {
  return {
    id: row.id,
    type: 'secret',
    name: row.name,
    vault_id: row.vault_id,
    content_type: row.content_type ?? defaultContentType,
    tags: labels.tags,
    enabled: row.enabled === 1,
    activation_date: isoOrNull(row.activation_date),
    expiration_date: isoOrNull(row.expiration_date),
    version: row.version,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

export function presentVersion(version: VersionRow, row: ResourceRow): Version {
  return {
    version: version.version,
    created_at: iso(version.created_at),
    created_by: version.created_by,
    content_type: version.content_type,
    current: version.version === row.version,
  };
}
