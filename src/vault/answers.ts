/**
 * Makes the answers of the vault endpoint from what is stored. One lifecycle decides for lists and for direct
 * fetches alike; what is expired or not active is never decrypted; what an access key may not see is left out
 * of a list and is not found by a fetch. Long vaults are read in stretches, so that other requests get a turn.
 */
import { hash as digest } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { type Reader, type ResourceKind, readerSeesKind, readerSeesName } from '../access/caller.ts';
import { Failure } from '../contract/errors.ts';
import { isId } from '../contract/id.ts';
import { iso, isoOrNull } from '../contract/text.ts';
import type { ReadCertificate, ReadKey, ReadSecret } from '../contract/vault-read.ts';
import type { ResourceRow, ResourceWithValue } from '../store/resources.ts';
import { heldBy, keyAttributes } from './keys.ts';
import { nextChangeOf, stateAt } from './lifecycle.ts';
import type { Parts } from './parts.ts';
import type { ReadyAnswer } from './ready.ts';
import type { OpenVault, Shelf } from './shelf.ts';

export interface Selection {
  readonly namesOnly: boolean;
  readonly keys: boolean;
  readonly certificates: boolean;
  /** The id of the one resource that is asked for, or null for a list. */
  readonly resource: string | null;
}

const json = 'application/json; charset=utf-8';
const pem = 'application/x-pem-file';
const stretch = 250;

type Believed = Omit<ResourceWithValue, 'audited_revision'>;
interface Listed {
  readonly items: readonly unknown[];
  readonly validUntil: number;
}

export type Answers = ReturnType<typeof answersWith>;

export function answersWith({ store, stamps, now }: Parts, shelf: Shelf) {
  async function openVault(reader: Reader): Promise<OpenVault> {
    const row = await store.resources.byId(reader.organizationId, reader.vaultId);
    // A key whose vault is gone opens nothing, and says no more than any bad key.
    if (row === undefined || row.type !== 'vault' || row.deleted_at !== null)
      throw new Failure('UNAUTHORIZED');
    return shelf.openVaultRow(stamps.resource.believe(row));
  }

  async function* rowsOf(vaultId: string, type: ResourceKind): AsyncIterable<Believed> {
    let afterId: string | undefined;
    for (;;) {
      const rows = await store.resources.stretchWithValues(vaultId, type, afterId, stretch);
      for (const row of rows) yield stamps.resource.believe(row);
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
    for await (const row of rowsOf(reader.vaultId, type)) {
      if (!readerSeesName(reader, row.name)) continue;
      validUntil = Math.min(validUntil, nextChangeOf([row], moment));
      const state = stateAt(row, moment);
      const isStub = state === 'expired' && type !== 'secret';
      if (state === 'active' || isStub) items.push(present(row, isStub));
    }
    return { items, validUntil };
  }

  async function whole(reader: Reader, selection: Selection): Promise<ReadyAnswer> {
    const vault = await openVault(reader);
    const namesOnly = selection.namesOnly || reader.namesOnly;
    const secrets = await list(reader, 'secret', row =>
      namesOnly ? { id: row.id, name: row.name } : presentSecret(row, vault),
    );
    const keys = selection.keys
      ? await list(reader, 'key', (row, expired) => (expired ? stub(row) : presentKey(row, vault)))
      : null;
    const certificates = selection.certificates
      ? await list(reader, 'certificate', (row, expired) =>
          expired ? stub(row) : presentCertificate(row, vault),
        )
      : null;
    const body = {
      id: vault.row.id,
      name: vault.row.name,
      secrets: secrets.items,
      ...(keys === null ? {} : { keys: keys.items }),
      ...(certificates === null ? {} : { certificates: certificates.items }),
    };
    const parts = [secrets, keys, certificates].filter(part => part !== null);
    return answer(
      JSON.stringify(body),
      json,
      requestedText(selection),
      Math.min(...parts.map(part => part.validUntil)),
    );
  }

  async function one(reader: Reader, id: string): Promise<ReadyAnswer> {
    const vault = await openVault(reader);
    const found = isId(id) ? await store.resources.withValue(reader.vaultId, id) : undefined;
    if (found === undefined) throw new Failure('NOT_FOUND');
    const row = stamps.resource.believe(found);
    const type = row.type as ResourceKind;
    if (!readerSeesKind(reader, type) || !readerSeesName(reader, row.name)) throw new Failure('NOT_FOUND');
    refuseInactive(row, type);
    if (reader.namesOnly) throw new Failure('FORBIDDEN');
    const validUntil = nextChangeOf([row], now());
    const requested = `${type} ${row.name}`;
    return type === 'secret'
      ? answer(JSON.stringify(presentSecret(row, vault)), json, requested, validUntil)
      : answer(pemOf(row, vault), pem, requested, validUntil);
  }

  function refuseInactive(row: ResourceRow, type: ResourceKind): void {
    const state = stateAt(row, now());
    if (state === 'active') return;
    if (type === 'secret') throw new Failure('NOT_FOUND');
    throw new Failure(state === 'not-active' ? 'NOT_ACTIVE' : state === 'expired' ? 'EXPIRED' : 'NOT_FOUND');
  }

  function presentSecret(row: Believed, { box }: OpenVault): ReadSecret {
    return {
      id: row.id,
      name: row.name,
      value: shelf.openValue(row, box, row.value),
      content_type: row.content_type ?? 'text/plain',
      tags: shelf.openLabels(row, box).tags,
    };
  }

  function presentKey(row: Believed, { box }: OpenVault): ReadKey {
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

  function presentCertificate(row: Believed, { box }: OpenVault): ReadCertificate {
    return {
      id: row.id,
      name: row.name,
      type: 'x509',
      expires_at: iso(row.expiration_date!),
      tags: shelf.openLabels(row, box).tags,
    };
  }

  /** The private half of a key that is not exportable stays sealed. */
  function pemOf(row: Believed, { box }: OpenVault): string {
    if (row.type === 'key') {
      const attributes = keyAttributes(row);
      if (heldBy(attributes) === 'public') return attributes.public_pem;
    }
    return shelf.openValue(row, box, row.value);
  }

  return {
    make: (reader: Reader, selection: Selection): Promise<ReadyAnswer> =>
      selection.resource === null ? whole(reader, selection) : one(reader, selection.resource),
  };
}

/** What a selection asks for, as the log says it where no single resource is named. */
export function requestedText({ resource, namesOnly, keys, certificates }: Selection): string {
  if (resource !== null) return isId(resource) ? `resource ${resource}` : 'resource';
  const parts = [
    namesOnly ? 'secrets=names' : 'secrets',
    keys ? 'keys' : '',
    certificates ? 'certificates' : '',
  ];
  return parts.filter(part => part !== '').join(',');
}

function stub(row: ResourceRow) {
  return { id: row.id, message: 'Resource expired' };
}

function answer(text: string, contentType: string, requested: string, validUntil: number): ReadyAnswer {
  const body = Buffer.from(text, 'utf8');
  const etag = `"${digest('sha256', body, 'base64url').slice(0, 27)}"`;
  return { body, contentType, etag, requested, validUntil };
}
