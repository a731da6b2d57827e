/**
 * What is written down. An entry is kept as the very text that was hashed, so nobody has to guess later how
 * it was encoded; the columns beside it only help to find it.
 */

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
  /** What was asked for: a selection, or the name of one resource. */
  readonly requested: string;
  readonly tool: string | null;
  readonly user_agent: string;
  readonly duration_ms: number;
  /** Null where the request goes by the id of this entry. */
  readonly request_id: string | null;
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
  /** Which members changed and the like; never what they changed to. */
  readonly details: Readonly<Record<string, unknown>>;
}

export const isSuccess = (status: number): boolean => status < 400;

export function auditText(id: string, createdAt: string, entry: AuditEntry): string {
  return JSON.stringify({ id, created_at: createdAt, ...entry });
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
