/**
 * The caller of a request. Only authentication creates one. It contains everything that policy needs, so that decisions
 * require no lookups, and the proof of its identity, because a decision is valid only as long as that proof is.
 */
import type { KeyNarrowing } from '../contract/restrictions.ts';
import { type GrantedOperation, openOperations } from '../contract/use-names.ts';
import { type Grant, grantOfRole, type ResourceKind } from './policy.ts';

export { type ResourceKind, resourceKinds } from './policy.ts';

/** The sender of a request as seen from outside: for the logs, never for a decision. */
export interface Sender {
  readonly address: string;
  readonly userAgent: string;
}

export interface Origin extends Sender {
  readonly requestId: string;
}

/** A stored row that identifies a caller, at the revision that was verified. */
export interface ProvenBy {
  readonly table: 'credentials' | 'sessions' | 'members' | 'member_groups' | 'accounts' | 'identities';
  readonly id: string;
  readonly revision: number;
}

/** What a caller's authority rests on. Anything done in its name requires these rows to be unchanged. */
export interface Proof {
  readonly rows: readonly ProvenBy[];
  /** When it expires; null for never. */
  readonly until: number | null;
  /** When the person of a session or a CLI sign-in last authenticated, or null; others do with each request. */
  readonly provenAt?: number | null;
}

/** How long a proof of identity counts. */
export const provenFor = 5 * 60_000;

/** Whether a caller is more than a possibly stolen session: its person authenticated recently. */
export function isProven({ proof: { provenAt } }: Pick<Caller, 'proof'>, now: number): boolean {
  return provenAt === undefined || (provenAt !== null && now < provenAt + provenFor);
}

/** For the operator, who has the root key, and for the service itself: no stored row can revoke their authority. */
export const unstored: Proof = { rows: [], until: null };

/** A caller of the general API: an API key, a signed-in member, the operator, or the service itself. */
export interface Caller extends Grant {
  readonly kind: 'api-key' | 'member' | 'operator' | 'service';
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly origin: Origin;
  readonly proof: Proof;
  /** The reason for which this request is to be done without review; omitted if it is not. */
  readonly bypass?: string;
}

/** The operator, or the service acting on its own: they may do everything in the organization they act for. */
export function trustedCaller(
  kind: 'operator' | 'service',
  id: string,
  name: string,
  organizationId: string,
  requestId: string,
  userAgent = '',
): Caller {
  return {
    kind,
    id,
    name,
    organizationId,
    ...grantOfRole('owner'),
    proof: unstored,
    origin: { address: '', requestId, userAgent },
  };
}

/** The member that a caller acts for, signed in or through their API key; null if the key is no member's. */
export function memberBehind({ proof }: Caller): string | null {
  return proof.rows.find(({ table }) => table === 'members')?.id ?? null;
}

/**
 * The API keys with which everything that a caller creates ends: its own, if it expires or belongs to a sign-in, and
 * those it was created with. Empty for a person, and for an API key that does not end.
 */
export function makersOf({ kind, until, proof }: Caller): string[] {
  if (kind !== 'api-key' || (until === null && proof.provenAt === undefined)) return [];
  return proof.rows.flatMap(({ table, id }) => (table === 'credentials' ? id : []));
}

/** A vault access key, as the vault and tool endpoints see it. It reads one vault, or part of it. */
export interface Reader {
  readonly kind: 'access-key';
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly vaultId: string;
  readonly kinds: readonly ResourceKind[] | null;
  /** In each list of patterns at least one must match a name. `*` matches any number of characters. */
  readonly names: readonly (readonly string[])[];
  readonly namesOnly: boolean;
  /** Whether it may use secrets and keys through their use rules. This does not let it read more. */
  readonly mayUse: boolean;
  /** The operations with keys that it may do; null for those that need only what it can read. */
  readonly operations: readonly GrantedOperation[] | null;
  readonly cidrs: readonly string[] | null;
  readonly rateLimit: number | null;
  readonly maxUses: number | null;
  readonly expirationDate: number | null;
  /** The name of the access key that created it; null if none did. */
  readonly parentName: string | null;
  /** The access key whose rate limit its requests count towards: its own, or the one that created it. */
  readonly countedAs: string;
  /** Its source, which could issue another like it: an OAuth grant, an identity, or itself. */
  readonly givenBy: string;
  /** Whether a person granted it to a client through OAuth. If so, missing access can be requested. */
  readonly byOAuth: boolean;
  /** The run that it belongs to, and the only use rules that this may use; null if it belongs to none. */
  readonly run: { readonly id: string; readonly rules: readonly string[] | null } | null;
  /** The restrictions that its holder added; null if there are none. */
  readonly narrowing: KeyNarrowing | null;
  /** The same text for all access keys that see the same things. Cached answers are stored under it. */
  readonly view: string;
}

export function readerSeesKind(reader: Pick<Reader, 'kinds'>, kind: ResourceKind): boolean {
  return reader.kinds === null || reader.kinds.includes(kind);
}

/** Whether it may do this with the keys that it sees. A names-only key reads no public key, so it needs to be told. */
export function readerMayOperate(
  { operations, namesOnly }: Pick<Reader, 'operations' | 'namesOnly'>,
  operation: GrantedOperation,
): boolean {
  if (operations !== null) return operations.includes(operation);
  return !namesOnly && openOperations.some(one => one === operation);
}

export function readerSeesName(reader: Pick<Reader, 'names'>, name: string): boolean {
  return reader.names.every(patterns => patterns.some(pattern => matchesPattern(pattern, name)));
}

/** `*` matches any number of characters. Linear in the length of the name per asterisk: no backtracking. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [head, ...rest] = pattern.split('*') as [string, ...string[]];
  if (rest.length === 0) return name === pattern;
  const tail = rest.pop()!;
  if (!name.startsWith(head)) return false;
  let at = head.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - tail.length >= at && name.endsWith(tail);
}
