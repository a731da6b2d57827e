/**
 * Who is asking. A caller is made by authentication alone, and carries all that policy needs, so that no
 * decision looks anything up.
 */
import type { Grant } from './policy.ts';

/** Who sent a request, as far as it shows. Believed for the record, never for a decision. */
export interface Sender {
  readonly address: string;
  readonly userAgent: string;
}

/** Where a request came from, for the logs. */
export interface Origin extends Sender {
  readonly requestId: string;
}

/** A caller of the general API: a key, a signed-in member, the operator at the command line, or the service itself. */
export interface Caller extends Grant {
  readonly kind: 'api-key' | 'member' | 'operator' | 'service';
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly origin: Origin;
}

export const resourceKinds = ['secret', 'key', 'certificate'] as const;
export type ResourceKind = (typeof resourceKinds)[number];

/** A vault access key, as the vault and tool endpoints see it. It reads one vault, and may see less of it. */
export interface Reader {
  readonly kind: 'access-key';
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly vaultId: string;
  readonly kinds: readonly ResourceKind[] | null;
  /** Patterns in which `*` stands for any run of characters, and everything else for itself. */
  readonly names: readonly string[] | null;
  readonly namesOnly: boolean;
  readonly cidrs: readonly string[] | null;
  readonly rateLimit: number | null;
  readonly maxUses: number | null;
  readonly expirationDate: number | null;
  /** The same text for all keys that see the same things: answers are kept by it. */
  readonly view: string;
}

export function readerSeesKind(reader: Reader, kind: ResourceKind): boolean {
  return reader.kinds === null || reader.kinds.includes(kind);
}

export function readerSeesName(reader: Reader, name: string): boolean {
  return reader.names === null || reader.names.some(pattern => matches(pattern, name));
}

/** Takes time linear in the name for each star: no expression that a pattern's author could make explode. */
function matches(pattern: string, name: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
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
