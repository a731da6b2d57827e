/**
 * Revocation lists (CRLs): the certificates of an authority that were revoked before they expired. A list is signed when
 * it is asked for, and kept until something changes or an hour has passed, so that asking costs no signatures. Its
 * number is the time, which grows on every replica.
 */
import { Failure } from '../../contract/errors.ts';
import type { RevocationReason } from '../../contract/names.ts';
import { toPem } from '../../material/pem.ts';
import type { AuthorityRow, IssuedCertificateRow } from '../../store/records/authorities.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Records } from '../resources/records.ts';
import { openAuthorityKey } from './authority-records.ts';

export interface RevocationList {
  readonly der: Buffer;
  readonly pem: string;
}

interface Kept {
  /** Of which revisions it is. */
  readonly of: string;
  readonly until: number;
  readonly list: Promise<RevocationList>;
}

const keptFor = 3_600_000;
/** How long clients may use a list. */
const validFor = 7 * 86_400_000;
const mostKept = 100;
const second = 1_000;

const reasons: Readonly<Record<RevocationReason, number>> = {
  unspecified: 0,
  key_compromise: 1,
  affiliation_changed: 3,
  superseded: 4,
  cessation_of_operation: 5,
};

export function revocationListsWith(parts: Parts, records: Records) {
  const { store, stamps, guard, workers, now } = parts;
  const kept = new Map<string, Kept>();

  async function sign(row: AuthorityRow, revoked: readonly IssuedCertificateRow[]): Promise<RevocationList> {
    const { sealer } = await records.vaultById(row.organization_id, row.vault_id);
    const at = Math.floor(now() / second) * second;
    const list = await workers.issueList(
      { certificatePem: row.certificate!, privatePem: openAuthorityKey(sealer, row) },
      {
        number: BigInt(now()),
        thisUpdate: new Date(at),
        nextUpdate: new Date(at + validFor),
        revoked: revoked.map(({ serial, revoked_at, revocation_reason }) => ({
          serial,
          at: new Date(revoked_at!),
          reason: reasons[revocation_reason as RevocationReason],
        })),
      },
    );
    const der = Buffer.from(list);
    return { der, pem: toPem('X509 CRL', der) };
  }

  async function listOf(row: AuthorityRow): Promise<RevocationList> {
    if (row.certificate === null) throw new Failure('NOT_FOUND');
    const found = await store.issuedCertificates.revoked(row.id, now());
    const revoked = found.map(stamps.issuedCertificate.believe);
    const of = [row.revision, ...revoked.map(({ serial }) => serial)].join(' ');
    const last = kept.get(row.id);
    if (last?.of === of && now() < last.until) return last.list;
    if (kept.size >= mostKept) kept.clear();
    const list = sign(row, revoked);
    kept.set(row.id, { of, until: now() + keptFor, list });
    list.catch(() => kept.delete(row.id));
    return list;
  }

  return {
    async get(permit: Permit<'authorities:read'>, id: string): Promise<RevocationList> {
      const found = await store.authorities.byId(permit.caller.organizationId, id);
      return listOf(stamps.authority.believe(await guard.found(permit, found, found?.vault_id)));
    },
  };
}
