/** The operations with keys of the vault endpoint, and its JSON Web Key Sets, in the OpenAPI document. */
import type { z } from 'zod';
import { invalid } from '../../contract/errors.ts';
import {
  jwks,
  keyOperationAnswer,
  keyOperationCall,
  operationSummaries,
} from '../../contract/key-operations.ts';
import { sshCertificate, sshCertificateCall } from '../../contract/ssh.ts';
import { keyOperations } from '../../contract/use-names.ts';
import type { Components, Json } from './schemas.ts';
import { exampleOf, refusal, refusals, vaultParameter } from './vault.ts';

const path = '/api/v1/vaults/{vault_id}/keys/{key}';

const operationRefusals = {
  UNAUTHORIZED: 'The access key is missing or not valid for this vault',
  FORBIDDEN: 'The access key may not do this with keys, or the key is not active yet',
  NOT_FOUND: 'No key has this name or id',
  EXPIRED: 'The key has expired',
  RATE_LIMITED: 'Too many requests',
  UNAVAILABLE: 'The request can’t be recorded or answered at the moment',
} as const;

const keySetRefusals = {
  UNAUTHORIZED: 'The access key or public token is missing, or not valid for this key',
  NOT_ACTIVE: 'The key is not active yet, or the access key is names-only',
  NOT_FOUND: operationRefusals.NOT_FOUND,
  EXPIRED: operationRefusals.EXPIRED,
  RATE_LIMITED: operationRefusals.RATE_LIMITED,
  UNAVAILABLE: operationRefusals.UNAVAILABLE,
} as const;

export function keyOperationPaths(components: Components): Record<string, Json> {
  const operations = keyOperations.map(operation => [
    `${path}/${operation}`,
    {
      post: {
        operationId: `${operation}WithVaultKey`,
        tags: ['vault endpoint'],
        summary: operationSummaries[operation],
        description:
          'Requires a vault access key whose restriction `operations` names the operation; without the restriction, an access key may verify and encrypt. The key never leaves the service. Every request is recorded in the request log before it is answered.',
        security: [{ vaultAccessKey: [] }],
        parameters: parameters(components),
        requestBody: { required: true, content: json(keyOperationCall, components) },
        responses: {
          200: { description: 'Success', content: json(keyOperationAnswer, components) },
          400: refusal(
            components,
            'The request is not valid, or nothing can be decrypted',
            invalid('value', 'can’t be decrypted with this key'),
          ),
          ...refusals(components, operationRefusals),
        },
      },
    },
  ]);
  return {
    ...Object.fromEntries(operations),
    [`${path}/ssh-certificate`]: { post: certificate(components) },
    [`${path}/jwks.json`]: { get: keySet(components) },
  };
}

function certificate(components: Components): Json {
  return {
    operationId: 'createSshCertificateInVault',
    tags: ['vault endpoint'],
    summary: 'Sign an SSH certificate, within the key’s SSH profile',
    description:
      'Requires a vault access key whose restriction `operations` contains `ssh-certificate`. The serial, key id and principals are recorded in the request log before it is answered.',
    security: [{ vaultAccessKey: [] }],
    parameters: parameters(components),
    requestBody: { required: true, content: json(sshCertificateCall, components) },
    responses: {
      200: { description: 'Success', content: json(sshCertificate, components) },
      400: refusal(
        components,
        'The request is not valid, or not within the profile',
        invalid('principals', 'must be allowed by the SSH profile'),
      ),
      ...refusals(components, operationRefusals),
    },
  };
}

function keySet(components: Components): Json {
  return {
    operationId: 'readKeySet',
    tags: ['vault endpoint'],
    summary: 'Read the public keys of all versions of a key that still verify',
    description:
      'With an access key or a public token of the key. A symmetric key has none. Every request is recorded in the request log before it is answered.',
    security: [{ vaultAccessKey: [] }, { publicToken: [] }],
    parameters: parameters(components),
    responses: {
      200: { description: 'Success', content: json(jwks, components) },
      304: { description: 'Not modified since the `ETag` sent in `If-None-Match`' },
      ...refusals(components, keySetRefusals),
    },
  };
}

function parameters(components: Components): Json[] {
  const key = {
    name: 'key',
    in: 'path',
    required: true,
    description: 'The exact name of the key, percent-encoded, or its id.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  };
  return [vaultParameter(components), key];
}

function json(schema: z.ZodType, components: Components): Json {
  return { 'application/json': { schema: components.schemaOf(schema), example: exampleOf(schema) } };
}
