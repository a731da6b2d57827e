/**
 * Prepares what is stored for a resource: its stamped row, its version, its tags and its event, all sealed in
 * advance. Any number of these make one transaction, with as few statements as a single one: either all are stored,
 * each with its audit entry, or none.
 */
import type { Caller, ResourceKind } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { Tags } from '../../contract/text.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { EventRow } from '../../store/records/outbox.ts';
import type { TagRow } from '../../store/records/resource-changes.ts';
import type { ResourceRow, VersionRow } from '../../store/records/resources.ts';
import { eventOf } from '../kernel/events.ts';
import type { ChangeAction } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { named } from '../kernel/row-check.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { LinkedTemplate } from './links.ts';
import type { Labelled } from './lookup.ts';
import type { Labels, OpenVault, Sealing } from './sealing.ts';
import { subjectOf } from './subject.ts';
import { attributesWith, kindOf } from './templates.ts';

/** Omitted fields don't change. A value creates a new version. */
export interface ResourceChanges {
  readonly name?: string | undefined;
  readonly tags?: Tags | undefined;
  readonly description?: string | undefined;
  /** Of a secret. Stored as its description, which earlier releases keep when they change other fields. */
  readonly note?: string | undefined;
  /** Of a secret: the member who is responsible for it. */
  readonly ownerId?: string | null | undefined;
  readonly enabled?: boolean | undefined;
  readonly activationDate?: number | null | undefined;
  readonly expirationDate?: number | null | undefined;
  readonly contentType?: string | null | undefined;
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  readonly value?: string | undefined;
  /** In place of a value. */
  readonly template?: LinkedTemplate | undefined;
  /** Writes of other resources that belong to it. */
  readonly beside?: readonly Write<ChangeAction>[] | undefined;
}

/** A resource to create, without the permit that this requires. */
export interface NewResource<T extends ResourceKind = ResourceKind> extends ResourceChanges {
  readonly id?: string;
  readonly type: T;
  readonly name: string;
  readonly value: string;
}

/** A new resource, or the next revision of one. */
export interface Write<A extends Action = never> extends Labelled {
  readonly subject: SubjectChange<A>;
  readonly version: VersionRow | null;
  /** What a template refers to; null if that doesn't change. */
  readonly targetIds: readonly string[] | null;
  readonly conditions: readonly Statement[];
  /** Null if they don't change. */
  readonly tags: readonly TagRow[] | null;
  readonly event: EventRow;
  /** The vault of a new resource, which is stored only if its vault is still as it was read; null for a revision. */
  readonly vault: ResourceRow | null;
  /** Stored in the same transaction. Each was found or created with its own permit. */
  readonly beside: readonly Write<ChangeAction>[];
}

export type Writes = ReturnType<typeof writesWith>;

export function writesWith({ store, stamps, guard, now, newId }: Parts, sealing: Sealing) {
  const { openLabels, sealLabels, tagRows, versionOf } = sealing;

  function creation(caller: Caller, { row: vault, sealer }: OpenVault, draft: NewResource): Write {
    const id = draft.id ?? newId();
    const labels = { tags: draft.tags ?? {}, description: draft.note ?? '' };
    const row = stamps.resource.create(now(), {
      id,
      organization_id: vault.organization_id,
      vault_id: vault.id,
      type: draft.type,
      ...named(draft.name),
      enabled: flagOf(draft.enabled) ?? 1,
      activation_date: draft.activationDate ?? null,
      expiration_date: draft.expirationDate ?? null,
      content_type: draft.contentType ?? null,
      attributes: revisedAttributes({ type: draft.type, attributes: '{}' }, draft),
      labels: sealLabels({ id, type: draft.type }, sealer, labels),
      vault_key: null,
      version: 1,
      deleted_at: null,
    });
    const { template } = draft;
    return write(row, labels, {
      subject: subjectOf(row),
      version: versionOf(caller, row, sealer, template?.text ?? draft.value),
      tags: tagRows(row, labels.tags),
      vault,
      targetIds: template?.targetIds ?? null,
      conditions: template?.conditions ?? [],
      beside: [],
    });
  }

  function revision<A extends Action>(
    caller: Pick<Caller, 'id'>,
    before: MaybeAllowed<ResourceRow, A>,
    { sealer }: OpenVault,
    { beside = [], ...wanted }: ResourceChanges,
  ): Write<A> {
    const old = openLabels(before, sealer);
    const description = wanted.description ?? wanted.note ?? old.description;
    const labels = { tags: wanted.tags ?? old.tags, description };
    const changes = { ...revisedColumns(before, wanted), labels: sealLabels(before, sealer, labels) };
    const row = stamps.resource.revise(before, changes, now());
    const details = { changed: changedMembers(wanted), version: row.version };
    const { template } = wanted;
    const text = template?.text ?? wanted.value;
    const wasTemplate = before.type === 'secret' && kindOf(before) === 'template';
    return write(row, labels, {
      subject: { ...subjectOf<A>(row), details },
      version: text === undefined ? null : versionOf(caller, row, sealer, text),
      tags: wanted.tags === undefined ? null : tagRows(row, wanted.tags),
      vault: null,
      beside,
      targetIds: template?.targetIds ?? (text !== undefined && wasTemplate ? [] : null),
      conditions: template?.conditions ?? [],
    });
  }

  function write<A extends Action>(
    row: ResourceRow,
    labels: Labels,
    rest: Omit<Write<A>, 'row' | 'labels' | 'event'>,
  ): Write<A> {
    const kind = row.revision === 1 ? 'resource.created' : 'resource.updated';
    const event = stamps.stampEvent(eventOf(kind, row, row.updated_at, newId));
    return { row, labels, event, ...rest };
  }

  /** Stores all or none. Throws StaleChange if one, or the vault of a new one, changed since it was read. */
  async function storeAll<A extends ChangeAction>(
    permit: Permit<A>,
    verb: AuditAction,
    writes: readonly [Write<NoInfer<A>>, ...Write<NoInfer<A>>[]],
  ): Promise<void> {
    const [first] = writes;
    const all = writes.flatMap(write => [write, ...write.beside]);
    await guard.change<ChangeAction>(permit, verb, {
      subjects: [first.subject, ...all.slice(1).map(({ subject }) => subject)],
      statements: statementsOf(all),
      touches: [...new Set(all.map(({ row }) => row.vault_id))],
    });
  }

  function statementsOf(writes: readonly Write<Action>[]): Statement[] {
    const created = writes.filter(({ vault }) => vault !== null);
    const revised = writes.filter(({ vault }) => vault === null);
    const rows = created.map(({ row }) => row);
    const versions = writes.flatMap(({ version }) => version ?? []);
    return [
      ...unchanged(created.map(({ vault }) => vault!)),
      ...(rows.length === 0 ? [] : [store.resources.insert(...rows), store.resources.count(rows, 1)]),
      ...revised.map(({ row }) => store.resources.update(row)),
      // After the updates, so that no write depends on what another one of the same transaction changes.
      ...writes.flatMap(({ conditions }) => conditions),
      ...(versions.length === 0 ? [] : [store.resources.insertVersion(...versions)]),
      ...revised.flatMap(({ row, tags }) => (tags === null ? [] : store.resources.clearTags(row.id))),
      ...writes.flatMap(referenceStatements),
      ...tagStatements(writes.flatMap(({ tags }) => tags ?? [])),
      store.outbox.add(...writes.map(({ event }) => event)),
    ];
  }

  function referenceStatements({ row, vault, targetIds }: Write<Action>): Statement[] {
    if (targetIds === null) return [];
    const remove = vault === null ? [store.references.remove(row.id)] : [];
    return targetIds.length === 0 ? remove : [...remove, store.references.add(row.id, targetIds)];
  }

  function unchanged(vaults: readonly ResourceRow[]): Statement[] {
    return [...new Set(vaults)].map(({ id, revision }) =>
      store.conditions.unchanged([{ table: 'resources', id, revision }], 'stale'),
    );
  }

  function tagStatements(rows: readonly TagRow[]): Statement[] {
    return rows.length === 0 ? [] : [store.resources.addTags(rows)];
  }

  return { creation, revision, storeAll, statementsOf, tagStatements };
}

function revisedColumns(before: ResourceRow, wanted: ResourceChanges): Partial<ResourceRow> {
  const or = <T>(value: T | undefined, otherwise: T): T => (value === undefined ? otherwise : value);
  return {
    ...named(wanted.name ?? before.name),
    enabled: or(flagOf(wanted.enabled), before.enabled),
    activation_date: or(wanted.activationDate, before.activation_date),
    expiration_date: or(wanted.expirationDate, before.expiration_date),
    content_type: or(wanted.contentType, before.content_type),
    attributes: revisedAttributes(before, wanted),
    version: isNewVersion(wanted) ? before.version + 1 : before.version,
  };
}

function isNewVersion({ value, template }: ResourceChanges): boolean {
  return value !== undefined || template !== undefined;
}

/** A new value decides what kind of secret it is; whatever else is there stays. */
function revisedAttributes(
  before: Pick<ResourceRow, 'type' | 'attributes'>,
  wanted: ResourceChanges,
): string {
  const { attributes, ownerId } = wanted;
  const given = attributes === undefined ? before.attributes : JSON.stringify(attributes);
  const isValue = before.type === 'secret' && isNewVersion(wanted);
  const references = wanted.template?.targetIds ?? null;
  const changed = isValue ? JSON.stringify(attributesWith({ attributes: given }, references)) : given;
  if (ownerId === undefined) return changed;
  const { owner_id, ...others } = JSON.parse(changed) as Record<string, unknown>;
  return JSON.stringify(ownerId === null ? others : { ...others, owner_id: ownerId });
}

function flagOf(value: boolean | undefined): 0 | 1 | undefined {
  return value === undefined ? undefined : value ? 1 : 0;
}

function changedMembers(wanted: ResourceChanges): string[] {
  return Object.entries(wanted)
    .filter(([, value]) => value !== undefined)
    .map(([member]) => (member === 'template' ? 'value' : member));
}
