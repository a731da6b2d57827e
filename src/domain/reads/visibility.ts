/**
 * What an access key may see of its vault. One lifecycle decides for lists and for direct fetches alike; what
 * is expired or not active is never decrypted; what a key may not see is left out of a list and is not found by
 * a fetch. Long vaults are read in turns, so that other requests get theirs.
 */
import { hash } from 'node:crypto';
import { type Reader, type ResourceKind, readerSeesKind, readerSeesName } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import type { RefusalReason } from '../../contract/refusals.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { ReadCertificate, ReadKey, ReadSecret } from '../../contract/vault-read.ts';
import { auditedText } from '../../store/integrity/audited.ts';
import type { ResourceRow, ResourceWithValue } from '../../store/records/resources.ts';
import type { Work } from '../kernel/fair-turns.ts';
import type { Parts } from '../kernel/parts.ts';
import { heldBy, keyAttributes } from '../resources/keys.ts';
import { nextChangeOf, type State, stateAt } from '../resources/lifecycle.ts';
import type { Records } from '../resources/records.ts';
import type { OpenVault } from '../resources/sealing.ts';
import { type Stretch, stretchesWith } from '../resources/stretches.ts';

const inactive: Readonly<Record<Exclude<State, 'active'>, RefusalReason>> = {
  deleted: 'not_found',
  disabled: 'disabled',
  'not-active': 'not_active',
  expired: 'resource_expired',
};

/** A row whose stamp was checked. */
export type VerifiedResource = Omit<ResourceWithValue, 'audited_revision'>;

/** What lies in a vault, of the kinds that the reader sees, as it is stored: read, and not believed yet. */
export interface Look {
  readonly reader: Reader;
  readonly vault: OpenVault;
  /** The first stretch of each kind. */
  readonly found: ReadonlyMap<ResourceKind, Stretch>;
  /** Of all that is stored of it; null where there is more than was read at once. */
  readonly digest: string | null;
  /** In which it is read. */
  readonly turns: Work;
}

export interface VisibleResources {
  readonly items: readonly unknown[];
  /** The first moment at which the list is no longer true. */
  readonly validUntil: number;
}

export type Visibility = ReturnType<typeof visibilityWith>;

export function visibilityWith({ store, stamps, now }: Parts, records: Records) {
  const stretches = stretchesWith({ store });

  async function openVault(reader: Reader): Promise<OpenVault> {
    const row = await store.resources.byId(reader.organizationId, reader.vaultId);
    // A key whose vault is gone opens nothing, and says no more than any bad key.
    if (row === undefined || row.type !== 'vault' || row.deleted_at !== null)
      throw new Failure('UNAUTHORIZED', { because: 'vault_deleted' });
    return records.openVaultRow(stamps.resource.believe(row));
  }

  async function look(
    reader: Reader,
    vault: OpenVault,
    kinds: readonly ResourceKind[],
    turns: Work,
  ): Promise<Look> {
    const found = new Map<ResourceKind, Stretch>();
    for (const kind of kinds)
      if (readerSeesKind(reader, kind)) found.set(kind, await stretches.read(reader.vaultId, kind));
    const isAll = [...found.values()].every(({ isLast }) => isLast);
    return { reader, vault, found, digest: isAll ? digestOf(vault.row, found) : null, turns };
  }

  async function list(
    { reader, found, turns }: Look,
    type: ResourceKind,
    present: (row: VerifiedResource, expired: boolean) => unknown,
  ): Promise<VisibleResources> {
    const items: unknown[] = [];
    const first = found.get(type);
    if (first === undefined) return { items, validUntil: Number.POSITIVE_INFINITY };
    const moment = now();
    let validUntil = Number.POSITIVE_INFINITY;
    for await (const stored of stretches.rowsFrom(first, reader.vaultId, type, turns)) {
      const row = stamps.resource.check(stored);
      if (!readerSeesName(reader, row.name)) continue;
      validUntil = Math.min(validUntil, nextChangeOf([row], moment));
      const state = stateAt(row, moment);
      const isStub = state === 'expired' && type !== 'secret';
      if (state === 'active' || isStub) items.push(present(row, isStub));
    }
    return { items, validUntil };
  }

  /** The one resource that is asked for, if the key sees it and it is active now. */
  function visible(
    reader: Reader,
    found: ResourceWithValue | undefined,
    kind?: ResourceKind,
  ): VerifiedResource {
    if (found === undefined) throw new Failure('NOT_FOUND');
    const row = stamps.resource.believe(found);
    if (kind !== undefined && row.type !== kind) throw new Failure('NOT_FOUND');
    refuseUnseen(reader, row);
    return row;
  }

  function refuseUnseen(reader: Reader, row: ResourceRow): void {
    const isSeen = readerSeesKind(reader, row.type as ResourceKind) && readerSeesName(reader, row.name);
    if (!isSeen) throw new Failure('NOT_FOUND', { because: 'restricted' });
    refuseInactive(row);
  }

  async function byId(reader: Reader, id: string, kind?: ResourceKind): Promise<VerifiedResource> {
    return visible(reader, isId(id) ? await store.resources.withValue(reader.vaultId, id) : undefined, kind);
  }

  async function byName(reader: Reader, kind: ResourceKind, name: string): Promise<VerifiedResource> {
    const named = await store.resources.byName(reader.vaultId, kind, name);
    const found = named && (await store.resources.withValue(reader.vaultId, named.id));
    return visible(reader, found, kind);
  }

  function refuseInactive(row: ResourceRow): void {
    const state = stateAt(row, now());
    if (state === 'active') return;
    const because = inactive[state];
    if (row.type === 'secret') throw new Failure('NOT_FOUND', { because });
    const code = state === 'not-active' ? 'NOT_ACTIVE' : state === 'expired' ? 'EXPIRED' : 'NOT_FOUND';
    throw new Failure(code, { because });
  }

  function secret(row: VerifiedResource, vault: OpenVault): ReadSecret {
    return {
      id: row.id,
      name: row.name,
      value: value(row, vault),
      content_type: row.content_type ?? 'text/plain',
      tags: records.openLabels(row, vault.sealer).tags,
    };
  }

  function key(row: VerifiedResource, { sealer }: OpenVault): ReadKey {
    const attributes = keyAttributes(row);
    return {
      id: row.id,
      name: row.name,
      type: heldBy(attributes),
      key_type: attributes.key_type,
      key_size: attributes.key_size,
      activation_date: isoOrNull(row.activation_date),
      expiration_date: isoOrNull(row.expiration_date),
      tags: records.openLabels(row, sealer).tags,
    };
  }

  function certificate(row: VerifiedResource, { sealer }: OpenVault): ReadCertificate {
    return {
      id: row.id,
      name: row.name,
      type: 'x509',
      expires_at: iso(row.expiration_date!),
      tags: records.openLabels(row, sealer).tags,
    };
  }

  /** A key or a certificate, as lists show it. To a key that sees names alone it is an id and a name. */
  function listed(reader: Reader, row: VerifiedResource, vault: OpenVault) {
    if (reader.namesOnly) return { id: row.id, name: row.name };
    return row.type === 'key' ? key(row, vault) : certificate(row, vault);
  }
  const value = (row: VerifiedResource, { sealer }: OpenVault): string =>
    records.openValue(row, sealer, row.value);

  /** The private half of a key that is not exportable stays sealed. */
  function pem(row: VerifiedResource, vault: OpenVault): string {
    if (row.type === 'key') {
      const attributes = keyAttributes(row);
      if (heldBy(attributes) === 'public') return attributes.public_pem;
    }
    return value(row, vault);
  }

  return {
    openVault,
    look,
    list,
    byId,
    byName,
    refuseInactive,
    /** Refuses a row that was found before, where this reader does not see it or it is not active now. */
    refuseUnseen,
    /** When a resource's state changes by itself. */
    validUntil: (row: ResourceRow) => nextChangeOf([row], now()),
    present: { value, secret, key, certificate, listed, pem, stub },
  };
}

/** To an access key that sees names alone, which asked for more. */
export function namesAlone(): Failure {
  return new Failure('FORBIDDEN', { because: 'names_only' });
}

/** The vault was believed, and its stamp stands for all of it; of the others every byte counts. */
function digestOf(vault: ResourceRow, found: Look['found']): string {
  const parts = [Buffer.from(vault.stamp).toString('hex')];
  for (const [kind, { text, rows }] of found) parts.push(kind, text, auditedText(rows));
  return hash('sha256', parts.join('\n'), 'base64url');
}

function stub(row: ResourceRow) {
  return { id: row.id, message: 'Resource expired' };
}
