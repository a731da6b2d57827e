/** The vault endpoint in the OpenAPI document. The specification defines its responses exactly. */
import { z } from 'zod';
import { Failure, type FailureCode, invalid, statusOf } from '../../contract/errors.ts';
import { exampleId, id } from '../../contract/text.ts';
import {
  message,
  oneTimeCode,
  readSecret,
  vaultRead,
  vaultReadMap,
  vaultReadNames,
  vaultReadQuery,
} from '../../contract/vault-read.ts';
import { messageBody } from '../listener/errors.ts';
import { type Components, type Json, queryParameters } from './schemas.ts';

const secret = {
  id: exampleId,
  name: 'DATABASE_URL',
  value: 'postgres://app@db.internal/app',
  content_type: 'text/plain',
  tags: {},
};
const pem = '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n';

const vaultRefusals = {
  UNAUTHORIZED: 'The access key is missing or not valid for this vault',
  NOT_ACTIVE: 'The key is not active yet, or the access key is names-only',
  NOT_FOUND: 'No active secret, certificate or key has this id or name',
  EXPIRED: 'The certificate or key has expired',
  RATE_LIMITED: 'Too many requests',
  UNAVAILABLE: 'The request can’t be recorded or answered at the moment',
} as const;

export function vaultOperation(components: Components): Json {
  return {
    operationId: 'readVault',
    tags: ['vault endpoint'],
    summary: 'Read a vault, or one resource in it',
    description:
      'Returns the vault with its active secrets. `include` adds keys and certificates, `resource` and `name` select a single resource, and `format` returns only names and values. HEAD is answered like GET, without the body. Every request is recorded in the request log before it is answered.',
    security: [{ vaultAccessKey: [] }],
    parameters: [vaultParameter(components), ...queryParameters(vaultReadQuery, components)],
    responses: {
      200: success(components),
      304: { description: 'Not modified since the `ETag` sent in `If-None-Match`' },
      400: refusal(components, 'A parameter is not valid', invalid('secrets', 'must be names')),
      ...refusals(components, vaultRefusals),
    },
  };
}

export function vaultParameter(components: Components): Json {
  return {
    name: 'vault_id',
    in: 'path',
    required: true,
    description: 'The id of a vault, or `self` for the vault of the access key.',
    schema: { anyOf: [components.schemaOf(id), { const: 'self' }] },
  };
}

export function publicKeyOperation(components: Components): Json {
  return {
    operationId: 'readPublicKey',
    tags: ['vault endpoint'],
    summary: 'Read a public key with a public token',
    description:
      'Returns the public key that the token was created for, and nothing else. Every request is recorded in the request log before it is answered.',
    security: [{ publicToken: [] }],
    parameters: [],
    responses: {
      200: {
        description: 'Success',
        content: {
          'application/x-pem-file': {
            schema: { type: 'string' },
            example: '-----BEGIN PUBLIC KEY-----\n…\n-----END PUBLIC KEY-----\n',
          },
        },
      },
      ...refusals(components, publicKeyRefusals),
    },
  };
}

const publicKeyRefusals = {
  UNAUTHORIZED: 'The public token is missing or not valid',
  NOT_ACTIVE: 'The key is not active yet',
  EXPIRED: 'The key has expired',
  RATE_LIMITED: 'Too many requests',
  UNAVAILABLE: 'The request can’t be recorded or answered at the moment',
} as const;

function success(components: Components): Json {
  return {
    description: 'Success',
    content: {
      'application/json': {
        schema: components.schemaOf(
          z.union([vaultRead, vaultReadNames, readSecret, vaultReadMap, oneTimeCode]),
        ),
        examples: {
          vault: { value: { id: exampleId, name: 'production', secrets: [secret] } },
          names: {
            value: {
              id: exampleId,
              name: 'production',
              secrets: [{ id: exampleId, name: secret.name }],
            },
          },
          resource: { value: secret },
          map: { value: { DATABASE_URL: secret.value } },
        },
      },
      'text/plain': { schema: { type: 'string' }, example: `DATABASE_URL=${secret.value}\n` },
      'application/x-pem-file': { schema: { type: 'string' }, example: pem },
    },
  };
}

/** A refusal in the vault endpoint's error format. */
export function refusal(components: Components, description: string, failure: Failure): Json {
  const media = { schema: components.schemaOf(message), example: messageBody(failure) };
  return { description, content: { 'application/json': media } };
}

/** Refusals without further details, by their status. */
export function refusals(
  components: Components,
  descriptions: Readonly<Partial<Record<FailureCode, string>>>,
): Json {
  const all = Object.entries(descriptions) as [FailureCode, string][];
  return Object.fromEntries(
    all.map(([code, text]) => [statusOf[code], refusal(components, text, new Failure(code))]),
  );
}

export function exampleOf(schema: z.ZodType): unknown {
  return z.globalRegistry.get(schema)?.example;
}
