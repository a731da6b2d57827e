/**
 * What is recorded. An entry is stored as exactly the text that was hashed, so that nobody has to guess later how it
 * was encoded; the columns beside it only help to find it.
 */
import type { RefusalReason } from '../contract/refusals.ts';
import type { KeyNarrowing } from '../contract/restrictions.ts';

/** One request to the vault or the tool endpoint, refused ones included. Names of resources, never values. */
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
  /** What its holder restricted the access key to, where they did. */
  readonly narrowing?: KeyNarrowing | undefined;
  /** What was asked for: a selection, or the name of one resource. */
  readonly requested: string;
  readonly tool: string | null;
  readonly user_agent: string;
  readonly duration_ms: number;
  /** Null where the request goes by the id of this entry. */
  readonly request_id: string | null;
  /** How many refusals, identical except for the time, the entry stands for; one if omitted. */
  readonly count?: number;
  /** Why it was refused. Entries of answers have none, and neither have refusals from before it was recorded. */
  readonly reason?: RefusalReason;
}

/** One change, one reveal, or one refusal on the general API or by the operator. */
export interface AuditEntry {
  readonly organization_id: string | null;
  readonly actor: { readonly kind: string; readonly id: string; readonly name: string };
  readonly action: string;
  readonly outcome: 'allowed' | 'denied';
  readonly subject: { readonly type: string; readonly id: string | null; readonly name: string } | null;
  /** The revision that the subject has from now on; null where nothing changed. */
  readonly revision: number | null;
  readonly vault_id: string | null;
  readonly ip_address: string;
  readonly user_agent: string;
  readonly request_id: string;
  /** Which fields changed and the like; never their new values. */
  readonly details: Readonly<Record<string, unknown>>;
  /** How many refusals it stands for; one if omitted. */
  readonly count?: number;
}

/** The status of a request that came after too many others. */
export const pastLimit = 429;

export const isSuccess = (status: number): boolean => status < 400;

/** Escapes that not every reader of JSON takes: the character NUL, and halves of a character. */
const unreadable = /\\u(?:0000|d[89a-f])/;

/** Databases read it too, to find it by: what one of them could not read is left out. */
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

/** Control characters and bidirectional marks out, length bounded: an entry stays one readable line. */
export function logText(text: string): string {
  if (text.length <= longestText && plain.test(text)) return text;
  return text.slice(0, longestText).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '\uFFFD');
}
