/** Request and response schemas for the certificates that authorities issued. */
import { z } from 'zod';
import { authorityKey, days, longestName, nameText } from './authorities.ts';
import { pageQuery, recordTimes } from './common.ts';
import { issuedStates, revocationReasons } from './names.ts';
import { exampleTimes, exampleVaultId, pem } from './resource-fields.ts';
import { arrayFrom, exampleId, id, line, oneOf, timestamp } from './text.ts';

const mostNames = 100;

const oneSource = ({ csr, names }: { csr?: unknown; names?: unknown }) =>
  (csr === undefined) !== (names === undefined);
const keyOfNames = ({ csr, key }: { csr?: unknown; key?: unknown }) => csr === undefined || key === undefined;

export const certificateIssue = z
  .strictObject({
    csr: pem.optional().describe('A signing request, as PEM. Its names are those of the certificate.'),
    names: arrayFrom(1, mostNames, nameText)
      .optional()
      .describe('Host names and IP addresses. The private key is then created here, and shown once.'),
    key: authorityKey.optional().describe('The kind of key that is created; EC P-256 if omitted.'),
    days: days.optional().describe('The longest life of the profile if omitted.'),
  })
  .refine(oneSource, { error: 'is required without names, and not allowed with them', path: ['csr'] })
  .refine(keyOfNames, { error: 'is only allowed with names', path: ['key'] })
  .meta({ id: 'CertificateIssue', example: { names: ['api.internal.example'] } });
export type CertificateIssue = z.output<typeof certificateIssue>;

const issuedFields = {
  id,
  vault_id: id,
  authority_id: id,
  profile_id: id,
  profile: z.string().describe('The name of the profile.'),
  serial: z.string().describe('In hex.'),
  names: z.array(z.string()),
  state: z.enum(issuedStates),
  not_before: timestamp,
  expires_at: timestamp,
  requested_by: z.object({ kind: z.string(), id: z.string() }),
  revoked_at: timestamp.nullable(),
  revocation_reason: z.enum(revocationReasons).nullable(),
  ...recordTimes,
};

const exampleIssued = {
  id: exampleId,
  vault_id: exampleVaultId,
  authority_id: exampleId,
  profile_id: exampleId,
  profile: 'services',
  serial: '5298eafad0c2446f7ba83d700098eacf',
  names: ['api.internal.example'],
  state: 'valid' as const,
  not_before: '2026-11-15T09:30:00.000Z',
  expires_at: '2026-12-15T09:30:00.000Z',
  requested_by: { kind: 'api-key', id: exampleId },
  revoked_at: null,
  revocation_reason: null,
  ...exampleTimes,
};

export const issuedCertificate = z
  .object({ ...issuedFields, certificate: z.string().describe('As PEM.') })
  .meta({
    id: 'IssuedCertificate',
    example: {
      ...exampleIssued,
      certificate: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n',
    },
  });
export type IssuedCertificate = z.output<typeof issuedCertificate>;

export const newCertificate = z
  .object({
    id,
    serial: issuedFields.serial,
    names: issuedFields.names,
    expires_at: timestamp,
    certificate: z.string().describe('As PEM.'),
    chain: z.string().describe('The certificates above it, as PEM.'),
    private_key: z.string().optional().describe('If it was created here. It is not stored.'),
  })
  .meta({
    id: 'NewCertificate',
    example: {
      id: exampleId,
      serial: exampleIssued.serial,
      names: exampleIssued.names,
      expires_at: exampleIssued.expires_at,
      certificate: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n',
      chain: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n',
      private_key: '-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n',
    },
  });
export type NewCertificate = z.output<typeof newCertificate>;

export const issuedQuery = pageQuery.extend({
  q: line(1, longestName).optional().describe('Part of a name.'),
  vault_id: id.optional().describe('Only those of this vault.'),
  authority_id: id.optional().describe('Only those of this authority.'),
  profile_id: id.optional().describe('Only those of this profile.'),
  requested_by: id.optional().describe('Only those that this caller or access key requested.'),
  state: oneOf(issuedStates).optional(),
});
export type IssuedQuery = z.output<typeof issuedQuery>;

export const certificateRevoke = z
  .strictObject({ reason: oneOf(revocationReasons).default('unspecified') })
  .meta({ id: 'CertificateRevoke', example: { reason: 'key_compromise' } });
export type CertificateRevoke = z.output<typeof certificateRevoke>;
