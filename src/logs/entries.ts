/**
 * The entries of both logs. An entry is stored as exactly the text that was hashed, so that its encoding is never
 * ambiguous; the other columns only help to find it.
 */
import type { RefusalReason } from '../contract/refusals.ts';
import type { KeyNarrowing } from '../contract/restrictions.ts';

/** A request to the vault or the tool endpoint, including refused ones. Contains names of resources, never values. */
export interface RequestEntry {
  readonly organization_id: string | null;
  readonly success: boolean;
  readonly resource_type: 'vault';
  readonly ip_address: string;
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly vault_id: string | null;
  readonly access_key_id: string | null;
  /** The holder's restrictions of the access key, if any. */
  readonly narrowing?: KeyNarrowing | undefined;
  /** What was requested: a selection, or the name of one resource. */
  readonly requested: string;
  readonly tool: string | null;
  readonly user_agent: string;
  readonly duration_ms: number;
  /** The secrets of this vault whose values were part of the answer, each with the template that refers to it. */
  readonly via?: readonly (readonly [secretId: string, templateId: string])[];
  /** Null if the request id is the id of this entry. */
  readonly request_id: string | null;
  /** How many refusals, identical except for the time, the entry represents; one if omitted. */
  readonly count?: number;
  /** Why it was refused. Absent in entries for answers, and in refusals older than this field. */
  readonly reason?: RefusalReason;
}

/** A change, a reveal or a refusal, through the general API or by the operator. */
export interface AuditEntry {
  readonly organization_id: string | null;
  readonly actor: { readonly kind: string; readonly id: string; readonly name: string };
  readonly action: string;
  readonly outcome: 'allowed' | 'denied';
  readonly subject: { readonly type: string; readonly id: string | null; readonly name: string } | null;
  /** The subject's new revision; null if nothing changed. */
  readonly revision: number | null;
  readonly vault_id: string | null;
  readonly ip_address: string;
  readonly user_agent: string;
  readonly request_id: string;
  /** For example, which fields changed; never their new values. */
  readonly details: Readonly<Record<string, unknown>>;
  /** How many refusals it represents; one if omitted. */
  readonly count?: number;
}

/** The status of a request over a rate limit. */
export const pastLimit = 429;

export const isSuccess = (status: number): boolean => status < 400;

/** Escapes that not every JSON parser accepts: the character NUL, and lone surrogates. */
const unreadable = /\\u(?:0000|d[89a-f])/;

/** Databases parse the text too, to index it, so characters that one of them can't read are replaced. */
export function auditText(id: string, createdAt: string, entry: AuditEntry): string {
  const whole = { id, created_at: createdAt, ...entry };
  const text = JSON.stringify(whole);
  return unreadable.test(text) ? JSON.stringify(whole, readable) : text;
}

function readable(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value;
}

const plain = /^[ !#-[\]-~]*$/;

/** As JSON. */
export function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text);
}

const longestText = 256;
/** For text whose parts are bounded, and of which nothing may be missing. */
export const longestFullText = 1_024;

/**
 * Replaces control characters and bidirectional marks, and limits the length, so that an entry stays one readable line.
 */
export function logText(text: string, longest = longestText): string {
  if (text.length <= longest && plain.test(text)) return text;
  return text.slice(0, longest).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '\uFFFD');
}
