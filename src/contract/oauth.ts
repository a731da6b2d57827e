/**
 * OAuth for the tool endpoint: schemas for client metadata, the consent page and a person's grants. Errors are those
 * of RFC 6749 and never repeat what was sent.
 */
import { z } from 'zod';
import { oauthScopes } from './names.ts';
import { count, id, oneOf, shownLine, timestamp } from './text.ts';

/** In seconds. */
export const defaultGrantLife = 12 * 3_600;
const longestGrantLife = 30 * 24 * 3_600;

type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_target'
  | 'invalid_scope'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'access_denied'
  | 'consent_required'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'unsupported_grant_type'
  | 'unsupported_response_type';

/** A refusal in the form that OAuth defines. */
export class OAuthError extends Error {
  readonly error: OAuthErrorCode;

  constructor(error: OAuthErrorCode, description: string) {
    super(description);
    this.name = 'OAuthError';
    this.error = error;
  }
}

const redirectUri = z.string().max(512);

/** The metadata that a client publishes or registers. Other fields are ignored. */
export const clientDocument = z.object({
  client_id: z.string().min(1).max(512),
  client_name: shownLine(1, 100).optional(),
  redirect_uris: z.array(redirectUri).min(1).max(20),
  token_endpoint_auth_method: z.literal('none').optional(),
  client_secret: z.undefined().optional(),
});
export type ClientDocument = z.output<typeof clientDocument>;

/** The client's id carries the registered metadata, so it must be short. */
export const clientRegistration = z.object({
  client_name: shownLine(1, 64).optional(),
  redirect_uris: z.array(z.string().max(200)).min(1).max(4),
});

const exampleRequest = '?response_type=code&client_id=https%3A%2F%2Fclient.example%2Fclient.json&…';

const request = z
  .string({ error: 'must be a string' })
  .max(8_192, { error: 'must be at most 8192 characters' })
  .describe('The query string with which the client sent the browser.');

export const authorizationBody = z
  .strictObject({ request })
  .meta({ id: 'AuthorizationRequest', example: { request: exampleRequest } });

const redirectTo = z.string().describe('Where the browser is redirected.');

export const authorizationShown = z
  .object({
    client: z.object({
      id: z.string(),
      name: z.string(),
      known: z.boolean().describe('Whether this service or its operator lists the client.'),
      imitates: z
        .boolean()
        .describe('Whether the client is not known, but its name looks like a known client’s.'),
    }),
    redirect_host: z.string(),
    scopes: z.array(z.enum(oauthScopes)).describe('The scopes that the client requests.'),
    redirect_to: redirectTo
      .nullable()
      .describe('Where the browser is redirected because the request can’t be granted; null otherwise.'),
  })
  .meta({
    id: 'AuthorizationShown',
    example: {
      client: { id: 'https://client.example/client.json', name: 'Client', known: false, imitates: false },
      redirect_host: '127.0.0.1',
      scopes: ['secrets:names'],
      redirect_to: null,
    },
  });
export type AuthorizationShown = z.output<typeof authorizationShown>;

export const consentBody = z
  .strictObject({
    request,
    vault_id: id,
    scopes: z.array(oneOf(oauthScopes)).min(1, { error: 'must not be empty' }).max(oauthScopes.length),
    expires_in: count(60, longestGrantLife)
      .optional()
      .describe(`In seconds; ${defaultGrantLife} if omitted.`),
  })
  .meta({
    id: 'Consent',
    example: {
      request: exampleRequest,
      vault_id: '0199a3c4-7f00-7abc-8def-0123456789ab',
      scopes: ['secrets:read'],
    },
  });
export type ConsentBody = z.output<typeof consentBody>;

export const redirection = z
  .object({ redirect_to: redirectTo })
  .meta({ id: 'Redirection', example: { redirect_to: 'http://127.0.0.1:3118/callback?code=…' } });

export const oauthGrant = z
  .object({
    id,
    client: z.object({ id: z.string(), name: z.string(), known: z.boolean() }),
    vault_id: id,
    access_key_id: id,
    scopes: z.array(z.enum(oauthScopes)),
    created_at: timestamp,
    expiration_date: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({
    id: 'OAuthGrant',
    example: {
      id: '0199a3c4-7f00-7abc-8def-0123456789ab',
      client: { id: 'https://client.example/client.json', name: 'Client', known: false },
      vault_id: '0199a3c4-1111-7abc-8def-0123456789ab',
      access_key_id: '0199a3c4-2222-7abc-8def-0123456789ab',
      scopes: ['secrets:read'],
      created_at: '2026-11-15T09:30:00.000Z',
      expiration_date: '2026-11-15T21:30:00.000Z',
      last_used_at: null,
    },
  });
export type OAuthGrant = z.output<typeof oauthGrant>;
export const oauthGrantList = z.object({ data: z.array(oauthGrant) }).meta({ id: 'OAuthGrantList' });
