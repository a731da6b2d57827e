/**
 * Request and response schemas for certificate authorities and the profiles by which they issue. The private key of an authority has no schema: it is never shown.
 */
import { z } from 'zod';
import { isConstraint, isNamePattern } from './certificate-names.ts';
import { recordTimes, searchQuery } from './common.ts';
import { exampleTimes, exampleVaultId, pem } from './resource-fields.ts';
import { arrayFrom, count, exactLine, exampleId, flag, id, line, name, oneOf, timestamp } from './text.ts';

const mostPermitted = 50;
const mostAllowed = 100;
const longestSubject = 1_024;
const mostYears = 30;
const usualYears = 10;
const mostDays = 90;
const usualDays = 30;
export const longestName = 255;

export const nameText = exactLine(1, longestName);

export const authorityKey = z
  .discriminatedUnion(
    'key_type',
    [
      z.strictObject({ key_type: z.literal('EC'), curve: oneOf(['P-256', 'P-384', 'P-521']) }),
      z.strictObject({
        key_type: z.literal('RSA'),
        key_size: z.literal([3072, 4096], { error: 'must be 3072 or 4096' }).default(3072),
      }),
      z.strictObject({
        key_type: z.literal('OKP'),
        curve: z.literal('Ed25519', { error: 'must be Ed25519' }),
      }),
    ],
    { error: 'must name a key_type: EC, RSA or OKP' },
  )
  .meta({ id: 'AuthorityKey', example: { key_type: 'EC', curve: 'P-256' } });

const permitted = arrayFrom(
  1,
  mostPermitted,
  nameText.refine(isConstraint, { error: 'must be a domain, an IP address or a range such as 10.0.0.0/8' }),
)
  .nullable()
  .describe(
    'The only domains and addresses that certificates below it may have, written into its own certificate. Required for an intermediate; null for no constraints.',
  );

interface Placed {
  readonly kind: 'root' | 'intermediate';
  readonly parent_id?: string | undefined;
  readonly permitted_names?: readonly string[] | null | undefined;
}

const parentOfRoot = ({ kind, parent_id }: Placed) => kind === 'intermediate' || parent_id === undefined;
const constrained = ({ kind, parent_id, permitted_names }: Placed) =>
  kind === 'root' || parent_id === undefined || permitted_names !== undefined;
const constrainedElsewhere = ({ kind, parent_id, permitted_names }: Placed) =>
  kind === 'root' || parent_id !== undefined || permitted_names === undefined;

export const authorityCreate = z
  .strictObject({
    vault_id: id,
    name,
    kind: oneOf(['root', 'intermediate']).default('root'),
    parent_id: id
      .optional()
      .describe(
        'The authority that signs an intermediate. Without it, the answer has a request to be signed elsewhere.',
      ),
    subject: line(1, longestSubject).describe('Such as `CN=Example Root,O=Example`.'),
    years: count(1, mostYears).default(usualYears).describe('How long its certificate is valid.'),
    key: authorityKey.default({ key_type: 'EC', curve: 'P-256' }),
    permitted_names: permitted.optional(),
  })
  .refine(parentOfRoot, { error: 'is only allowed for an intermediate', path: ['parent_id'] })
  .refine(constrained, {
    error: 'is required for an intermediate; null for no constraints',
    path: ['permitted_names'],
  })
  .refine(constrainedElsewhere, {
    error: 'can’t be set for a certificate that is signed elsewhere, whose authority decides it',
    path: ['permitted_names'],
  })
  .meta({
    id: 'AuthorityCreate',
    example: {
      vault_id: exampleVaultId,
      name: 'root',
      subject: 'CN=Example Root,O=Example',
      years: 10,
      key: { key_type: 'EC', curve: 'P-256' },
    },
  });
export type AuthorityCreate = z.output<typeof authorityCreate>;

export const authorityUpdate = z
  .strictObject({
    name: name.optional(),
    certificate: pem
      .optional()
      .describe('The certificate of an intermediate that was signed elsewhere, with those above it, as PEM.'),
  })
  .meta({ id: 'AuthorityUpdate', example: { name: 'root-2026' } });
export type AuthorityUpdate = z.output<typeof authorityUpdate>;

export const authorityQuery = searchQuery.extend({
  vault_id: id.optional().describe('Only authorities of this vault.'),
});
export type AuthorityQuery = z.output<typeof authorityQuery>;

export const authority = z
  .object({
    id,
    vault_id: id,
    name: z.string(),
    kind: z.enum(['root', 'intermediate']),
    parent_id: id.nullable(),
    subject: z.string(),
    state: z
      .enum(['active', 'expired', 'waiting'])
      .describe('`waiting`: its request is to be signed elsewhere, and the certificate brought back.'),
    key_type: z.enum(['EC', 'RSA', 'OKP']),
    key_size: z.int(),
    permitted_names: z.array(z.string()).nullable().describe('Null if its certificate has no constraints.'),
    certificate: z.string().nullable().describe('As PEM.'),
    chain: z.string().describe('The certificates above it, up to the root, as PEM.'),
    request: z.string().nullable().describe('The signing request (CSR) of one that is signed elsewhere.'),
    fingerprint: z.string().nullable().describe('SHA-256 of its certificate, in hex.'),
    expires_at: timestamp.nullable(),
    created_by: z.string(),
    ...recordTimes,
  })
  .meta({
    id: 'Authority',
    description: 'A certificate authority. Its private key never leaves the service.',
    example: {
      id: exampleId,
      vault_id: exampleVaultId,
      name: 'root',
      kind: 'root',
      parent_id: null,
      subject: 'CN=Example Root,O=Example',
      state: 'active',
      key_type: 'EC',
      key_size: 256,
      permitted_names: null,
      certificate: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n',
      chain: '',
      request: null,
      fingerprint: '7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26',
      expires_at: '2036-11-15T09:30:00.000Z',
      created_by: exampleId,
      ...exampleTimes,
    },
  });
export type Authority = z.output<typeof authority>;

const allowedNames = arrayFrom(
  1,
  mostAllowed,
  nameText.refine(isNamePattern, {
    error:
      'must be a host name, a pattern such as *.example.org or **.example.org, or an IP address or range',
  }),
).describe(
  'Names that its certificates may have. `*.` stands for one label, `**.` for one or more; a wildcard certificate needs the same text as a pattern. IP addresses need an address or a range.',
);

const usages = arrayFrom(1, 2, oneOf(['server', 'client'])).refine(
  list => new Set(list).size === list.length,
  { error: 'must not contain doubles' },
);
export const days = count(1, mostDays);

const acme = z
  .strictObject({
    enabled: flag.default(false),
    challenge: oneOf(['none'])
      .default('none')
      .describe('`none`: the binding to an access key and the allowed names suffice.'),
  })
  .meta({ id: 'ProfileAcme', example: { enabled: true, challenge: 'none' } });

export const profileCreate = z
  .strictObject({
    name,
    authority_id: id,
    allowed_names: allowedNames,
    max_days: days.default(usualDays).describe('The longest life of its certificates.'),
    usages: usages.default(['server', 'client']),
    acme: acme
      .default({ enabled: false, challenge: 'none' })
      .describe('Whether ACME clients get certificates, at `/acme/{id}/directory`.'),
  })
  .meta({
    id: 'ProfileCreate',
    example: { name: 'services', authority_id: exampleId, allowed_names: ['**.internal.example'] },
  });
export type ProfileCreate = z.output<typeof profileCreate>;

export const profileUpdate = z
  .strictObject({
    name: name.optional(),
    allowed_names: allowedNames.optional(),
    max_days: days.optional(),
    usages: usages.optional(),
    acme: acme.optional(),
  })
  .meta({ id: 'ProfileUpdate', example: { max_days: 14 } });
export type ProfileUpdate = z.output<typeof profileUpdate>;

export const profileQuery = searchQuery.extend({
  vault_id: id.optional().describe('Only profiles of this vault.'),
  authority_id: id.optional().describe('Only profiles of this authority.'),
});
export type ProfileQuery = z.output<typeof profileQuery>;

export const profile = z
  .object({
    id,
    vault_id: id,
    authority_id: id,
    name: z.string(),
    allowed_names: z.array(z.string()),
    max_days: z.int(),
    usages: z.array(z.enum(['server', 'client'])),
    acme: z.object({ enabled: z.boolean(), challenge: z.enum(['none']) }),
    created_by: z.string(),
    ...recordTimes,
  })
  .meta({
    id: 'Profile',
    description: 'Which certificates an authority issues: for which names, for how long and for what.',
    example: {
      id: exampleId,
      vault_id: exampleVaultId,
      authority_id: exampleId,
      name: 'services',
      allowed_names: ['**.internal.example'],
      max_days: 30,
      usages: ['server', 'client'],
      acme: { enabled: true, challenge: 'none' },
      created_by: exampleId,
      ...exampleTimes,
    },
  });
export type Profile = z.output<typeof profile>;

export const acmeBind = z
  .strictObject({
    access_key_id: id.describe('An access key of the profile’s vault, to which accounts are bound.'),
  })
  .meta({ id: 'AcmeBind', example: { access_key_id: exampleId } });
export type AcmeBind = z.output<typeof acmeBind>;

export const acmeBinding = z
  .object({
    kid: z.string().describe('The id of the access key.'),
    hmac_key: z.string().describe('In base64url, as ACME clients take it.'),
    path: z.string().describe('Of the directory, below the address of the service.'),
  })
  .meta({
    id: 'AcmeBinding',
    description: 'What an ACME client needs to register an account (external account binding).',
    example: {
      kid: exampleId,
      hmac_key: 'nVPZz7lKZyRmvQLeuSxnRzPzBTlGYBd2qUtXR3jNNaM',
      path: `/acme/${exampleId}/directory`,
    },
  });
export type AcmeBinding = z.output<typeof acmeBinding>;
