/** One key for every spelling of an address: case, width and surrounding space make no second account. */
export function emailKey(email: string): string {
  return email.normalize('NFKC').trim().toLowerCase();
}
