/** Request and response schemas for signing in a command line through a browser: device authorization, RFC 8628. */
import { z } from 'zod';
import { apiKey, createdApiKey, exampleApiKey } from './access.ts';
import { grantedRoleNames } from './names.ts';
import { count, id, oneOf, shownLine, timestamp } from './text.ts';

/** In seconds: half a day, and 30 days. */
export const defaultLife = 12 * 3_600;
export const longestLife = 30 * 24 * 3_600;

const exampleCode = 'WDJB-MJHT';

/** Case and punctuation don’t matter, because the code is read from one screen and typed on another. */
const userCode = z
  .string({ error: 'must be a string' })
  .max(32, { error: 'must be at most 32 characters' })
  .transform(text => text.toUpperCase().replace(/[^A-Z]/g, ''))
  .meta({ example: exampleCode });
const token = z.string({ error: 'must be a string' }).max(256, { error: 'must be at most 256 characters' });

export const deviceLoginBody = z
  .strictObject({
    client: shownLine(1, 64).optional().describe('The name of the requesting program.'),
    host: shownLine(1, 64).optional().describe('The name of the machine that it runs on.'),
  })
  .meta({ id: 'DeviceLoginCreate', example: { client: 'strongroom/1.0.0', host: 'laptop' } });
export type DeviceLoginBody = z.output<typeof deviceLoginBody>;

export const deviceLogin = z
  .object({
    device_code: z.string().describe('A secret of the requesting program.'),
    user_code: z.string().describe('The code that the person enters.'),
    verification_uri: z.string(),
    verification_uri_complete: z.string().describe('The same address with the code after `#`.'),
    expires_in: z.int().describe('In seconds.'),
    interval: z.int().describe('Minimum number of seconds between polls.'),
  })
  .meta({
    id: 'DeviceLogin',
    example: {
      device_code: 'sr_device_…',
      user_code: exampleCode,
      verification_uri: 'https://vault.example.com/device',
      verification_uri_complete: `https://vault.example.com/device#${exampleCode}`,
      expires_in: 600,
      interval: 2,
    },
  });
export type DeviceLogin = z.output<typeof deviceLogin>;

export const deviceCodeBody = z
  .strictObject({ device_code: token })
  .meta({ id: 'DeviceCode', example: { device_code: 'sr_device_…' } });

export const deviceToken = z
  .object({
    status: z.enum(['pending', 'slow_down', 'denied', 'expired', 'approved']),
    interval: z.int(),
    api_key: createdApiKey.nullable().describe('Only if `status` is `approved`, and only once.'),
  })
  .meta({ id: 'DeviceToken', example: { status: 'pending', interval: 2, api_key: null } });
export type DeviceToken = z.output<typeof deviceToken>;

export const userCodeBody = z
  .strictObject({ user_code: userCode })
  .meta({ id: 'UserCode', example: { user_code: exampleCode } });

/** The request as the person sees it before they decide. */
export const deviceRequest = z
  .object({
    client: z.string().describe('As stated by the requesting program; not verified.'),
    host: z.string().describe('As stated by the requesting program; not verified.'),
    ip_address: z.string(),
    created_at: timestamp,
    expires_at: timestamp,
    roles: z.array(z.enum(grantedRoleNames)).describe('The roles that the person can grant.'),
  })
  .meta({
    id: 'DeviceRequest',
    example: {
      client: 'strongroom/1.0.0',
      host: 'laptop',
      ip_address: '203.0.113.7',
      created_at: '2026-11-15T09:30:00.000Z',
      expires_at: '2026-11-15T09:40:00.000Z',
      roles: ['editor', 'viewer'],
    },
  });
export type DeviceRequest = z.output<typeof deviceRequest>;

export const approvalBody = z
  .strictObject({
    user_code: userCode,
    role: oneOf(grantedRoleNames),
    expires_in: count(60, longestLife).optional().describe(`In seconds; ${defaultLife} if omitted.`),
  })
  .meta({ id: 'DeviceApproval', example: { user_code: exampleCode, role: 'viewer', expires_in: 3_600 } });
export type ApprovalBody = z.output<typeof approvalBody>;

export const loginKeyBody = z
  .strictObject({ token })
  .meta({ id: 'LoginKeyToken', example: { token: 'sr_api_…' } });
/** A credential or identity that a command line created and that ends with it. */
const createdThing = z.object({
  type: z.enum(['api-key', 'access-key', 'public-token', 'secret-id', 'identity']),
  id,
  name: z.string(),
});
const loginKey = z
  .object({
    ...apiKey.shape,
    created: z.array(createdThing).describe('At most 100; the newest first.'),
  })
  .meta({
    id: 'LoginKey',
    example: { ...exampleApiKey, created: [{ type: 'access-key', id: exampleApiKey.id, name: 'laptop' }] },
    description: 'The API key of a signed-in command line, and what the command line created.',
  });
export type LoginKey = z.output<typeof loginKey>;
export const loginKeyList = z.object({ data: z.array(loginKey) }).meta({ id: 'LoginKeyList' });
