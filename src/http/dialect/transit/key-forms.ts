/** Keys as the transit engine shows and creates them. Its names of types stand for ours; derived keys don't exist. */
import { invalid } from '../../../contract/errors.ts';
import type { KeySpecification } from '../../../contract/resources.ts';
import type { KeyVersions } from '../../../domain/resources/key-versions.ts';
import { type Fields, isSet, numberIn, refuseSet, textIn } from './encodings.ts';

const curves = { 'ecdsa-p256': 'P-256', 'ecdsa-p384': 'P-384', 'ecdsa-p521': 'P-521' } as const;
const types: Readonly<Record<string, KeySpecification>> = {
  'aes256-gcm96': { key_type: 'AES', key_size: 256 },
  'rsa-2048': { key_type: 'RSA', key_size: 2048 },
  'rsa-3072': { key_type: 'RSA', key_size: 3072 },
  'rsa-4096': { key_type: 'RSA', key_size: 4096 },
  'ecdsa-p256': { key_type: 'EC', curve: 'P-256' },
  'ecdsa-p384': { key_type: 'EC', curve: 'P-384' },
  'ecdsa-p521': { key_type: 'EC', curve: 'P-521' },
  ed25519: { key_type: 'OKP', curve: 'Ed25519' },
};

interface NewKey {
  readonly generate: KeySpecification;
  /** Only if it was asked for: Vault's default is the opposite of the API's. */
  readonly exportable: boolean;
}

/** In bytes, as Vault counts them. */
const macSizes = [32, 48, 64];

export function newKeyIn(fields: Fields): NewKey {
  refuseSet(fields, {
    derived: 'is not supported',
    convergent_encryption: 'is not supported',
    allow_plaintext_backup: 'is not supported',
    auto_rotate_period: 'is not supported: rotate the key by a schedule of your own',
  });
  const generate = specificationIn(fields);
  const exportable = isSet(fields, 'exportable');
  const isSymmetric = generate.key_type === 'AES' || generate.key_type === 'HMAC';
  if (exportable && isSymmetric) throw invalid('exportable', 'can’t be true for a symmetric key');
  return { generate, exportable };
}

function specificationIn(fields: Fields): KeySpecification {
  const type = textIn(fields, 'type') ?? 'aes256-gcm96';
  const size = numberIn(fields, 'key_size', 512);
  if (type === 'hmac') {
    const bytes = size || 32;
    if (!macSizes.includes(bytes)) throw invalid('key_size', 'must be 32, 48 or 64 bytes');
    return { key_type: 'HMAC', key_size: (8 * bytes) as 256 | 384 | 512 };
  }
  if (size) throw invalid('key_size', 'is only used with the type hmac');
  if (Object.hasOwn(types, type)) return types[type]!;
  throw invalid('type', `must be one of ${[...Object.keys(types), 'hmac'].join(', ')}`);
}

/** What `keys/{name}/config` changes; undefined if nothing. */
export function minVersionIn(fields: Fields): number | undefined {
  refuseSet(fields, {
    min_encryption_version: 'must be 0: the newest version encrypts',
    exportable: 'can’t be changed',
    allow_plaintext_backup: 'is not supported',
    auto_rotate_period: 'is not supported: rotate the key by a schedule of your own',
  });
  const { deletion_allowed: deletion } = fields;
  if (deletion !== undefined && deletion !== null && !isSet(fields, 'deletion_allowed'))
    throw invalid('deletion_allowed', 'must be true: a deleted key can be restored for 30 days');
  const wanted = numberIn(fields, 'min_decryption_version', 1_000_000_000);
  return wanted === undefined ? undefined : Math.max(1, wanted);
}

/** Vault's name of the type, or ours if it has none. */
export function typeOf({
  key_type,
  key_size,
  curve,
}: Pick<KeyVersions, 'key_type' | 'key_size' | 'curve'>): string {
  if (key_type === 'AES') return 'aes256-gcm96';
  if (key_type === 'HMAC') return 'hmac';
  if (key_type === 'RSA') return `rsa-${key_size}`;
  const [named] = Object.entries(curves).find(([, name]) => name === curve) ?? [];
  return named ?? (curve ?? `${key_type}-${key_size}`).toLowerCase();
}

export function keyForm(key: KeyVersions) {
  const { operations } = key;
  const has = (operation: string) => operations.includes(operation as never);
  return {
    allow_plaintext_backup: false,
    auto_rotate_period: 0,
    deletion_allowed: true,
    derived: false,
    exportable: key.exportable,
    imported_key: false,
    ...(key.key_type === 'HMAC' ? { key_size: key.key_size / 8 } : {}),
    keys: Object.fromEntries(key.versions.map(version => [version.version, versionForm(key, version)])),
    latest_version: key.version,
    min_available_version: 0,
    min_decryption_version: key.min_version,
    min_encryption_version: 0,
    name: key.name,
    supports_decryption: has('decrypt'),
    supports_derivation: false,
    supports_encryption: has('encrypt'),
    supports_signing: has('sign'),
    type: typeOf(key),
  };
}

/** Of a symmetric key, only the time of its creation. */
function versionForm(key: KeyVersions, { created_at, public_pem, raw }: KeyVersions['versions'][number]) {
  if (public_pem === '') return Math.floor(Date.parse(created_at) / 1000);
  return { creation_time: created_at, name: key.curve ?? typeOf(key), public_key: raw ?? public_pem };
}
