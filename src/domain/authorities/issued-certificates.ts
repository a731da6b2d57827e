/**
 * The certificates that authorities issued: requested by callers of the general API, listed and revoked. Issuing signs
 * with the key of an authority, so it requires the permission to use keys in its vault.
 */

import type { Action } from '../../access/policy.ts';
import type {
  CertificateIssue,
  CertificateRevoke,
  IssuedCertificate,
  IssuedQuery,
  NewCertificate,
} from '../../contract/issued-certificates.ts';
import type { IssuedState, RevocationReason } from '../../contract/names.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import { namesFrom, readRequestPem } from '../../material/certificate-request.ts';
import type { IssuedCertificateRow } from '../../store/records/authorities.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, vaultsAsked } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { Issuance } from './issuance.ts';

type Writing = Permit<'issued-certificates:write'>;

const usualKey = { key_type: 'EC', curve: 'P-256' } as const;

export function issuedCertificatesWith(parts: Parts, issuance: Issuance) {
  const { store, stamps, guard, workers, now } = parts;
  const { find, list, get, change } = revisedRecords(parts, {
    noun: 'issued-certificates',
    stamper: stamps.issuedCertificate,
    byId: store.issuedCertificates.byId,
    page: (permit, page, query: IssuedQuery) => {
      const vaultIds = vaultsAsked(permit, query.vault_id);
      if (vaultIds?.length === 0) return null;
      const { authority_id: authorityId, profile_id: profileId, requested_by: requesterId, q, state } = query;
      const { organizationId } = permit.caller;
      return store.issuedCertificates.page(
        { organizationId, vaultIds, authorityId, profileId, requesterId, q, state, now: now() },
        page,
      );
    },
    present: rows => rows.map(row => presentIssued(row, now())),
    update: store.issuedCertificates.update,
    subject: issuedChange,
    vaultOf: row => row.vault_id,
  });

  /** The public key and the names to certify, and the private key if it was created here. */
  async function requestIn({ csr, names, key }: CertificateIssue) {
    if (csr !== undefined) return { ...readRequestPem(csr, 'csr'), privatePem: undefined };
    const wanted = namesFrom(names!, 'names');
    const { pem, publicPem } = await workers.generateKey(key ?? usualKey);
    return { names: wanted, publicPem, privatePem: pem };
  }

  return {
    list,
    get,
    find,

    async issue(permit: Writing, profileId: string, body: CertificateIssue): Promise<NewCertificate> {
      const { caller } = permit;
      const findProfile = async () => {
        const found = await store.profiles.byId(caller.organizationId, profileId);
        return stamps.profile.believe(await guard.found(permit, found, found?.vault_id));
      };
      await findProfile();
      const { names, publicPem, privatePem } = await requestIn(body);
      const { row, chain } = await retryingStale(async () => {
        const requested = { names, publicPem, days: body.days, requester: caller, until: caller.until };
        const issued = await issuance.issue(await findProfile(), requested);
        await change(permit, 'issued-certificate.created', issued.row, { statements: issued.statements });
        return issued;
      });
      return { ...newlyIssued(row, chain), ...(privatePem !== undefined && { private_key: privatePem }) };
    },

    /** Of one that was revoked before, nothing changes. */
    revoke: (permit: Writing, id: string, { reason }: CertificateRevoke): Promise<IssuedCertificate> =>
      retryingStale(async () => {
        const before = await find(permit, id);
        if (before.revoked_at !== null) return presentIssued(before, now());
        const row = stamps.issuedCertificate.revise(before, revokedNow(reason, now()), now());
        const statements = [store.issuedCertificates.update(row)];
        await change(permit, 'issued-certificate.revoked', row, { details: { reason }, statements });
        return presentIssued(row, now());
      }),
  };
}

export function revokedNow(reason: RevocationReason, now: number) {
  return { revoked_at: now, revocation_reason: reason };
}

export function newlyIssued(row: IssuedCertificateRow, chain: string): NewCertificate {
  const { id, serial, certificate } = row;
  return { id, serial, names: namesIn(row), expires_at: iso(row.expires_at), certificate, chain };
}

function namesIn({ names }: IssuedCertificateRow): string[] {
  return JSON.parse(names) as string[];
}

function presentIssued(row: IssuedCertificateRow, now: number): IssuedCertificate {
  return {
    id: row.id,
    vault_id: row.vault_id,
    authority_id: row.authority_id,
    profile_id: row.profile_id,
    profile: row.profile_name,
    serial: row.serial,
    names: namesIn(row),
    state: stateOf(row, now),
    not_before: iso(row.not_before),
    expires_at: iso(row.expires_at),
    requested_by: { kind: row.requester_kind, id: row.requester_id },
    revoked_at: isoOrNull(row.revoked_at),
    revocation_reason: row.revocation_reason as RevocationReason | null,
    certificate: row.certificate,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

function stateOf({ revoked_at, expires_at }: IssuedCertificateRow, now: number): IssuedState {
  if (revoked_at !== null) return 'revoked';
  return expires_at <= now ? 'expired' : 'valid';
}

export function issuedChange<A extends Action = never>(
  row: MaybeAllowed<IssuedCertificateRow, A>,
): SubjectChange<A> {
  const { id, vault_id: vaultId, revision, serial, names, profile_id } = row;
  const [name = serial] = JSON.parse(names) as string[];
  return { type: 'issued-certificate', id, name, vaultId, revision, details: { serial, profile_id } };
}
