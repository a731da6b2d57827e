/**
 * Schemas for the rotation of secrets: when a secret gets a new value, where that comes from, and how long the previous
 * one stays valid. The plan contains nothing secret: connections and places are those of issuers and use rules.
 */
import { z } from 'zod';
import { pageQuery } from './common.ts';
import { rotationKinds, rotationStates } from './names.ts';
import { arrayFrom, count, exactLine, exampleId, id, oneOf, timestamp } from './text.ts';
import { useMethods } from './use-names.ts';

const hour = 3_600_000;
const day = 24 * hour;
const shortestPeriod = hour;
const longestPeriod = 1_095 * day;
const longestOverlap = 90 * day;
const lengths: Readonly<Record<string, number>> = { h: hour, d: day };

const shortestRandom = 16;
const longestRandom = 1_024;
const usualRandom = 32;
const smallestAlphabet = 10;
const largestAlphabet = 94;
const longestPlan = 4_096;
const longestUserName = 63;

/** In milliseconds; NaN for anything else. */
export function periodOf(text: string): number {
  const [, number, unit] = /^([1-9]\d{0,4})([hd])$/.exec(text) ?? [];
  return number === undefined ? Number.NaN : Number(number) * lengths[unit!]!;
}

function period(least: number, most: number, reason: string) {
  return exactLine(2, 6)
    .refine(text => periodOf(text) >= least && periodOf(text) <= most, { error: reason })
    .meta({ example: '30d' });
}

const every = period(
  shortestPeriod,
  longestPeriod,
  'must be a number of hours or days such as 12h or 30d, at least 1h and at most 1095d',
);
const overlap = exactLine(1, 6)
  .refine(text => text === '0' || periodOf(text) <= longestOverlap, {
    error: 'must be 0, or a number of hours or days such as 12h or 1d, at most 90d',
  })
  .meta({ example: '1d' });

/** Printable and without spaces, each character once. */
const alphabet = exactLine(smallestAlphabet, largestAlphabet).refine(
  text => /^[!-~]+$/.test(text) && new Set(text).size === text.length,
  { error: 'must contain printable ASCII characters, each once' },
);

const pointer = exactLine(2, 255)
  .refine(text => /^(?:\/(?:[^~/]|~[01])+)+$/.test(text), {
    error: 'must be a JSON pointer such as /key',
  })
  .meta({ example: '/key' });

const call = {
  rule: id.describe('A use rule of a secret in the same vault, which allows the call and places the value.'),
  method: oneOf(useMethods).optional().describe('POST by default.'),
  url: exactLine(1, 1_024).describe('Absolute. `{id}` stands for the id that `create` returned.'),
  headers: z
    .record(exactLine(1, 64), exactLine(0, 512), { error: 'must be an object of strings' })
    .refine(all => Object.keys(all).length <= 10, { error: 'must contain at most 10 headers' })
    .optional(),
  body: exactLine(0, 1_024).optional(),
};
const callError = { error: 'must be a call under a use rule' };
export const rotationCall = z.strictObject(call, callError).meta({
  id: 'RotationCall',
  example: { rule: exampleId, url: 'https://api.example.com/v1/keys' },
});
export type RotationCall = z.output<typeof rotationCall>;

/** PostgreSQL cuts longer names off, which could make two of them the same. */
const username = exactLine(1, longestUserName).refine(
  text => Buffer.byteLength(text, 'utf8') <= longestUserName,
  { error: `must be at most ${longestUserName} bytes long` },
);

const random = z.strictObject({
  kind: z.literal('random'),
  length: count(shortestRandom, longestRandom).default(usualRandom),
  alphabet: alphabet.optional().describe('Letters and digits if omitted.'),
  confirm: rotationCall
    .optional()
    .describe(
      'A call under a rule of this secret, which places the new value. The value is used once the call is answered with a status from 200 to 299.',
    ),
});
const postgresql = z.strictObject({
  kind: z.literal('postgresql'),
  issuer_id: id.describe('An issuer of the same vault: its connection sets the passwords.'),
  usernames: arrayFrom(1, 2, username)
    .refine(names => new Set(names).size === names.length, { error: 'must be different' })
    .describe(
      'Two users take turns, so that the previous one works until the overlap ends. With one user, its password changes and there is no overlap.',
    ),
});
const http = z.strictObject({
  kind: z.literal('http'),
  create: z
    .strictObject(
      {
        ...call,
        value: pointer.describe('Where the response contains the new value.'),
        id: pointer.optional().describe('Where it contains the id by which the value is deleted.'),
      },
      callError,
    )
    .describe('Creates the new value.'),
  try: rotationCall
    .optional()
    .describe('Tries the new value before it is used, under a rule of this secret.'),
  delete: rotationCall
    .optional()
    .describe(
      'Deletes the previous value once the overlap has ended. With an id, it is called with the new value, otherwise with the previous one.',
    ),
});
export const rotationBy = z
  .discriminatedUnion('kind', [random, postgresql, http], {
    error: 'must be an object with the kind random, postgresql or http',
  })
  .meta({ id: 'RotationBy', example: { kind: 'random', length: 32 } });
export type RotationBy = z.output<typeof rotationBy>;

export const rotation = z
  .strictObject(
    {
      every: every.meta({
        description: 'How often it gets a new value: a number of hours or days.',
        example: '30d',
      }),
      overlap: overlap
        .default('0')
        .describe('How long the previous value stays valid; shorter than `every`.'),
      by: rotationBy,
    },
    { error: 'must be an object with every and by' },
  )
  .refine(({ every: length, overlap: kept }) => kept === '0' || periodOf(kept) < periodOf(length), {
    error: 'must be shorter than every',
    path: ['overlap'],
  })
  .refine(({ overlap: kept, by }) => kept === '0' || by.kind !== 'postgresql' || by.usernames.length === 2, {
    error: 'requires two users',
    path: ['overlap'],
  })
  .refine(plan => Buffer.byteLength(JSON.stringify(plan)) <= longestPlan, {
    error: `must be at most ${longestPlan} bytes long`,
  })
  .meta({
    id: 'Rotation',
    description: 'When a secret gets a new value, and where that comes from.',
    example: { every: '30d', overlap: '0', by: { kind: 'random', length: 32 } },
  });
export type Rotation = z.output<typeof rotation>;

/** In a response, as it was given. */
export const shownRotation = z
  .object({
    every: z.string(),
    overlap: z.string(),
    by: z.looseObject({ kind: z.enum(rotationKinds) }),
  })
  .meta({ id: 'ShownRotation', example: { every: '30d', overlap: '0', by: { kind: 'random', length: 32 } } });

export const rotate = z
  .strictObject({
    end_previous: z
      .boolean({ error: 'must be true or false' })
      .optional()
      .describe('Ends the previous value first, if it is still valid. Otherwise that is a conflict.'),
  })
  .meta({ id: 'Rotate', example: { end_previous: true } });
export type Rotate = z.output<typeof rotate>;

export const rotationQuery = pageQuery.extend({
  vault_id: id.optional().describe('Only secrets of this vault.'),
  state: oneOf(['failing']).optional().describe('`failing`: only those whose last attempt failed.'),
});
export type RotationQuery = z.output<typeof rotationQuery>;

const failure = {
  failing_since: timestamp.nullable().describe('Since when attempts fail; null if they don’t.'),
  reason: z.string().nullable().describe('Why the last attempt failed.'),
};

export const scheduledRotation = z
  .object({
    secret_id: id,
    vault_id: id,
    name: z.string(),
    every: z.string(),
    overlap: z.string(),
    kind: z.enum(rotationKinds),
    next_rotation_at: timestamp,
    rotated_at: timestamp.nullable().describe('When it was rotated last; null if it never was.'),
    state: z
      .enum(['waiting', ...rotationStates])
      .describe('`overlapping`: the previous value is still valid.'),
    previous_until: timestamp.nullable().describe('Until when the previous value is valid.'),
    ...failure,
  })
  .meta({
    id: 'ScheduledRotation',
    example: {
      secret_id: exampleId,
      vault_id: exampleId,
      name: 'DATABASE_URL',
      every: '30d',
      overlap: '1d',
      kind: 'postgresql',
      next_rotation_at: '2026-12-15T09:30:00.000Z',
      rotated_at: '2026-11-15T09:30:00.000Z',
      state: 'overlapping',
      previous_until: '2026-11-16T09:30:00.000Z',
      failing_since: null,
      reason: null,
    },
  });
export type ScheduledRotation = z.output<typeof scheduledRotation>;

export const pastRotation = z
  .object({
    id,
    secret_id: id,
    kind: z.enum(rotationKinds),
    state: z.enum(rotationStates),
    started_by: z.string().describe('`rotations` if it was due; otherwise who asked for it.'),
    version: z.int().nullable().describe('The version that it created; null if it created none.'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({
    id: 'PastRotation',
    example: {
      id: exampleId,
      secret_id: exampleId,
      kind: 'random',
      state: 'done',
      started_by: 'rotations',
      version: 4,
      created_at: '2026-11-15T09:30:00.000Z',
      updated_at: '2026-11-15T09:30:02.000Z',
    },
  });
export type PastRotation = z.output<typeof pastRotation>;
