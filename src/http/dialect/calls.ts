/** A call in Vault's dialect on the management plane, and its answer. */
import type { Origin } from '../../access/caller.ts';
import { invalid } from '../../contract/errors.ts';

/** A call, with its credential and origin. */
export interface DialectCall {
  readonly method: string;
  readonly url: string;
  readonly body: unknown;
  readonly token: string | null;
  readonly origin: Origin;
}

/** The engine that answers, as the envelope names it; older engines leave it out. */
type MountType = 'transit' | 'database';

/** A credential that ends, as the envelope states it. */
export interface DialectLease {
  readonly id: string;
  readonly renewable: boolean;
  /** In seconds. */
  readonly duration: number;
}

/** An answer: JSON for the envelope's members, or an empty one. */
export interface DialectAnswer {
  readonly status: 200 | 204 | 400 | 404;
  readonly data?: string;
  readonly auth?: string;
  readonly warnings?: string | undefined;
  readonly mountType?: MountType;
  readonly lease?: DialectLease;
}

/** Returns the body as an object; a missing body is an empty object. */
export function objectIn(body: unknown): Readonly<Record<string, unknown>> {
  if (body === undefined || body === null) return {};
  if (typeof body !== 'object' || Array.isArray(body)) throw invalid('', 'the body must be an object');
  return body as Readonly<Record<string, unknown>>;
}

/** Part of the language, but not yet declared in TypeScript's library. */
interface SourceJson {
  parse(
    text: string,
    revive: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}
const json = JSON as unknown as SourceJson;

/** Parses JSON, and keeps the source text of numbers that would lose digits. */
export function exactJson(text: string): unknown {
  return json.parse(text, (_name, value, { source }) =>
    typeof value === 'number' && String(value) !== source ? json.rawJSON(source!) : value,
  );
}

/** Whether the value is an object with members, rather than a number kept as source text. */
export function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !json.isRawJSON(value);
}
