/**
 * What can be requested from a vault, with which credential, and the possible results. A request is an access key's
 * read of its vault or a public token's read of one key; no other credential reads. Headers and content types are
 * left to the surfaces.
 */
import type { ResourceKind, Sender } from '../../access/caller.ts';
import type { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';

/** Facts about every request, including those refused before anything is read. */
export interface RequestFacts {
  readonly sender: Sender;
  /** Null if the id of its log entry identifies the request. */
  readonly requestId: string | null;
  readonly route: string;
  readonly method: string;
  readonly tool: string | null;
  readonly token: string | null;
  /** The requested vault; null if only the credential determines it. */
  readonly vaultId: string | null;
  /** The key requested with a public token; null if only the token determines it. */
  readonly keyId: string | null;
}

interface ReadFacts extends RequestFacts {
  /** How the surface encodes the answer, if not as it is. */
  readonly encoding?: AnswerEncoding | null;
}

export interface AccessKeyRead extends ReadFacts {
  readonly by: 'access-key';
  /** Identifies the client's connection, so that its credential is verified only once. */
  readonly connection: object;
  /** If it could not be parsed, a failure, which only a caller with a valid credential learns. */
  readonly selection: Selection | Failure;
  /** Digests of answers that the client already has. */
  readonly knownDigests: readonly string[];
}

export interface PublicTokenRead extends ReadFacts {
  readonly by: 'public-token';
  /** The name or id of the key whose versions are asked for; by default, the current public key is returned. */
  readonly keySet?: string;
}

export type VaultRequest = AccessKeyRead | PublicTokenRead;

export type Selection =
  /** The vault with its secrets, and with its keys and certificates if requested. */
  | {
      readonly of: 'vault';
      readonly namesOnly: boolean;
      readonly keys: boolean;
      readonly certificates: boolean;
    }
  /** One resource of any kind: a secret as an object, a key or certificate as PEM. */
  | { readonly of: 'resource'; readonly id: string }
  /** Only the names and values of the secrets. */
  | { readonly of: 'values'; readonly format: 'map' | 'env' }
  | KindSelection
  | ItemSelection
  /** The access key's permissions and limits. */
  | { readonly of: 'access-key' }
  /** The same for a vault that the request names, which must be the access key's vault. */
  | { readonly of: 'named-vault'; readonly name: string; readonly selection: PlainSelection };

export type PlainSelection = Exclude<Selection, { of: 'named-vault' }>;

export interface KindSelection {
  readonly of: 'kind';
  readonly kind: ResourceKind;
  readonly fields: Fields;
}

export interface ItemSelection {
  readonly of: 'item';
  readonly kind: ResourceKind;
  /** The name of a secret, the id of a key or certificate. */
  readonly nameOrId: string;
  readonly fields: Fields;
  /** With its version, and the creation times of the version and the secret. */
  readonly versioned?: true;
}

/**
 * How much is returned of each resource. A key's value is its PEM; its public key can be requested by itself, as can
 * those of all its versions, alone or with what the key can do. A code is the current one-time code of a secret.
 */
export type Fields = 'names' | 'metadata' | 'public-half' | 'jwks' | 'versions' | 'value' | 'code';

/** Answers are cached in encoded form. */
export interface AnswerEncoding {
  readonly name: string;
  /** `unresolved` names the templates that the answer leaves out. */
  readonly encode: (body: Buffer, unresolved?: readonly string[]) => Buffer;
}

export type AnswerFormat = 'json' | 'text' | 'pem';

export interface LogReference {
  readonly receipt: string;
  readonly requestId: string;
}

export interface ReadAnswer extends LogReference {
  readonly status: 200;
  readonly format: AnswerFormat;
  /** Digest of the body; null for PEM, which is sent in full each time. */
  readonly digest: string | null;
  /** The names of templates that were left out because a reference can't be resolved. */
  readonly unresolved?: readonly string[] | undefined;
  readonly body: Buffer;
}

/** The client already has the answer. */
interface ReadUnchanged extends LogReference {
  readonly status: 304;
  readonly digest: string;
}

export interface ReadRefusal extends LogReference {
  readonly status: number;
  readonly failure: Failure;
}

/** A result whose entry is in the log, so that it may be returned. */
export type ReadResult = ReadAnswer | ReadUnchanged | ReadRefusal;

/**
 * The same text for selections with the same answer; null if the answer is specific to the access key, or to this
 * moment.
 */
export function selectionKey(selection: Selection): string | null {
  switch (selection.of) {
    case 'vault':
      return `${selection.namesOnly ? 'n' : 's'}${selection.keys ? 'k' : ''}${selection.certificates ? 'c' : ''}`;
    case 'resource':
      return `resource ${selection.id}`;
    case 'values':
      return selection.format;
    case 'kind':
      return `kind ${selection.kind} ${selection.fields}`;
    case 'item':
      if (selection.fields === 'code') return null;
      return `item ${selection.kind} ${selection.fields}${selection.versioned ? '+version' : ''} ${selection.nameOrId}`;
    case 'access-key':
      return null;
    case 'named-vault':
      return keyInNamedVault(selection.name, selectionKey(selection.selection));
  }
}

/** What the log states before anything is found. A name that was sent can be anything and is not repeated. */
export function requestedText(selection: Selection): string {
  switch (selection.of) {
    case 'vault':
      return requestedOfVault(selection);
    case 'resource':
      return isId(selection.id) ? `resource ${selection.id}` : 'resource';
    case 'values':
      return `format=${selection.format}`;
    case 'kind':
      return requestedOfKind(selection.kind, selection.fields);
    case 'item':
      return isId(selection.nameOrId) ? `${selection.kind} ${selection.nameOrId}` : selection.kind;
    case 'access-key':
      return 'vault';
    case 'named-vault':
      return requestedText(selection.selection);
  }
}

/** Quoted, so that no name can imitate another name together with what follows it. */
function keyInNamedVault(name: string, selected: string | null): string | null {
  return selected === null ? null : `in ${JSON.stringify(name)} ${selected}`;
}

function requestedOfVault({ namesOnly, keys, certificates }: Selection & { of: 'vault' }): string {
  const parts = [
    namesOnly ? 'secrets=names' : 'secrets',
    keys ? 'keys' : '',
    certificates ? 'certificates' : '',
  ];
  return parts.filter(part => part !== '').join(',');
}

export const collectionNames = { secret: 'secrets', key: 'keys', certificate: 'certificates' } as const;

export function requestedOfKind(kind: ResourceKind, fields: Fields): string {
  if (kind !== 'secret' || fields === 'value') return collectionNames[kind];
  return fields === 'names' ? 'secrets=names' : 'secrets=metadata';
}
