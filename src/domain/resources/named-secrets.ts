/**
 * Secrets addressed by vault and name, for callers that don't know ids. Each call corresponds to one by id, with the
 * same permission, audit entry and event; secrets that a caller may not find are not found. Secrets that are not
 * active can't be read here.
 */
import type { Caller } from '../../access/caller.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { iso, type Tags } from '../../contract/text.ts';
import type { ResourceRow, VersionRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import { type NamedPlace, namedLookupWith } from './named-lookup.ts';
import type { Records } from './records.ts';
import type { Secrets } from './secrets.ts';
import type { MayWrite } from './subject.ts';
import { kindOf } from './templates.ts';

export type SecretPlace = NamedPlace;

export interface SecretContent {
  readonly value: string;
  readonly content_type: string;
}

/** The current content before a write. Its value is decrypted only if the new one depends on it. */
export interface EarlierContent {
  readonly content_type: string;
  readonly value: () => string;
}

/** Computes the content to write from the current content, which is null if there is none. */
export type NextContent = (before: EarlierContent | null) => SecretContent;

export interface WrittenVersion {
  readonly version: number;
  readonly version_created_at: string;
}

/** Per secret; the newest are returned. */
const mostVersions = 1_000;
/** How often to retry if another caller creates or deletes the same name in the meantime. */
const attempts = 5;

export function namedSecretsWith(
  parts: Parts,
  records: Records,
  secrets: Pick<Secrets, 'create' | 'reveal' | 'versions' | 'update' | 'remove'>,
) {
  const { store, stamps, guard } = parts;
  const { lookUp, active, activeNames } = namedLookupWith(parts, records, 'secret');

  async function versionOf(row: ResourceRow, version: number): Promise<VersionRow> {
    const found = await records.version(row, version);
    if (found === null) throw new Failure('NOT_FOUND');
    return found;
  }

  async function create(
    permit: MayWrite<'secret'>,
    { vaultId, name }: SecretPlace,
    next: NextContent,
    expected: number | undefined,
  ): Promise<WrittenVersion> {
    checkVersion(expected, 0);
    const { version, created_at } = await secrets.create(permit, { vault_id: vaultId, name, ...next(null) });
    return { version, version_created_at: created_at };
  }

  async function replace(
    permit: MayWrite<'secret'>,
    id: string,
    next: NextContent,
    expected: number | undefined,
  ): Promise<WrittenVersion> {
    const { row } = await records.revise(permit, 'secret', id, async (before, { sealer }) => {
      checkVersion(expected, before.version);
      const stored = await versionOf(before, before.version);
      const { content_type, value } = next({
        content_type: before.content_type!,
        value: () => {
          if (kindOf(before) === 'template') throw invalid('', 'a template can’t be changed in part');
          return records.openValue(before, sealer, stored.value);
        },
      });
      return { contentType: content_type, value };
    });
    return { version: row.version, version_created_at: iso(row.updated_at) };
  }

  return {
    async vaultNamed(caller: Caller, name: string): Promise<string> {
      const permit = await guard.admit(caller, 'vaults:read');
      const row = await store.resources.vaultByName(caller.organizationId, name);
      return stamps.resource.believe(await guard.found(permit, row, row?.id)).id;
    },

    /** Throws unless the caller has access to the vault and may see it. */
    async checkVault(caller: Caller, vaultId: string): Promise<void> {
      await records.openVault(await guard.admit(caller, 'secrets:read'), vaultId);
    },

    async names(caller: Caller, vaultId: string): Promise<string[]> {
      return activeNames(await guard.admit(caller, 'secrets:read'), vaultId);
    },

    async reveal(caller: Caller, place: SecretPlace, wanted: number | null) {
      const permit = await guard.admit(caller, 'secrets:reveal');
      const row = await active(permit, place);
      const version = wanted ?? row.version;
      const created = iso((await versionOf(row, version)).created_at);
      return { ...(await secrets.reveal(permit, row.id, version)), version_created_at: created };
    },

    /** Refuses a caller who may not reveal the secret, whether or not it exists. */
    async mayReveal(caller: Caller, place: SecretPlace): Promise<void> {
      const permit = await guard.admit(caller, 'secrets:reveal');
      if ((await lookUp(permit, place, store.resources.byName)) === null) throw new Failure('NOT_FOUND');
    },

    async history(caller: Caller, place: SecretPlace) {
      const permit = await guard.admit(caller, 'secrets:read');
      const row = await active(permit, place);
      const { labels } = await records.labelled(row);
      const { data } = await secrets.versions(permit, row.id, { page: 1, limit: mostVersions });
      return {
        created_at: iso(row.created_at),
        updated_at: iso(row.updated_at),
        tags: labels.tags,
        versions: data,
      };
    },

    /** The secret in the trash, if its name is free; null if there is none. */
    async deleted(caller: Caller, place: SecretPlace) {
      const permit = await guard.admit(caller, 'secrets:read');
      if ((await lookUp(permit, place, store.resources.byName)) !== null) return null;
      const row = await lookUp(permit, place, store.resources.deletedByName);
      if (row === null) return null;
      return {
        version: row.version,
        version_created_at: iso((await versionOf(row, row.version)).created_at),
        deleted_at: iso(row.deleted_at!),
      };
    },

    /**
     * Creates the secret or its next version. If a version is expected, nothing is stored unless it is the current
     * one when the change is stored; 0 expects that no secret exists.
     */
    async write(
      caller: Caller,
      place: SecretPlace,
      next: NextContent,
      expected?: number | undefined,
    ): Promise<WrittenVersion> {
      const permit = await guard.admit(caller, 'secrets:write');
      for (let attempt = 1; ; attempt++) {
        const row = await lookUp(permit, place, store.resources.byName);
        try {
          if (row === null) return await create(permit, place, next, expected);
          return await replace(permit, row.id, next, expected);
        } catch (error) {
          if (attempt === attempts || !isTaken(error)) throw error;
        }
      }
    },

    async tag(caller: Caller, place: SecretPlace, tags: Tags): Promise<void> {
      const permit = await guard.admit(caller, 'secrets:write');
      const row = await lookUp(permit, place, store.resources.byName);
      if (row === null) throw new Failure('NOT_FOUND');
      await secrets.update(permit, row.id, { tags });
    },

    /** Removes the secret only if its version is the intended one. */
    async remove(caller: Caller, place: SecretPlace, purge: boolean, isMeant = (_version: number) => true) {
      const permit = await guard.admit(caller, 'secrets:write');
      const living = await lookUp(permit, place, store.resources.byName);
      const row = living ?? (purge ? await lookUp(permit, place, store.resources.deletedByName) : null);
      if (row !== null && isMeant(row.version)) await secrets.remove(permit, row.id, purge);
    },

    async restore(caller: Caller, place: SecretPlace, isMeant: (version: number) => boolean): Promise<void> {
      const permit = await guard.admit(caller, 'secrets:write');
      const row = await lookUp(permit, place, store.resources.deletedByName);
      if (row !== null && isMeant(row.version)) await records.restore(permit, 'secret', row.id);
    },
  };
}

function checkVersion(expected: number | undefined, version: number): void {
  if (expected === undefined || expected === version) return;
  throw new Failure('CONFLICT', { message: 'check-and-set parameter did not match the current version' });
}

/** Another caller created it in the meantime; the next attempt writes to that secret. */
function isTaken(error: unknown): boolean {
  return error instanceof Failure && error.code === 'CONFLICT' && error.field === 'name';
}
