/**
 * The private key of a certificate, which is stored as a key in the same vault. A certificate that doesn't match the
 * key it names is refused. If a new version of a certificate has another private key, that key becomes a new version of
 * the key it names, in the same transaction, so that readers always get a certificate and a key that match.
 */
import { shownByPublicHalf } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { certificateFitsKey, type ImportedCertificate } from '../../material/certificate.ts';
import type { KeyMaterial } from '../../material/key-material.ts';
import type { ResourceRow, VersionRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Allowed } from '../kernel/subjects.ts';
import { certificateAttributes } from './certificate-attributes.ts';
import { type KeyAttributes, keptOf, keyAttributes, newKeyResource } from './key-attributes.ts';
import { stateAt } from './lifecycle.ts';
import type { Records, Revise } from './records.ts';
import { type MayWrite, notFoundAs, revealedOf } from './subject.ts';
import type { Write } from './writes.ts';

type Writing = MayWrite<'certificate'>;
type StoredKey = Allowed<ResourceRow, 'certificates:write'>;

/** The key that a certificate will name, and what is stored of it together with the certificate. */
export interface KeyOfCertificate {
  readonly keyId: string | null;
  readonly beside: readonly Write<'keys:write'>[];
}

export function certificateKeysWith({ guard, now, newId }: Parts, records: Records) {
  /** The key that a certificate names, which must be in the same vault. */
  async function keyIn(permit: Writing, vaultId: string, keyId: string): Promise<StoredKey> {
    await guard.mayShow(permit.caller, shownByPublicHalf, [vaultId]); // Whether it matches reveals which key it is.
    const key = await records.find(permit, 'key', keyId).catch(notFoundAs(noSuchKey));
    if (key.vault_id !== vaultId) throw noSuchKey();
    if (keyAttributes(key).public_pem === '') throw invalid('key_id', 'names a key without a public key');
    return key;
  }

  /** The key that a stored certificate names; null if there is none, or if it was deleted. */
  async function keyOf(permit: Writing, row: ResourceRow, keyId: string | null): Promise<StoredKey | null> {
    if (keyId === null) return null;
    return keyIn(permit, row.vault_id, keyId).catch(error => {
      if (error instanceof Failure && error.code === 'INVALID_REQUEST') return null;
      throw error;
    });
  }

  async function checkMatch(permit: Writing, vaultId: string, keyId: string, publicPem: string) {
    const key = await keyIn(permit, vaultId, keyId);
    if (!matches(keyAttributes(key), publicPem))
      throw invalid('key_id', 'names a key that does not match the certificate');
  }

  /** The private key of a stored key, for signing inside the service. Its use is recorded first. */
  async function signingKey(permit: Writing, row: StoredKey, verb: AuditAction): Promise<string> {
    const { holds, public_pem } = keyAttributes(row);
    if (holds !== 'private' || public_pem === '')
      throw invalid('key_id', 'names a key without a private key');
    if (stateAt(row, now()) !== 'active') throw invalid('key_id', 'names a key that is not active');
    return guard.reveal(permit, verb, [revealedOf(row)], await records.currentValue(row));
  }

  /** A private key that came with a certificate is stored like any other key. */
  async function newKey(permit: Writing, name: string, key: KeyMaterial) {
    const writing = await guard.admit(permit.caller, 'keys:write');
    return { ...newKeyResource(name, key, { exportable: true }), permit: writing, id: newId() };
  }

  async function newVersion(
    permit: Writing,
    key: StoredKey,
    change: Revise,
    verb: 'key.rotated' | 'key.rolled_back',
  ): Promise<KeyOfCertificate> {
    const writing = await guard.admit(permit.caller, 'keys:write');
    const value = verb === 'key.rotated' ? 'new' : 'earlier';
    const write = await records.revision(writing, 'key', key.id, change, value);
    return { keyId: key.id, beside: [{ ...write, subject: { ...write.subject, verb } }] };
  }

  /** A private key that came with a new version of a certificate. */
  async function withKey(permit: Writing, row: ResourceRow, material: KeyMaterial) {
    const key = await keyOf(permit, row, certificateAttributes(row).key_id);
    if (key === null) {
      const { permit: writing, ...draft } = await newKey(permit, row.name, material);
      return { keyId: draft.id, beside: [await records.creation(writing, row.vault_id, draft)] };
    }
    const { holds, public_pem } = keyAttributes(key);
    if (holds === 'private' && matches({ public_pem }, material.publicPem)) return unchanged(key.id);
    const { value, attributes } = newKeyResource(key.name, material, keptOf(key));
    return newVersion(permit, key, () => ({ value, attributes }), 'key.rotated');
  }

  /** For a new version of a certificate, whose `key_id` may change with it. */
  async function forRenewal(
    permit: Writing,
    row: ResourceRow,
    { facts, key: material }: ImportedCertificate,
    wanted: string | null | undefined,
  ): Promise<KeyOfCertificate> {
    if (material !== null) return withKey(permit, row, material);
    if (wanted === null) return unchanged(null);
    if (wanted !== undefined) {
      await checkMatch(permit, row.vault_id, wanted, facts.publicPem);
      return unchanged(wanted);
    }
    const { key_id } = certificateAttributes(row);
    const key = await keyOf(permit, row, key_id);
    const isOther = key === null || !matches(keyAttributes(key), facts.publicPem);
    if (key_id !== null && isOther)
      throw invalid('key_id', 'names a key that does not match: send the private key too, or another key_id');
    return unchanged(key_id);
  }

  /** For the return to an earlier version. If the key has changed since, it returns to its matching version too. */
  async function forRollback(
    permit: Writing,
    row: ResourceRow,
    publicPem: string,
    earlierKeyId: string | null,
  ): Promise<KeyOfCertificate> {
    const key = await keyOf(permit, row, certificateAttributes(row).key_id);
    for (const one of [key, await keyOf(permit, row, earlierKeyId)])
      if (one !== null && matches(keyAttributes(one), publicPem)) return unchanged(one.id);
    if (certificateAttributes(row).key_id === null) return unchanged(null);
    const earlier =
      key && (await records.newestVersion(key, version => matches(attributesIn(version), publicPem)));
    if (key === null || earlier === null)
      throw invalid('version', 'is for a private key that is not in this vault');
    const change: Revise = (before, { sealer }) => ({
      value: records.openValue(before, sealer, earlier.value, earlier.version),
      attributes: { ...attributesIn(earlier), ...keptOf(key) },
    });
    return newVersion(permit, key, change, 'key.rolled_back');
  }

  return { keyIn, checkMatch, signingKey, newKey, forRenewal, forRollback };
}

function unchanged(keyId: string | null): KeyOfCertificate {
  return { keyId, beside: [] };
}

function matches({ public_pem }: Pick<KeyAttributes, 'public_pem'>, publicPem: string): boolean {
  return certificateFitsKey({ publicPem }, public_pem);
}

function attributesIn(version: VersionRow): KeyAttributes {
  return JSON.parse(version.attributes) as KeyAttributes;
}

function noSuchKey(): Failure {
  return invalid('key_id', 'is not the id of a key in this vault');
}
