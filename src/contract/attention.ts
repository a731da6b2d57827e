/** Schemas for what needs the attention of a person: the first part of the dashboard's overview. */
import { z } from 'zod';
import { attentionKinds } from './names.ts';
import { exampleTimes, exampleVaultId } from './resource-fields.ts';
import { exampleId, id, timestamp } from './text.ts';

const subject = z.object({ id, type: z.string(), name: z.string(), vault_id: id.nullable() });

const matter = z.object({
  kind: z.enum(attentionKinds),
  subject: subject.nullable().describe('Null if it concerns no single record.'),
  since: timestamp
    .nullable()
    .describe('Since when, or for what expires, when; null if that is not recorded.'),
  count: z.int().describe('How many requests wait or were refused; otherwise 1.'),
  usual: z.int().nullable().describe('For refusals: how many are usual in that time.'),
});
export type Matter = z.output<typeof matter>;

export const attention = z
  .object({
    matters: z.array(matter).describe('The most urgent first; of each kind at most 50.'),
    complete: z.boolean().describe('False if there are more of a kind.'),
  })
  .meta({
    id: 'Attention',
    description: 'Only what the caller may see; what waits for a decision only if they may decide.',
    example: {
      matters: [
        {
          kind: 'expired',
          subject: { id: exampleId, type: 'secret', name: 'STRIPE_KEY', vault_id: exampleVaultId },
          since: exampleTimes.created_at,
          count: 1,
          usual: null,
        },
      ],
      complete: true,
    },
  });
export type Attention = z.output<typeof attention>;
