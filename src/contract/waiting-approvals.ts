/** The calls that wait for an approval, as an open dashboard is told of them. */
import { z } from 'zod';
import { line, timestamp } from './text.ts';
import { approval } from './uses.ts';

export const waitingQuery = z.strictObject({
  known: line(1, 64).optional().meta({
    description:
      'The `version` of an earlier answer: this one comes once there is another, or after 25 seconds.',
  }),
});

export const waitingApprovals = z
  .object({
    data: z.array(approval).meta({ description: 'Newest first; 100 at most.' }),
    total: z.int(),
    version: z.string().meta({ description: 'Another where other calls wait.' }),
    held: z.boolean().meta({
      description:
        'false where as many requests wait for a change as may: ask again after a moment. Otherwise at once.',
    }),
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
