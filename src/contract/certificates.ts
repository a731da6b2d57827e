/** Request and response schemas for certificates and signing requests. */
import { z } from 'zod';
import {
  commonFields,
  exampleCommon,
  exampleKeyId,
  exampleVaultId,
  passphrase,
  pem,
} from './resource-fields.ts';
import { version } from './secrets.ts';
import { arrayUpTo, count, id, line, name, tags, timestamp } from './text.ts';

const subjectAlternative = line(1, 255)
  .refine(text => /^(dns|ip|email|uri):./.test(text), { error: 'must begin with dns:, ip:, email: or uri:' })
  .meta({ minLength: 1, maxLength: 255, example: 'dns:example.com' });
const sans = arrayUpTo(100, subjectAlternative);
const subject = line(1, 1024).meta({ minLength: 1, maxLength: 1024, example: 'CN=example.com,O=Example' });

const selfSigned = z
  .strictObject({ subject, sans: sans.optional(), days: count(1, 3650).default(365) })
  .meta({ id: 'SelfSigned', description: 'Creates a certificate signed by the key that `key_id` names.' });

const certificateSource = {
  pem: pem
    .optional()
    .describe('The certificate and its chain in any order, with or without its private key.'),
  pkcs12: pem.optional().describe('A PKCS#12 file in base64.'),
  self_signed: selfSigned.optional(),
  passphrase: passphrase.optional(),
};

type Sources = Partial<Record<keyof typeof certificateSource, unknown>>;

const sourcesIn = (body: Sources): number =>
  [body.pem, body.pkcs12, body.self_signed].filter(part => part !== undefined).length;

const passphraseError = { error: 'is only allowed with pem or pkcs12', path: ['passphrase'] };

export const certificateCreate = z
  .strictObject({
    vault_id: id,
    name,
    ...certificateSource,
    key_id: id.optional().describe('The private key of the certificate, in the same vault.'),
    tags: tags.optional(),
  })
  .refine(body => sourcesIn(body) === 1, {
    error: 'is required unless pkcs12 or self_signed is given; exactly one of them',
    path: ['pem'],
  })
  .refine(body => body.self_signed === undefined || body.key_id !== undefined, {
    error: 'must name the signing key',
    path: ['key_id'],
  })
  .refine(body => body.self_signed === undefined || body.passphrase === undefined, passphraseError)
  .meta({
    id: 'CertificateCreate',
    example: {
      vault_id: exampleVaultId,
      name: 'example.com',
      key_id: exampleKeyId,
      self_signed: { subject: 'CN=example.com,O=Example', sans: ['dns:example.com'], days: 90 },
    },
  });
export const certificateUpdate = z
  .strictObject({
    name: name.optional(),
    tags: tags.optional(),
    ...certificateSource,
    key_id: id.nullable().optional(),
  })
  .refine(body => sourcesIn(body) <= 1, {
    error: 'can’t be combined with pkcs12 or self_signed; at most one of them',
    path: ['pem'],
  })
  .refine(body => body.passphrase === undefined || (body.pem ?? body.pkcs12) !== undefined, passphraseError)
  .meta({
    id: 'CertificateUpdate',
    description:
      'Another certificate becomes a new version with the same id and name. It must match the private key that the certificate names, unless it comes with another one, which becomes a new version of that key.',
    example: { tags: { team: 'web' } },
  });
export const signingRequest = z.strictObject({ subject, sans: sans.optional() }).meta({
  id: 'SigningRequestCreate',
  example: { subject: 'CN=example.com,O=Example', sans: ['dns:example.com'] },
});
export const renewalRequest = z.strictObject({ subject: subject.optional(), sans: sans.optional() }).meta({
  id: 'RenewalRequestCreate',
  description: 'By default, the subject and the alternative names of the certificate.',
  example: { sans: ['dns:example.com', 'dns:www.example.com'] },
});
export const signingRequestAnswer = z.object({ pem: z.string() }).meta({
  id: 'SigningRequest',
  example: { pem: '-----BEGIN CERTIFICATE REQUEST-----\n…\n-----END CERTIFICATE REQUEST-----\n' },
});
export type CertificateCreate = z.output<typeof certificateCreate>;
export type CertificateUpdate = z.output<typeof certificateUpdate>;
export type RenewalRequest = z.output<typeof renewalRequest>;

export const certificate = z
  .object({
    ...commonFields,
    type: z.literal('x509'),
    vault_id: id,
    key_id: id.nullable(),
    subject: z.string(),
    issuer: z.string(),
    sans: z.array(z.string()),
    serial: z.string(),
    fingerprint: z.string().describe('SHA-256 of the certificate, in hex.'),
    not_before: timestamp,
    expires_at: timestamp,
    version: z.int(),
    pem: z.string().optional().describe('The certificate first, then its chain. Not included in lists.'),
  })
  .meta({
    id: 'Certificate',
    example: {
      ...exampleCommon,
      type: 'x509',
      name: 'example.com',
      vault_id: exampleVaultId,
      key_id: exampleKeyId,
      subject: 'CN=example.com,O=Example',
      issuer: 'CN=example.com,O=Example',
      sans: ['dns:example.com'],
      serial: '4b1f0c',
      fingerprint: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      not_before: '2026-11-15T09:30:00.000Z',
      expires_at: '2027-02-13T09:30:00.000Z',
      version: 1,
    },
  });
export type Certificate = z.output<typeof certificate>;

export const certificateVersion = version
  .extend({
    serial: z.string(),
    fingerprint: z.string().describe('SHA-256 of the certificate, in hex.'),
    not_before: timestamp,
    expires_at: timestamp,
  })
  .meta({
    id: 'CertificateVersion',
    example: {
      version: 1,
      created_at: exampleCommon.created_at,
      created_by: exampleVaultId,
      content_type: null,
      current: true,
      serial: '4b1f0c',
      fingerprint: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      not_before: '2026-11-15T09:30:00.000Z',
      expires_at: '2027-02-13T09:30:00.000Z',
    },
  });
export type CertificateVersion = z.output<typeof certificateVersion>;
