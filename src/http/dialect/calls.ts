/** A call in Vault's dialect on the management plane, and what comes of it. */
import type { Origin } from '../../access/caller.ts';
import { invalid } from '../../contract/errors.ts';

/** A call, once it is known who makes it. */
export interface DialectCall {
  readonly method: string;
  readonly url: string;
  readonly body: unknown;
  readonly token: string | null;
  readonly origin: Origin;
}

/** What is answered: JSON for the envelope's `data` and `auth`, or nothing at all. */
export interface DialectAnswer {
  readonly status: 200 | 204 | 404;
  readonly data?: string;
  readonly auth?: string;
}

/** The body as an object, where none is an empty one. */
export function objectIn(body: unknown): Readonly<Record<string, unknown>> {
  if (body === undefined || body === null) return {};
  if (typeof body !== 'object' || Array.isArray(body)) throw invalid('', 'the body must be an object');
  return body as Readonly<Record<string, unknown>>;
}

/** The language has these; the compiler's library does not know them yet. */
interface SourceJson {
  parse(
    text: string,
    revive: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}
const json = JSON as unknown as SourceJson;

/** JSON in which numbers that would lose digits stay as they were written. */
export function exactJson(text: string): unknown {
  return json.parse(text, (_name, value, { source }) =>
    typeof value === 'number' && String(value) !== source ? json.rawJSON(source!) : value,
  );
}

/** An object with members, and no such number. */
export function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !json.isRawJSON(value);
}
