/** Signing in, as it is sent and answered: set-up, passwords, passkeys, one-time codes, sessions, invitations. */
import { z } from 'zod';
import { planNames, roleNames, scopeNames } from './access.ts';
import { id, line, name, timestamp } from './text.ts';

const shortestPassword = 12;
const longestPassword = 1024;

/** Composed in one way (NFKC), so that the same words typed on two keyboards are the same password. */
export const newPassword = z
  .string({ error: 'must be a string' })
  .max(longestPassword * 4, { error: `must have ${longestPassword} characters at most`, abort: true })
  .transform(text => text.normalize('NFKC'))
  .refine(text => [...text].length >= shortestPassword && [...text].length <= longestPassword, {
    error: `must have ${shortestPassword} to ${longestPassword} characters`,
  });

/** A password that is tried: whatever its length, it is either right or wrong. */
const password = z
  .string({ error: 'must be a string' })
  .max(longestPassword * 4, { error: `must have ${longestPassword} characters at most` })
  .transform(text => text.normalize('NFKC'));

const token = z.string({ error: 'must be a string' }).max(256, { error: 'must have 256 characters at most' });
const code = z.string({ error: 'must be a string' }).max(64, { error: 'must have 64 characters at most' });
const address = line(1, 254);

export const email = line(3, 254).refine(text => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text), {
  error: 'must be an email address',
});

/** What a browser made of a challenge. The library that verifies it looks at every member of it. */
const credential = z
  .looseObject({ id: z.string().max(2048), rawId: z.string().max(2048), response: z.looseObject({}) })
  .meta({ description: 'A PublicKeyCredential in its JSON form (WebAuthn Level 3).' });
export type PasskeyCredential = z.output<typeof credential>;

const passkey = z.strictObject({ name: line(1, 64).optional(), credential });
const proof = { password: newPassword.optional(), passkey: passkey.optional() };
const eitherProof = {
  error: 'must hold a password or a passkey',
  path: ['password'],
};
const hasProof = (body: { password?: unknown; passkey?: unknown }) =>
  (body.password === undefined) !== (body.passkey === undefined);

export const setupBody = z
  .strictObject({ token, email, organization: name, ...proof })
  .refine(hasProof, eitherProof);
export const setupOptionsBody = z.strictObject({ token, email });
export const passwordBody = z.strictObject({
  email: address,
  password,
  code: code.optional(),
  organization: name.optional(),
});
export const passkeyBody = z.strictObject({ credential });
export const invitationBody = z.strictObject({ token });
export const acceptBody = z.strictObject({ token, ...proof }).refine(hasProof, eitherProof);
export const passwordChangeBody = z.strictObject({ current: password.optional(), password: newPassword });
export const passkeyAddBody = z.strictObject({ name: line(1, 64), credential });
export const codeBody = z.strictObject({ code });
export const totpRemoveBody = z.strictObject({ password: password.optional(), code: code.optional() });
export const emptyBody = z.strictObject({});

export type SetupBody = z.output<typeof setupBody>;
export type PasswordBody = z.output<typeof passwordBody>;
export type AcceptBody = z.output<typeof acceptBody>;
export type PasswordChangeBody = z.output<typeof passwordChangeBody>;

export const signedIn = z.object({
  member: z.object({ id, email: z.string(), role: z.enum(roleNames) }),
  organization: z.object({ id, name: z.string(), plan: z.enum(planNames) }),
  permissions: z.array(z.enum(scopeNames)),
  second_factor: z.boolean(),
  has_password: z.boolean(),
  passkeys: z.int(),
});
export type SignedIn = z.output<typeof signedIn>;

export const authState = z.object({
  setup_required: z.boolean(),
  signed_in: signedIn.nullable(),
  methods: z.object({
    password: z.literal(true),
    passkey: z
      .boolean()
      .meta({ description: 'False where the address is a bare IP: browsers refuse those.' }),
    oidc: z.object({ name: z.string() }).nullable(),
  }),
  version: z.string(),
  base_url: z.string(),
});
export type AuthState = z.output<typeof authState>;

export const session = z.object({
  id,
  created_at: timestamp,
  used_at: timestamp,
  ip_address: z.string(),
  user_agent: z.string(),
  current: z.boolean(),
});
export type Session = z.output<typeof session>;

export const passkeyRecord = z.object({
  id,
  name: z.string(),
  created_at: timestamp,
  used_at: timestamp.nullable(),
});
export type PasskeyRecord = z.output<typeof passkeyRecord>;

export const invitation = z.object({
  email: z.string(),
  organization: z.string(),
  role: z.enum(roleNames),
});
export type Invitation = z.output<typeof invitation>;
