/**
 * Issues certificates by a profile. Every name must be allowed by the profile and permitted by all certificates of the
 * authority's chain. A certificate is stored together with its audit entry before anyone gets it, so there is none
 * without its row; one that could not be stored is lost. It lives no longer than the profile allows, the authority, and
 * what requested it.
 */
import type { Profile } from '../../contract/authorities.ts';
import { type IssuedName, patternAllows } from '../../contract/certificate-names.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { constraintsIn } from '../../material/authority-certificate.ts';
import { newSerial } from '../../material/authority-issue.ts';
import { constraintsAllow } from '../../material/name-constraints.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { AuthorityRow, IssuedCertificateRow, ProfileRow } from '../../store/records/authorities.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Records } from '../resources/records.ts';
import type { OpenVault } from '../resources/sealing.ts';
import { activeCertificate, openAuthorityKey } from './authority-records.ts';
import { allowedIn, usagesIn } from './profiles.ts';

export interface Requested {
  readonly names: readonly IssuedName[];
  /** SPKI. */
  readonly publicPem: string;
  readonly days?: number | undefined;
  readonly requester: { readonly kind: string; readonly id: string };
  /** When what requests it ends; null for never. */
  readonly until: number | null;
}

export interface Issued {
  readonly row: IssuedCertificateRow;
  /** The certificates above it. */
  readonly chain: string;
  /** What stores it, provided that nothing it rests on has changed. */
  readonly statements: readonly Statement[];
}

/** Clocks differ, so a certificate is valid a little earlier. */
const earlier = 60_000;
const day = 86_400_000;
const second = 1_000;

export type Issuance = ReturnType<typeof issuanceWith>;

export function issuanceWith({ store, stamps, workers, now, newId }: Parts, records: Records) {
  async function authorityOf({ organization_id, authority_id }: ProfileRow): Promise<AuthorityRow> {
    const found = await store.authorities.byId(organization_id, authority_id);
    if (found === undefined) throw new Failure('NOT_FOUND');
    return stamps.authority.believe(found);
  }

  function lifeOf(
    authority: AuthorityRow,
    profile: ProfileRow,
    { days = profile.max_days, until }: Requested,
  ) {
    const begin = Math.floor(now() / second) * second;
    const wanted = begin + Math.min(days, profile.max_days) * day;
    const end = Math.min(wanted, authority.expires_at!, until ?? Number.POSITIVE_INFINITY);
    return { notBefore: new Date(begin - earlier), notAfter: new Date(Math.floor(end / second) * second) };
  }

  async function sign(
    vault: OpenVault,
    authority: AuthorityRow,
    profile: ProfileRow,
    requested: Requested,
    serial: string,
  ) {
    const certificatePem = activeCertificate(authority, now());
    checkIssuable(profile, certificatePem + authority.chain, requested.names);
    const { notBefore, notAfter } = lifeOf(authority, profile, requested);
    const certificate = await workers.issueEndCertificate(
      { certificatePem, privatePem: openAuthorityKey(vault.sealer, authority) },
      {
        names: requested.names,
        publicPem: requested.publicPem,
        serial,
        notBefore,
        notAfter,
        usages: usagesIn(profile),
        listUrl: null,
      },
    );
    return { certificate, notBefore, expiresAt: notAfter.getTime(), chain: certificatePem + authority.chain };
  }

  return {
    authorityOf,

    /** A certificate that is to be stored and then given out. */
    async issue(profile: ProfileRow, requested: Requested): Promise<Issued> {
      const vault = await records.vaultById(profile.organization_id, profile.vault_id);
      if (vault.row.deleted_at !== null) throw new Failure('NOT_FOUND');
      const authority = await authorityOf(profile);
      const serial = newSerial();
      const signed = await sign(vault, authority, profile, requested, serial);
      const row = stamps.issuedCertificate.create(now(), {
        id: newId(),
        organization_id: profile.organization_id,
        vault_id: profile.vault_id,
        authority_id: authority.id,
        profile_id: profile.id,
        profile_name: profile.name,
        serial,
        names: JSON.stringify(requested.names.map(({ value }) => value)),
        certificate: signed.certificate,
        not_before: signed.notBefore.getTime(),
        expires_at: signed.expiresAt,
        requester_kind: requested.requester.kind,
        requester_id: requested.requester.id,
        revoked_at: null,
        revocation_reason: null,
      });
      const unchanged = [
        { table: 'resources', id: vault.row.id, revision: vault.row.revision },
        { table: 'authorities', id: authority.id, revision: authority.revision },
        { table: 'profiles', id: profile.id, revision: profile.revision },
      ] as const;
      const statements = [
        store.conditions.unchanged(unchanged, 'stale'),
        store.issuedCertificates.insert(row),
      ];
      return { row, chain: signed.chain, statements };
    },
  };
}

/** Refuses names that the profile doesn't allow, or that the chain doesn't permit. */
export function checkIssuable(profile: ProfileRow, chain: string, names: readonly IssuedName[]): void {
  const allowed: Profile['allowed_names'] = allowedIn(profile);
  const isAllowed = (name: IssuedName) => allowed.some(pattern => patternAllows(pattern, name));
  if (!names.every(isAllowed)) throw invalid('names', 'has a name that the profile doesn’t allow');
  const all = constraintsIn(chain);
  if (!names.every(name => all.every(constraints => constraintsAllow(constraints, name))))
    throw invalid('names', 'has a name that the authority’s certificate doesn’t permit');
}
