/** The vault endpoint in the OpenAPI document. Its answers are fixed by the specification, to the letter. */
import { refersTo } from './openapi-parts.ts';

const id = refersTo('schemas', 'Id');
const text = { type: 'string' };
const date = { anyOf: [refersTo('schemas', 'Timestamp'), { type: 'null' }] };
const tags = refersTo('schemas', 'Tags');

const exampleId = '0199a3c4-7f00-7abc-8def-0123456789ab';
const exampleSecret = {
  id: exampleId,
  name: 'DATABASE_URL',
  value: 'postgres://app@db.internal/app',
  content_type: 'text/plain',
  tags: {},
};

function object(properties: Record<string, object>, required = Object.keys(properties)) {
  return { type: 'object', properties, required };
}

export const vaultSchemas = {
  VaultSecret: object({ id, name: text, value: text, content_type: text, tags }),
  VaultSecretName: object({ id, name: text }),
  VaultKey: object({
    id,
    name: text,
    type: { type: 'string', enum: ['private', 'public'] },
    key_type: text,
    key_size: { type: 'integer' },
    activation_date: date,
    expiration_date: date,
    tags,
  }),
  VaultCertificate: object({
    id,
    name: text,
    type: { type: 'string', const: 'x509' },
    expires_at: refersTo('schemas', 'Timestamp'),
    tags,
  }),
  ExpiredStub: object({ id, message: { type: 'string', const: 'Resource expired' } }),
  VaultContents: object(
    {
      id,
      name: text,
      secrets: list('VaultSecret', 'VaultSecretName'),
      keys: list('VaultKey', 'ExpiredStub'),
      certificates: list('VaultCertificate', 'ExpiredStub'),
    },
    ['id', 'name'],
  ),
  Message: object({ message: text }),
};

function list(...names: string[]) {
  return { type: 'array', items: { anyOf: names.map(name => refersTo('schemas', name)) } };
}

function refusal(description: string, message: string) {
  const schema = refersTo('schemas', 'Message');
  return { description, content: { 'application/json': { schema, example: { message } } } };
}

export const vaultOperation = {
  operationId: 'readVault',
  tags: ['vault endpoint'],
  summary: 'Read a vault, or one resource in it',
  description:
    'Answers the vault with its active secrets; `include` adds keys and certificates, and `resource` asks for one. Every request is written to the request log before it is answered.',
  security: [{ vaultAccessKey: [] }],
  parameters: [
    { name: 'vault_id', in: 'path', required: true, schema: id },
    {
      name: 'secrets',
      in: 'query',
      description: '`names` leaves everything but id and name out.',
      schema: { type: 'string', enum: ['names'] },
    },
    {
      name: 'include',
      in: 'query',
      description: '`keys`, `certificates`, or both with a comma between them.',
      schema: { type: 'string', examples: ['keys,certificates'] },
    },
    {
      name: 'resource',
      in: 'query',
      description: 'The id of one secret (answered as JSON), certificate or key (answered as PEM).',
      schema: id,
    },
  ],
  responses: {
    200: {
      description: 'Success',
      content: {
        'application/json': {
          schema: { anyOf: [refersTo('schemas', 'VaultContents'), refersTo('schemas', 'VaultSecret')] },
          examples: {
            vault: { value: { id: exampleId, name: 'production', secrets: [exampleSecret] } },
            resource: { value: exampleSecret },
          },
        },
        'application/x-pem-file': {
          schema: text,
          example: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n',
        },
      },
    },
    304: { description: 'Nothing changed since the `ETag` in `If-None-Match`' },
    400: refusal('A parameter is not valid', 'secrets must be names'),
    401: refusal('The access key is missing or does not open this vault', 'Unauthorized'),
    403: refusal('The key is not active yet', 'Resource not active'),
    404: refusal('No active secret, certificate or key has this id', 'Resource not found'),
    410: refusal('The certificate or key is expired', 'Resource expired'),
    429: refusal('Too many requests', 'Too many requests'),
    503: refusal('The request can’t be written down or answered now', 'The service is unavailable'),
  },
};
