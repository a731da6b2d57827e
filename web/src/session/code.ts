/** Removes spaces from a one-time code: authenticators show it in groups, and the service expects it without. */
export function codeOf(typed: string): string {
  return typed.replace(/\s/g, '');
}
