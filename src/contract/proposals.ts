/**
 * Schemas for vaults with review: a write of what they contain is stored as a proposal, and done once someone else
 * confirms it.
 */
import { z } from 'zod';
import { pageQuery, recordTimes } from './common.ts';
import { resourceTypes } from './names.ts';
import { exampleTimes, exampleVaultId } from './resource-fields.ts';
import { exampleId, id, line, oneOf, timestamp } from './text.ts';

export const proposalNotice = z
  .object({
    id,
    url: z.string().describe('The page of the dashboard on which it is decided.'),
    expires_at: timestamp,
  })
  .meta({
    id: 'ProposalNotice',
    example: {
      id: exampleId,
      url: `https://vault.example.com/proposals/${exampleId}`,
      expires_at: '2027-01-31T00:00:00.000Z',
    },
  });
export type ProposalNotice = z.output<typeof proposalNotice>;

/** Where the dashboard shows it. */
export function proposalPath(id: string): string {
  return `/proposals/${id}`;
}

export const proposalMade = z.object({ proposal: proposalNotice }).meta({
  id: 'ProposalMade',
  description: 'Nothing was written yet: someone else has to confirm it first.',
});

const proposalStates = ['pending', 'confirmed', 'rejected', 'expired', 'outdated', 'bypassed'] as const;
const proposedActions = ['create', 'update', 'roll_back', 'rotate', 'delete', 'purge', 'restore'] as const;
export type ProposedAction = (typeof proposedActions)[number];

const party = z.object({
  kind: z.string().describe('`member`, `api-key` or `access-key`.'),
  id: z.string(),
  name: z.string().nullable().describe('Null if the caller may not read such records.'),
});

/** As it is stored. */
export interface Party {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
}

const difference = z.object({
  field: z.string().describe('Such as `name`, `expiration_date`, or `tags.team` for one tag.'),
  before: z.string().nullable().describe('Null if there was none.'),
  after: z.string().nullable().describe('Null if there will be none.'),
});
export type Difference = z.output<typeof difference>;

const proposedChange = z.object({
  action: oneOf(proposedActions),
  type: z.enum(resourceTypes),
  id,
  name: z.string().describe('Its name before the change; for a new one, the name it will have.'),
  new_value: z.boolean().describe('Whether it gets another value, which only `reveal` shows.'),
  difference: z.array(difference),
});
export type ProposedChange = z.output<typeof proposedChange>;

export const proposal = z
  .object({
    id,
    vault_id: id,
    state: oneOf(proposalStates).describe(
      '`outdated`: what it would change was changed since. `bypassed`: an owner wrote without review.',
    ),
    author: party,
    decided_by: party.nullable().describe('Who confirmed or rejected it.'),
    reason: z.string().nullable().describe('Why an owner wrote without review.'),
    own: z
      .boolean()
      .describe('Whether the caller is the author, or a credential of theirs, and can’t confirm it.'),
    changes: z.array(proposedChange),
    expires_at: timestamp,
    ...recordTimes,
  })
  .meta({
    id: 'Proposal',
    example: {
      id: exampleId,
      vault_id: exampleVaultId,
      state: 'pending',
      author: { kind: 'member', id: exampleId, name: 'ada@example.com' },
      decided_by: null,
      reason: null,
      own: false,
      changes: [
        {
          action: 'update',
          type: 'secret',
          id: exampleId,
          name: 'DATABASE_URL',
          new_value: true,
          difference: [{ field: 'tags.team', before: 'payments', after: 'billing' }],
        },
      ],
      expires_at: '2027-01-31T00:00:00.000Z',
      ...exampleTimes,
    },
  });
export type Proposal = z.output<typeof proposal>;

export const proposalQuery = pageQuery.extend({
  vault_id: id.optional(),
  state: oneOf(['pending', 'all'])
    .default('pending')
    .describe('`all` also lists those that are decided or over.'),
});
export type ProposalQuery = z.output<typeof proposalQuery>;

export const revealedProposal = z
  .object({
    data: z.array(
      z.object({
        id,
        vault_id: id,
        type: z.enum(resourceTypes),
        name: z.string(),
        before: z.string().nullable().describe('The current value; null for a new resource.'),
        after: z
          .string()
          .nullable()
          .describe('The proposed value; null if it stays, or the key is not exportable.'),
      }),
    ),
  })
  .meta({
    id: 'RevealedProposal',
    example: {
      data: [
        {
          id: exampleId,
          vault_id: exampleVaultId,
          type: 'secret',
          name: 'DATABASE_URL',
          before: 'postgres://a',
          after: 'postgres://b',
        },
      ],
    },
  });
export type RevealedProposal = z.output<typeof revealedProposal>;

/** The members of a query that ask to write without review. */
export const bypassQuery = z.strictObject({
  bypass: z
    .enum(['false', 'true'], { error: 'must be true or false' })
    .optional()
    .describe('Writes without review, with the permission `proposals:bypass`. It is announced and recorded.'),
  reason: line(1, 500)
    .optional()
    .describe('Why; required with `bypass=true`. It may be in the body instead.'),
});
