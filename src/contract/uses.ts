/**
 * Schemas for the calls that the service makes with a secret for an access key, and for their results, which never
 * contain the value.
 */
import { z } from 'zod';
import { pageQuery, recordTimes } from './common.ts';
import { proposalNotice } from './proposals.ts';
import { exampleTimes, exampleVaultId } from './resource-fields.ts';
import { exactLine, exampleId, flag, id, line, oneOf, timestamp } from './text.ts';
import { signingAlgorithms, useAlgorithms, useMethods } from './use-names.ts';

const text = (most: number) =>
  z
    .string({ error: 'must be a string' })
    .max(most, { error: `must be at most ${most} characters` })
    .refine(sent => sent.isWellFormed(), { error: 'must not contain unpaired surrogates' });
const bytes = (most: number) =>
  text(most).refine(sent => /^[A-Za-z0-9_-]*$/.test(sent), { error: 'must be base64url without padding' });

/** Shared by the tool and the endpoint. */
export const useFields = {
  secret: line(1, 255).meta({ description: 'The exact name of the secret.', type: 'string' }),
  rule: id.optional().describe('A use rule’s id; by default the first that allows the call.'),
  method: oneOf(useMethods).optional().describe('GET by default.'),
  url: exactLine(1, 4096).describe('Absolute, normalized, without credentials.'),
  headers: z
    .record(exactLine(1, 64), exactLine(0, 4096), { error: 'must be an object of strings' })
    .refine(all => Object.keys(all).length <= 50, { error: 'must contain at most 50 headers' })
    .optional(),
  body: text(65_536).optional(),
  body_base64: text(90_000)
    .refine(sent => /^[A-Za-z0-9+/]*={0,2}$/.test(sent) && sent.length % 4 === 0, {
      error: 'must be base64',
    })
    .optional(),
  dry_run: flag.optional().describe('true: only report whether the call would be allowed, and if not, why.'),
};
export const useCall = z.strictObject(useFields).meta({
  id: 'UseCall',
  example: { secret: 'GITHUB_TOKEN', url: 'https://api.github.com/repos/acme/shop/issues' },
});
export type UseCall = z.output<typeof useCall>;

const refusedBy = z.object({ rule: id, name: z.string(), field: z.string(), reason: z.string() });
export const verdict = z
  .object({
    allowed: z.boolean(),
    rule: id.nullable(),
    approval: z.boolean().describe('Whether a person would have to approve the call.'),
    refusals: z.array(refusedBy).describe('Why each rule does not allow the call.'),
  })
  .meta({
    id: 'UseVerdict',
    example: {
      allowed: false,
      rule: null,
      approval: false,
      refusals: [
        {
          rule: exampleId,
          name: 'issues of acme',
          field: 'url',
          reason: 'is not among the hosts of the rule',
        },
      ],
    },
  });
export type Verdict = z.output<typeof verdict>;

const { secret: _, dry_run: __, ...checkedFields } = useFields;

/** A dry run for people who manage rules. It involves no access key. */
export const useCheck = z.strictObject({ secret_id: id, ...checkedFields }).meta({
  id: 'UseCheck',
  example: { secret_id: exampleId, url: 'https://api.github.com/repos/acme/shop/issues' },
});
export type UseCheck = z.output<typeof useCheck>;

export const outcomes = ['answered', 'failed', 'withheld'] as const;
export const useAnswer = z
  .object({
    outcome: oneOf(outcomes).describe(
      '`answered`; `failed` if no response came; `withheld` if the response can’t be shown safely.',
    ),
    reason: z.string().nullable(),
    status: z.int().nullable(),
    headers: z.record(z.string(), z.string()),
    body: z.string().nullable(),
    body_base64: z.string().nullable(),
    redacted: z.int().meta({
      deprecated: true,
      description: 'Always 0. The amount redacted would reveal something about the value.',
    }),
    stored: z.object({ secret_id: id, version: z.int() }).nullable(),
    proposal: proposalNotice.optional().describe('What was to be stored waits for review.'),
    rule: id,
    request_id: z.string(),
    receipt: z.string(),
  })
  .meta({
    id: 'UseAnswer',
    example: {
      outcome: 'answered',
      reason: null,
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: '[]',
      body_base64: null,
      redacted: 0,
      stored: null,
      rule: exampleId,
      request_id: exampleId,
      receipt: '0199a3c4-7777-7abc-8def-0123456789ab',
    },
  });
export type UseAnswer = z.output<typeof useAnswer>;

// Operations with keys that never leave the service

const key = line(1, 255).meta({ description: 'Its exact name, or its id.', type: 'string' });
const rule = id.optional();
const algorithm = oneOf(signingAlgorithms);
export const signFields = {
  key,
  rule,
  alg: algorithm,
  message: bytes(90_000).optional().describe('The bytes to sign, in base64url.'),
  claims: z
    .record(z.string(), z.unknown(), { error: 'must be an object' })
    .optional()
    .describe('The claims of a JSON Web Token, in place of a message.'),
};
export const verifyFields = { key, rule, alg: algorithm, message: bytes(90_000), signature: bytes(16_384) };
export const decryptFields = {
  key,
  rule,
  alg: oneOf(['RSA-OAEP', 'RSA-OAEP-256']),
  ciphertext: bytes(16_384),
};
export const signCall = z
  .strictObject(signFields)
  .meta({ id: 'SignCall', example: { key: 'signing', alg: 'ES256', message: 'aGVsbG8' } });
export const verifyCall = z.strictObject(verifyFields).meta({
  id: 'VerifyCall',
  example: { key: 'signing', alg: 'ES256', message: 'aGVsbG8', signature: 'MEUCIQ' },
});
export const decryptCall = z
  .strictObject(decryptFields)
  .meta({ id: 'DecryptCall', example: { key: 'unwrapping', alg: 'RSA-OAEP-256', ciphertext: 'aGVsbG8' } });
export type SignCall = z.output<typeof signCall>;
export type VerifyCall = z.output<typeof verifyCall>;
export type DecryptCall = z.output<typeof decryptCall>;

const alg = z.enum(useAlgorithms);
const reference = { rule: id, request_id: z.string(), receipt: z.string() };
const exampleReference = { rule: exampleId, request_id: exampleId, receipt: exampleId };
export const signature = z
  .object({
    kid: id,
    alg,
    signature: z.string().nullable().describe('Base64url, in the JOSE form.'),
    token: z.string().nullable().describe('The JSON Web Token, if claims were given.'),
    ...reference,
  })
  .meta({
    id: 'KeySignature',
    example: { kid: exampleId, alg: 'ES256', signature: 'MEUCIQ', token: null, ...exampleReference },
  });
export const verification = z.object({ kid: id, alg, valid: z.boolean(), ...reference }).meta({
  id: 'KeyVerification',
  example: { kid: exampleId, alg: 'ES256', valid: true, ...exampleReference },
});
export const decryption = z.object({ kid: id, alg, plaintext: z.string(), ...reference }).meta({
  id: 'KeyDecryption',
  example: { kid: exampleId, alg: 'RSA-OAEP-256', plaintext: 'aGVsbG8', ...exampleReference },
});

// Approvals

const approvalStates = ['pending', 'approved', 'refused', 'used', 'cancelled', 'expired'] as const;
const approvalScopes = ['call', 'shape', 'rule'] as const;
export type ApprovalScope = (typeof approvalScopes)[number];

const shownRequest = z.object({
  tool: z.string(),
  secret: z.string().describe('The name of the secret or key.'),
  method: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string().nullable(),
  body_base64: z.string().nullable(),
  place: z.string().describe('Where the value goes.'),
});
export type ShownRequest = z.output<typeof shownRequest>;

export const approval = z
  .object({
    id,
    vault_id: id,
    rule_id: id,
    rule: z.string(),
    access_key_id: id,
    run_id: id.nullable().describe('The run that the access key belongs to.'),
    access_key: z.string().describe('Its name, as given by a person.'),
    own_name: z
      .string()
      .nullable()
      .describe(
        'The name that a program gave it, if the program derived it from another access key; not verified.',
      ),
    restriction: z.string().nullable().describe('The id of its offline restrictions, if it has any.'),
    state: oneOf(approvalStates),
    scope: oneOf(approvalScopes).describe(
      '`call`: this call, once. `rule`: every call with this access key under this rule, until the approval expires.',
    ),
    fingerprint: z.string().describe('SHA-256 of the canonical request, in base64url.'),
    request: shownRequest,
    decided_by: z.string().nullable(),
    expires_at: timestamp,
    ...recordTimes,
  })
  .meta({
    id: 'Approval',
    example: {
      id: exampleId,
      vault_id: exampleVaultId,
      rule_id: exampleId,
      rule: 'issues of acme',
      access_key_id: exampleId,
      run_id: null,
      access_key: 'agent',
      own_name: null,
      restriction: null,
      state: 'pending',
      scope: 'call',
      fingerprint: 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg',
      request: {
        tool: 'secrets.use',
        secret: 'GITHUB_TOKEN',
        method: 'POST',
        url: 'https://api.github.com/repos/acme/shop/issues',
        headers: { 'content-type': 'application/json' },
        body: '{"title":"Broken link"}',
        body_base64: null,
        place: 'as a bearer token',
      },
      decided_by: null,
      expires_at: '2026-11-15T09:40:00.000Z',
      ...exampleTimes,
    },
  });
export type Approval = z.output<typeof approval>;

export const approvalQuery = pageQuery.extend({
  state: oneOf(['pending', 'all']).optional(),
  vault_id: id.optional(),
  run_id: id.optional().describe('Only calls with an access key of this run.'),
});
export type ApprovalQuery = z.output<typeof approvalQuery>;
export const approve = z
  .strictObject({ scope: oneOf(['call', 'rule']).optional() })
  .meta({ id: 'Approve', example: { scope: 'call' } });

/** Returned in place of a response if a person has to approve the call first. */
export const approvalNotice = z.object({ id, url: z.string(), expires_at: timestamp });
export const approvalRequired = z.object({ message: z.string(), approval: approvalNotice }).meta({
  id: 'ApprovalRequired',
  example: {
    message: 'Forbidden: a person has to approve this call first',
    approval: {
      id: exampleId,
      url: 'https://vault.example.com/approvals/0199a3c4',
      expires_at: '2026-11-15T09:40:00.000Z',
    },
  },
});
export type ApprovalNotice = z.output<typeof approvalNotice>;

// The calls waiting for approval, which an open dashboard polls

export const waitingQuery = z.strictObject({
  known: line(1, 64)
    .optional()
    .describe(
      'The `version` of an earlier response. The request is answered once the version differs, or after 25 seconds.',
    ),
});

export const waitingApprovals = z
  .object({
    data: z.array(approval).describe('Newest first; at most 100.'),
    total: z.int(),
    version: z.string().describe('Changes when the waiting calls change.'),
    held: z
      .boolean()
      .describe(
        'False if the maximum number of requests is already waiting for a change: poll again after a pause. Otherwise poll again immediately.',
      ),
    answered_at: timestamp,
  })
  .meta({
    id: 'WaitingApprovals',
    example: {
      data: [],
      total: 0,
      version: 'n4bQgYhMfWWaL-qgxVrQFa',
      held: true,
      answered_at: '2026-11-15T09:30:00.000Z',
    },
  });
export type WaitingApprovals = z.output<typeof waitingApprovals>;
