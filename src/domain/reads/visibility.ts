/**
 * Decides what an access key can see in its vault. Lists and direct fetches use the same lifecycle rules. Resources
 * that are expired or not active are never decrypted. Resources that a key may not see are left out of lists and not
 * found by fetches. Large vaults are read in turns, so that other requests get theirs.
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
import type { Parts } from '../kernel/parts.ts';
import { heldBy, keyAttributes } from '../resources/key-attributes.ts';
import { notExportable } from '../resources/keys.ts';
import { nextChangeOf, type State, stateAt } from '../resources/lifecycle.ts';
import type { Records } from '../resources/records.ts';
import type { OpenVault } from '../resources/sealing.ts';
import { type Stretch, stretchesWith } from '../resources/stretches.ts';
import { type Listed, resolvedValuesWith, type Turns, type VerifiedResource } from './resolved-values.ts';

export type { Turns, VerifiedResource } from './resolved-values.ts';

const inactive: Readonly<Record<Exclude<State, 'active'>, RefusalReason>> = {
  deleted: 'not_found',
  disabled: 'disabled',
  'not-active': 'not_active',
  expired: 'resource_expired',
};

/** The contents of a vault, of the kinds that the reader can see, as stored: read but not yet verified. */
export interface Look {
  readonly reader: Reader;
  readonly vault: OpenVault;
  readonly found: ReadonlyMap<ResourceKind, Stretch>;
  /** Digest of everything stored; null if there is more than one stretch. */
  readonly digest: string | null;
  readonly turns: Turns;
}

export type Visibility = ReturnType<typeof visibilityWith>;

export function visibilityWith({ store, stamps, now }: Parts, records: Records) {
  const stretches = stretchesWith({ store });
  const resolved = resolvedValuesWith(records, now);

  async function openVault(reader: Reader): Promise<OpenVault> {
    const row = await store.resources.byId(reader.organizationId, reader.vaultId);
    // A key whose vault was deleted opens nothing, and is refused like any invalid key.
    if (row === undefined || row.type !== 'vault' || row.deleted_at !== null)
      throw new Failure('UNAUTHORIZED', { because: 'vault_deleted' });
    return records.openVaultRow(stamps.resource.believe(row));
  }

  async function look(
    reader: Reader,
    vault: OpenVault,
    kinds: readonly ResourceKind[],
    turns: Turns,
  ): Promise<Look> {
    const found = new Map<ResourceKind, Stretch>();
    for (const kind of kinds)
      if (readerSeesKind(reader, kind)) found.set(kind, await stretches.read(reader.vaultId, kind));
    const isAll = [...found.values()].every(({ isLast }) => isLast);
    return { reader, vault, found, digest: isAll ? digestOf(vault.row, found) : null, turns };
  }

  /** `present` gets a value to show in place of the stored one if that is a template. Without `values`, none is. */
  async function list(
    { reader, vault, found, turns }: Look,
    type: ResourceKind,
    present: (row: VerifiedResource, expired: boolean, resolved?: string) => unknown,
    values = false,
  ): Promise<Listed> {
    const items: unknown[] = [];
    const slots = new Set<unknown>();
    const slotFor = values ? resolved.slotsIn(vault, slots) : () => null;
    const first = found.get(type);
    if (first === undefined) return { items, validUntil: Number.POSITIVE_INFINITY };
    const moment = now();
    let validUntil = Number.POSITIVE_INFINITY;
    for await (const stored of stretches.rowsFrom(first, reader.vaultId, type, turns)) {
      const row = stamps.resource.check(stored);
      if (!readerSeesName(reader, row.name)) continue;
      validUntil = Math.min(validUntil, nextChangeOf([row], moment));
      const isStub = isShownAt(row, moment);
      if (isStub !== null) items.push(slotFor(row) ?? present(row, isStub));
    }
    if (slots.size === 0) return { items, validUntil };
    const rest = await resolved.fill(reader, turns, items, slots, present);
    return { ...rest, validUntil: Math.min(validUntil, rest.validUntil) };
  }

  /** The requested resource, if the key can see it and it is active now. */
  function visible(reader: Reader, found: ResourceWithValue | undefined, kind?: ResourceKind) {
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

  function secret(row: VerifiedResource, vault: OpenVault, text = value(row, vault)): ReadSecret {
    return {
      id: row.id,
      name: row.name,
      value: text,
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

  /** A key or certificate as lists show it: only its id and name for a names-only key. */
  function listed(reader: Reader, row: VerifiedResource, vault: OpenVault) {
    if (reader.namesOnly) return { id: row.id, name: row.name };
    return row.type === 'key' ? key(row, vault) : certificate(row, vault);
  }
  const value = (row: VerifiedResource, { sealer }: OpenVault): string =>
    records.openValue(row, sealer, row.value);

  /** The private key of a key that is not exportable is never decrypted. */
  function pem(row: VerifiedResource, vault: OpenVault): string {
    if (row.type === 'key') {
      const attributes = keyAttributes(row);
      const held = heldBy(attributes);
      if (held === 'symmetric') throw notExportable();
      if (held === 'public') return attributes.public_pem;
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
    /** Refuses a row that was found earlier if this reader can't see it or it is not active now. */
    refuseUnseen,
    opened: resolved.opened,
    validUntil: (row: ResourceRow) => nextChangeOf([row], now()),
    present: { value, secret, key, certificate, listed, pem, stub },
  };
}

export function namesAlone(): Failure {
  return new Failure('FORBIDDEN', { because: 'names_only' });
}

/** The vault was verified, so its stamp represents all of it; for the contents, every byte counts. */
function digestOf(vault: ResourceRow, found: Look['found']): string {
  const parts = [Buffer.from(vault.stamp).toString('hex')];
  for (const [kind, { text, rows }] of found) parts.push(kind, text, auditedText(rows));
  return hash('sha256', parts.join('\n'), 'base64url');
}

/** Whether a list shows it only as a stub, because it is expired; null if it doesn't show it. */
function isShownAt(row: ResourceRow, moment: number): boolean | null {
  const state = stateAt(row, moment);
  if (state === 'active') return false;
  return state === 'expired' && row.type !== 'secret' ? true : null;
}

function stub(row: ResourceRow) {
  return { id: row.id, message: 'Resource expired' };
}
