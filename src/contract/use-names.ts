/** The names used in use rules. It imports nothing, so that commands and the dashboard load quickly. */

export const useMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type UseMethod = (typeof useMethods)[number];
export const approvalDemands = ['never', 'writes', 'always'] as const;
export const responseModes = ['full', 'status-only', 'store'] as const;
/** The operations with keys. Only the first three can be allowed by a use rule. */
export const keyOperations = [
  'sign',
  'verify',
  'decrypt',
  'encrypt',
  'wrap',
  'unwrap',
  'mac',
  'rewrap',
] as const;
export type KeyOperation = (typeof keyOperations)[number];
/** What the restriction `operations` of an access key can name. */
export const grantedOperations = [...keyOperations, 'ssh-certificate'] as const;
export type GrantedOperation = (typeof grantedOperations)[number];
export const ruledOperations = ['sign', 'verify', 'decrypt'] as const;
export type RuledOperation = (typeof ruledOperations)[number];
/** What an access key may do without the restriction `operations`. Anyone with the public key could do both. */
export const openOperations: readonly KeyOperation[] = ['verify', 'encrypt'];
export const signingAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;
export const decryptionAlgorithms = ['RSA-OAEP', 'RSA-OAEP-256'] as const;
export const useAlgorithms = [...signingAlgorithms, ...decryptionAlgorithms] as const;
export type UseAlgorithm = (typeof useAlgorithms)[number];
