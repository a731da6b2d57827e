/**
 * Who is asking. Only authentication creates a caller. It carries everything that policy needs, so that no decision
 * looks anything up, and also what proved it, because a decision is valid only as long as that proof is.
 */
import type { KeyNarrowing } from '../contract/restrictions.ts';
import type { Grant, ResourceKind } from './policy.ts';

export { type ResourceKind, resourceKinds } from './policy.ts';

/** Who sent a request, as far as can be seen. Good enough for the record, never for a decision. */
export interface Sender {
  readonly address: string;
  readonly userAgent: string;
}

/** Where a request came from, for the logs. */
export interface Origin extends Sender {
  readonly requestId: string;
}

/** A stored row that says who a caller is, at the revision that was verified. */
export interface ProvenBy {
  readonly table: 'credentials' | 'sessions' | 'members' | 'member_groups' | 'accounts';
  readonly id: string;
  readonly revision: number;
}

/** What a caller's authority rests on. Anything done in its name requires these rows to be unchanged. */
export interface Proof {
  readonly rows: readonly ProvenBy[];
  /** When it expires; null for never. */
  readonly until: number | null;
  /**
   * Of a session, and of a command line's sign-in: when its person last proved who they are, null for never. Other
   * callers prove it with each request.
   */
  readonly provenAt?: number | null;
}

/** How long a proof of identity counts. */
export const provenFor = 5 * 60_000;

/** Whether a caller is more than a sign-in that somebody may have stolen: its person proved who they are just now. */
export function isProven({ proof: { provenAt } }: Pick<Caller, 'proof'>, now: number): boolean {
  return provenAt === undefined || (provenAt !== null && now < provenAt + provenFor);
}

/** For the operator, who has the root key, and for the service itself: no stored row can revoke their authority. */
export const unstored: Proof = { rows: [], until: null };

/** A caller of the general API: a key, a signed-in member, the operator at the command line, or the service itself. */
export interface Caller extends Grant {
  readonly kind: 'api-key' | 'member' | 'operator' | 'service';
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly origin: Origin;
  readonly proof: Proof;
}

/** The operator, or the service acting without being asked: they may do everything in the organization they act for. */
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
    role: 'owner',
    vaultRoles: new Map(),
    scopes: null,
    vaultIds: null,
    until: null,
    within: null,
    proof: unstored,
    origin: { address: '', requestId, userAgent },
  };
}

/** The member in whose name a caller acts, signed in or by an API key of theirs; null for an API key of nobody’s. */
export function memberBehind({ proof }: Caller): string | null {
  return proof.rows.find(({ table }) => table === 'members')?.id ?? null;
}

/**
 * The API keys that end whatever a caller makes: its own where that ends by itself or with a sign-in, and those that it was
 * made with. None for a person, and for an API key without an end.
 */
export function makersOf({ kind, until, proof }: Caller): string[] {
  if (kind !== 'api-key' || (until === null && proof.provenAt === undefined)) return [];
  return proof.rows.flatMap(({ table, id }) => (table === 'credentials' ? id : []));
}

/** A vault access key, as the vault and tool endpoints see it. It reads one vault, and may see less of it. */
export interface Reader {
  readonly kind: 'access-key';
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly vaultId: string;
  readonly kinds: readonly ResourceKind[] | null;
  /** Lists of patterns, of each of which one has to match a name. `*` matches any number of characters, and everything else matches literally. */
  readonly names: readonly (readonly string[])[];
  readonly namesOnly: boolean;
  /** Whether it may use secrets and keys by their use rules. It reads no more for it. */
  readonly mayUse: boolean;
  readonly cidrs: readonly string[] | null;
  readonly rateLimit: number | null;
  readonly maxUses: number | null;
  readonly expirationDate: number | null;
  /** Of one that another access key created, and named: what that one is called. */
  readonly parentName: string | null;
  /** Whose rate its requests are counted in: its own, or that of the access key that it was created with. */
  readonly countedAs: string;
  /** What it was given by, and another like it could be: an OAuth grant, an identity, or else itself. */
  readonly givenBy: string;
  /** Whether a person gave it to a client by OAuth: then what it may not see can be asked for. */
  readonly byOAuth: boolean;
  /** What its holder restricted it to; null where it is used as it was given. */
  readonly narrowing: KeyNarrowing | null;
  /** The same text for all access keys that see the same things. Cached answers are stored under it. */
  readonly view: string;
}

export function readerSeesKind(reader: Pick<Reader, 'kinds'>, kind: ResourceKind): boolean {
  return reader.kinds === null || reader.kinds.includes(kind);
}

export function readerSeesName(reader: Pick<Reader, 'names'>, name: string): boolean {
  return reader.names.every(patterns => patterns.some(pattern => matchesPattern(pattern, name)));
}

/** `*` matches any number of characters. Takes linear time in the length of the name for each star, so no pattern can make it explode. */
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
