/** The public keys of a key as a JSON Web Key Set: all versions that still verify, the newest first. */
import { publicJwk } from '../../material/jwk.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { type KeyAttributes, keyAttributes, minVersionOf } from './key-attributes.ts';
import { kidOf } from './key-operations.ts';
import type { Records } from './records.ts';

/** A key that is rotated more often must raise its lowest version. */
export const mostInSet = 50;

export async function keySetOf(row: ResourceRow, records: Pick<Records, 'versionOf'>) {
  if (keyAttributes(row).public_pem === '') return { keys: [] };
  const oldest = Math.max(minVersionOf(row), row.version - mostInSet + 1);
  const numbers = Array.from({ length: row.version - oldest + 1 }, (_, at) => row.version - at);
  const versions = numbers.map(async number => {
    const found = number === row.version ? row : await records.versionOf(row, number);
    const { public_pem } = JSON.parse(found.attributes) as KeyAttributes;
    return publicJwk(public_pem, kidOf(row.id, number));
  });
  return { keys: await Promise.all(versions) };
}
