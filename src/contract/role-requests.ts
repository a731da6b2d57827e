/** Request and response schemas for requests of members for a role in a vault. */
import { z } from 'zod';
import { role } from './access.ts';
import { pageQuery, recordTimes } from './common.ts';
import { exampleTimes, exampleVaultId } from './resource-fields.ts';
import { exampleId, id, line, moment, oneOf, timestamp } from './text.ts';

export const roleRequestStates = ['pending', 'approved', 'refused', 'withdrawn', 'expired'] as const;

export const roleRequestCreate = z
  .strictObject({
    vault_id: id,
    role,
    until: moment.describe('When the role is to end.'),
    reason: line(1, 500).optional().describe('What it is needed for; shown to those who decide.'),
  })
  .meta({
    id: 'RoleRequestCreate',
    example: {
      vault_id: exampleVaultId,
      role: 'reader',
      until: '2027-01-31T18:00:00Z',
      reason: 'Debugging the payments job',
    },
  });
export type RoleRequestCreate = z.output<typeof roleRequestCreate>;

export const roleRequest = z
  .object({
    id,
    vault_id: id,
    member: z.object({ id, email: z.string() }),
    role: z.string(),
    until: timestamp,
    reason: z.string(),
    state: z.enum(roleRequestStates),
    decided_by: id.nullable().describe('The member who approved or refused it.'),
    expires_at: timestamp.describe('When it can no longer be approved.'),
    ...recordTimes,
  })
  .meta({
    id: 'RoleRequest',
    description: 'A member’s request for a role in a vault, with an end.',
    example: {
      id: exampleId,
      vault_id: exampleVaultId,
      member: { id: '0199a3c4-2222-7abc-8def-0123456789ab', email: 'ada@example.com' },
      role: 'reader',
      until: '2027-01-31T18:00:00.000Z',
      reason: 'Debugging the payments job',
      state: 'pending',
      decided_by: null,
      expires_at: '2027-01-31T18:00:00.000Z',
      ...exampleTimes,
    },
  });
export type RoleRequest = z.output<typeof roleRequest>;

export const ownRoleRequests = z.object({ data: z.array(roleRequest) }).meta({ id: 'OwnRoleRequests' });

export const roleRequestQuery = pageQuery.extend({
  state: oneOf(['waiting', 'all']).optional().describe('`waiting` by default.'),
});
export type RoleRequestQuery = z.output<typeof roleRequestQuery>;
