/** Symmetric keys in their stored form: a JSON Web Key of the type `oct` (RFC 7518 6.4). */

export function symmetricText(bytes: Buffer): string {
  return JSON.stringify({ kty: 'oct', k: bytes.toString('base64url') });
}

export function symmetricBytes(stored: string): Buffer {
  return Buffer.from((JSON.parse(stored) as { k: string }).k, 'base64url');
}
