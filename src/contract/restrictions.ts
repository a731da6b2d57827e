/**
 * What the holder of an access key may add to it without asking anybody: one restriction after another, each of which
 * takes away and none of which can give. They are the same that an access key may be created with, but for those that
 * would need something to be counted for each.
 */
import { z } from 'zod';
import { cidrs, kinds, namePatterns } from './access.ts';
import { iso, moment } from './text.ts';

/** In characters. Of any credential that is sent, no more is looked at. */
export const longestCredential = 2048;

/** In the order in which they are written. */
export const restriction = z
  .strictObject({
    cidrs: cidrs.optional(),
    expiration_date: moment.transform(iso).optional(),
    kinds: kinds.optional(),
    may_use: z.literal(false, { error: 'must be false' }).optional(),
    names: namePatterns.optional(),
    names_only: z.literal(true, { error: 'must be true' }).optional(),
  })
  .refine(members => Object.keys(members).length > 0, { error: 'must restrict something' });
export type Restriction = z.output<typeof restriction>;

/** As the request log shows what an access key was restricted to by its holder. */
export const keyNarrowing = z
  .object({
    id: z.string().meta({ description: 'The same for all that are restricted in the same way.' }),
    restrictions: z
      .array(z.record(z.string(), z.unknown()))
      .meta({ description: 'In the order in which they were added. All of them apply.' }),
  })
  .meta({
    id: 'KeyNarrowing',
    description: 'What its holder restricted the access key to before it was used.',
    example: { id: '7f9c2ba4e88f827d', restrictions: [{ names: ['CI_*'], names_only: true }] },
  });

export interface KeyNarrowing {
  readonly id: string;
  readonly restrictions: Restriction[];
}
