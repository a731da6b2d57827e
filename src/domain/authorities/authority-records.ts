/**
 * The row of an authority: its private key, sealed with the vault's key and bound to the authority, and how its
 * certificate is read. No surface gets the private key; it is opened only to sign.
 */
import type { Action } from '../../access/policy.ts';
import type { Authority } from '../../contract/authorities.ts';
import { Failure } from '../../contract/errors.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { Sealer } from '../../keyring/keyring.ts';
import { certificateFacts } from '../../material/authority-certificate.ts';
import { keyIdentifierOf, readAuthority } from '../../material/authority-issue.ts';
import type { AuthorityRow } from '../../store/records/authorities.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';

function keyPlace(id: string) {
  return { type: 'authority', resource: id, field: 'key', version: 1 };
}

export function sealAuthorityKey(sealer: Sealer, id: string, privatePem: string) {
  return sealer.seal(keyPlace(id), Buffer.from(privatePem, 'utf8'));
}

export function openAuthorityKey(sealer: Sealer, { id, key }: Pick<AuthorityRow, 'id' | 'key'>): string {
  return sealer.open(keyPlace(id), key).toString('utf8');
}

/** Its certificate, which an authority needs to sign anything. */
export function activeCertificate(row: AuthorityRow, now: number): string {
  if (row.certificate === null || row.expires_at === null || row.expires_at <= now)
    throw new Failure('CONFLICT', { message: 'The authority has no certificate that is valid now' });
  return row.certificate;
}

/** By which its certificates name it, in hex. */
export function keyIdentifier(certificate: string): string {
  return keyIdentifierOf(readAuthority(certificate)).toString('hex');
}

export function presentAuthority(row: AuthorityRow, now: number): Authority {
  const facts = certificateFacts(row.public_pem, row.certificate);
  return {
    id: row.id,
    vault_id: row.vault_id,
    name: row.name,
    kind: row.kind as Authority['kind'],
    parent_id: row.parent_id,
    subject: row.subject,
    state: row.expires_at === null ? 'waiting' : row.expires_at <= now ? 'expired' : 'active',
    key_type: facts.keyType,
    key_size: facts.keySize,
    permitted_names: facts.permitted,
    certificate: row.certificate,
    chain: row.chain,
    request: row.request,
    fingerprint: facts.fingerprint,
    expires_at: isoOrNull(row.expires_at),
    created_by: row.created_by,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

export function authorityChange<A extends Action = never>(
  row: MaybeAllowed<AuthorityRow, A>,
): SubjectChange<A> {
  const { id, name, vault_id: vaultId, revision, kind } = row;
  return { type: 'authority', id, name, vaultId, revision, details: { kind } };
}
