/**
 * What the four types of resources have in common: they are found, listed, made, changed, deleted, restored
 * and purged in the same way. Each change is one unit of the ledger: the row, its version, its tags, the
 * counts, the audit entry and the event. Values are sealed before it and opened after it, never within.
 */
import type { Caller } from '../access/caller.ts';
import type { Action } from '../access/policy.ts';
import { Failure } from '../contract/errors.ts';
import type { MixedQuery, ResourceType } from '../contract/resources.ts';
import type { Tags } from '../contract/text.ts';
import type { Box } from '../keyring/keyring.ts';
import type { Statement } from '../store/engine.ts';
import type { ResourceFilter, ResourceRow } from '../store/resources.ts';
import { type EventKind, eventOf, resourceSubject } from './events.ts';
import { retryingStale, type SubjectChange } from './guard.ts';
import type { Parts } from './parts.ts';

export interface Labels {
  readonly tags: Tags;
  readonly description: string;
}

/** A vault whose key is at hand. */
export interface OpenVault {
  readonly row: ResourceRow;
  readonly box: Box;
}

/** A resource about to be made. */
export interface Draft {
  readonly id?: string;
  readonly type: Exclude<ResourceType, 'vault'>;
  readonly name: string;
  readonly tags?: Tags | undefined;
  readonly enabled?: boolean | undefined;
  readonly activationDate?: number | null | undefined;
  readonly expirationDate?: number | null | undefined;
  readonly contentType?: string | null;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly value: string;
}

/** What a change leaves out stays as it is. A value makes a new version. */
export interface Revision {
  readonly name?: string | undefined;
  readonly tags?: Tags | undefined;
  readonly description?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly activationDate?: number | null | undefined;
  readonly expirationDate?: number | null | undefined;
  readonly contentType?: string | null | undefined;
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  readonly value?: string | undefined;
}

export interface Labelled {
  readonly row: ResourceRow;
  readonly labels: Labels;
}

/** For how long a delete can be undone. */
export const trashKept = 30 * 24 * 60 * 60 * 1000;

const noLabels: Labels = { tags: {}, description: '' };

export function actionOn(type: ResourceType, verb: 'read' | 'write'): Action {
  return `${type}s:${verb}`;
}

export type Shelf = ReturnType<typeof shelfWith>;

export function shelfWith({ store, keyring, stamps, guard, now, newId }: Parts) {
  async function vaultOf(row: ResourceRow): Promise<OpenVault> {
    if (row.type === 'vault') return openVaultRow(row);
    const vault = await store.resources.vault(row.vault_id);
    if (vault === undefined) throw new Failure('NOT_FOUND');
    return openVaultRow(stamps.resource.believe(vault));
  }

  function openVaultRow(row: ResourceRow): OpenVault {
    const place = { organization: row.organization_id, vault: row.id };
    return { row, box: keyring.openVault(place, row.vault_key!) };
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

  function openLabels(row: ResourceRow, box: Box): Labels {
    if (row.labels === null) return noLabels;
    return JSON.parse(box.open(labelsPlace(row), row.labels).toString('utf8')) as Labels;
  }

  function sealLabels(row: Pick<ResourceRow, 'id' | 'type'>, box: Box, labels: Labels): Uint8Array | null {
    if (labels.description === '' && Object.keys(labels.tags).length === 0) return null;
    return box.seal(labelsPlace(row), Buffer.from(JSON.stringify(labels), 'utf8'));
  }

  async function labelled(row: ResourceRow): Promise<Labelled> {
    if (row.labels === null) return { row, labels: noLabels };
    return { row, labels: openLabels(row, (await vaultOf(row)).box) };
  }

  function tagStatements(row: ResourceRow, tags: Tags): Statement[] {
    const indexes = Object.entries(tags).map(([name, value]) => tagIndex(row.organization_id, name, value));
    return store.resources.setTags(row.organization_id, row.id, indexes);
  }

  function tagIndex(organizationId: string, name: string, value: string): string {
    return keyring.blindIndex(organizationId, JSON.stringify([name, value]));
  }

  function versionStatement(caller: Caller, row: ResourceRow, box: Box, value: string): Statement {
    const place = valuePlace(row, row.version);
    return store.resources.insertVersion(
      stamps.stampVersion({
        resource_id: row.id,
        version: row.version,
        content_type: row.content_type,
        attributes: row.attributes,
        value: box.seal(place, Buffer.from(value, 'utf8')),
        created_at: row.updated_at,
        created_by: caller.id,
      }),
    );
  }

  function eventStatement(kind: EventKind, row: ResourceRow): Statement {
    return store.outbox.add(stamps.stampEvent(eventOf(kind, resourceSubject(row), row.updated_at, newId)));
  }

  /** The row and the statements that put a new resource into a vault. */
  function place(
    caller: Caller,
    { row: vault, box }: OpenVault,
    draft: Draft,
  ): { row: ResourceRow; statements: Statement[] } {
    const id = draft.id ?? newId();
    const tags = draft.tags ?? {};
    const row = stamps.resource.stamp({
      ...newRow(id, vault.organization_id, draft.type, draft.name, now()),
      vault_id: vault.id,
      enabled: flagOf(draft.enabled) ?? 1,
      activation_date: draft.activationDate ?? null,
      expiration_date: draft.expirationDate ?? null,
      content_type: draft.contentType ?? null,
      attributes: JSON.stringify(draft.attributes ?? {}),
      labels: sealLabels({ id, type: draft.type }, box, { tags, description: '' }),
      version: 1,
    });
    const statements = [
      store.resources.insert(row),
      versionStatement(caller, row, box, draft.value),
      ...(draft.tags === undefined ? [] : tagStatements(row, tags)),
      ...store.resources.count(row.organization_id, row.type, row.vault_id, 1),
      eventStatement('resource.created', row),
    ];
    return { row, statements };
  }

  /** Makes one resource, or several that belong together, in one step. */
  async function create(
    caller: Caller,
    vault: OpenVault,
    drafts: readonly [Draft, ...Draft[]],
  ): Promise<Labelled[]> {
    const placed = drafts.map(draft => place(caller, vault, draft));
    const [first, ...others] = placed.map(({ row }) => subjectOf(row));
    for (const { type } of drafts) await guard.admit(caller, actionOn(type, 'write'));
    await guard.change(caller, actionOn(drafts[0].type, 'write'), `${drafts[0].type}.created`, {
      subjects: [first!, ...others],
      statements: placed.flatMap(({ statements }) => statements),
      touches: [vault.row.id],
    });
    return placed.map(({ row }, index) => ({
      row,
      labels: { tags: drafts[index]!.tags ?? {}, description: '' },
    }));
  }

  async function createVault(caller: Caller, name: string, labels: Labels): Promise<Labelled> {
    await guard.admit(caller, 'vaults:write');
    const id = newId();
    const vault_key = keyring.createVaultKey({ organization: caller.organizationId, vault: id });
    const box = keyring.openVault({ organization: caller.organizationId, vault: id }, vault_key);
    const row = stamps.resource.stamp({
      ...newRow(id, caller.organizationId, 'vault', name, now()),
      labels: sealLabels({ id, type: 'vault' }, box, labels),
      vault_key,
    });
    await guard.change(caller, 'vaults:write', 'vault.created', {
      subjects: [{ ...subjectOf(row), vaultId: caller.vaultIds === null ? row.id : undefined }],
      statements: [
        store.resources.insert(row),
        ...tagStatements(row, labels.tags),
        ...store.resources.countVault(row.organization_id, row.id, 1),
        eventStatement('resource.created', row),
      ],
    });
    return { row, labels };
  }

  function revise(
    caller: Caller,
    type: ResourceType,
    id: string,
    revision: (row: ResourceRow, vault: OpenVault) => Revision | Promise<Revision>,
    verb = `${type}.updated`,
  ): Promise<Labelled> {
    return retryingStale(async () => {
      const before = await find(caller, type, id);
      const vault = await vaultOf(before);
      return applyRevision(caller, type, before, vault, await revision(before, vault), verb);
    });
  }

  async function applyRevision(
    caller: Caller,
    type: ResourceType,
    before: ResourceRow,
    vault: OpenVault,
    wanted: Revision,
    verb: string,
  ): Promise<Labelled> {
    const old = openLabels(before, vault.box);
    const labels = { tags: wanted.tags ?? old.tags, description: wanted.description ?? old.description };
    const changes = { ...revisedColumns(before, wanted), labels: sealLabels(before, vault.box, labels) };
    const row = stamps.resource.revise(before, changes, now());
    await guard.change(caller, actionOn(type, 'write'), verb, {
      subjects: [{ ...subjectOf(row), details: { changed: changedMembers(wanted), version: row.version } }],
      statements: [
        store.resources.update(row),
        ...(wanted.value === undefined ? [] : [versionStatement(caller, row, vault.box, wanted.value)]),
        ...(wanted.tags === undefined ? [] : tagStatements(row, wanted.tags)),
        eventStatement('resource.updated', row),
      ],
      touches: [row.vault_id],
    });
    return { row, labels };
  }

  async function remove(
    caller: Caller,
    type: ResourceType | null,
    id: string,
    purge: boolean,
  ): Promise<void> {
    const found = await findAnyState(caller, type, id, purge);
    const action = actionOn(found.type as ResourceType, 'write');
    await guard.admit(caller, action);
    await retryingStale(async () => {
      const before = await findAnyState(caller, type, id, purge);
      const row = stamps.resource.revise(before, { deleted_at: before.deleted_at ?? now() }, now());
      await guard.change(caller, action, `${row.type}.${purge ? 'purged' : 'deleted'}`, {
        subjects: [subjectOf(row)],
        statements: [
          // What a vault holds is taken out of the totals by its counts, which a purge then removes.
          ...(before.deleted_at === null ? counting(row, -1) : []),
          ...(purge ? purging(before) : [store.resources.update(row)]),
          ...(before.deleted_at === null ? [eventStatement('resource.deleted', row)] : []),
        ],
        touches: [row.vault_id],
      });
    });
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

  function purging(row: ResourceRow): Statement[] {
    const contents = row.type === 'vault' ? store.resources.purgeContents(row.id) : [];
    return [...contents, store.resources.purge(row.id, row.revision)];
  }

  function counting(row: ResourceRow, change: 1 | -1): Statement[] {
    return row.type === 'vault'
      ? store.resources.countVault(row.organization_id, row.id, change)
      : store.resources.count(row.organization_id, row.type, row.vault_id, change);
  }

  function restore(caller: Caller, id: string): Promise<Labelled> {
    return retryingStale(async () => {
      const before = await find(caller, null, id, true);
      if (before.deleted_at! + trashKept <= now()) throw new Failure('NOT_FOUND');
      const action = actionOn(before.type as ResourceType, 'write');
      await guard.admit(caller, action);
      const row = stamps.resource.revise(before, { deleted_at: null }, now());
      await guard.change(caller, action, `${row.type}.restored`, {
        subjects: [subjectOf(row)],
        statements: [
          store.resources.update(row),
          ...counting(row, 1),
          eventStatement('resource.updated', row),
        ],
        touches: [row.vault_id],
      });
      return labelled(row);
    });
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

  function openValue(row: ResourceRow, box: Box, sealed: Uint8Array, version = row.version): string {
    return box.open(valuePlace(row, version), sealed).toString('utf8');
  }

  return {
    find,
    openVault,
    openVaultRow,
    vaultOf,
    labelled,
    openLabels,
    openValue,
    create,
    createVault,
    revise,
    remove,
    restore,
    list,
  };
}

/** For an id in a body: what it names is missing, which is the body's fault. Other failures stay what they are. */
export function notFoundAs(failure: Failure): (error: unknown) => never {
  return error => {
    throw error instanceof Failure && error.code === 'NOT_FOUND' ? failure : error;
  };
}

export function subjectOf(row: ResourceRow): SubjectChange {
  return { type: row.type, id: row.id, name: row.name, vaultId: row.vault_id, revision: row.revision };
}

function labelsPlace(row: Pick<ResourceRow, 'id' | 'type'>) {
  return { type: row.type, resource: row.id, field: 'labels', version: 0 };
}

function valuePlace(row: Pick<ResourceRow, 'id' | 'type'>, version: number) {
  return { type: row.type, resource: row.id, field: 'value', version };
}

function renamed(name: string): Pick<ResourceRow, 'name' | 'name_search'> {
  return { name, name_search: name.toLowerCase() };
}

function revisedColumns(before: ResourceRow, wanted: Revision): Partial<ResourceRow> {
  const or = <T>(value: T | undefined, otherwise: T): T => (value === undefined ? otherwise : value);
  return {
    ...renamed(wanted.name ?? before.name),
    enabled: or(flagOf(wanted.enabled), before.enabled),
    activation_date: or(wanted.activationDate, before.activation_date),
    expiration_date: or(wanted.expirationDate, before.expiration_date),
    content_type: or(wanted.contentType, before.content_type),
    attributes: wanted.attributes === undefined ? before.attributes : JSON.stringify(wanted.attributes),
    version: wanted.value === undefined ? before.version : before.version + 1,
  };
}

function flagOf(value: boolean | undefined): 0 | 1 | undefined {
  return value === undefined ? undefined : value ? 1 : 0;
}

function changedMembers(wanted: Revision): string[] {
  return Object.entries(wanted)
    .filter(([, value]) => value !== undefined)
    .map(([member]) => member);
}

function newRow(
  id: string,
  organizationId: string,
  type: ResourceType,
  name: string,
  now: number,
): Omit<ResourceRow, 'stamp'> {
  return {
    id,
    organization_id: organizationId,
    vault_id: id,
    type,
    ...renamed(name),
    enabled: 1,
    activation_date: null,
    expiration_date: null,
    content_type: null,
    attributes: '{}',
    labels: null,
    vault_key: null,
    version: 0,
    deleted_at: null,
    created_at: now,
    updated_at: now,
    revision: 1,
  };
}
