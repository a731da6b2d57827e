/** Public keys as JSON Web Keys (RFC 7517, RFC 8037, and `AKP` for ML-DSA and ML-KEM). */
import { createPublicKey } from 'node:crypto';

/**
 * Members that restrict a key to one use are left out where a key has several, so that libraries choose by the header of
 * a token.
 */
export function publicJwk(publicPem: string, kid: string) {
  return { ...createPublicKey(publicPem).export({ format: 'jwk' }), kid };
}
