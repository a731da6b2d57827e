/**
 * What each type of key can do, with which algorithms, by their JOSE names. It imports no schemas, so that the dashboard
 * can use it. Neither RSAES-PKCS1-v1_5 nor SHA-1 is among them.
 */
import type { KeyOperation } from './use-names.ts';

const rsaSignatures = ['PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'] as const;
const rsaEncryptions = ['RSA-OAEP-256', 'RSA-OAEP-384', 'RSA-OAEP-512'] as const;
const macs = ['HS256', 'HS384', 'HS512'] as const;
const curves = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512', secp256k1: 'ES256K' } as const;
const lattices = ['ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87'] as const;
const encapsulations = ['ML-KEM-512+A128KW', 'ML-KEM-768+A192KW', 'ML-KEM-1024+A256KW'] as const;
const agreement = 'ECDH-ES+A256KW';

export const keyAlgorithms = [
  ...rsaSignatures,
  ...Object.values(curves),
  'EdDSA',
  ...lattices,
  ...macs,
  'A256GCM',
  'A256KW',
  ...rsaEncryptions,
  agreement,
  ...encapsulations,
] as const;
export type KeyAlgorithm = (typeof keyAlgorithms)[number];

/** The algorithms of each operation that the key can do. The first is the default. */
export type KeyAbilities = Partial<Readonly<Record<KeyOperation, readonly KeyAlgorithm[]>>>;

export interface KindOfKey {
  readonly key_type: string;
  readonly key_size: number;
  readonly curve: string | null;
  /** Whether the private or symmetric key is stored. */
  readonly has_private_key: boolean;
}

export function abilitiesOf(kind: KindOfKey): KeyAbilities {
  const all = allOf(kind);
  if (kind.has_private_key) return all;
  const open = Object.entries(all).filter(([operation]) => ['verify', 'encrypt', 'wrap'].includes(operation));
  return Object.fromEntries(open);
}

function allOf({ key_type, key_size, curve }: KindOfKey): KeyAbilities {
  switch (key_type) {
    case 'RSA':
      return { ...signing(rsaSignatures), ...encrypting(rsaEncryptions), ...wrapping(rsaEncryptions) };
    case 'EC': {
      const signature = curves[curve as keyof typeof curves];
      // No JOSE algorithm agrees on keys with secp256k1.
      return curve === 'secp256k1'
        ? signing([signature])
        : { ...signing([signature]), ...wrapping([agreement]) };
    }
    case 'OKP':
      return curve === 'X25519' ? wrapping([agreement]) : signing(['EdDSA']);
    case 'ML-DSA':
      return signing(lattices.filter(name => name.endsWith(`-${key_size}`)));
    case 'ML-KEM':
      return wrapping(encapsulations.filter(name => name.startsWith(`ML-KEM-${key_size}+`)));
    case 'AES':
      return { ...encrypting(['A256GCM']), ...wrapping(['A256KW']), rewrap: ['A256GCM', 'A256KW'] };
    case 'HMAC': {
      // RFC 7518 requires a key at least as long as the digest.
      const fitting = macs.filter(name => Number(name.slice(2)) <= key_size);
      return { mac: fitting, verify: fitting };
    }
    default:
      return {};
  }
}

const signing = (names: readonly KeyAlgorithm[]): KeyAbilities => ({ sign: names, verify: names });
const encrypting = (names: readonly KeyAlgorithm[]): KeyAbilities => ({
  encrypt: names,
  decrypt: names,
  rewrap: names,
});
const wrapping = (names: readonly KeyAlgorithm[]): KeyAbilities => ({
  wrap: names,
  unwrap: names,
  rewrap: names,
});
