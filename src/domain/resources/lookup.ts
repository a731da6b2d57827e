/**
 * Finds resources: one by its id, many by a query, and the vault that contains them. Each lookup requires the permit
 * for the intended action. Resources that the caller has no access to, and those of other organizations, are not
 * found. Every row is verified before it is used.
 */
import type { Action } from '../../access/policy.ts';
import type { PageQuery } from '../../contract/common.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type { MixedQuery, ResourceType, Version } from '../../contract/resources.ts';
import { iso } from '../../contract/text.ts';
import { auditedText } from '../../store/integrity/audited.ts';
import type { ResourceFilter, ResourcePage, ResourceRow, VersionRow } from '../../store/records/resources.ts';
import { listOf } from '../kernel/collection.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, vaultsAsked } from '../kernel/permits.ts';
import { RowCache } from '../kernel/row-cache.ts';
import { tampered } from '../kernel/stamps.ts';
import type { Allowed } from '../kernel/subjects.ts';
import { OpenedLabels } from './opened-labels.ts';
import { type Labels, noLabels, type OpenVault, type Sealing } from './sealing.ts';
import { notFoundIn } from './subject.ts';

export interface Labelled {
  readonly row: ResourceRow;
  readonly labels: Labels;
}

const mostKept = 1_000;
const versionsAtOnce = 100;

export function lookupWith({ store, stamps, guard, now }: Parts, sealing: Sealing) {
  const { openVaultRow, openLabels, openValue, tagIndex } = sealing;
  const opened = new OpenedLabels();

  /** Vaults whose key is at hand. A new resource is stored only if its vault is still as it is cached here. */
  const kept = new RowCache<OpenVault>(store, mostKept);

  async function readVault(organizationId: string, id: string): Promise<OpenVault | undefined> {
    const row = await store.resources.byId(organizationId, id);
    if (row === undefined || row.type !== 'vault' || row.deleted_at !== null) return undefined;
    return openVaultRow(stamps.resource.believe(row));
  }

  /** A vault of another organization is looked up like one that doesn't exist, and takes as long. */
  async function vaultIn(organizationId: string, id: string): Promise<OpenVault | undefined> {
    const vault = kept.get(id);
    if (vault?.row.organization_id === organizationId) return vault;
    return kept.load(id, () => readVault(organizationId, id));
  }

  async function vaultOf(row: ResourceRow): Promise<OpenVault> {
    if (row.type === 'vault') return openVaultRow(row);
    const vault = await vaultIn(row.organization_id, row.vault_id);
    if (vault === undefined) throw new Failure('NOT_FOUND');
    return vault;
  }

  /** The vault of a resource, even one in the trash. */
  async function placeOf(row: ResourceRow): Promise<OpenVault> {
    if (row.type === 'vault') return openVaultRow(row);
    return (await vaultIn(row.organization_id, row.vault_id)) ?? vaultById(row.organization_id, row.vault_id);
  }

  async function vaultById(organizationId: string, id: string): Promise<OpenVault> {
    const found = await store.resources.byId(organizationId, id);
    if (found?.type !== 'vault') throw new Failure('NOT_FOUND');
    return openVaultRow(stamps.resource.believe(found));
  }

  /** The vault that a body names, if the caller has access to it. */
  async function openVault(permit: Permit, vaultId: string): Promise<OpenVault> {
    const vault = await vaultIn(permit.caller.organizationId, vaultId);
    await guard.found(permit, vault?.row, vaultId).catch(notFoundIn('vault_id', 'is not the id of a vault'));
    return vault!;
  }

  /** Reads the vault again, because another process may have changed it. */
  function reopenVault(permit: Permit, vaultId: string): Promise<OpenVault> {
    kept.forget(vaultId);
    return openVault(permit, vaultId);
  }

  /** A null type finds any type; a null `deleted` finds resources inside and outside the trash. */
  async function find<A extends Action>(
    permit: Permit<A>,
    type: ResourceType | null,
    id: string,
    deleted: boolean | null = false,
  ): Promise<Allowed<ResourceRow, A>> {
    const row = await store.resources.byId(permit.caller.organizationId, id);
    const isOther = row !== undefined && type !== null && row.type !== type;
    const isElsewhere = row !== undefined && deleted !== null && (row.deleted_at !== null) !== deleted;
    if (isOther || isElsewhere) throw new Failure('NOT_FOUND');
    return stamps.resource.believe(await guard.found(permit, row, row?.vault_id));
  }

  /** Refuses a body that names a vault which isn't found. */
  async function checkVaults(permit: Permit, ids: readonly string[], field = 'vault_ids'): Promise<void> {
    const missing = notFoundIn(field, 'is not the id of a vault');
    for (const id of ids) await find(permit, 'vault', id).catch(missing);
  }

  /** Null if there is no such version. Once created, a version exists as long as its resource. */
  async function version(row: ResourceRow, number: number): Promise<VersionRow | null> {
    const found = await store.resources.version(row.id, number);
    if (found !== undefined) return stamps.believeVersion(found);
    const isDue = number >= 1 && number <= row.version;
    if (isDue && (await store.resources.byId(row.organization_id, row.id)) !== undefined)
      throw tampered('a version is missing');
    return null;
  }

  /** The version that a body names. */
  async function versionOf(row: ResourceRow, number: number): Promise<VersionRow> {
    const found = await version(row, number);
    if (found === null) throw invalid('version', `is not a version of this ${row.type}`);
    return found;
  }

  async function versionPage<A extends Action>(
    permit: Permit<A>,
    type: ResourceType,
    id: string,
    query: Pick<PageQuery, 'page' | 'limit'>,
  ) {
    const row = await find(permit, type, id);
    const { rows, total } = await store.resources.versionPage(id, query);
    return { row, versions: rows.map(stamps.believeVersion), total };
  }

  async function versions<A extends Action>(
    permit: Permit<A>,
    type: ResourceType,
    id: string,
    query: PageQuery,
  ) {
    const page = await versionPage(permit, type, id, query);
    const items = page.versions.map(version => presentVersion(version, page.row));
    return listOf(items, page.total, query);
  }

  /** The newest version of this kind; null if there is none. */
  async function newestVersion(
    row: ResourceRow,
    isWanted: (version: VersionRow) => boolean,
  ): Promise<VersionRow | null> {
    for (let page = 1; ; page++) {
      const { rows } = await store.resources.versionPage(row.id, { page, limit: versionsAtOnce });
      const found = rows.map(stamps.believeVersion).find(isWanted);
      if (found !== undefined || rows.length < versionsAtOnce) return found ?? null;
    }
  }

  /** Reads the current value, still sealed, and returns the function that decrypts it. */
  async function currentValue(row: ResourceRow): Promise<() => string> {
    const { sealer } = await vaultOf(row);
    const stored = await store.resources.withValue(row.vault_id, row.id);
    if (stored === undefined) throw new Failure('NOT_FOUND');
    const { value } = stamps.resource.believe(stored);
    return () => openValue(row, sealer, value);
  }

  async function labelled(row: ResourceRow): Promise<Labelled> {
    if (row.labels === null) return { row, labels: noLabels };
    return { row, labels: openLabels(row, (await vaultOf(row)).sealer) };
  }

  async function list(permit: Permit, type: ResourceType | null, query: MixedQuery) {
    const filter = filterOf(permit, type, query);
    if (filter === null) return { items: [], total: 0 };
    const page = await store.resources.page(filter, {
      page: query.page,
      limit: query.limit,
      asOf: query.as_of,
    });
    const text = `${page.text}\n${auditedText(page.rows)}`;
    const labels = opened.find(text);
    if (labels === undefined) return { items: await openPage(page.rows, text), total: page.total };
    return {
      items: page.rows.map((row, at) => ({ row, labels: labels?.[at] ?? noLabels })),
      total: page.total,
    };
  }

  async function openPage(rows: ResourcePage['rows'], text: string): Promise<Labelled[]> {
    const vaults = new Map<string, Promise<OpenVault>>();
    const items = await Promise.all(rows.map(row => openAmong(stamps.resource.check(row), vaults)));
    // Rows stamped in an earlier form are returned changed, so the text of the page doesn't identify them.
    if (items.every(({ row }, at) => row === rows[at]))
      opened.keep(text, vaults.size === 0 ? null : items.map(({ labels }) => labels));
    return items;
  }

  /** Opens each vault only once. */
  async function openAmong(row: ResourceRow, vaults: Map<string, Promise<OpenVault>>): Promise<Labelled> {
    if (row.labels === null) return { row, labels: noLabels };
    const vault = vaults.get(row.vault_id) ?? vaultOf(row);
    vaults.set(row.vault_id, vault);
    return { row, labels: openLabels(row, (await vault).sealer) };
  }

  /** Null if the caller has access to none of the requested vaults. */
  function filterOf(permit: Permit, type: ResourceType | null, query: MixedQuery): ResourceFilter | null {
    const { caller } = permit;
    const vaultIds = vaultsAsked(permit, query.vault_id);
    if (vaultIds?.length === 0) return null;
    const [name, ...value] = query.tag?.split('=') ?? [];
    return {
      organizationId: caller.organizationId,
      type: type ?? query.type,
      vaultIds,
      q: query.q,
      tagIndex: name === undefined ? undefined : tagIndex(caller.organizationId, name, value.join('=')),
      state: query.state,
      order: query.sort,
      now: now(),
    };
  }

  return {
    find,
    checkVaults,
    version,
    versionOf,
    versionPage,
    versions,
    newestVersion,
    currentValue,
    openVault,
    reopenVault,
    /** For a caller who found that another process changed the vault. */
    forgetVault: (id: string) => kept.forget(id),
    placeOf,
    vaultById,
    vaultOf,
    labelled,
    list,
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
