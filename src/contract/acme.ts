/**
 * What ACME clients send (RFC 8555, RFC 9773), and the problems that they get. A problem names its reason in `detail`,
 * and never repeats what was sent.
 */
import { z } from 'zod';

const problemStatuses = {
  accountDoesNotExist: 400,
  alreadyReplaced: 409,
  alreadyRevoked: 400,
  badCSR: 400,
  badNonce: 400,
  badPublicKey: 400,
  badRevocationReason: 400,
  badSignatureAlgorithm: 400,
  externalAccountRequired: 403,
  malformed: 400,
  orderNotReady: 403,
  rateLimited: 429,
  rejectedIdentifier: 400,
  serverInternal: 500,
  unauthorized: 403,
  unsupportedIdentifier: 400,
} as const;
export type ProblemType = keyof typeof problemStatuses;

export class AcmeProblem extends Error {
  readonly type: ProblemType;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    type: ProblemType,
    detail: string,
    { status, headers = {} }: { readonly status?: number; readonly headers?: Record<string, string> } = {},
  ) {
    super(detail);
    this.type = type;
    this.status = status ?? problemStatuses[type];
    this.headers = headers;
  }

  body() {
    return {
      type: `urn:ietf:params:acme:error:${this.type}`,
      detail: this.message,
      status: this.status,
    };
  }
}

const longestText = 255;
const mostContacts = 10;
const mostIdentifiers = 100;
const largestCsr = 90_000;
const text = z.string().max(longestText);

export const accountPayload = z.object({
  contact: z.array(text).max(mostContacts).optional(),
  termsOfServiceAgreed: z.boolean().optional(),
  onlyReturnExisting: z.boolean().optional(),
  externalAccountBinding: z.unknown().optional(),
});

export const accountUpdatePayload = z.object({
  contact: z.array(text).max(mostContacts).optional(),
  status: z.literal('deactivated').optional(),
});

export const orderPayload = z.object({
  identifiers: z
    .array(z.object({ type: text, value: text }))
    .min(1)
    .max(mostIdentifiers),
  notBefore: z.unknown().optional(),
  notAfter: z.unknown().optional(),
  replaces: text.optional(),
});

export const finalizePayload = z.object({ csr: z.string().max(largestCsr) });

export const revocationPayload = z.object({
  certificate: z.string().max(largestCsr),
  reason: z.number().optional(),
});

export const keyChangePayload = z.object({ account: text, oldKey: z.record(text, z.unknown()) });

/** Throws the problem of a payload that is not as it should be; it names the field. */
export function payloadOf<T extends z.ZodType>(schema: T, payload: unknown): z.output<T> {
  const read = schema.safeParse(payload);
  if (read.success) return read.data;
  const field = read.error.issues[0]?.path.filter(part => typeof part === 'string').join('.') ?? '';
  throw new AcmeProblem('malformed', field === '' ? 'the payload is not valid' : `${field} is not valid`);
}
