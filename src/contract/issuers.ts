/**
 * Request and response schemas for issuers, which create credentials on request, and for the leases that they gave. A
 * connection is never shown again, except for the server that it leads to.
 */
import { z } from 'zod';
import { pageQuery, recordTimes, searchQuery } from './common.ts';
import { leaseEnds, leaseStates, providerNames } from './names.ts';
import { exampleTimes, exampleVaultId, pem } from './resource-fields.ts';
import { arrayFrom, count, exactLine, exampleId, id, knownName, name, oneOf, timestamp } from './text.ts';

/** In seconds. */
export const shortestLife = 60;
export const longestLife = 24 * 3_600;
const longestRoleName = 63;
const mostGroups = 10;
const mostConnections = 10_000;
const mostRules = 50;
const longestRule = 255;

const seconds = count(shortestLife, longestLife);
const defaultLife = 3_600;

/** PostgreSQL cuts longer names off, which could make two of them the same. */
const roleName = exactLine(1, longestRoleName).refine(
  text => Buffer.byteLength(text, 'utf8') <= longestRoleName,
  { error: `must be at most ${longestRoleName} bytes long` },
);

export const connection = z
  .strictObject({
    url: exactLine(1, 2_048).describe(
      'Such as `postgres://admin:password@db.example.com/app` or `rediss://admin:password@cache.example.com`. The connection is encrypted and the server’s certificate verified, unless `sslmode=disable`, or `redis:` as scheme, is given for a private network that the operator opened.',
    ),
    ca: pem.optional().describe('The certificates of the authority that signed the server’s, as PEM.'),
  })
  .meta({ id: 'IssuerConnection', example: { url: 'postgres://admin:password@db.example.com/app' } });
export type Connection = z.output<typeof connection>;

export const template = z
  .strictObject({
    member_of: arrayFrom(1, mostGroups, roleName)
      .optional()
      .describe(
        'For databases: the roles that each issued user is a member of. Objects that it leaves behind go to the first.',
      ),
    rules: arrayFrom(1, mostRules, exactLine(1, longestRule))
      .optional()
      .describe(
        'For `redis`: what each issued user may do, such as `~app:*`, `&news`, `+@read`, `-@dangerous`. It may never administer the server.',
      ),
    connection_limit: count(1, mostConnections)
      .optional()
      .describe(
        'For databases: how many connections an issued user may have open at a time; unlimited if omitted.',
      ),
  })
  .meta({ id: 'IssuerTemplate', example: { member_of: ['app'] } });
export type Template = z.output<typeof template>;

const inOrder = ({ default_ttl: usual, max_ttl: most }: { default_ttl?: number; max_ttl?: number }) =>
  usual === undefined || most === undefined || usual <= most;
const orderError = { error: 'must be at least default_ttl', path: ['max_ttl'] };

const lives = {
  default_ttl: seconds.describe('In seconds: how long a credential lives if the request doesn’t say.'),
  max_ttl: seconds.describe('In seconds: how long a credential lives at most, renewals included.'),
};

export const issuerCreate = z
  .strictObject({
    vault_id: id,
    name,
    provider: oneOf(providerNames),
    connection,
    template,
    default_ttl: lives.default_ttl.default(defaultLife),
    max_ttl: lives.max_ttl.default(longestLife),
  })
  .refine(inOrder, orderError)
  .meta({
    id: 'IssuerCreate',
    example: {
      vault_id: exampleVaultId,
      name: 'app-db',
      provider: 'postgresql',
      connection: { url: 'postgres://admin:password@db.example.com/app' },
      template: { member_of: ['app'] },
    },
  });
export type IssuerCreate = z.output<typeof issuerCreate>;

export const issuerUpdate = z
  .strictObject({
    name: name.optional(),
    connection: connection.optional(),
    template: template.optional(),
    default_ttl: lives.default_ttl.optional(),
    max_ttl: lives.max_ttl.optional(),
  })
  .meta({ id: 'IssuerUpdate', example: { max_ttl: 7_200 } });
export type IssuerUpdate = z.output<typeof issuerUpdate>;

export const issuerQuery = searchQuery.extend({
  vault_id: id.optional().describe('Only issuers of this vault.'),
});
export type IssuerQuery = z.output<typeof issuerQuery>;

export const issuer = z
  .object({
    id,
    vault_id: id,
    name: z.string(),
    provider: z.enum(providerNames),
    server: z.object({
      host: z.string(),
      port: z.int(),
      database: z.string(),
      username: z.string(),
    }),
    template,
    ...lives,
    state: z
      .enum(['ready', 'ending'])
      .describe('`ending`: it issues nothing more, and is deleted once its last lease is gone.'),
    failing_since: timestamp
      .nullable()
      .describe('Since when the connection fails with which credentials are revoked; null if it doesn’t.'),
    created_by: z.string(),
    ...recordTimes,
  })
  .meta({
    id: 'Issuer',
    description: 'Creates credentials that live for a short time, in another service.',
    example: {
      id: exampleId,
      vault_id: exampleVaultId,
      name: 'app-db',
      provider: 'postgresql',
      server: { host: 'db.example.com', port: 5432, database: 'app', username: 'admin' },
      template: { member_of: ['app'] },
      default_ttl: 3_600,
      max_ttl: 86_400,
      state: 'ready',
      failing_since: null,
      created_by: exampleId,
      ...exampleTimes,
    },
  });
export type Issuer = z.output<typeof issuer>;

export const issuerDeleteQuery = z.strictObject({
  revoke: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default('false')
    .transform(text => text === 'true')
    .describe('Revokes its leases first. Otherwise an issuer with leases is not deleted.'),
});

export const issuerCheck = z
  .object({
    ok: z.boolean(),
    problems: z.array(
      z.object({
        problem: z.string(),
        statement: z.string().nullable().describe('What an administrator of the service runs to fix it.'),
      }),
    ),
  })
  .meta({
    id: 'IssuerCheck',
    example: {
      ok: false,
      problems: [
        {
          problem: 'The user of the connection can’t make others members of app',
          statement: 'GRANT "app" TO "admin" WITH ADMIN OPTION;',
        },
      ],
    },
  });
export type IssuerCheck = z.output<typeof issuerCheck>;

export const leaseQuery = pageQuery.extend({
  vault_id: id.optional().describe('Only leases in this vault.'),
  issuer_id: id.optional().describe('Only leases of this issuer.'),
  access_key_id: id.optional().describe('Only leases of this access key.'),
  state: oneOf([...leaseStates, 'living'])
    .optional()
    .describe('`living`: all that are not gone.'),
});
export type LeaseQuery = z.output<typeof leaseQuery>;

export const lease = z
  .object({
    id,
    vault_id: id,
    issuer_id: id,
    issuer: z.string().describe('The name of the issuer.'),
    access_key_id: id.describe('The access key that it was issued to, and ends with.'),
    username: z.string(),
    state: z.enum(leaseStates),
    expires_at: timestamp,
    ends_at: timestamp.describe('Until when it can be renewed.'),
    ended: z.enum(leaseEnds).nullable().describe('Why it ended; null while it is active.'),
    failing_since: timestamp
      .nullable()
      .describe('Since when attempts to revoke it fail; null if they don’t.'),
    ...recordTimes,
  })
  .meta({
    id: 'Lease',
    description: 'A credential that was issued. Its password is not stored.',
    example: {
      id: exampleId,
      vault_id: exampleVaultId,
      issuer_id: exampleId,
      issuer: 'app-db',
      access_key_id: exampleId,
      username: 'sr_k3v7q2n5x4m6a3ty',
      state: 'active',
      expires_at: '2026-11-15T10:30:00.000Z',
      ends_at: '2026-11-16T09:30:00.000Z',
      ended: null,
      failing_since: null,
      ...exampleTimes,
    },
  });
export type Lease = z.output<typeof lease>;

export const leaseRenew = z
  .strictObject({ ttl: seconds.optional().describe('In seconds, from now.') })
  .meta({ id: 'LeaseRenew', example: { ttl: 3_600 } });
export type LeaseRenew = z.output<typeof leaseRenew>;

/** Requests of access keys. */
export const leaseRequest = z
  .strictObject({
    name: knownName.describe('The name of the issuer.'),
    ttl: seconds.optional().describe('In seconds. The issuer’s longest life applies.'),
  })
  .meta({ id: 'LeaseRequest', example: { name: 'app-db', ttl: 3_600 } });
export type LeaseRequest = z.output<typeof leaseRequest>;

const given = z.object({ id, expires_at: timestamp, renewable: z.boolean() });

export const issuedLease = z
  .object({
    lease: given,
    data: z.object({ username: z.string(), password: z.string(), url: z.string() }),
  })
  .meta({
    id: 'IssuedLease',
    example: {
      lease: { id: exampleId, expires_at: '2026-11-15T10:30:00.000Z', renewable: true },
      data: {
        username: 'sr_k3v7q2n5x4m6a3ty',
        password: 'JSOHKQXXS9SGfQwBoNI2n0hYIRn7QxW2',
        url: 'postgres://sr_k3v7q2n5x4m6a3ty:JSOHKQXXS9SGfQwBoNI2n0hYIRn7QxW2@db.example.com:5432/app',
      },
    },
  });
export type IssuedLease = z.output<typeof issuedLease>;

export const renewedLease = z.object({ lease: given }).meta({
  id: 'RenewedLease',
  example: { lease: { id: exampleId, expires_at: '2026-11-15T11:30:00.000Z', renewable: true } },
});
export type RenewedLease = z.output<typeof renewedLease>;

export const endedLease = z.object({ lease: z.object({ id, state: z.enum(leaseStates) }) }).meta({
  id: 'EndedLease',
  example: { lease: { id: exampleId, state: 'revoking' } },
});
export type EndedLease = z.output<typeof endedLease>;

/** What an access key learns about a lease of its own. */
export interface FoundLease {
  readonly lease: z.output<typeof given> & Pick<Lease, 'created_at'>;
}

/** What an access key asks for; the id is that of a lease. */
export type LeaseCall =
  | { readonly operation: 'issue'; readonly call: LeaseRequest }
  | { readonly operation: 'renew'; readonly id: string; readonly call: LeaseRenew }
  | { readonly operation: 'revoke' | 'find'; readonly id: string };
