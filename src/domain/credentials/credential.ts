/**
 * A credential's record as it is believed, and what can be worked out from it once: what it admits, and what an access
 * key is to the vault endpoint, also one that was created with another, or that its holder restricted. Both of those
 * see what is left of what theirs sees, never more.
 */
import { addressSet } from '../../access/address.ts';
import type { Reader, ResourceKind } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import type { RefusalReason } from '../../contract/refusals.ts';
import type { KeyNarrowing, Restriction } from '../../contract/restrictions.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';

export const credentialKinds = {
  api: 'api-key',
  vault: 'access-key',
  pub: 'public-token',
  /** Proves an identity at its login, and is good for nothing else. */
  login: 'secret-id',
} as const;
export type StoredKind = keyof typeof credentialKinds;

/** Scopes and narrowings, as a credential's record keeps them. */
export interface Restrictions {
  readonly scopes?: readonly Action[] | null;
  readonly vault_ids?: readonly string[] | null;
  readonly kinds?: readonly ResourceKind[] | null;
  readonly names?: readonly string[] | null;
  readonly names_only?: boolean;
  readonly may_use?: boolean;
  readonly cidrs?: readonly string[] | null;
  readonly rate_limit?: number | null;
  /** Of an access key: the one that it was created with. It sees what that one sees, and ends with it. */
  readonly parent?: string;
  /** Of one whose parent came by OAuth: the parent's revision. It ends with that one's refresh. */
  readonly parent_revision?: number;
  /** Of what a member's sign-in gave: an API key, or an access key by OAuth. It ends with them, and with that epoch. */
  readonly login?: Login;
  /** Of any other API key: the member who created it, or whose API key did. Null where that was the operator’s. */
  readonly maker?: string | null;
  /** Of an access key by OAuth: the grant that it came of, which alone changes it. */
  readonly grant?: string;
  /** The API keys that it was made with and ends with: one that ends itself, and those that that one was made with. */
  readonly made_with?: readonly string[];
}

export interface Login {
  readonly member_id: string;
  readonly epoch: number;
  /** Of a command line: when its person proved who they are, to allow it. */
  readonly proven_at?: number;
}

/** A believed record, with what can be worked out once. */
export interface Credential {
  readonly row: CredentialRow;
  readonly narrowing: Restrictions;
  readonly admits: (address: string) => boolean;
  /** When what its holder restricted it to ends, whatever the record says, in milliseconds. */
  readonly end: number;
  /** What an access key is to the vault endpoint; null for the other kinds. */
  readonly reader: Reader | null;
  /** The access key that its holder restricted to get this; null where it is used as it was given. */
  readonly restrictedFrom: Credential | null;
}

export function isUsable(row: CredentialRow, now: number): boolean {
  return faultOf(row, now) === null;
}

/** Why a credential can't be used by anybody any more. */
export function faultOf({ revoked_at, expiration_date }: CredentialRow, now: number): RefusalReason | null {
  if (revoked_at !== null) return 'revoked';
  return expiration_date === null || now < expiration_date ? null : 'expired';
}

/** One list of names is written by itself, as it was before there could be more. */
function viewOf({ kinds, names, namesOnly }: Pick<Reader, 'kinds' | 'names' | 'namesOnly'>): string {
  if (kinds === null && names.length === 0 && !namesOnly) return '';
  return JSON.stringify([kinds, names.length > 1 ? names : (names[0] ?? null), namesOnly]);
}

export function credentialOf(row: CredentialRow): Credential {
  const narrowing = JSON.parse(row.narrowing) as Restrictions;
  const admits = narrowing.cidrs ? addressSet(narrowing.cidrs) : () => true;
  const reader = row.kind === credentialKinds.vault ? readerOf(row, narrowing) : null;
  return { row, narrowing, admits, end: Number.POSITIVE_INFINITY, reader, restrictedFrom: null };
}

function readerOf(row: CredentialRow, narrowing: Restrictions): Reader {
  const { kinds = null, names_only: namesOnly = false } = narrowing;
  const names = narrowing.names ? [narrowing.names] : [];
  return {
    kind: 'access-key',
    id: row.id,
    name: row.name,
    organizationId: row.organization_id,
    vaultId: row.vault_id!,
    kinds,
    names,
    namesOnly,
    mayUse: narrowing.may_use ?? false,
    cidrs: narrowing.cidrs ?? null,
    rateLimit: narrowing.rate_limit ?? null,
    maxUses: row.max_uses,
    expirationDate: row.expiration_date,
    parentName: null,
    countedAs: row.id,
    givenBy: narrowing.grant ?? row.identity_id ?? row.id,
    byOAuth: narrowing.grant !== undefined,
    narrowing: null,
    view: viewOf({ kinds, names, namesOnly }),
  };
}

/** It is another key, with its own end and its own number of uses; everything else is its parent's. */
export function childReader({ id, name, maxUses, expirationDate }: Reader, parent: Reader): Reader {
  return { ...parent, id, name, parentName: parent.name, maxUses, expirationDate };
}

export function restricted(from: Credential, narrowing: KeyNarrowing): Credential {
  const { restrictions } = narrowing;
  const sets = restrictions.flatMap(({ cidrs }) => (cidrs === undefined ? [] : addressSet(cidrs)));
  return {
    ...from,
    admits: address => from.admits(address) && sets.every(has => has(address)),
    end: endOf(restrictions),
    reader: restrictedReader(from.reader!, narrowing),
    restrictedFrom: from,
  };
}

/** Each restriction takes away from what the ones before it left. */
export function restrictedReader(reader: Reader, narrowing: KeyNarrowing): Reader {
  const { restrictions } = narrowing;
  const kinds = restrictions.reduce((left, { kinds }) => common(left, kinds), reader.kinds);
  const names = [
    ...reader.names,
    ...restrictions.flatMap(({ names }) => (names === undefined ? [] : [names])),
  ];
  const namesOnly = reader.namesOnly || restrictions.some(({ names_only }) => names_only === true);
  const end = Math.min(endOf(restrictions), reader.expirationDate ?? Number.POSITIVE_INFINITY);
  return {
    ...reader,
    kinds,
    names,
    namesOnly,
    mayUse: reader.mayUse && restrictions.every(({ may_use }) => may_use === undefined),
    expirationDate: Number.isFinite(end) ? end : null,
    // What a person would allow beyond it, they would allow to the access key that it comes of.
    byOAuth: false,
    narrowing,
    view: viewOf({ kinds, names, namesOnly }),
  };
}

function endOf(restrictions: readonly Restriction[]): number {
  const ends = restrictions.flatMap(({ expiration_date: end }) => (end === undefined ? [] : Date.parse(end)));
  return Math.min(...ends);
}

/** Null stands for all kinds. */
function common(left: Reader['kinds'], right: Restriction['kinds']): Reader['kinds'] {
  if (right === undefined) return left;
  return left === null ? right : left.filter(kind => right.includes(kind));
}
