/** The operations that use secrets and keys, in the OpenAPI document. */
import { z } from 'zod';
import { Failure, invalid } from '../../contract/errors.ts';
import * as uses from '../../contract/uses.ts';
import { message } from '../../contract/vault-read.ts';
import { messageBody } from '../listener/errors.ts';
import type { Components, Json } from './schemas.ts';
import { exampleOf, refusal, refusals, vaultParameter } from './vault.ts';

interface Use {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly body: z.ZodType;
  /** The first is shown as the example. */
  readonly answers: readonly [z.ZodType, ...z.ZodType[]];
}

const operations: readonly Use[] = [
  {
    path: 'use',
    operationId: 'useSecret',
    summary: 'Call an API with a secret that the caller never sees',
    body: uses.useCall,
    answers: [uses.useAnswer, uses.verdict],
  },
  {
    path: 'keys/sign',
    operationId: 'signWithKey',
    summary: 'Sign bytes or a JSON Web Token with a key that never leaves the service',
    body: uses.signCall,
    answers: [uses.signature],
  },
  {
    path: 'keys/verify',
    operationId: 'verifyWithKey',
    summary: 'Verify a signature with a key',
    body: uses.verifyCall,
    answers: [uses.verification],
  },
  {
    path: 'keys/decrypt',
    operationId: 'decryptWithKey',
    summary: 'Decrypt a short text with a key that never leaves the service',
    body: uses.decryptCall,
    answers: [uses.decryption],
  },
];

export function operationsOfUse(components: Components): Record<string, Json> {
  return Object.fromEntries(
    operations.map(use => [`/api/v1/vaults/{vault_id}/${use.path}`, { post: operationOf(use, components) }]),
  );
}

function operationOf({ operationId, summary, body, answers }: Use, components: Components): Json {
  const [first, ...others] = answers;
  const schema = components.schemaOf(others.length === 0 ? first : z.union([first, ...others]));
  return {
    operationId,
    tags: ['vault endpoint'],
    summary,
    description:
      'Requires a vault access key with `may_use`. The use rules of the secret or key must allow the call. It is recorded in the request log before it is made, and again with its outcome.',
    security: [{ vaultAccessKey: [] }],
    parameters: [vaultParameter(components)],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: components.schemaOf(body), example: exampleOf(body) } },
    },
    responses: {
      200: {
        description: 'Success',
        content: { 'application/json': { schema, example: exampleOf(first) } },
      },
      400: refusal(
        components,
        'The request is not valid',
        invalid('url', 'must be written in its normal form'),
      ),
      403: forbidden(components),
      ...refusals(components, useRefusals),
    },
  };
}

const useRefusals = {
  UNAUTHORIZED: 'The access key is missing or not valid for this vault',
  NOT_FOUND: 'No active secret or key has this name',
  EXPIRED: 'The key has expired',
  RATE_LIMITED: 'Too many requests',
  UNAVAILABLE: 'The request can’t be recorded or answered at the moment',
} as const;

/** If a person has to approve the call first, the body names the approval page. */
function forbidden(components: Components): Json {
  const schema = components.schemaOf(z.union([message, uses.approvalRequired]));
  const media = { schema, example: messageBody(new Failure('FORBIDDEN')) };
  const description =
    'No use rule allows the call, the access key lacks `may_use`, or a person has to approve the call first';
  return { description, content: { 'application/json': media } };
}
