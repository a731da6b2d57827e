/**
 * Request and response schemas for SSH certificates: the bounds within which a key signs them, the certificates, and
 * what is revoked. Names of extensions and options are those of OpenSSH. Everything that a certificate says is printable
 * ASCII, so that no log of any server shows something else.
 */
import { z } from 'zod';
import { arrayFrom, arrayUpTo, count, exampleId, flag, oneOf, timestamp } from './text.ts';

export const sshTypes = ['user', 'host'] as const;
export type SshType = (typeof sshTypes)[number];
export const sshExtensions = [
  'no-touch-required',
  'permit-X11-forwarding',
  'permit-agent-forwarding',
  'permit-port-forwarding',
  'permit-pty',
  'permit-user-rc',
] as const;

/** In seconds. No revocation has to be kept for longer. */
export const longestSshLife = 366 * 86_400;
export const usualSshLife = 3_600;
const mostPrincipals = 16;
/** Together, so that all of them are in one line of the log. */
const longestPrincipals = 400;
const mostPatterns = 50;
const longestPrincipal = 128;
const longestKeyId = 128;
const longestCommand = 1_024;
const mostAddresses = 20;
const longestLine = 4_096;
export const mostSshRevocations = 500;
const mostAtOnce = 100;

const text = (most: number) =>
  z
    .string({ error: 'must be a string' })
    .min(1, { error: 'must not be empty' })
    .max(most, {
      error: `must be at most ${most} characters`,
    });
const matching = (most: number, allowed: RegExp, reason: string) =>
  text(most).refine(sent => allowed.test(sent), { error: reason });

/** sshd takes an asterisk or a question mark in the principal of a host for a pattern, so neither is allowed. */
const principal = matching(
  longestPrincipal,
  /^[A-Za-z0-9_.@:+/\\$][A-Za-z0-9_.@:+/\\$-]*$/,
  'must consist of letters, digits and _ . @ : + / \\ $ -, and not begin with -',
);
const principalPattern = matching(
  longestPrincipal,
  /^[A-Za-z0-9_.@:+/\\$*][A-Za-z0-9_.@:+/\\$*-]*$/,
  'must consist of letters, digits and _ . @ : + / \\ $ - *, and not begin with -',
);
const keyId = matching(
  longestKeyId,
  /^[!-~]+(?: [!-~]+)*$/,
  'must consist of printable ASCII characters, with single spaces',
);
const life = count(1, longestSshLife);
const address = matching(
  64,
  /^[0-9A-Fa-f:.]+(?:\/\d{1,3})?$/,
  'must be an IP address or a range such as 10.0.0.0/8',
);

const criticalOptions = z
  .strictObject({
    force_command: matching(longestCommand, /^[ -~]+$/, 'must consist of printable ASCII characters')
      .optional()
      .describe('Runs this in place of whatever the client asks for.'),
    source_address: arrayFrom(1, mostAddresses, address)
      .optional()
      .describe('The addresses and ranges from which the certificate is accepted.'),
    verify_required: z
      .literal(true, { error: 'must be true' })
      .optional()
      .describe('Requires a PIN or a fingerprint, for keys on security keys.'),
  })
  .meta({ id: 'SshCriticalOptions', example: { source_address: ['10.0.0.0/8'] } });
export type SshCriticalOptions = z.output<typeof criticalOptions>;

const extensions = arrayUpTo(sshExtensions.length, oneOf(sshExtensions));

/** The bounds within which a key signs SSH certificates. */
export const sshProfile = z
  .strictObject({
    types: arrayFrom(1, sshTypes.length, oneOf(sshTypes)),
    principals: arrayFrom(1, mostPatterns, principalPattern).describe(
      'The users or hosts that certificates may be for. `*` matches any number of characters.',
    ),
    max_valid_for: life.describe('In seconds: how long a certificate is valid at most.'),
    extensions: extensions
      .default([])
      .describe('What certificates of users may permit. A request that names none gets all of these.'),
    critical_options: criticalOptions
      .default({})
      .describe('Restrictions that every certificate of a user gets; a request may add others.'),
  })
  .meta({
    id: 'SshProfile',
    example: {
      types: ['user'],
      principals: ['deploy', 'web-*'],
      max_valid_for: 3_600,
      extensions: ['permit-pty'],
      critical_options: {},
    },
  });
export type SshProfile = z.output<typeof sshProfile>;

const inOneLine = (all: readonly string[]) => all.join(',').length <= longestPrincipals;

export const sshCertificateCall = z
  .strictObject({
    public_key: text(longestLine).describe('The key to certify, as in a `.pub` file of OpenSSH.'),
    type: oneOf(sshTypes),
    principals: arrayFrom(1, mostPrincipals, principal)
      .refine(inOneLine, { error: `must have at most ${longestPrincipals} characters together` })
      .describe('The users or hosts that the certificate is for.'),
    valid_for: life.optional().describe('In seconds. By default an hour, or less if the profile says so.'),
    key_id: keyId
      .optional()
      .describe('What servers log. By default, the kind and id of the credential that asks.'),
    extensions: extensions.optional(),
    critical_options: criticalOptions.optional(),
  })
  .meta({
    id: 'SshCertificateCall',
    example: {
      public_key:
        'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnAS ada@laptop',
      type: 'user',
      principals: ['deploy'],
      valid_for: 900,
    },
  });
export type SshCertificateCall = z.output<typeof sshCertificateCall>;

const exampleSerial = '6113279213468224581';
const serialText = z.string().describe('A number of 64 bits, in decimal digits.');

export const sshCertificate = z
  .object({
    certificate: z.string().describe('One line, as in a `-cert.pub` file of OpenSSH.'),
    serial: serialText,
    key_id: z.string(),
    type: z.enum(sshTypes),
    principals: z.array(z.string()),
    valid_after: timestamp,
    valid_before: timestamp.describe('It ends earlier than asked for if the key or the credential does.'),
    extensions: z.array(z.string()),
    critical_options: criticalOptions,
    version: z.int().describe('The version of the key that signed it.'),
  })
  .meta({
    id: 'SshCertificate',
    example: {
      certificate: 'ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQ… access-key 0199a3c4\n',
      serial: exampleSerial,
      key_id: `access-key ${exampleId}`,
      type: 'user',
      principals: ['deploy'],
      valid_after: '2026-11-15T09:29:00.000Z',
      valid_before: '2026-11-15T09:45:00.000Z',
      extensions: ['permit-pty'],
      critical_options: {},
      version: 1,
    },
  });
export type SshCertificate = z.output<typeof sshCertificate>;

const serial = text(20).refine(sent => /^[1-9]\d{0,19}$/.test(sent) && BigInt(sent) < 1n << 64n, {
  error: 'must be a number from 1 to 18446744073709551615, in decimal digits',
});
const keyLine = text(longestLine);

export const sshRevocationCall = z
  .strictObject({
    serials: arrayFrom(1, mostAtOnce, serial).optional(),
    key_ids: arrayFrom(1, mostAtOnce, keyId)
      .optional()
      .describe('Every certificate with one of these key ids, including those signed later.'),
    public_keys: arrayFrom(1, mostAtOnce, keyLine)
      .optional()
      .describe('Keys as in `.pub` files, or their fingerprints as `ssh-keygen -l` prints them.'),
    undo: flag.default(false).describe('Takes these off the list in place of adding them.'),
  })
  .refine(body => [body.serials, body.key_ids, body.public_keys].some(one => one !== undefined), {
    error: 'is required without key_ids or public_keys',
    path: ['serials'],
  })
  .meta({ id: 'SshRevocationCall', example: { serials: [exampleSerial] } });
export type SshRevocationCall = z.output<typeof sshRevocationCall>;

export const sshRevocationKinds = ['serial', 'key_id', 'public_key'] as const;

export const sshRevocations = z
  .object({
    items: z.array(
      z.object({
        by: z.enum(sshRevocationKinds),
        value: z.string().describe('A serial, a key id, or the fingerprint of a public key.'),
        revoked_at: timestamp,
      }),
    ),
  })
  .meta({
    id: 'SshRevocations',
    example: { items: [{ by: 'serial', value: exampleSerial, revoked_at: '2026-11-15T09:30:00.000Z' }] },
  });
export type SshRevocations = z.output<typeof sshRevocations>;
