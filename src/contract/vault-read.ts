/** The vault endpoint: what may be asked of it, and what it answers. */
import { z } from 'zod';
import { keyTypes } from './resources.ts';
import { id, tags, timestamp } from './text.ts';

const once = 'must be given once, with a value that is allowed';

export const vaultReadQuery = z.strictObject({
  secrets: z
    .literal('names', { error: `${once}: names` })
    .optional()
    .meta({ description: 'Secrets carry only id and name.' }),
  include: z
    .enum(['keys', 'certificates', 'keys,certificates', 'certificates,keys'], {
      error: `${once}: keys, certificates, or both with a comma between them`,
    })
    .optional()
    .meta({ description: 'Adds the arrays `keys` and `certificates`.' }),
  resource: z
    .string({ error: 'must be given once' })
    .max(64, { error: 'must be the id of a resource' })
    .optional()
    .meta({ description: 'Returns that one secret, certificate or key; wins over the other parameters.' }),
});
export type VaultReadQuery = z.output<typeof vaultReadQuery>;

const expired = z.object({ id, message: z.literal('Resource expired') }).meta({ id: 'ExpiredResource' });

export const readSecret = z
  .object({ id, name: z.string(), value: z.string(), content_type: z.string(), tags })
  .meta({ id: 'ReadSecret' });
export type ReadSecret = z.output<typeof readSecret>;

export const namedSecret = z.object({ id, name: z.string() }).meta({ id: 'NamedSecret' });

export const readKey = z
  .object({
    id,
    name: z.string(),
    type: z.enum(['private', 'public']),
    key_type: z.enum(keyTypes),
    key_size: z.int(),
    activation_date: timestamp.nullable(),
    expiration_date: timestamp.nullable(),
    tags,
  })
  .meta({ id: 'ReadKey' });
export type ReadKey = z.output<typeof readKey>;

export const readCertificate = z
  .object({ id, name: z.string(), type: z.literal('x509'), expires_at: timestamp, tags })
  .meta({ id: 'ReadCertificate' });
export type ReadCertificate = z.output<typeof readCertificate>;

export const vaultRead = z
  .object({
    id,
    name: z.string(),
    secrets: z.array(z.union([readSecret, namedSecret])),
    keys: z.array(z.union([readKey, expired])).optional(),
    certificates: z.array(z.union([readCertificate, expired])).optional(),
  })
  .meta({ id: 'VaultRead' });
export type VaultRead = z.output<typeof vaultRead>;

export const message = z.object({ message: z.string() }).meta({ id: 'Message' });
