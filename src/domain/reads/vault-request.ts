/**
 * What can be asked of a vault, by whom, and what comes of it. A request is an access key's read of its vault, or a
 * public token's read of one key; no other credential reads. Nothing here knows of headers or content types: the
 * surfaces translate.
 */
import type { ResourceKind, Sender } from '../../access/caller.ts';
import type { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';

/** What every request tells of itself, also one that is refused before anybody reads. */
export interface RequestFacts {
  readonly sender: Sender;
  /** Null where the request goes by the id of its own log entry. */
  readonly requestId: string | null;
  readonly route: string;
  readonly method: string;
  readonly tool: string | null;
  /** The credential that was sent. */
  readonly token: string | null;
  /** The vault that is asked for; null where the credential alone says which. */
  readonly vaultId: string | null;
  /** The key that is asked for with a public token; null where the token alone says which. */
  readonly keyId: string | null;
}

export interface AccessKeyRead extends RequestFacts {
  readonly by: 'access-key';
  /** What stands for the client's connection: its credential is proven once. */
  readonly connection: object;
  /** A failure to understand it is raised once the credential is judged: a stranger learns nothing from it. */
  readonly selection: Selection | Failure;
  /** Digests of answers that the client has already. */
  readonly knownDigests: readonly string[];
}

/** It gets the public half of its key. */
export interface PublicTokenRead extends RequestFacts {
  readonly by: 'public-token';
}

export type VaultRequest = AccessKeyRead | PublicTokenRead;

export type Selection =
  /** The vault with its secrets, and with its keys and certificates where they are asked for. */
  | {
      readonly of: 'vault';
      readonly namesOnly: boolean;
      readonly keys: boolean;
      readonly certificates: boolean;
    }
  /** One resource of any kind: a secret as an object, a key or certificate as PEM. */
  | { readonly of: 'resource'; readonly id: string }
  /** Names and values of the secrets, and nothing else. */
  | { readonly of: 'values'; readonly format: 'map' | 'env' }
  | KindSelection
  | ItemSelection
  /** What the access key may see, and its limits. */
  | { readonly of: 'access-key' }
  /** The same of a vault that the request calls by its name, which has to be that of the access key. */
  | { readonly of: 'named-vault'; readonly name: string; readonly selection: PlainSelection };

export type PlainSelection = Exclude<Selection, { of: 'named-vault' }>;

/** Every resource of one kind. */
export interface KindSelection {
  readonly of: 'kind';
  readonly kind: ResourceKind;
  readonly fields: Fields;
}

/** One resource of a given kind, as an object. */
export interface ItemSelection {
  readonly of: 'item';
  readonly kind: ResourceKind;
  /** The name of a secret, the id of a key or certificate. */
  readonly nameOrId: string;
  readonly fields: Fields;
  /** With its version, and when that and the secret itself were created. */
  readonly versioned?: true;
}

/** How much is given of each resource: a key's value is its PEM, and its public half may be asked for alone. */
export type Fields = 'names' | 'metadata' | 'public-half' | 'value';

/** How a surface wants its answers written, where not as they are. They are kept in memory as written. */
export interface AnswerEncoding {
  readonly name: string;
  readonly encode: (body: Buffer) => Buffer;
}

export type AnswerFormat = 'json' | 'text' | 'pem';

/** Where the log tells of the request. */
export interface LogReference {
  readonly receipt: string;
  readonly requestId: string;
}

export interface ReadAnswer extends LogReference {
  readonly status: 200;
  readonly format: AnswerFormat;
  /** Of the body; null for PEM, which is sent anew each time. */
  readonly digest: string | null;
  readonly body: Buffer;
}

/** The client has it already. */
export interface ReadUnchanged extends LogReference {
  readonly status: 304;
  readonly digest: string;
}

export interface ReadRefusal extends LogReference {
  readonly status: number;
  readonly failure: Failure;
}

/** What may be handed out: its entry is in the log. */
export type ReadResult = ReadAnswer | ReadUnchanged | ReadRefusal;

/** The same text for selections that have the same answer; null where the answer is the access key's own. */
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
      return `item ${selection.kind} ${selection.fields}${selection.versioned ? '+version' : ''} ${selection.nameOrId}`;
    case 'access-key':
      return null;
    case 'named-vault':
      return keyInNamedVault(selection.name, selectionKey(selection.selection));
  }
}

/** As the log says it before anything is found: a name that was sent may be anything, and is not repeated. */
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

/** Quoted, so that no name can pass for another one and a part of what follows it. */
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
