/**
 * Email addresses. Two are the same if they differ only in the case of ASCII letters: an address that only looks
 * similar, or becomes equal through Unicode folding, belongs to someone else.
 */

/**
 * One key for all addresses that look alike. It finds candidates, prevents look-alikes in one organization, and salts
 * the derivation of passwords; `sameAddress` decides whether two addresses are the same.
 */
export function emailKey(email: string): string {
  return email.normalize('NFKC').trim().toLowerCase();
}

export function sameAddress(one: string, other: string): boolean {
  return lowerAscii(one) === lowerAscii(other);
}

function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, letter => letter.toLowerCase());
}
