/**
 * A verified credential record, and what can be derived from it once: the addresses it admits, and an access key as
 * the vault endpoint sees it, including one that was created with another or restricted by its holder. Both of those
 * see a part of what the original sees, never more.
 */
import { addressSet } from '../../access/address.ts';
import type { Reader, ResourceKind } from '../../access/caller.ts';
import type { Action, Shown } from '../../access/policy.ts';
import type { RefusalReason } from '../../contract/refusals.ts';
import type { KeyNarrowing, Restriction } from '../../contract/restrictions.ts';
import { type GrantedOperation, openOperations } from '../../contract/use-names.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';

export const credentialKinds = {
  api: 'api-key',
  vault: 'access-key',
  pub: 'public-token',
  /** Proves an identity when it logs in; accepted nowhere else. */
  login: 'secret-id',
} as const;
export type StoredKind = keyof typeof credentialKinds;

/** Scopes and restrictions, as a credential's record stores them. */
export interface Restrictions {
  readonly scopes?: readonly Action[] | null;
  readonly vault_ids?: readonly string[] | null;
  readonly kinds?: readonly ResourceKind[] | null;
  readonly names?: readonly string[] | null;
  readonly names_only?: boolean;
  readonly may_use?: boolean;
  readonly operations?: readonly GrantedOperation[] | null;
  readonly cidrs?: readonly string[] | null;
  readonly rate_limit?: number | null;
  /** For an access key: the one that it was created with. It sees what that one sees, and ends with it. */
  readonly parent?: string;
  /** If the parent came from OAuth: the parent's revision. The key ends when the parent is refreshed. */
  readonly parent_revision?: number;
  /** For an API key of a sign-in, or an access key from OAuth: the member and epoch, with which it ends. */
  readonly login?: Login;
  /** For any other API key: the member behind its creation; null for the operator's keys. */
  readonly maker?: string | null;
  /** For an access key that an identity got for a secret id, and for what was created with it: the secret id. */
  readonly secret_id?: string;
  /** For an access key from OAuth: its grant. Only the grant changes it. */
  readonly grant?: string;
  /**
   * For an access key of a run: the run, and the only use rules that it may use. It has no `may_use` and no `parent`
   * of its own, so that a replica of an earlier version, which counts nothing, lets it use nothing.
   */
  readonly run?: Reader['run'];
  /** For one that an access key created for a run: that access key. It uses what that one may use, and ends with it. */
  readonly run_parent?: string;
  /** The API keys that it was created with and ends with: one that expires, and that one's own. */
  readonly made_with?: readonly string[];
}

export interface Login {
  readonly member_id: string;
  readonly epoch: number;
  /** For a command line: when its person proved their identity to approve it. */
  readonly proven_at?: number;
}

/** What an access key with these restrictions shows, as the policy describes it. */
export function shownBy(narrowing: Restrictions): Shown {
  const { kinds = null, names_only = false, may_use = false, operations = null, run = null } = narrowing;
  return { kinds, namesOnly: names_only, mayUse: may_use || run !== null, operations };
}

export interface Credential {
  readonly row: CredentialRow;
  readonly narrowing: Restrictions;
  readonly admits: (address: string) => boolean;
  /** When the holder's restrictions end it, whatever the record says, in milliseconds. */
  readonly end: number;
  /** An access key as the vault endpoint sees it; null for the other kinds. */
  readonly reader: Reader | null;
  /** The access key that its holder restricted to get this one; null if it is unrestricted. */
  readonly restrictedFrom: Credential | null;
}

export function isUsable(row: CredentialRow, now: number): boolean {
  return faultOf(row, now) === null;
}

/** Why a credential can no longer be used at all; null if it can. */
export function faultOf({ revoked_at, expiration_date }: CredentialRow, now: number): RefusalReason | null {
  if (revoked_at !== null) return 'revoked';
  return expiration_date === null || now < expiration_date ? null : 'expired';
}

/** A single list of names is written without the outer list, as it was before there could be several. */
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
  const { kinds, namesOnly, mayUse, operations = null } = shownBy(narrowing);
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
    mayUse,
    operations,
    cidrs: narrowing.cidrs ?? null,
    rateLimit: narrowing.rate_limit ?? null,
    maxUses: row.max_uses,
    expirationDate: row.expiration_date,
    parentName: null,
    countedAs: row.id,
    givenBy: narrowing.grant ?? row.identity_id ?? row.id,
    byOAuth: narrowing.grant !== undefined,
    run: narrowing.run ?? null,
    narrowing: null,
    view: viewOf({ kinds, names, namesOnly }),
  };
}

/** A child is a separate key, with its own expiration and number of uses; everything else comes from its parent. */
/** It reads no values and does no operations of its own; its parent decides whether it may use anything. */
export function runReader({ id, name, expirationDate, maxUses, run }: Reader, parent: Reader): Reader {
  const { kinds, names } = parent;
  const view = viewOf({ kinds, names, namesOnly: true });
  const own = { id, name, expirationDate, maxUses, run, operations: [], namesOnly: true };
  return { ...parent, ...own, parentName: parent.name, view };
}

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

/** Each restriction takes away from what the previous ones left. */
export function restrictedReader(reader: Reader, narrowing: KeyNarrowing): Reader {
  const { restrictions } = narrowing;
  const kinds = restrictions.reduce((left, { kinds }) => common(left, kinds), reader.kinds);
  const names = [
    ...reader.names,
    ...restrictions.flatMap(({ names }) => (names === undefined ? [] : [names])),
  ];
  const namesOnly = reader.namesOnly || restrictions.some(({ names_only }) => names_only === true);
  const keepsUse = restrictions.every(({ may_use }) => may_use === undefined);
  const end = Math.min(endOf(restrictions), reader.expirationDate ?? Number.POSITIVE_INFINITY);
  return {
    ...reader,
    kinds,
    names,
    namesOnly,
    mayUse: reader.mayUse && keepsUse,
    operations: remainingOperations(reader, restrictions, keepsUse),
    expirationDate: Number.isFinite(end) ? end : null,
    // A person who would allow more would allow it for the access key that this one is derived from.
    byOAuth: false,
    narrowing,
    view: viewOf({ kinds, names, namesOnly }),
  };
}

function endOf(restrictions: readonly Restriction[]): number {
  const ends = restrictions.flatMap(({ expiration_date: end }) => (end === undefined ? [] : Date.parse(end)));
  return Math.min(...ends);
}

/** Without `may_use`, those are left that an access key has by itself; of these, what the restrictions name. */
function remainingOperations(
  { operations, namesOnly }: Reader,
  restrictions: readonly Restriction[],
  keepsUse: boolean,
): Reader['operations'] {
  const named = restrictions.flatMap(({ operations }) => (operations === undefined ? [] : [operations]));
  if (operations === null && named.length === 0) return null;
  const held = operations ?? (namesOnly ? [] : openOperations);
  const kept = keepsUse ? held : held.filter(one => openOperations.some(open => open === one));
  return kept.filter(one => named.every(list => list.includes(one)));
}

/** Null stands for all kinds. */
function common(left: Reader['kinds'], right: Restriction['kinds']): Reader['kinds'] {
  if (right === undefined) return left;
  return left === null ? right : left.filter(kind => right.includes(kind));
}
