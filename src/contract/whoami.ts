/** Who is calling, on the wire. */
import { z } from 'zod';
import { grantedRoleNames, roleNames } from './names.ts';
import { exampleId, id, timestamp } from './text.ts';

export const whoami = z
  .object({
    kind: z.enum(['api-key', 'member']).meta({ description: 'What the caller proved to be.' }),
    id,
    name: z.string(),
    organization: z.object({ id, name: z.string() }),
    member: z
      .object({ id, email: z.string() })
      .nullable()
      .meta({ description: 'Who is signed in, or whose the API key is; null for one that is nobody’s.' }),
    role: z.enum(roleNames),
    grants: z.array(z.object({ vault_id: id, role: z.enum(grantedRoleNames) })).meta({
      description: 'The roles that the member is given in single vaults, by name or through their groups.',
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
