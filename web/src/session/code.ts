/** A one-time code as it is sent: authenticators show it in groups, and the service takes it without spaces. */
export function codeOf(typed: string): string {
  return typed.replace(/\s/g, '');
}
