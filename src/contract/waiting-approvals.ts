/** Schemas for the calls waiting for approval, which an open dashboard polls. */
import { z } from 'zod';
import { line, timestamp } from './text.ts';
import { approval } from './uses.ts';

export const waitingQuery = z.strictObject({
  known: line(1, 64).optional().meta({
    description:
      'The `version` of an earlier response. The request is answered once the version differs, or after 25 seconds.',
  }),
});

export const waitingApprovals = z
  .object({
    data: z.array(approval).meta({ description: 'Newest first; at most 100.' }),
    total: z.int(),
    version: z.string().meta({ description: 'Changes when the waiting calls change.' }),
    held: z.boolean().meta({
      description:
        'False if the maximum number of requests is already waiting for a change: poll again after a pause. Otherwise poll again immediately.',
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
