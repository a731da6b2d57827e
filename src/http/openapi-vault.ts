/** The vault endpoint in the OpenAPI document. Its answers are fixed by the specification, to the letter. */
import { z } from 'zod';
import { Failure, type FailureCode, invalid } from '../contract/errors.ts';
import { exampleId, id } from '../contract/text.ts';
import { message, readSecret, vaultRead, vaultReadQuery } from '../contract/vault-read.ts';
import { messageBody, statusOf } from './errors.ts';
import { type Components, type Json, queryParameters } from './openapi-schemas.ts';

const secret = {
  id: exampleId,
  name: 'DATABASE_URL',
  value: 'postgres://app@db.internal/app',
  content_type: 'text/plain',
  tags: {},
};
const pem = '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n';

const refusals: Partial<Record<FailureCode, string>> = {
  UNAUTHORIZED: 'The access key is missing, or does not open this vault',
  NOT_ACTIVE: 'The key is not active yet',
  NOT_FOUND: 'No active secret, certificate or key has this id',
  EXPIRED: 'The certificate or key is expired',
  RATE_LIMITED: 'Too many requests',
  UNAVAILABLE: 'The request can’t be written down or answered now',
};

export function vaultOperation(components: Components): Json {
  return {
    operationId: 'readVault',
    tags: ['vault endpoint'],
    summary: 'Read a vault, or one resource in it',
    description:
      'Answers the vault with its active secrets; `include` adds keys and certificates, `resource` asks for one. Every request is written to the request log before it is answered.',
    security: [{ vaultAccessKey: [] }],
    parameters: [
      { name: 'vault_id', in: 'path', required: true, schema: components.schemaOf(id) },
      ...queryParameters(vaultReadQuery, components),
    ],
    responses: {
      200: success(components),
      304: { description: 'Nothing changed since the `ETag` that was sent in `If-None-Match`' },
      400: refusal(components, 'A parameter is not valid', invalid('secrets', 'must be names')),
      ...Object.fromEntries(
        Object.entries(refusals).map(([code, description]) => [
          statusOf[code as FailureCode],
          refusal(components, description, new Failure(code as FailureCode)),
        ]),
      ),
    },
  };
}

function success(components: Components): Json {
  return {
    description: 'Success',
    content: {
      'application/json': {
        schema: components.schemaOf(z.union([vaultRead, readSecret])),
        examples: {
          vault: { value: { id: exampleId, name: 'production', secrets: [secret] } },
          resource: { value: secret },
        },
      },
      'application/x-pem-file': { schema: { type: 'string' }, example: pem },
    },
  };
}

function refusal(components: Components, description: string, failure: Failure): Json {
  const media = { schema: components.schemaOf(message), example: messageBody(failure) };
  return { description, content: { 'application/json': media } };
}
