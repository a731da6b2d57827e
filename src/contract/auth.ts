/** Request and response schemas for signing in: setup, passwords, passkeys, one-time codes, sessions, invitations. */
import { z } from 'zod';
import { planNames, scopeNames } from './access.ts';
import { grantedRoleNames, roleNames } from './names.ts';
import { exactLine, exampleId, id, knownName, name, shownLine, timestamp } from './text.ts';

const shortestPassword = 12;
const longestPassword = 1024;

/** Normalized (NFKC), so that the same password typed on two keyboards compares equal. */
export const newPassword = z
  .string({ error: 'must be a string' })
  .max(longestPassword * 4, { error: `must be at most ${longestPassword} characters`, abort: true })
  .transform(text => text.normalize('NFKC'))
  .refine(text => [...text].length >= shortestPassword && [...text].length <= longestPassword, {
    error: `must be ${shortestPassword} to ${longestPassword} characters long`,
  });

/** A password to check. There is no minimum length here: a short password is simply wrong. */
const password = z
  .string({ error: 'must be a string' })
  .max(longestPassword * 4, { error: `must be at most ${longestPassword} characters` })
  .transform(text => text.normalize('NFKC'));

const token = z.string({ error: 'must be a string' }).max(256, { error: 'must be at most 256 characters' });
const code = z.string({ error: 'must be a string' }).max(64, { error: 'must be at most 64 characters' });
/** As typed by a person, so spaces around it are removed. It is compared exactly, never with a similar address. */
const address = exactLine(1, 254).transform(text => text.replace(/^ +| +$/g, ''));

export const email = shownLine(3, 254).refine(text => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text), {
  error: 'must be an email address',
});

/** A browser's response to a challenge. The verifying library checks all its fields. */
const credential = z
  .looseObject({ id: z.string().max(2048), rawId: z.string().max(2048), response: z.looseObject({}) })
  .describe('A PublicKeyCredential in its JSON form (WebAuthn Level 3).');
const exampleCredential = { id: 'AbCd…', rawId: 'AbCd…', type: 'public-key', response: {} };
export type PasskeyCredential = z.output<typeof credential>;

const passkey = z.strictObject({ name: shownLine(1, 64).optional(), credential });
const proof = { password: newPassword.optional(), passkey: passkey.optional() };
const eitherProof = {
  error: 'is required unless a passkey is given; not both',
  path: ['password'],
};
const hasProof = (body: { password?: unknown; passkey?: unknown }) =>
  (body.password === undefined) !== (body.passkey === undefined);

const exampleToken = { token: 'sr_invite_…' };
const examplePassword = 'correct horse battery staple';

export const setupBody = z
  .strictObject({ token, email, organization: name, ...proof })
  .refine(hasProof, eitherProof)
  .meta({
    id: 'SetUp',
    example: {
      token: 'sr_setup_…',
      email: 'ada@example.com',
      organization: 'Example Ltd',
      password: examplePassword,
    },
  });
export const setupOptionsBody = z
  .strictObject({ token, email })
  .meta({ id: 'SetUpOptions', example: { token: 'sr_setup_…', email: 'ada@example.com' } });
export const passwordBody = z
  .strictObject({
    email: address,
    password,
    code: code.optional(),
    organization: knownName.optional(),
  })
  .meta({ id: 'PasswordSignIn', example: { email: 'ada@example.com', password: examplePassword } });
export const passkeyBody = z
  .strictObject({ credential })
  .meta({ id: 'PasskeySignIn', example: { credential: exampleCredential } });
export const invitationBody = z
  .strictObject({ token })
  .meta({ id: 'InvitationToken', example: exampleToken });
export const acceptBody = z
  .strictObject({ token, ...proof })
  .refine(hasProof, eitherProof)
  .meta({ id: 'InvitationAcceptance', example: { ...exampleToken, password: examplePassword } });
/** Proves the person's identity again. A one-time code or recovery code is used up by it. */
const proofBody = z.strictObject({
  password: password.optional(),
  code: code.optional(),
  credential: credential.optional(),
});
export const wholeProofBody = proofBody
  .refine(body => Object.keys(body).length === 1, {
    error: 'is required unless a code or a passkey credential is given; exactly one of them',
    path: ['password'],
  })
  .meta({ id: 'Proof', example: { password: examplePassword } });
export const passwordChangeBody = z
  .strictObject({ current: password.optional(), password: newPassword })
  .meta({
    id: 'PasswordChange',
    example: { current: examplePassword, password: 'another horse, another staple' },
  });
export const passkeyAddBody = z
  .strictObject({ name: shownLine(1, 64), credential })
  .meta({ id: 'NewPasskey', example: { name: 'laptop', credential: exampleCredential } });
export const codeBody = z.strictObject({ code }).meta({ id: 'OneTimeCode', example: { code: '123456' } });
export const totpRemoveBody = proofBody
  .omit({ credential: true })
  .meta({ id: 'OneTimeCodesRemoval', example: { code: '123456' } });
export const chooseBody = z
  .strictObject({ member_id: id })
  .meta({ id: 'MembershipChoice', example: { member_id: exampleId } });
/** Other parameters come from the browser, or are checked by the library for the issuer. */
export const signOnStart = z.looseObject({
  prove: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .meta({
      description: 'If given, the identity provider authenticates the person again.',
      type: 'string',
    }),
});
export const signOnCallback = z.looseObject({});

export type SetupBody = z.output<typeof setupBody>;
export type PasswordBody = z.output<typeof passwordBody>;
export type AcceptBody = z.output<typeof acceptBody>;
export type ProofBody = z.output<typeof proofBody>;
export type PasswordChangeBody = z.output<typeof passwordChangeBody>;

export const passkeyOptions = z.object({ challenge: z.string() }).meta({
  id: 'PasskeyOptions',
  description:
    'The options for `navigator.credentials` in their JSON form (WebAuthn Level 3), with all fields.',
  additionalProperties: true,
  example: { challenge: 'q83vEjRWeJq83vEjRWeJqw' },
});
export type PasskeyOptions = z.output<typeof passkeyOptions>;

export const done = z.object({}).meta({
  id: 'Done',
  description: 'The operation succeeded and returns nothing.',
  additionalProperties: false,
  example: {},
});

export const oneTimeCodeSecret = z.object({ secret: z.string(), uri: z.string() }).meta({
  id: 'OneTimeCodeSecret',
  example: { secret: 'JBSWY3DPEHPK3PXP', uri: 'otpauth://totp/Strongroom:ada@example.com?secret=…' },
});

export const recoveryCodes = z.object({ recovery_codes: z.array(z.string()) }).meta({
  id: 'RecoveryCodes',
  description: 'Each can be used once as proof of identity. They are never shown again.',
  example: { recovery_codes: ['abcd-efgh-ijkl'] },
});

export const signedIn = z.object({
  member: z.object({ id, email: z.string(), role: z.enum(roleNames) }),
  organization: z.object({ id, name: z.string(), plan: z.enum(planNames) }),
  permissions: z.array(z.enum(scopeNames)).describe('The permissions of the role in the organization.'),
  grants: z
    .array(z.object({ vault_id: id, role: z.enum(grantedRoleNames), until: timestamp.optional() }))
    .describe('Roles in single vaults, granted directly or through groups.'),
  second_factor: z.boolean(),
  has_password: z.boolean(),
  passkeys: z.int(),
  single_sign_on: z.boolean().describe('Whether the person has signed in through single sign-on before.'),
});
export type SignedIn = z.output<typeof signedIn>;

export const authState = z
  .object({
    setup_required: z.boolean(),
    nobody_joined: z
      .boolean()
      .describe('True if an organization exists but none of its members has joined yet.'),
    signed_in: signedIn.nullable(),
    methods: z.object({
      password: z.literal(true),
      passkey: z
        .boolean()
        .describe('False if the service is opened by IP address, which browsers don’t allow for passkeys.'),
      oidc: z.object({ name: z.string() }).nullable(),
    }),
    version: z.string(),
    base_url: z.string(),
  })
  .meta({
    id: 'AuthState',
    example: {
      setup_required: false,
      nobody_joined: false,
      signed_in: null,
      methods: { password: true, passkey: true, oidc: null },
      version: '0.1.0',
      base_url: 'https://vault.example.com',
    },
  });
export type AuthState = z.output<typeof authState>;

/** An organization that a person authenticated by the issuer may sign in to. */
export const choice = z
  .object({
    member_id: id,
    organization: z.string(),
    role: z.enum(roleNames),
    joined: z.boolean().describe('False if choosing it accepts an invitation.'),
  })
  .meta({
    id: 'SignInChoice',
    example: { member_id: exampleId, organization: 'Example Ltd', role: 'editor', joined: true },
  });
export type Choice = z.output<typeof choice>;
export const choiceList = z.object({ data: z.array(choice) }).meta({ id: 'SignInChoiceList' });

const exampleMoment = '2026-11-15T09:30:00.000Z';

export const session = z
  .object({
    id,
    created_at: timestamp,
    used_at: timestamp,
    ip_address: z.string(),
    user_agent: z.string(),
    current: z.boolean(),
  })
  .meta({
    id: 'Session',
    example: {
      id: exampleId,
      created_at: exampleMoment,
      used_at: exampleMoment,
      ip_address: '203.0.113.7',
      user_agent: 'Mozilla/5.0',
      current: true,
    },
  });
export type Session = z.output<typeof session>;
export const sessionList = z.object({ data: z.array(session) }).meta({ id: 'SessionList' });

export const passkeyRecord = z
  .object({
    id,
    name: z.string(),
    created_at: timestamp,
    used_at: timestamp.nullable(),
  })
  .meta({
    id: 'Passkey',
    example: { id: exampleId, name: 'laptop', created_at: exampleMoment, used_at: null },
  });
export type PasskeyRecord = z.output<typeof passkeyRecord>;
export const passkeyList = z.object({ data: z.array(passkeyRecord) }).meta({ id: 'PasskeyList' });

export const invitation = z
  .object({
    email: z.string(),
    organization: z.string(),
    role: z.enum(roleNames),
  })
  .meta({
    id: 'Invitation',
    example: { email: 'ada@example.com', organization: 'Example Ltd', role: 'editor' },
  });
export type Invitation = z.output<typeof invitation>;
