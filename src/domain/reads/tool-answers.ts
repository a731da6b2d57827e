/**
 * Creates the answers of the tools, and of a read by name. Unlike the other answers of the vault endpoint, they cover
 * one kind of resource at a time, find a secret by its name, and decrypt only what was explicitly requested.
 */
import type { Reader } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import { keyAttributes } from '../resources/key-attributes.ts';
import { keySetOf } from '../resources/key-sets.ts';
import { keyVersionsOf } from '../resources/key-versions.ts';
import { codeOf } from '../resources/one-time-codes.ts';
import type { Records } from '../resources/records.ts';
import type { OpenVault } from '../resources/sealing.ts';
import type { Templates, VaultAnswer } from './answer-cache.ts';
import { answer, isOfValue, omittedBy, requestedOne } from './vault-answers.ts';
import {
  collectionNames,
  type Fields,
  type ItemSelection,
  type KindSelection,
  requestedOfKind,
} from './vault-request.ts';
import { namesAlone, type Turns, type VerifiedResource, type Visibility } from './visibility.ts';

/** The key that a public token was created for. */
type KeyOwner = { readonly organizationId: string; readonly keyId: string };

type Content = readonly [
  body: unknown,
  requested: string,
  validUntil: number,
  templates?: Templates | undefined,
];

/** What is said about all versions of a key. */
const versionsOf = { jwks: keySetOf, versions: keyVersionsOf } as const;

function ofVersions(fields: Fields): fields is keyof typeof versionsOf {
  return fields in versionsOf;
}

export type ToolAnswers = ReturnType<typeof toolAnswersWith>;

export function toolAnswersWith({ store, stamps, now }: Parts, records: Records, visibility: Visibility) {
  const { openVault, look, list, byId, byName, refuseInactive, opened, validUntil, present } = visibility;

  async function ofKind(reader: Reader, { kind, fields }: KindSelection, turns: Turns): Promise<Content> {
    const vault = await openVault(reader);
    // A search by tag would reveal the tags to a names-only key.
    if (fields === 'metadata' && kind === 'secret' && reader.namesOnly) throw namesAlone();
    const looked = await look(reader, vault, [kind], turns);
    const found = await list(
      looked,
      kind,
      (row, expired, resolved) =>
        expired ? present.stub(row) : listed(reader, row, vault, fields, resolved),
      kind === 'secret' && fields === 'value' && !reader.namesOnly,
    );
    const { items, validUntil, templates } = found;
    const { id, name } = vault.row;
    const given = reader.namesOnly ? 'names' : fields;
    return [
      { vault: { id, name }, [collectionNames[kind]]: items, ...omittedBy(templates) },
      requestedOfKind(kind, given),
      validUntil,
      templates,
    ];
  }

  function listed(
    reader: Reader,
    row: VerifiedResource,
    vault: OpenVault,
    fields: Fields,
    resolved?: string,
  ): unknown {
    if (row.type !== 'secret') return present.listed(reader, row, vault);
    if (fields === 'names' || reader.namesOnly) return { id: row.id, name: row.name };
    if (fields === 'code') return codeOf(resolved!, now(), 'as');
    return fields === 'value' ? present.secret(row, vault, resolved) : secretMetadata(row, vault);
  }

  function secretMetadata(row: VerifiedResource, { sealer }: OpenVault) {
    const { tags } = records.openLabels(row, sealer);
    return { id: row.id, name: row.name, content_type: row.content_type ?? 'text/plain', tags };
  }

  async function item(reader: Reader, selection: ItemSelection, turns: Turns | undefined): Promise<Content> {
    const { kind, fields } = selection;
    const vault = await openVault(reader);
    const row = await rowOf(reader, selection);
    if (reader.namesOnly && (kind !== 'secret' || isOfValue(fields))) throw namesAlone();
    if (ofVersions(fields))
      return [await versionsOf[fields](row, records), requestedOne(row, fields), validUntil(row)];
    const isGiven = kind === 'secret' && isOfValue(fields);
    const found = isGiven ? await opened(row, vault, turns?.dependsOn) : null;
    const shown = itself(reader, row, vault, fields, found?.value);
    const content = selection.versioned ? Object.assign({}, shown, await versionOf(row)) : shown;
    return [content, requestedOne(row, fields), found?.validUntil ?? validUntil(row), found?.templates];
  }

  function rowOf(reader: Reader, { kind, nameOrId, fields }: ItemSelection): Promise<VerifiedResource> {
    const isNamed = kind === 'secret' || (ofVersions(fields) && !isId(nameOrId));
    return isNamed ? byName(reader, kind, nameOrId) : byId(reader, nameOrId, kind);
  }

  /** The fields that a `versioned` selection adds. */
  async function versionOf(row: VerifiedResource) {
    const found = await store.resources.version(row.id, row.version);
    if (found === undefined) throw new Failure('NOT_FOUND');
    return {
      version: row.version,
      version_created_at: iso(stamps.believeVersion(found).created_at),
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at),
    };
  }

  function itself(
    reader: Reader,
    row: VerifiedResource,
    vault: OpenVault,
    fields: Fields,
    resolved: string | undefined,
  ): unknown {
    if (row.type === 'secret') return listed(reader, row, vault, fields, resolved);
    if (row.type === 'certificate') {
      return { ...present.certificate(row, vault), pem: present.pem(row, vault) };
    }
    if (fields === 'public-half') return { ...present.key(row, vault), type: 'public', pem: publicPem(row) };
    return { ...present.key(row, vault), pem: present.pem(row, vault) };
  }

  async function accessKey(reader: Reader): Promise<Content> {
    const { row } = await openVault(reader);
    const described = {
      id: reader.id,
      name: reader.name,
      kinds: reader.kinds ?? ['secret', 'key', 'certificate'],
      // Several lists that must all match can't be written as one; the restrictions that the holder added follow
      // below.
      names: reader.names[0] ?? ['*'],
      names_only: reader.namesOnly,
      may_use: reader.mayUse,
      operations: reader.operations,
      cidrs: reader.cidrs,
      rate_limit: reader.rateLimit,
      max_uses: reader.maxUses,
      expiration_date: isoOrNull(reader.expirationDate),
      ...(reader.narrowing && { restrictions: reader.narrowing.restrictions }),
    };
    return [{ vault: { id: row.id, name: row.name }, access_key: described }, 'vault', 0];
  }

  /** For the holder of a public token: only the public key, even if the private key is stored. */
  async function publicHalf(organizationId: string, keyId: string): Promise<VaultAnswer> {
    const row = await keyOfToken(organizationId, keyId);
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
    return answer(JSON.stringify(body), 'json', requestedOne(row, 'public-half'), 0);
  }

  async function keyOfToken(organizationId: string, keyId: string): Promise<ResourceRow> {
    const found = await store.resources.byId(organizationId, keyId);
    const vault = found && (await store.resources.vault(found.vault_id));
    if (found === undefined || vault === undefined || found.type !== 'key') throw new Failure('NOT_FOUND');
    const row = stamps.resource.believe(found);
    refuseInactive(row);
    return row;
  }

  /** Also for the holder of a public token. A token for another key is an invalid one. */
  async function keySet(owner: KeyOwner, vaultId: string | null, asked: string): Promise<VaultAnswer> {
    const row = await keyOfToken(owner.organizationId, owner.keyId);
    const isIts = asked === row.id || asked === row.name;
    if (!isIts || (vaultId !== null && vaultId !== row.vault_id))
      throw new Failure('UNAUTHORIZED', { because: 'wrong_key' });
    const body = JSON.stringify(await keySetOf(row, records));
    return answer(body, 'json', requestedOne(row, 'jwks'), 0);
  }

  const answered = async (content: Promise<Content>): Promise<VaultAnswer> => {
    const [body, requested, validUntil, templates] = await content;
    return answer(JSON.stringify(body), 'json', requested, validUntil, templates);
  };
  return {
    kind: (reader: Reader, selection: KindSelection, turns: Turns) =>
      answered(ofKind(reader, selection, turns)),
    item: (reader: Reader, selection: ItemSelection, turns?: Turns) =>
      answered(item(reader, selection, turns)),
    accessKey: (reader: Reader) => answered(accessKey(reader)),
    vaultName: async (reader: Reader): Promise<string> => (await openVault(reader)).row.name,
    publicHalf,
    keySet,
  };
}

function publicPem(row: ResourceRow): string {
  return keyAttributes(row).public_pem;
}
