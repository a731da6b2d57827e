/**
 * Creates and changes resources of all four types. Each change is one transaction: the row, its version, its tags,
 * the counts, the audit entry and the event. Values are sealed before the transaction and opened after it, never
 * within. Together with `sealing`, `lookup`, `writes` and the trash, this is everything that the types share.
 */
import type { Caller, ResourceKind } from '../../access/caller.ts';
import { type AuditAction, hasEffect } from '../../contract/audit-actions.ts';
import type { List } from '../../contract/common.ts';
import type { ResourceQuery, ResourceType } from '../../contract/resources.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { listOf } from '../kernel/collection.ts';
import { retryingStale, StaleChange } from '../kernel/conflict-retries.ts';
import { eventOf } from '../kernel/events.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { named } from '../kernel/row-check.ts';
import type { Allowed } from '../kernel/subjects.ts';
import { linksWith } from './links.ts';
import { type Labelled, lookupWith } from './lookup.ts';
import { referencesWith } from './references.ts';
import { reviewWith } from './review.ts';
import { type Labels, type OpenVault, sealingWith } from './sealing.ts';
import { type CheckExposure, type MayWrite, subjectOf } from './subject.ts';
import type { OtherAttributes } from './templates.ts';
import { trashWith } from './trash.ts';
import { givenBy, type NewResource, type ResourceChanges, type Write, writesWith } from './writes.ts';

type PermittedResource = {
  [T in ResourceKind]: NewResource<T> & { readonly permit: MayWrite<T> };
}[ResourceKind];

type Drafts = readonly [PermittedResource, ...PermittedResource[]];

export type Records = ReturnType<typeof recordsWith>;

export type Revise = (row: ResourceRow, vault: OpenVault) => ResourceChanges | Promise<ResourceChanges>;

export function recordsWith(parts: Parts, checkExposure: CheckExposure) {
  const { store, keyring, stamps, keyringSync, guard, now, newId } = parts;
  const sealing = sealingWith(parts);
  const lookup = lookupWith(parts, sealing);
  const review = reviewWith(parts);
  const writes = writesWith(parts, sealing, review.pass);
  const references = referencesWith(parts, sealing);
  const links = linksWith(parts, references);
  const trash = trashWith(parts, lookup, checkExposure, review);
  const { find, openVault, reopenVault, vaultOf, forgetVault } = lookup;

  /** Creates one resource, or several that belong together, in one transaction. */
  async function create(vault: OpenVault, drafts: Drafts): Promise<Labelled[]> {
    try {
      return await createIn(vault, drafts);
    } catch (error) {
      if (!(error instanceof StaleChange)) throw error;
      const reopen = () => reopenVault(drafts[0].permit, vault.row.id);
      return retryingStale(async () => createIn(await reopen(), drafts));
    }
  }

  /** Throws StaleChange if the vault was changed since it was opened. */
  async function createIn(vault: OpenVault, drafts: Drafts): Promise<Labelled[]> {
    const [{ permit, type }] = drafts;
    const [first, ...others] = drafts.map(({ permit: _, ...draft }) =>
      creationIn(permit.caller, vault, draft),
    );
    await writes.storeAll(permit, `${type}.created`, [first!, ...others]);
    return [first!, ...others];
  }

  function createVault(
    permit: MayWrite<'vault'>,
    name: string,
    labels: Labels,
    attributes: OtherAttributes,
  ): Promise<Labelled> {
    return retryingStale(() => placeVault(permit, name, labels, JSON.stringify(attributes)));
  }

  async function placeVault(
    permit: MayWrite<'vault'>,
    name: string,
    labels: Labels,
    attributes: string,
  ): Promise<Labelled> {
    const { caller } = permit;
    const keyringCurrent = await keyringSync.requireCurrent();
    const id = newId();
    const vault_key = keyring.createVaultKey({ organization: caller.organizationId, vault: id });
    const sealer = keyring.openVault({ organization: caller.organizationId, vault: id }, vault_key);
    const row = stamps.resource.create(now(), {
      id,
      organization_id: caller.organizationId,
      vault_id: id,
      type: 'vault',
      ...named(name),
      enabled: 1,
      activation_date: null,
      expiration_date: null,
      content_type: null,
      attributes,
      labels: sealing.sealLabels({ id, type: 'vault' }, sealer, labels),
      vault_key,
      version: 0,
      deleted_at: null,
    });
    const event = eventOf('resource.created', row, row.updated_at, newId);
    await guard.change(permit, 'vault.created', {
      subjects: [{ ...subjectOf(row), ...givenBy(null, row) }],
      statements: [
        keyringCurrent,
        store.resources.insert(row),
        ...writes.tagStatements(sealing.tagRows(row, labels.tags)),
        ...store.resources.countVault(row.organization_id, row.id, 1),
        store.outbox.add(stamps.stampEvent(event)),
      ],
    });
    return { row, labels };
  }

  function revise<T extends ResourceType>(
    permit: NoInfer<MayWrite<T>>,
    type: T,
    id: string,
    change: Revise,
    verb: AuditAction = `${type}.updated`,
  ): Promise<Labelled> {
    return retryingStale(async again => {
      if (again) await forgetVaultOf(permit, id);
      const write = await revision(permit, type, id, change, hasEffect(verb, 'reverts') ? 'earlier' : 'new');
      await writes.storeAll(permit, verb, [write]);
      return write;
    });
  }

  async function forgetVaultOf({ caller }: Permit, id: string): Promise<void> {
    const found = await store.resources.byId(caller.organizationId, id);
    if (found !== undefined) forgetVault(found.vault_id);
  }

  /** The next revision of a resource, to be stored with others or by itself. */
  async function revision<T extends ResourceType>(
    permit: NoInfer<MayWrite<T>>,
    type: T,
    id: string,
    change: Revise,
    value: 'new' | 'earlier' = 'new',
  ): Promise<Write<`${T}s:write`>> {
    const before: Allowed<ResourceRow, `${T}s:write`> = await find(permit, type, id);
    const vault = await vaultOf(before);
    const wanted = await change(before, vault);
    const write = writes.revision(permit.caller, before, vault, wanted);
    const isSame = write.version === null;
    await checkExposure(permit.caller, before, write.row, isSame ? 'same' : value);
    return write;
  }

  /** A new resource, to be stored with others. */
  async function creation<T extends ResourceKind>(
    permit: MayWrite<T>,
    vaultId: string,
    draft: NewResource<T>,
  ): Promise<Write> {
    return creationIn(permit.caller, await openVault(permit, vaultId), draft);
  }

  function creationIn(caller: Caller, vault: OpenVault, draft: NewResource): Write {
    const write = writes.creation(caller, vault, draft);
    return { ...write, subject: { ...write.subject, verb: `${draft.type}.created` } };
  }

  /** What the collections of all types do alike. */
  function collectionOf<T extends ResourceType, Item>(
    type: T,
    present: (found: Labelled, caller: Caller) => Item,
  ) {
    type Reading = Permit<`${T}s:read`>;
    return {
      list: async (permit: Reading, query: ResourceQuery): Promise<List<Item>> => {
        const { items, total } = await lookup.list(permit, type, query);
        return listOf(
          items.map(item => present(item, permit.caller)),
          total,
          query,
        );
      },
      get: async (permit: Reading, id: string) =>
        present(await lookup.labelled(await find(permit, type, id)), permit.caller),
      remove: (permit: MayWrite<T>, id: string, purge: boolean) => trash.remove(permit, type, id, purge),
    };
  }

  const { storeAll, statementsOf } = writes;
  return {
    review,
    ...sealing,
    ...lookup,
    ...trash,
    collectionOf,
    create,
    createVault,
    revise,
    creation,
    revision,
    storeAll,
    references,
    links,
    checkExposure,
    /** For changes without a caller: a new row or the next revision of one, and the statements that store them. */
    creationOf: writes.creation,
    revisionOf: writes.revision,
    statementsOf,
  };
}
