/**
 * What an access key may see of its vault. One lifecycle decides for lists and for direct fetches alike; what
 * is expired or not active is never decrypted; what a key may not see is left out of a list and is not found by
 * a fetch. Long vaults are read in stretches, so that other requests get a turn.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { type Reader, type ResourceKind, readerSeesKind, readerSeesName } from '../access/caller.ts';
import { Failure } from '../contract/errors.ts';
import { isId } from '../contract/id.ts';
import { iso, isoOrNull } from '../contract/text.ts';
import type { ReadCertificate, ReadKey, ReadSecret } from '../contract/vault-read.ts';
import type { ResourceRow, ResourceWithValue } from '../store/resources.ts';
import type { OpenVault } from './contents.ts';
import { heldBy, keyAttributes } from './keys.ts';
import { nextChangeOf, stateAt } from './lifecycle.ts';
import type { Parts } from './parts.ts';
import type { Shelf } from './shelf.ts';

const stretch = 250;

export type Believed = Omit<ResourceWithValue, 'audited_revision'>;

export interface Listed {
  readonly items: readonly unknown[];
  /** The first moment at which the list is no longer true. */
  readonly validUntil: number;
}

export type Reading = ReturnType<typeof readingWith>;

export function readingWith({ store, stamps, now }: Parts, shelf: Shelf) {
  async function openVault(reader: Reader): Promise<OpenVault> {
    const row = await store.resources.byId(reader.organizationId, reader.vaultId);
    // A key whose vault is gone opens nothing, and says no more than any bad key.
    if (row === undefined || row.type !== 'vault' || row.deleted_at !== null)
      throw new Failure('UNAUTHORIZED');
    return shelf.openVaultRow(stamps.resource.believe(row));
  }

  async function* stretchesOf(vaultId: string, type: ResourceKind): AsyncIterable<readonly Believed[]> {
    let afterId: string | undefined;
    for (;;) {
      const rows = await store.resources.stretchWithValues(vaultId, type, afterId, stretch);
      for (const row of rows) stamps.resource.check(row);
      yield rows;
      if (rows.length < stretch) return;
      afterId = rows.at(-1)!.id;
      await turn();
    }
  }

  async function list(
    reader: Reader,
    type: ResourceKind,
    present: (row: Believed, expired: boolean) => unknown,
  ): Promise<Listed> {
    const items: unknown[] = [];
    if (!readerSeesKind(reader, type)) return { items, validUntil: Number.POSITIVE_INFINITY };
    const moment = now();
    let validUntil = Number.POSITIVE_INFINITY;
    for await (const rows of stretchesOf(reader.vaultId, type)) {
      const seen = rows.filter(row => readerSeesName(reader, row.name));
      validUntil = Math.min(validUntil, nextChangeOf(seen, moment));
      for (const row of seen) {
        const state = stateAt(row, moment);
        const isStub = state === 'expired' && type !== 'secret';
        if (state === 'active' || isStub) items.push(present(row, isStub));
      }
    }
    return { items, validUntil };
  }

  /** The one resource that is asked for, if the key sees it and it is active now. */
  function visible(reader: Reader, found: ResourceWithValue | undefined, kind?: ResourceKind): Believed {
    if (found === undefined) throw new Failure('NOT_FOUND');
    const row = stamps.resource.believe(found);
    const type = row.type as ResourceKind;
    if (kind !== undefined && type !== kind) throw new Failure('NOT_FOUND');
    if (!readerSeesKind(reader, type) || !readerSeesName(reader, row.name)) throw new Failure('NOT_FOUND');
    refuseInactive(row);
    return row;
  }

  async function byId(reader: Reader, id: string, kind?: ResourceKind): Promise<Believed> {
    return visible(reader, isId(id) ? await store.resources.withValue(reader.vaultId, id) : undefined, kind);
  }

  async function byName(reader: Reader, kind: ResourceKind, name: string): Promise<Believed> {
    const named = await store.resources.byName(reader.vaultId, kind, name);
    const found = named && (await store.resources.withValue(reader.vaultId, named.id));
    return visible(reader, found, kind);
  }

  function refuseInactive(row: ResourceRow): void {
    const state = stateAt(row, now());
    if (state === 'active') return;
    if (row.type === 'secret') throw new Failure('NOT_FOUND');
    throw new Failure(state === 'not-active' ? 'NOT_ACTIVE' : state === 'expired' ? 'EXPIRED' : 'NOT_FOUND');
  }

  function secret(row: Believed, { box }: OpenVault): ReadSecret {
    return {
      id: row.id,
      name: row.name,
      value: shelf.openValue(row, box, row.value),
      content_type: row.content_type ?? 'text/plain',
      tags: shelf.openLabels(row, box).tags,
    };
  }

  function key(row: Believed, { box }: OpenVault): ReadKey {
    const attributes = keyAttributes(row);
    return {
      id: row.id,
      name: row.name,
      type: heldBy(attributes),
      key_type: attributes.key_type,
      key_size: attributes.key_size,
      activation_date: isoOrNull(row.activation_date),
      expiration_date: isoOrNull(row.expiration_date),
      tags: shelf.openLabels(row, box).tags,
    };
  }

  function certificate(row: Believed, { box }: OpenVault): ReadCertificate {
    return {
      id: row.id,
      name: row.name,
      type: 'x509',
      expires_at: iso(row.expiration_date!),
      tags: shelf.openLabels(row, box).tags,
    };
  }

  /** The private half of a key that is not exportable stays sealed. */
  function pem(row: Believed, { box }: OpenVault): string {
    if (row.type === 'key') {
      const attributes = keyAttributes(row);
      if (heldBy(attributes) === 'public') return attributes.public_pem;
    }
    return shelf.openValue(row, box, row.value);
  }

  return {
    openVault,
    list,
    byId,
    byName,
    refuseInactive,
    /** When a resource's state changes by itself. */
    validUntil: (row: ResourceRow) => nextChangeOf([row], now()),
    present: { secret, key, certificate, pem, stub },
  };
}

function stub(row: ResourceRow) {
  return { id: row.id, message: 'Resource expired' };
}
