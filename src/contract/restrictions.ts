/**
 * Restrictions that the holder of an access key can add to it offline, without the service. Each can only take
 * permissions away. They are the restrictions that an access key can be created with, except those that need a
 * counter.
 */
import { z } from 'zod';
import { cidrs, kinds, namePatterns, operations } from './access.ts';
import { iso, moment } from './text.ts';

/** In characters. A longer credential is never valid. */
export const longestCredential = 2048;

/** In the order in which they are encoded. */
export const restriction = z
  .strictObject({
    cidrs: cidrs.optional(),
    expiration_date: moment.transform(iso).optional(),
    kinds: kinds.optional(),
    may_use: z.literal(false, { error: 'must be false' }).optional(),
    names: namePatterns.optional(),
    names_only: z.literal(true, { error: 'must be true' }).optional(),
    operations: operations.optional(),
  })
  .refine(members => Object.keys(members).length > 0, { error: 'must restrict something' });
export type Restriction = z.output<typeof restriction>;

/** The restrictions that the holder added to an access key, as the request log shows them. */
export const keyNarrowing = z
  .object({
    id: z.string().describe('The same for all access keys restricted in the same way.'),
    restrictions: z
      .array(z.record(z.string(), z.unknown()))
      .describe('In the order in which they were added. All of them apply.'),
  })
  .meta({
    id: 'KeyNarrowing',
    description: 'The restrictions that its holder added to the access key before using it.',
    example: { id: '7f9c2ba4e88f827d', restrictions: [{ names: ['CI_*'], names_only: true }] },
  });

export interface KeyNarrowing {
  readonly id: string;
  readonly restrictions: Restriction[];
}
