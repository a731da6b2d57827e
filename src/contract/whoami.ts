/** The schema that describes the caller. */
import { z } from 'zod';
import { grantedRoleNames, roleNames } from './names.ts';
import { exampleId, id, timestamp } from './text.ts';

export const whoami = z
  .object({
    kind: z.enum(['api-key', 'member']).meta({ description: 'What the caller authenticated as.' }),
    id,
    name: z.string(),
    organization: z.object({ id, name: z.string() }),
    member: z.object({ id, email: z.string() }).nullable().meta({
      description:
        'The member who is signed in or to whom the API key belongs; null if it belongs to no member.',
    }),
    role: z.enum(roleNames),
    grants: z.array(z.object({ vault_id: id, role: z.enum(grantedRoleNames) })).meta({
      description: 'The member’s roles in single vaults, granted directly or through groups.',
    }),
    scopes: z.array(z.string()).nullable(),
    vault_ids: z.array(id).nullable(),
    expiration_date: timestamp.nullable(),
  })
  .meta({
    id: 'Whoami',
    example: {
      kind: 'api-key',
      id: exampleId,
      name: 'Command line on laptop',
      organization: { id: '0199a3c4-1111-7abc-8def-0123456789ab', name: 'Example Ltd' },
      member: { id: '0199a3c4-2222-7abc-8def-0123456789ab', email: 'ada@example.com' },
      role: 'editor',
      grants: [],
      scopes: null,
      vault_ids: null,
      expiration_date: '2026-11-15T21:30:00.000Z',
    },
  });
export type Whoami = z.output<typeof whoami>;
