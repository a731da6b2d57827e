/**
 * Prepares what is stored for a resource: its stamped row, its version, its tags and its event, all sealed in
 * advance. Any number of these make one transaction, with as few statements as a single one: either all are stored,
 * each with its audit entry, or none.
 */
import type { Caller, ResourceKind } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { ProposedChange } from '../../contract/proposals.ts';
import type { Tags } from '../../contract/text.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { EventRow } from '../../store/records/outbox.ts';
import type { TagRow } from '../../store/records/resource-changes.ts';
import type { ResourceRow, VersionRow } from '../../store/records/resources.ts';
import { isEnabled, switched } from '../../store/schema/enabled.ts';
import { eventOf } from '../kernel/events.ts';
import type { ChangeAction } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { named } from '../kernel/row-check.ts';
import type { MaybeAllowed, Reviewed, SubjectChange } from '../kernel/subjects.ts';
import { actionOfVerb, differenceOf } from './differences.ts';
import { keyAttributes } from './key-attributes.ts';
import type { LinkedTemplate } from './links.ts';
import type { Labelled } from './lookup.ts';
import {
  nextRotation,
  plannedRotation,
  type RotationChange,
  reachesOut,
  withRotation,
} from './rotation-plans.ts';
import type { Labels, OpenVault, Sealing } from './sealing.ts';
import { subjectOf } from './subject.ts';
import { attributesWith, kindOf, referableFrom, targetIdsOf } from './templates.ts';

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
  /** Of a secret. */
  readonly rotation?: RotationChange | undefined;
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  /** Only of vaults. */
  readonly review?: boolean | undefined;
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

/** A write as data: everything that is needed to do it later, exactly as it was judged, and what is shown of it. */
export type ProposedWrite = { readonly verb: AuditAction; readonly shown: ProposedChange } & (
  | { readonly do: 'create'; readonly draft: NewResource }
  | { readonly do: 'update'; readonly revision: number; readonly changes: ResourceChanges }
  | { readonly do: 'remove'; readonly revision: number; readonly purge: boolean }
  | { readonly do: 'restore'; readonly revision: number }
);

/** A write, in the vault as it was judged. */
export interface PlacedWrite {
  readonly vault: OpenVault;
  readonly type: ResourceRow['type'];
  /** Only called if the vault demands review, because a difference costs more than the write that it describes. */
  readonly proposed: () => ProposedWrite;
}

/** Throws if the write became a proposal: see `review.ts`. */
export type PassReview = <A extends ChangeAction>(
  permit: Permit<A>,
  places: readonly PlacedWrite[],
) => Promise<Reviewed>;

/** A new resource, or the next revision of one. */
export interface Write<A extends Action = never> extends Labelled {
  readonly subject: SubjectChange<A>;
  readonly version: VersionRow | null;
  /** What a template refers to; null if that doesn't change. */
  readonly targetIds: readonly string[] | null;
  /** Stored only if these are as they were read. */
  readonly dependsOn: readonly ResourceRow[];
  /** Null if they don't change. */
  readonly tags: readonly TagRow[] | null;
  /** When it rotates next, if that changes; the time is null if it doesn't rotate any more. */
  readonly rotates: { readonly at: number | null } | null;
  readonly event: EventRow;
  /** Its vault; the write is stored only if that is still as it was read. */
  readonly vault: OpenVault;
  readonly proposed: (verb: AuditAction) => ProposedWrite;
  /** Stored in the same transaction. Each was found or created with its own permit. */
  readonly beside: readonly Write<ChangeAction>[];
}

export type Writes = ReturnType<typeof writesWith>;

export function writesWith({ store, stamps, guard, now, newId }: Parts, sealing: Sealing, pass: PassReview) {
  const { openLabels, sealLabels, tagRows, versionOf } = sealing;

  function creation(caller: Pick<Caller, 'id'>, place: OpenVault, draft: NewResource): Write {
    const { row: vault, sealer } = place;
    const id = draft.id ?? newId();
    const labels = { tags: draft.tags ?? {}, description: draft.note ?? '' };
    const row = stamps.resource.create(now(), {
      id,
      organization_id: vault.organization_id,
      vault_id: vault.id,
      type: draft.type,
      ...named(draft.name),
      activation_date: draft.activationDate ?? null,
      expiration_date: draft.expirationDate ?? null,
      content_type: draft.contentType ?? null,
      ...describedAs({ type: draft.type, enabled: 1, attributes: '{}' }, draft),
      labels: sealLabels({ id, type: draft.type }, sealer, labels),
      vault_key: null,
      version: 1,
      deleted_at: null,
    });
    const { template } = draft;
    const { type, name } = row;
    return write(row, labels, {
      subject: { ...subjectOf(row), ...givenBy(null, row, template) },
      rotates: rotationOf(null, row),
      version: versionOf(caller, row, sealer, template?.text ?? draft.value),
      tags: tagRows(row, labels.tags),
      vault: place,
      targetIds: template?.targetIds ?? null,
      dependsOn: template?.dependsOn ?? [],
      beside: [],
      proposed: verb => ({
        do: 'create',
        verb,
        draft: { ...asData(draft), value: template === undefined ? draft.value : '', id },
        shown: shownOf(verb, { type, id, name }, true, differenceOf(null, { row, labels })),
      }),
    });
  }

  function revision<A extends Action>(
    caller: Pick<Caller, 'id'>,
    before: MaybeAllowed<ResourceRow, A>,
    vault: OpenVault,
    { beside = [], ...wanted }: ResourceChanges,
  ): Write<A> {
    const { sealer } = vault;
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
      subject: { ...subjectOf<A>(row), details, ...givenBy(before, row, template) },
      rotates: rotationOf(before, row),
      version: text === undefined ? null : versionOf(caller, row, sealer, text),
      tags: wanted.tags === undefined ? null : tagRows(row, wanted.tags),
      vault,
      beside,
      targetIds: template?.targetIds ?? (text !== undefined && wasTemplate ? [] : null),
      dependsOn: template?.dependsOn ?? [],
      proposed: verb => ({
        do: 'update',
        verb,
        revision: before.revision,
        changes: asData(wanted),
        shown: shownOf(
          verb,
          before,
          isNewVersion(wanted),
          differenceOf({ row: before, labels: old }, { row, labels }),
        ),
      }),
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

  /**
   * Stores all or none. Throws StaleChange if one of them, or its vault, changed since it was read, and ProposalMade if
   * its vault demands review: those of one such vault are not to be mixed with others.
   */
  async function storeAll<A extends ChangeAction>(
    permit: Permit<A>,
    verb: AuditAction,
    writes: readonly [Write<NoInfer<A>>, ...Write<NoInfer<A>>[]],
  ): Promise<void> {
    const [first] = writes;
    const all = writes.flatMap(write => [write, ...write.beside]);
    const reviewed = await pass(permit, placesOf(verb, all));
    await guard.change<ChangeAction>(permit, verb, {
      reviewed,
      subjects: [first.subject, ...all.slice(1).map(({ subject }) => subject)],
      statements: statementsOf(all),
      touches: [...new Set(all.map(({ row }) => row.vault_id))],
    });
  }

  function statementsOf(writes: readonly Write<Action>[]): Statement[] {
    const created = writes.filter(({ row }) => row.revision === 1);
    const revised = writes.filter(({ row }) => row.revision !== 1);
    const rows = created.map(({ row }) => row);
    const versions = writes.flatMap(({ version }) => version ?? []);
    return [
      ...(rows.length === 0 ? [] : [store.resources.insert(...rows), store.resources.count(rows, 1)]),
      ...revised.map(({ row }) => store.resources.update(row)),
      // After the updates, so that no write depends on what another one of the same transaction changes.
      ...conditionsOf(writes),
      ...(versions.length === 0 ? [] : [store.resources.insertVersion(...versions)]),
      ...revised.flatMap(({ row, tags }) => (tags === null ? [] : store.resources.clearTags(row.id))),
      ...writes.flatMap(referenceStatements),
      ...writes.flatMap(rotationStatements),
      ...tagStatements(writes.flatMap(({ tags }) => tags ?? [])),
      store.outbox.add(...writes.map(({ event }) => event)),
    ];
  }

  /** One for each row, in the order of their ids, so that transactions that lock the same rows don't wait in a circle. */
  function conditionsOf(writes: readonly Write<Action>[]): Statement[] {
    const rows = writes.flatMap(({ dependsOn }) => dependsOn);
    const distinct = new Map(rows.map(({ id, revision }) => [`${id} ${revision}`, { id, revision }]));
    return [...distinct]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, row]) => store.conditions.unchanged([{ table: 'resources', ...row }], 'stale'));
  }

  function referenceStatements({ row, targetIds }: Write<Action>): Statement[] {
    if (targetIds === null) return [];
    const remove = row.revision === 1 ? [] : [store.references.remove(row.id)];
    return targetIds.length === 0 ? remove : [...remove, store.references.add(row.id, targetIds)];
  }

  function rotationStatements({ row, rotates }: Write<Action>): Statement[] {
    const { id: resource_id, organization_id, vault_id } = row;
    return rotates === null
      ? []
      : [store.rotations.plan({ resource_id, organization_id, vault_id }, rotates.at, now())];
  }

  function tagStatements(rows: readonly TagRow[]): Statement[] {
    return rows.length === 0 ? [] : [store.resources.addTags(rows)];
  }

  return { creation, revision, storeAll, statementsOf, tagStatements };
}

/**
 * A key with an SSH profile gives certificates to those whom access keys let ask for them. A vault that lets more vaults refer to it grants their readers what it contains, and a template that refers to more
 * secrets of other vaults grants its readers those, until a person ends that.
 */
export function givenBy(
  before: Pick<ResourceRow, 'attributes'> | null,
  after: ResourceRow,
  template?: Pick<LinkedTemplate, 'givenIds'>,
): Required<Pick<SubjectChange, 'lasts'>> {
  if (after.type === 'key') return { lasts: givesCertificates(before, after) ? 'without end' : 'as before' };
  const isVault = after.type === 'vault';
  const given = isVault ? referableFrom(after) : (template?.givenIds ?? []);
  const held = before === null ? [] : isVault ? referableFrom(before) : targetIdsOf(before);
  const isHeld = given.every(id => held.includes(id)) && !isReaching(before, after);
  return { lasts: isHeld ? 'as before' : 'without end' };
}

/** Whether a secret has a new plan that obtains values from elsewhere, or sends them there, until a person ends that. */
function isReaching(before: Pick<ResourceRow, 'attributes'> | null, after: ResourceRow): boolean {
  const planned = plannedRotation(after);
  if (planned === null || !reachesOut(planned.plan)) return false;
  return JSON.stringify(planned) !== JSON.stringify(before && plannedRotation(before));
}

function rotationOf(before: ResourceRow | null, after: ResourceRow): Write['rotates'] {
  const [was, at] = [before && nextRotation(before), nextRotation(after)];
  return was === at ? null : { at };
}

/** Whether it signs certificates that it did not sign before: its profile is another one, or a revocation was undone. */
function givesCertificates(before: Pick<ResourceRow, 'attributes'> | null, after: ResourceRow): boolean {
  const { ssh, ssh_revoked = [] } = keyAttributes(after);
  if (ssh === undefined || before === null) return ssh !== undefined;
  const old = keyAttributes(before);
  const isUndone = old.ssh_revoked?.some(one => !ssh_revoked.some(({ value }) => value === one.value));
  return isUndone === true || JSON.stringify(old.ssh) !== JSON.stringify(ssh);
}

function revisedColumns(before: ResourceRow, wanted: ResourceChanges): Partial<ResourceRow> {
  const or = <T>(value: T | undefined, otherwise: T): T => (value === undefined ? otherwise : value);
  return {
    ...named(wanted.name ?? before.name),
    activation_date: or(wanted.activationDate, before.activation_date),
    expiration_date: or(wanted.expirationDate, before.expiration_date),
    content_type: or(wanted.contentType, before.content_type),
    ...describedAs(before, wanted),
    version: isNewVersion(wanted) ? before.version + 1 : before.version,
  };
}

function isNewVersion({ value, template }: ResourceChanges): boolean {
  return value !== undefined || template !== undefined;
}

/** A template is linked again when the write is done. */
function asData<C extends ResourceChanges>(changes: C): C {
  const { template } = changes;
  return template === undefined ? changes : { ...changes, template: { ...template, dependsOn: [] } };
}

/** Of a template. */
const noRotation: RotationChange = { planned: null, at: 0 };

/** A new value decides what kind of secret it is; whatever else is there stays. */
function revisedAttributes(
  before: Pick<ResourceRow, 'type' | 'attributes'>,
  wanted: ResourceChanges,
): string {
  const { attributes, ownerId, review } = wanted;
  const given = attributes === undefined ? before.attributes : JSON.stringify(attributes);
  if (review !== undefined) return JSON.stringify({ ...JSON.parse(given), review });
  const isValue = before.type === 'secret' && isNewVersion(wanted);
  const references = wanted.template?.targetIds ?? null;
  const valued = isValue ? JSON.stringify(attributesWith({ attributes: given }, references)) : given;
  const changed = withRotation(valued, references === null ? wanted.rotation : noRotation);
  if (ownerId === undefined) return changed;
  const { owner_id, ...others } = JSON.parse(changed) as Record<string, unknown>;
  return JSON.stringify(ownerId === null ? others : { ...others, owner_id: ownerId });
}

export function placesOf(verb: AuditAction, writes: readonly Write<Action>[]): PlacedWrite[] {
  return writes.map(({ vault, row, subject, proposed }) => ({
    vault,
    type: row.type,
    proposed: () => proposed(subject.verb ?? verb),
  }));
}

export function shownOf(
  verb: AuditAction,
  { type, id, name }: { readonly type: string; readonly id: string; readonly name: string },
  new_value = false,
  difference: ProposedChange['difference'] = [],
): ProposedChange {
  return {
    action: actionOfVerb(verb),
    type: type as ProposedChange['type'],
    id,
    name,
    new_value,
    difference,
  };
}

function describedAs(
  before: Pick<ResourceRow, 'type' | 'attributes' | 'enabled'>,
  wanted: ResourceChanges,
): Pick<ResourceRow, 'attributes' | 'enabled'> {
  const attributes = revisedAttributes(before, wanted);
  const isTemplate = before.type === 'secret' && kindOf({ attributes }) === 'template';
  return switched(wanted.enabled ?? isEnabled(before), isTemplate, attributes);
}

function changedMembers(wanted: ResourceChanges): string[] {
  return Object.entries(wanted)
    .filter(([, value]) => value !== undefined)
    .map(([member]) => (member === 'template' ? 'value' : member));
}
