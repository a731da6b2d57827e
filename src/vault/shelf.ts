/**
 * Making and changing resources of all four types. Each change is one unit of the ledger: the row, its version, its
 * tags, the counts, the audit entry and the event. Values are sealed before it and opened after it, never within.
 * With what lies sealed (`contents`), what is found (`catalogue`) and the trash, this is all that the types share.
 */
import type { Caller } from '../access/caller.ts';
import type { ResourceType } from '../contract/resources.ts';
import type { Tags } from '../contract/text.ts';
import type { Statement } from '../store/engine.ts';
import type { ResourceRow } from '../store/resources.ts';
import { catalogueWith, type Labelled } from './catalogue.ts';
import { contentsWith, type Labels, type OpenVault } from './contents.ts';
import { type EventKind, eventOf, resourceSubject } from './events.ts';
import { retryingStale } from './guard.ts';
import type { Parts } from './parts.ts';
import { actionOn, subjectOf } from './subject.ts';
import { trashWith } from './trash.ts';

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

export type Shelf = ReturnType<typeof shelfWith>;

export function shelfWith(parts: Parts) {
  const { store, keyring, stamps, terms, guard, now, newId } = parts;
  const contents = contentsWith(parts);
  const catalogue = catalogueWith(parts, contents);
  const { openLabels, sealLabels, tagStatements, versionStatement } = contents;
  const { find, vaultOf } = catalogue;

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
    return retryingStale(() => placeVault(caller, name, labels));
  }

  async function placeVault(caller: Caller, name: string, labels: Labels): Promise<Labelled> {
    const hold = await terms.hold();
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
        hold,
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

  return { ...contents, ...catalogue, ...trashWith(parts, catalogue), create, createVault, revise };
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
