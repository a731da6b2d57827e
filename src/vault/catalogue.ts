/**
 * Finding resources: one by its id, many by a query, and the vault that they lie in. What a caller is not given, and
 * what is another organization's, is not found. Every row is believed before anyone sees it.
 */
import type { Caller } from '../access/caller.ts';
import { Failure } from '../contract/errors.ts';
import type { MixedQuery, ResourceType } from '../contract/resources.ts';
import type { ResourceFilter, ResourceRow } from '../store/resources.ts';
import { type Contents, type Labels, noLabels, type OpenVault } from './contents.ts';
import type { Parts } from './parts.ts';

export interface Labelled {
  readonly row: ResourceRow;
  readonly labels: Labels;
}

export function catalogueWith({ store, stamps, guard, now }: Parts, contents: Contents) {
  const { openVaultRow, openLabels, tagIndex } = contents;

  async function vaultOf(row: ResourceRow): Promise<OpenVault> {
    if (row.type === 'vault') return openVaultRow(row);
    const vault = await store.resources.vault(row.vault_id);
    if (vault === undefined) throw new Failure('NOT_FOUND');
    return openVaultRow(stamps.resource.believe(vault));
  }

  /** The vault that a body names, if the caller is given it. */
  async function openVault(caller: Caller, vaultId: string): Promise<OpenVault> {
    const row = await store.resources.byId(caller.organizationId, vaultId);
    if (
      row === undefined ||
      row.type !== 'vault' ||
      row.deleted_at !== null ||
      !guard.sees(caller, vaultId)
    ) {
      throw new Failure('NOT_FOUND', { field: 'vault_id', reason: 'names no vault' });
    }
    return openVaultRow(stamps.resource.believe(row));
  }

  async function find(
    caller: Caller,
    type: ResourceType | null,
    id: string,
    deleted = false,
  ): Promise<ResourceRow> {
    const row = await store.resources.byId(caller.organizationId, id);
    if (row === undefined || (type !== null && row.type !== type)) throw new Failure('NOT_FOUND');
    if ((row.deleted_at !== null) !== deleted || !guard.sees(caller, row.vault_id))
      throw new Failure('NOT_FOUND');
    return stamps.resource.believe(row);
  }

  /** A purge reaches into the trash too. */
  async function findAnyState(
    caller: Caller,
    type: ResourceType | null,
    id: string,
    purge: boolean,
  ): Promise<ResourceRow> {
    const row = await store.resources.byId(caller.organizationId, id);
    return find(caller, type, id, purge && row?.deleted_at != null);
  }

  async function labelled(row: ResourceRow): Promise<Labelled> {
    if (row.labels === null) return { row, labels: noLabels };
    return { row, labels: openLabels(row, (await vaultOf(row)).box) };
  }

  async function list(
    caller: Caller,
    type: ResourceType | null,
    query: MixedQuery,
  ): Promise<{ items: Labelled[]; total: number }> {
    const filter = filterOf(caller, type, query);
    if (filter === null) return { items: [], total: 0 };
    const { rows, total } = await store.resources.page(filter, {
      page: query.page,
      limit: query.limit,
      asOf: query.as_of,
    });
    const boxes = new Map<string, Promise<OpenVault>>();
    const items = rows.map(async audited => {
      const row = stamps.resource.believe(audited);
      if (row.labels === null) return { row, labels: noLabels };
      const box = boxes.get(row.vault_id) ?? vaultOf(row);
      boxes.set(row.vault_id, box);
      return { row, labels: openLabels(row, (await box).box) };
    });
    return { items: await Promise.all(items), total };
  }

  /** Null where the caller is given none of the vaults asked for. */
  function filterOf(caller: Caller, type: ResourceType | null, query: MixedQuery): ResourceFilter | null {
    const asked = query.vault_id === undefined ? caller.vaultIds : [query.vault_id];
    const vaultIds = asked?.filter(id => guard.sees(caller, id));
    if (vaultIds?.length === 0) return null;
    const [name, ...value] = query.tag?.split('=') ?? [];
    return {
      organizationId: caller.organizationId,
      type: type ?? query.type,
      vaultIds,
      q: query.q,
      tagIndex: name === undefined ? undefined : tagIndex(caller.organizationId, name, value.join('=')),
      state: query.state,
      now: now(),
    };
  }

  return { find, findAnyState, openVault, vaultOf, labelled, list };
}
