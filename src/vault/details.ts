/**
 * Makes the answers of the tools. They differ from the vault endpoint's in this: one kind of resource at a
 * time, a secret by its name, and nothing decrypted that was not asked for by word.
 */
import type { Reader, ResourceKind } from '../access/caller.ts';
import { Failure } from '../contract/errors.ts';
import { isId } from '../contract/id.ts';
import { isoOrNull } from '../contract/text.ts';
import type { ResourceRow } from '../store/resources.ts';
import { answer, json } from './answers.ts';
import type { OpenVault } from './contents.ts';
import { keyAttributes } from './keys.ts';
import type { Parts } from './parts.ts';
import type { Believed, Reading } from './reading.ts';
import type { ReadyAnswer } from './ready.ts';
import type { Shelf } from './shelf.ts';

/** How much is told of each: its name, what is known of it, its public half, or everything. */
export type Depth = 'names' | 'facts' | 'public' | 'whole';

export interface Detail {
  readonly what: 'vault' | 'list' | 'one';
  readonly kind: ResourceKind;
  /** The name of a secret, the id of a key or certificate. */
  readonly which: string;
  readonly depth: Depth;
}

type Made = readonly [body: unknown, requested: string, validUntil: number];

const collections = { secret: 'secrets', key: 'keys', certificate: 'certificates' } as const;

export type Details = ReturnType<typeof detailsWith>;

export function detailsWith({ store, stamps }: Parts, shelf: Shelf, reading: Reading) {
  const { openVault, list, byId, byName, refuseInactive, validUntil, present } = reading;

  async function listed(reader: Reader, { kind, depth }: Detail): Promise<Made> {
    const vault = await openVault(reader);
    // A search by tag would tell a key that sees names alone what the tags are.
    if (depth === 'facts' && kind === 'secret' && reader.namesOnly) throw new Failure('FORBIDDEN');
    const { items, validUntil } = await list(reader, kind, (row, expired) =>
      expired ? present.stub(row) : item(reader, row, vault, depth),
    );
    const { id, name } = vault.row;
    return [{ vault: { id, name }, [collections[kind]]: items }, requestedIn(kind, depth), validUntil];
  }

  function item(reader: Reader, row: Believed, vault: OpenVault, depth: Depth): unknown {
    if (row.type === 'key') return present.key(row, vault);
    if (row.type === 'certificate') return present.certificate(row, vault);
    if (depth === 'names' || reader.namesOnly) return { id: row.id, name: row.name };
    return depth === 'whole' ? present.secret(row, vault) : secretFacts(row, vault);
  }

  function secretFacts(row: Believed, { box }: OpenVault) {
    const { tags } = shelf.openLabels(row, box);
    return { id: row.id, name: row.name, content_type: row.content_type ?? 'text/plain', tags };
  }

  async function one(reader: Reader, detail: Detail): Promise<Made> {
    const vault = await openVault(reader);
    const { kind, which, depth } = detail;
    const row = await (kind === 'secret' ? byName(reader, kind, which) : byId(reader, which, kind));
    if (reader.namesOnly && (kind !== 'secret' || depth === 'whole')) throw new Failure('FORBIDDEN');
    return [itself(reader, row, vault, depth), `${kind} ${row.name}`, validUntil(row)];
  }

  function itself(reader: Reader, row: Believed, vault: OpenVault, depth: Depth): unknown {
    if (row.type === 'secret') return item(reader, row, vault, depth);
    if (row.type === 'certificate') {
      return { ...present.certificate(row, vault), pem: present.pem(row, vault) };
    }
    if (depth === 'public') return { ...present.key(row, vault), type: 'public', pem: publicPem(row) };
    return { ...present.key(row, vault), pem: present.pem(row, vault) };
  }

  async function described(reader: Reader): Promise<Made> {
    const { row } = await openVault(reader);
    const accessKey = {
      id: reader.id,
      name: reader.name,
      kinds: reader.kinds ?? ['secret', 'key', 'certificate'],
      names: reader.names ?? ['*'],
      names_only: reader.namesOnly,
      cidrs: reader.cidrs,
      rate_limit: reader.rateLimit,
      max_uses: reader.maxUses,
      expiration_date: isoOrNull(reader.expirationDate),
    };
    return [{ vault: { id: row.id, name: row.name }, access_key: accessKey }, 'vault', 0];
  }

  /** For the holder of a public token: the public half, whatever the key holds. */
  async function publicHalf(
    organizationId: string,
    keyId: string,
  ): Promise<ReadyAnswer & { vaultId: string }> {
    const found = await store.resources.byId(organizationId, keyId);
    const vault = found && (await store.resources.vault(found.vault_id));
    if (found === undefined || vault === undefined || found.type !== 'key') throw new Failure('NOT_FOUND');
    const row = stamps.resource.believe(found);
    refuseInactive(row);
    const { key_type, key_size } = keyAttributes(row);
    const body = {
      id: row.id,
      name: row.name,
      type: 'public',
      key_type,
      key_size,
      activation_date: isoOrNull(row.activation_date),
      expiration_date: isoOrNull(row.expiration_date),
      pem: publicPem(row),
    };
    return { ...answer(JSON.stringify(body), json, `key ${row.name}`, 0), vaultId: row.vault_id };
  }

  const makers = { list: listed, one, vault: described };
  return {
    make: async (reader: Reader, detail: Detail): Promise<ReadyAnswer> => {
      const [body, requested, validUntil] = await makers[detail.what](reader, detail);
      return answer(JSON.stringify(body), json, requested, validUntil);
    },
    publicHalf,
  };
}

function publicPem(row: ResourceRow): string {
  return keyAttributes(row).public_pem;
}

function requestedIn(kind: ResourceKind, depth: Depth): string {
  return kind === 'secret' && depth !== 'whole' ? 'secrets=names' : collections[kind];
}

/** As the log says it before anything is found: a name that was sent may be anything, and is not repeated. */
export function requestedDetail({ what, kind, which, depth }: Detail): string {
  if (what === 'vault') return 'vault';
  if (what === 'list') return requestedIn(kind, depth);
  return isId(which) ? `${kind} ${which}` : kind;
}

/** The same text for details that have the same answer. */
export function detailKey({ what, kind, which, depth }: Detail): string {
  return `${what} ${kind} ${depth} ${which}`;
}
