/**
 * The conditions that a verified token must meet for an identity. Patterns match like those of access keys; if a
 * claim is a list, one of its elements must match. Only strings, numbers and booleans can match, and no number too
 * large to be distinguished from the next one.
 */
import { matchesPattern } from '../../access/caller.ts';

export type ClaimPatterns = Readonly<Record<string, readonly string[]>>;

export function matchesAny(patterns: readonly string[], text: string): boolean {
  return patterns.some(pattern => matchesPattern(pattern, text));
}

/** The name of the first condition that is not met, or null. */
export function unmetClaim(conditions: ClaimPatterns, claims: object): string | null {
  const unmet = Object.entries(conditions).find(
    ([name, patterns]) => !holds(patterns, claimAt(claims, name)),
  );
  return unmet?.[0] ?? null;
}

function holds(patterns: readonly string[], claim: unknown): boolean {
  const values = Array.isArray(claim) ? claim : [claim];
  return values.some(value => isPlain(value) && matchesAny(patterns, String(value)));
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return typeof value === 'string' || typeof value === 'boolean';
}

/** A name that begins with a slash is a JSON pointer (RFC 6901) through objects; any other is the name of a claim. */
function claimAt(claims: object, name: string): unknown {
  const path = name.startsWith('/') ? name.slice(1).split('/').map(unescaped) : [name];
  return path.reduce<unknown>(memberOf, claims);
}

function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
