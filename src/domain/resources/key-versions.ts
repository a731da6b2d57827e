/** What a key can do, and its versions that still verify or decrypt, the newest first, with their public keys. */
import { createPublicKey } from 'node:crypto';
import { iso } from '../../contract/text.ts';
import type { KeyOperation } from '../../contract/use-names.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { abilitiesIn, heldBy, type KeyAttributes, keyAttributes, minVersionOf } from './key-attributes.ts';
import { mostInSet } from './key-sets.ts';
import type { Records } from './records.ts';

export type KeyVersions = Awaited<ReturnType<typeof keyVersionsOf>>;

export async function keyVersionsOf(row: ResourceRow, records: Pick<Records, 'versionOf'>) {
  const attributes = keyAttributes(row);
  const oldest = Math.max(minVersionOf(row), row.version - mostInSet + 1);
  const numbers = Array.from({ length: row.version - oldest + 1 }, (_, at) => row.version - at);
  const versions = numbers.map(async number => {
    const found = await records.versionOf(row, number);
    const { public_pem } = JSON.parse(found.attributes) as KeyAttributes;
    return { version: number, created_at: iso(found.created_at), public_pem, raw: rawOf(public_pem) };
  });
  return {
    name: row.name,
    key_type: attributes.key_type,
    key_size: attributes.key_size,
    curve: attributes.curve,
    /** Whether somebody who may reveal it gets the private key. */
    exportable: heldBy(attributes) === 'private',
    version: row.version,
    min_version: minVersionOf(row),
    operations: Object.keys(abilitiesIn(attributes)) as KeyOperation[],
    versions: await Promise.all(versions),
  };
}

/** An Ed25519 key as its 32 bytes in base64, as many programs expect it; null for other types. */
function rawOf(publicPem: string): string | null {
  if (publicPem === '') return null;
  const key = createPublicKey(publicPem);
  if (key.asymmetricKeyType !== 'ed25519') return null;
  return Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url').toString('base64');
}
