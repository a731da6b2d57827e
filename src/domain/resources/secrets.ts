/** Secrets: values with versions. Seeing a secret and revealing its value are separate permissions. */
import { type Caller, memberBehind } from '../../access/caller.ts';
import type { List, PageQuery } from '../../contract/common.ts';
import { invalid } from '../../contract/errors.ts';
import {
  datesOutOfOrder,
  type RevealedSecret,
  type Secret,
  type SecretCreate,
  type SecretUpdate,
  type Version,
} from '../../contract/resources.ts';
import type { Rotation } from '../../contract/rotations.ts';
import type { SecretKind } from '../../contract/templates.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { OneTimeCode } from '../../contract/vault-read.ts';
import type { ResourceRow, VersionRow } from '../../store/records/resources.ts';
import { isEnabled } from '../../store/schema/enabled.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { bulkWritesWith, type SecretWrite } from './bulk-writes.ts';
import type { Labelled } from './lookup.ts';
import { codeOf } from './one-time-codes.ts';
import { openedValuesWith, revealedAlong } from './opened-values.ts';
import type { Records, Revise } from './records.ts';
import type { Resolution } from './references.ts';
import {
  isSamePlan,
  type PlannedRotation,
  plannedRotation,
  presentRotation,
  type RotationChange,
} from './rotation-plans.ts';
import { type MayWrite, revealedOf } from './subject.ts';
import { kindOf } from './templates.ts';
import type { NewResource, ResourceChanges, Write } from './writes.ts';

export type Secrets = ReturnType<typeof secretsWith>;

/** A plan that a caller sets, for a secret with this value. */
export interface NewPlan {
  readonly caller: Caller;
  readonly vaultId: string;
  /** Null for a new secret. */
  readonly secretId: string | null;
  readonly plan: Rotation;
  readonly value: () => Promise<string>;
}

/** Refuses a plan that its author may not set. */
export type JudgePlan = (given: NewPlan) => Promise<PlannedRotation>;

const defaultContentType = 'text/plain';
const namingOthers = { because: 'You can’t name another member as the owner' };

export function secretsWith({ store, stamps, guard, now }: Parts, records: Records, judgePlan: JudgePlan) {
  const opening = openedValuesWith(records);

  /** Naming another member must not reveal who is one. The owner that a secret has may stay, even if they left. */
  async function checkOwner(caller: Caller, ownerId: string | null | undefined, before: string | null) {
    if (ownerId == null || ownerId === before || ownerId === memberBehind(caller)) return;
    await guard.mayShow(caller, ['members:read'], undefined, namingOthers);
    const found = await store.organizations.member(caller.organizationId, ownerId);
    if (found === undefined) throw invalid('owner_id', 'is not the id of a member');
    stamps.member.believe(found);
  }

  /** Undefined if it doesn't change. */
  async function rotationFor(
    given: Omit<NewPlan, 'plan'>,
    plan: Rotation | null | undefined,
    before: ResourceRow | null,
    kind: SecretKind = 'value',
  ): Promise<RotationChange | undefined> {
    if (plan === undefined || isSamePlan(plan, before && plannedRotation(before))) return undefined;
    if (plan === null) return { planned: null, at: now() };
    if (kind === 'template') throw invalid('rotation', 'is not possible for a template');
    return { planned: await judgePlan({ ...given, plan }), at: now() };
  }

  async function newSecret(permit: MayWrite<'secret'>, body: SecretCreate): Promise<NewResource<'secret'>> {
    const { caller } = permit;
    await checkOwner(caller, body.owner_id, null);
    const { name, value, content_type: contentType = defaultContentType } = body;
    const given = { caller, vaultId: body.vault_id, secretId: null, value: async () => value };
    const rotation = await rotationFor(given, body.rotation, null, body.kind);
    return { type: 'secret', ...fieldsOf(body), name, value, contentType, rotation };
  }

  const changing = (permit: MayWrite<'secret'>, body: SecretUpdate) => async (row: ResourceRow) => {
    await checkOwner(permit.caller, body.owner_id, ownerOf(row));
    checkDates(row, body);
    const { caller } = permit;
    const value = async () => body.value ?? (await records.currentValue(row))();
    const given = { caller, vaultId: row.vault_id, secretId: row.id, value };
    const kind = body.kind ?? kindOf(row);
    return { ...fieldsOf(body), rotation: await rotationFor(given, body.rotation, row, kind) };
  };

  async function writeOf(
    permit: MayWrite<'secret'>,
    item: SecretWrite,
    resolution?: Resolution,
  ): Promise<Write<'secrets:write'>> {
    if ('id' in item)
      return records.revision(permit, 'secret', item.id, revising(permit, item.changes, resolution));
    const draft = await newSecret(permit, item);
    if (item.kind !== 'template') return records.creation(permit, item.vault_id, draft);
    const { row } = await records.openVault(permit, item.vault_id);
    const template = await records.links.parsed(permit.caller, row, item.value, null, resolution);
    return records.creation(permit, item.vault_id, { ...draft, template });
  }

  /** The next revision, whose value is a template if it says so or was one before. */
  function revising(permit: MayWrite<'secret'>, body: SecretUpdate, resolution?: Resolution): Revise {
    return async (row, vault) => {
      const before = kindOf(row);
      const { kind = before } = body;
      if (kind !== before && body.value === undefined)
        throw invalid('value', 'must be given if the kind changes');
      const changes = await changing(permit, body)(row);
      if (kind === 'value' || body.value === undefined) return changes;
      const { value } = body;
      const template = await records.links.parsed(permit.caller, vault.row, value, row.id, resolution);
      return { ...changes, value: undefined, template };
    };
  }

  /** Others may change what it refers to until it is stored; then it is read again. */
  function createTemplate(permit: MayWrite<'secret'>, body: SecretCreate): Promise<Secret> {
    return retryingStale(async again => {
      if (again) records.forgetVault(body.vault_id);
      const write = await writeOf(permit, body);
      await records.storeAll(permit, 'secret.created', [write]);
      return presentSecret(write);
    });
  }

  function storeAlone(permit: MayWrite<'secret'>, item: SecretWrite): Promise<Secret> {
    return 'id' in item ? secrets.update(permit, item.id, item.changes) : secrets.create(permit, item);
  }

  const secrets = {
    ...records.collectionOf('secret', presentSecret),

    async create(permit: Permit<'secrets:write'>, body: SecretCreate): Promise<Secret> {
      if (body.kind === 'template') return createTemplate(permit, body);
      const vault = await records.openVault(permit, body.vault_id);
      const [created] = await records.create(vault, [{ permit, ...(await newSecret(permit, body)) }]);
      return presentSecret(created!);
    },

    async update(permit: Permit<'secrets:write'>, id: string, body: SecretUpdate): Promise<Secret> {
      return presentSecret(await records.revise(permit, 'secret', id, revising(permit, body)));
    },

    writeAll: bulkWritesWith(records, { writeOf, storeAlone, present: presentSecret }),

    async reveal(
      permit: Permit<'secrets:reveal'>,
      id: string,
      wanted: number | undefined,
      resolve = true,
    ): Promise<RevealedSecret> {
      const row = await records.find(permit, 'secret', id);
      const version = await records.versionOf(row, wanted ?? row.version);
      const vault = await records.vaultOf(row);
      const labels = records.openLabels(row, vault.sealer);
      const opened = await opening.value(permit.caller, row, vault, version, resolve);
      const revealed = revealedOf(row, version.version);
      const open = () => ({
        ...presentSecret({ row, labels }),
        version: version.version,
        kind: kindOf(version),
        content_type: contentTypeOf(version, row),
        value: opened.value(),
      });
      return guard.reveal(permit, 'secret.revealed', [revealed], open, revealedAlong([opened]));
    },

    /** The current one-time code of a secret that is an `otpauth://totp/` address. Its use is recorded first. */
    async code(permit: Permit<'secrets:reveal'>, id: string): Promise<OneTimeCode> {
      const row = await records.find(permit, 'secret', id);
      const version = await records.versionOf(row, row.version);
      const vault = await records.vaultOf(row);
      const opened = await opening.value(permit.caller, row, vault, version);
      const show = () => codeOf(opened.value(), now(), 'value');
      return guard.reveal(permit, 'secret.code_shown', [revealedOf(row)], show, revealedAlong([opened]));
    },

    versions: (permit: Permit<'secrets:read'>, id: string, query: PageQuery): Promise<List<Version>> =>
      records.versions(permit, 'secret', id, query),

    async rollback(permit: MayWrite<'secret'>, id: string, wanted: number): Promise<Secret> {
      const revision: Revise = async (row, vault) => {
        const version = await records.versionOf(row, wanted);
        const contentType = version.content_type;
        const stored = records.references.opened(row, vault, version);
        if (stored !== null) {
          const template = await records.links.link(permit.caller, vault.row, stored.parts, row.id);
          return { template, contentType };
        }
        return { value: records.openValue(row, vault.sealer, version.value, version.version), contentType };
      };
      return presentSecret(await records.revise(permit, 'secret', id, revision, 'secret.rolled_back'));
    },
  };
  return secrets;
}

function fieldsOf(body: SecretUpdate): ResourceChanges {
  return {
    name: body.name,
    value: body.value,
    contentType: body.content_type,
    tags: body.tags,
    note: body.note,
    ownerId: body.owner_id,
    enabled: body.enabled,
    activationDate: body.activation_date,
    expirationDate: body.expiration_date,
  };
}

/** The current version has the secret's content type, which may have changed since the value was written. */
function contentTypeOf(version: VersionRow, row: ResourceRow): string {
  return (version.version === row.version ? row.content_type : version.content_type)!;
}

/** If only one date changes, it is checked against the stored value of the other. */
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

function ownerOf(row: ResourceRow): string | null {
  if (row.attributes === '{}') return null;
  return (JSON.parse(row.attributes) as { owner_id?: string }).owner_id ?? null;
}

export function presentSecret({ row, labels }: Labelled): Secret {
  return {
    id: row.id,
    type: 'secret',
    name: row.name,
    vault_id: row.vault_id,
    kind: kindOf(row),
    content_type: row.content_type!, // Only other types are stored without one.
    tags: labels.tags,
    note: labels.description,
    owner_id: ownerOf(row),
    enabled: isEnabled(row),
    activation_date: isoOrNull(row.activation_date),
    expiration_date: isoOrNull(row.expiration_date),
    version: row.version,
    ...presentRotation(row),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
