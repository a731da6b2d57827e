/** The addresses of a transit engine’s operations, from that of a key. Loaded by every command, so it imports nothing. */
const addressForm = /^(.*\/v1\/.+)\/keys\/([^/]+)$/;

/** The address of an operation with the key; null if this is not the address of a key. */
export function transitAddress(key: string, operation: string): string | null {
  const url = URL.parse(key);
  const [, mount, name] = addressForm.exec(url?.pathname ?? '') ?? [];
  if (url === null || mount === undefined || url.search !== '' || url.hash !== '' || url.username !== '')
    return null;
  return `${url.origin}${mount}/${operation}/${name}`;
}
