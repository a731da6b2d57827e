/**
 * Email addresses. Two are the same if they are equal except for the case of ASCII letters: an address that only
 * looks similar, or becomes equal by Unicode folding, belongs to someone else.
 */

/**
 * One key for all that looks alike. It finds candidates, keeps look-alikes out of one organization and salts a
 * password's derivation; whose address it is, is decided by `sameAddress`.
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
